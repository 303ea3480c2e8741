#include "commit/parts/parts_drain.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "commit/publish/damage.hpp"
#include "commit/publish/parts_files.hpp"
#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "storage/background_thread.hpp"
#include "storage/calls.hpp"

namespace sluice::commit {

namespace {

std::string path_away(const std::string& index_path, const layout::Part& part) {
  return layout::part_path(index_path, part.path);
}

}  // namespace

PartsDrain::PartsDrain(exec::Transport& transport, storage::Storage& storage,
                       std::string index_path, layout::PartSet set, bool in_background)
    : transport_(transport),
      storage_(storage),
      index_path_(std::move(index_path)),
      set_(std::move(set)),
      away_(parts_away(set_, index_path_)) {
  choose(transport);
  is_done_ = own_.empty();
  if (in_background && !is_done_) {
    try {
      thread_ = storage::start_background([this] { work(); });
    } catch (const std::exception&) {
      // wait() does the work
    }
  }
}

PartsDrain::~PartsDrain() {
  stops_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

/// Every rank looks for its share: were it for all, a save of many ranks with a part each would be
/// as many look-ups as the square of their number. Of the ranks that see a part whole the first
/// one copies it.
void PartsDrain::choose(exec::Transport& transport) {
  if (away_.empty()) {
    return;
  }
  std::vector<std::int64_t> first(away_.size(), transport.size());
  const auto is_open = [&](std::int64_t rank) { return rank == transport.size(); };
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    out.put(is_seen_by_all(storage_, path_away(index_path_, set_.parts[away_.front()])));
  });
  const bool is_for_all = in.get<bool>();
  if (is_for_all) {
    look(transport, exec::share_of_all(transport), first);
  }
  const bool has_other_nodes = transport.nodes() > 1;
  if ((has_other_nodes || !is_for_all) && std::any_of(first.begin(), first.end(), is_open)) {
    look(transport, exec::share_of_node(transport), first);
  }
  for (std::size_t i = 0; i < away_.size(); ++i) {
    if (is_open(first[i])) {
      lost_.push_back(away_[i]);
    } else if (first[i] == transport.rank()) {
      own_.push_back(away_[i]);
    }
  }
  if (!lost_.empty()) {
    auto why = exec::on_root(transport, [&](model::ByteWriter& out) { out.put(why_lost_here()); });
    why_lost_ = why.get_string();
  }
}

/// Collective. Looks for those of which none was found that are this rank's share.
void PartsDrain::look(exec::Transport& transport, const exec::Share& share,
                      std::vector<std::int64_t>& first) {
  std::vector<std::int64_t> found = first;
  exec::together(transport, [&] {
    for (std::size_t i = share.place; i < away_.size(); i += share.ranks) {
      try {
        if (first[i] == transport.size()) {
          check_part(storage_, index_path_, set_, away_[i]);
          found[i] = transport.rank();
        }
      } catch (const Error& e) {
        if (!is_of_lost_part(e.code())) {
          throw;
        }
      }
    }
  });
  transport.allreduce(found, exec::Op::min);
  first = std::move(found);
}

std::string PartsDrain::why_lost_here() const {
  try {
    check_part(storage_, index_path_, set_, lost_.front());
  } catch (const Error& e) {
    return e.what();
  }
  return "";  // it is there again
}

void PartsDrain::work() noexcept {
  std::exception_ptr failure;
  try {
    for (const std::size_t part : own_) {
      copy(part);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  is_done_ = true;
  done_.notify_all();
}

/// A copy that a run which died has made is taken; what else of this set has the name is one that
/// no index mentions.
void PartsDrain::make_way(std::size_t part) {
  const std::string home = path_at_home(index_path_, set_.parts[part]);
  if (!remove_part(storage_, index_path_, set_.id, {home, {}})) {
    throw Error(Code::exists, home + ": is in the way of a part of " + index_path_ +
                                  " and does not belong to it: move it away");
  }
}

void PartsDrain::copy(std::size_t part) {
  const std::string home = path_at_home(index_path_, set_.parts[part]);
  const std::string folder = storage::folder_of(home);
  if (!part_number(home, set_.id)) {
    throw Error(Code::format, index_path_ + ": its part " + set_.parts[part].path +
                                  " has no name of its set: copy it by sluice collect");
  }
  storage_.make_folder(folder);
  if (storage_.is_link(folder)) {
    throw Error(Code::permission,
                folder + ": is a symbolic link, and parts are written through none");
  }
  if (storage_.exists(home)) {
    make_way(part);
  }
  copy_part(storage_, path_away(index_path_, set_.parts[part]), home, [&](std::uint64_t) {
    if (stops_) {
      throw Error(Code::wrong_state, home + ": its copying was stopped");
    }
  });
}

bool PartsDrain::wait(double seconds) {
  if (!thread_.joinable() && !is_done_) {
    work();
  }
  std::unique_lock lock(mutex_);
  const auto limit = std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8));
  return done_.wait_for(lock, limit, [&] { return is_done_.load(); });
}

std::vector<std::string> PartsDrain::places() {
  exec::agree(transport_, failure_);
  std::vector<std::string> paths;
  for (const layout::Part& part : set_.parts) {
    paths.push_back(path_away(index_path_, part));
  }
  for (const std::size_t part : away_) {
    if (!std::binary_search(lost_.begin(), lost_.end(), part)) {
      paths[part] = path_at_home(index_path_, set_.parts[part]);
    }
  }
  return paths;
}

void PartsDrain::remove_sources() noexcept {
  for (const std::size_t part : own_) {
    remove_part(storage_, index_path_, set_.id,
                {path_away(index_path_, set_.parts[part]), set_.parts[part].id});
  }
  own_.clear();
}

}  // namespace sluice::commit
