#include "api/checkpoint/scratch.hpp"

#include <cctype>
#include <cstdlib>
#include <set>

#include "commit/publish/agreed_path.hpp"
#include "commit/publish/parts_files.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/stores.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "model/bytes.hpp"
#include "model/clock.hpp"
#include "plan/groups.hpp"
#include "storage/calls.hpp"
#include "storage/current_folder.hpp"

namespace sluice::detail {

namespace {

/// No rank is left waiting in a collective call for longer than a moment.
constexpr double moment_s = 0.2;

/// On rank 0: is there anything to be brought home, or looked for in `folder`? A store, or a file
/// that is no set, or that cannot be read, has nothing: who reads it says what is wrong with it.
bool is_of_interest(storage::Storage& storage, const std::string& path, const std::string& folder) {
  try {
    if (layout::is_store(storage, path)) {
      return false;
    }
    const auto file = storage.open(path, storage::Access::read);
    const auto set = layout::hdf5::read_set(*file);
    return set && (!folder.empty() || !commit::parts_away(*set, path).empty());
  } catch (const Error& e) {
    if (e.code() == Code::io) {
      throw;
    }
    return false;
  }
}

/// Nothing where it belongs to a run that goes on, or may not be written: then it is only read.
std::unique_ptr<commit::PartsIndex> index_to_change(storage::Storage& storage,
                                                    const std::string& path) {
  try {
    return std::make_unique<commit::PartsIndex>(storage, path, "", commit::Opening::append);
  } catch (const Error& e) {
    if (e.code() != Code::locked && e.code() != Code::permission) {
      throw;
    }
    return nullptr;
  }
}

/// Local: parts of the set in `folder` that its index does not mention, as a killed run leaves.
void remove_leftovers(storage::Storage& storage, const std::string& path,
                      const layout::PartSet& set, const std::string& folder) noexcept {
  try {
    std::set<std::string> mentioned;
    for (const layout::Part& part : set.parts) {
      mentioned.insert(storage::absolute_path(layout::part_path(path, part.path)));
    }
    for (const std::string& name : storage.list(folder)) {
      const std::string found = folder + "/" + name;
      if (commit::part_number(name, set.id) && !mentioned.count(storage::absolute_path(found))) {
        commit::remove_part(storage, path, set.id, {found, {}});
      }
    }
  } catch (const std::exception&) {
    return;  // there is no such folder on this node: nothing to remove
  }
}

}  // namespace

std::string with_environment(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      result += text[at++];
      continue;
    }
    const bool braced = at + 1 < text.size() && text[at + 1] == '{';
    const std::size_t begin = at + (braced ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    const std::string name = text.substr(begin, end - begin);
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || (braced && (end == text.size() || text[end] != '}'))) {
      throw Error(Code::invalid_argument, "scratch: " + text +
                                              ": the environment has no variable \"" + name +
                                              "\": set it, or name the folder");
    }
    result += value;
    at = end + (braced ? 1 : 0);
  }
  return result;
}

Scratch::Scratch(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                 std::string path, const std::string& folder, const Options& file,
                 std::uint64_t keep)
    : transport_(transport),
      storage_(storage->ranks_together() == 0 ? std::move(storage) : storage::make_posix()),
      path_(std::move(path)),
      folder_(with_environment(folder)),
      keep_(keep) {
  const std::string what = path_ + ": scratch: ";
  if (file.strategy != "auto" && !plan::writes_parts(file.strategy)) {
    throw Error(Code::invalid_argument, what + "writes a part for each node: strategy " +
                                            file.strategy + " writes one file: leave it out");
  }
  if (keep_ == 0 || !file.parts_dir.empty()) {
    throw Error(Code::invalid_argument,
                what + "needs keep, and parts_dir is its own: " +
                    (keep_ == 0 ? "keep at least one" : "leave parts_dir out"));
  }
}

void Scratch::complete_paths(const std::string& current) {
  path_ = storage::path_below(current, path_);
  folder_ = storage::path_below(current, folder_);
}

Options Scratch::options(Options file) const {
  file.parts_dir = folder_;
  file.strategy = file.strategy == "auto" ? plan::per_node : file.strategy;
  file.keep_last = keep_ + 1;  // as many are drained where the newest is lost
  return file;
}

void Scratch::adopt(commit::PartsOutput& output) {
  is_behind_ = !commit::parts_away(output.set(), output.path()).empty();
}

void Scratch::begin(commit::PartsOutput& output) {
  is_behind_ = true;
  has_failed_ = false;
  try {
    start(output);
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
      throw;
    }
    drain_.reset();
  }
}

void Scratch::start(commit::PartsOutput& output) {
  output.finish_parts();
  drain_ = std::make_unique<commit::PartsDrain>(transport_, *storage_, output.path(), output.set(),
                                                storage_->in_background());
  if (!drain_->lost().empty()) {
    const std::string why = drain_->why_lost();
    drain_.reset();
    throw Error(Code::not_found, path_ + ": a part of the newest checkpoint is lost: " + why);
  }
}

bool Scratch::finish(commit::PartsOutput& output, double seconds) {
  if (!is_behind_) {
    return true;
  }
  has_failed_ = true;  // until it comes to an end
  if (!drain_) {
    start(output);
  }
  const double end_s = model::now_s() + seconds;
  for (std::int64_t late = 1; late != 0;) {
    const double left_s = end_s - model::now_s();
    const bool is_done = drain_->wait(std::min(moment_s, left_s));
    std::int64_t flags[] = {is_done ? 0 : 1, left_s > 0 ? 0 : 1};
    transport_.allreduce(flags, exec::Op::max);
    late = flags[0];
    if (late != 0 && flags[1] != 0) {
      has_failed_ = false;
      return false;
    }
  }
  const std::unique_ptr<commit::PartsDrain> drain = std::move(drain_);
  output.move_parts(drain->places());
  drain->remove_sources();
  is_behind_ = has_failed_ = false;
  return true;
}

void Scratch::stop() noexcept {
  drain_.reset();
  is_behind_ = has_failed_ = false;
}

std::optional<std::string> bring_home(exec::Transport& transport, storage::Storage& storage,
                                      const std::string& named_path, const std::string& scratch) {
  const std::string path = commit::agreed_path(transport, storage, named_path);
  const std::string folder = scratch.empty() ? "" : commit::parts_folder(path, scratch);
  std::unique_ptr<commit::PartsIndex> index;  // rank 0, and with it the lease
  auto message = exec::on_root(transport, [&](model::ByteWriter& out) {
    if (is_of_interest(storage, path, folder)) {
      index = index_to_change(storage, path);
    }
    out.put(index ? index->content().set().words() : std::vector<std::uint64_t>{});
  });
  const auto words = message.get_vector<std::uint64_t>();
  if (words.empty()) {
    return std::nullopt;
  }
  const auto set = layout::PartSet::from_words(words, path);
  commit::PartsDrain drain(transport, storage, path, set, false);
  drain.wait(0);
  const std::vector<std::string> places = drain.places();
  const auto answer = exec::on_root(transport, [&] {
    if (!commit::parts_away(set, path).empty()) {
      index->replace(index->content().with_parts_at(places), true);
    }
    const bool is_forgotten = !drain.lost().empty() && index->forget_parts(drain.lost());
    return std::vector<std::byte>{std::byte{is_forgotten}};
  });
  drain.remove_sources();
  if (!folder.empty()) {
    remove_leftovers(storage, path, set, folder);
  }
  transport.barrier();
  index.reset();
  transport.barrier();  // the file may be opened
  if (answer.front() == std::byte{0}) {
    return std::nullopt;
  }
  return "it was on the scratch of a node that is not there any more, and not drained" +
         (drain.why_lost().empty() ? "" : ": " + drain.why_lost());
}

}  // namespace sluice::detail
