#include "commit/tools/collect.hpp"

#include <set>
#include <vector>

#include "commit/parts/parts_index.hpp"
#include "commit/publish/agreed_path.hpp"
#include "commit/publish/parts_files.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/stores.hpp"
#include "model/bytes.hpp"
#include "storage/calls.hpp"

namespace sluice::commit {

using layout::Part;
using layout::PartSet;

namespace {

class Collector {
 public:
  Collector(exec::Transport& transport, storage::Storage& storage, const std::string& index_path,
            const CollectOptions& options, const CopyProgress& progress)
      : transport_(transport),
        storage_(storage),
        index_path_(agreed_path(transport, storage, index_path)),
        options_(options),
        meter_{transport.size(), progress} {}

  Collected run();

 private:
  void choose_targets();
  void choose_movers();
  void make_way(std::size_t part);
  void move(std::size_t part);
  bool is_home(std::size_t part) const { return sources_[part] == targets_[part]; }

  exec::Transport& transport_;
  storage::Storage& storage_;
  const std::string index_path_;
  const CollectOptions& options_;
  CopyMeter meter_;
  std::unique_ptr<PartsIndex> index_;  ///< rank 0
  PartSet set_;
  std::vector<std::string> sources_;
  std::vector<std::string> targets_;
  std::vector<int> movers_;  ///< by part
};

Collected Collector::run() {
  auto message = exec::on_root(transport_, [&](model::ByteWriter& out) {
    if (layout::is_store(storage_, index_path_)) {
      throw Error(Code::format, index_path_ +
                                    ": is a store of Zarr or Icechunk, not the index of a set of "
                                    "parts: there is nothing to collect");
    }
    index_ = std::make_unique<PartsIndex>(storage_, index_path_, "", Opening::append);
    out.put(index_->content().set().words());
  });
  set_ = PartSet::from_words(message.get_vector<std::uint64_t>(), index_path_);
  choose_targets();
  choose_movers();
  Collected done{set_.parts.size(), 0, 0, 0};
  for (std::size_t p = 0; p < set_.parts.size(); ++p) {
    done.moved += is_home(p) ? 0 : 1;
    meter_.total_bytes += is_home(p) ? 0 : set_.parts[p].bytes;
  }
  done.bytes = meter_.total_bytes;
  if (done.moved == 0) {
    return done;
  }
  exec::together(transport_, [&] {
    for (std::size_t p = 0; p < set_.parts.size(); ++p) {
      if (!is_home(p) && movers_[p] == transport_.rank()) {
        move(p);
      }
    }
  });
  exec::on_root(transport_,
                [&] { index_->replace(index_->content().with_parts_at(targets_), true); });
  std::int64_t left = 0;
  for (std::size_t p = 0; p < set_.parts.size() && !options_.keep; ++p) {
    if (!is_home(p) && movers_[p] == transport_.rank() &&
        !remove_part(storage_, index_path_, set_.id, {sources_[p], set_.parts[p].id})) {
      ++left;
    }
  }
  transport_.allreduce({&left, 1}, exec::Op::sum);  // when it returns, the old parts are gone
  done.left = static_cast<std::uint64_t>(left);
  return done;
}

/// A part keeps its number if it has one, unless another part of the set, from another folder, has
/// the same. Other names in the index are not used.
void Collector::choose_targets() {
  const std::string folder = options_.to.empty() ? parts_folder(index_path_, "") : options_.to;
  std::set<std::string> taken;
  for (const Part& part : set_.parts) {
    sources_.push_back(storage::absolute_path(layout::part_path(index_path_, part.path)));
    taken.insert(sources_.back());
  }
  std::uint64_t number = 0;
  for (const std::string& source : sources_) {
    const auto target_of = [&](std::uint64_t n) {
      return storage::absolute_path(part_file(folder, set_.id, n, index_path_));
    };
    const auto own = part_number(source, set_.id);
    std::string target = target_of(own ? *own : number++);
    while (target != source && taken.count(target) != 0) {
      target = target_of(number++);
    }
    taken.insert(target);
    targets_.push_back(target);
  }
}

/// Of the ranks that see a part whole, the next one after rank (number of the part) moves it: so
/// the work is shared if all see all.
void Collector::choose_movers() {
  const int ranks = transport_.size();
  std::vector<std::int64_t> distances;
  std::vector<std::exception_ptr> reasons;
  for (std::size_t p = 0; p < set_.parts.size(); ++p) {
    std::exception_ptr reason;
    try {
      check_part(storage_, index_path_, set_, p);
    } catch (...) {
      reason = std::current_exception();
    }
    const int first = static_cast<int>(p % static_cast<std::size_t>(ranks));
    distances.push_back(reason ? ranks : (transport_.rank() - first + ranks) % ranks);
    reasons.push_back(reason);
  }
  transport_.allreduce(distances, exec::Op::min);
  for (std::size_t p = 0; p < set_.parts.size(); ++p) {
    if (distances[p] == ranks) {
      exec::agree(transport_, reasons[p]);
    }
    movers_.push_back(static_cast<int>((static_cast<std::int64_t>(p) + distances[p]) % ranks));
  }
}

/// Only a copy of an earlier attempt goes: the part itself may have the target's name by a link.
void Collector::make_way(std::size_t part) {
  const std::string& target = targets_[part];
  const auto identity = [&](const std::string& path) {
    return storage_.open(path, storage::Access::read)->identity();
  };
  if (identity(target) == identity(sources_[part])) {
    throw Error(Code::exists, target +
                                  ": is the part itself, by another path: name the folder as " +
                                  storage::folder_of(sources_[part]));
  }
  if (!remove_part(storage_, index_path_, set_.id, {target, set_.parts[part].id})) {
    throw Error(Code::exists,
                target +
                    ": exists already and does not belong to this set: move it away, or "
                    "choose another folder");
  }
}

void Collector::move(std::size_t part) {
  const std::string& target = targets_[part];
  if (storage_.exists(target)) {
    make_way(part);
  }
  storage_.make_folder(storage::folder_of(target));
  copy_part(storage_, sources_[part], target, [&](std::uint64_t bytes) { meter_.note(bytes); });
}

}  // namespace

Collected collect(exec::Transport& transport, storage::Storage& storage,
                  const std::string& index_path, const CollectOptions& options,
                  const CopyProgress& progress) {
  return Collector(transport, storage, index_path, options, progress).run();
}

}  // namespace sluice::commit
