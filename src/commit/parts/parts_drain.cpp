#include "commit/parts/parts_drain.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "commit/publish/damage.hpp"
#include "commit/publish/parts_files.hpp"
#include "exec/transport/agree.hpp"
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

/// Of the ranks that see a part whole the first one copies it.
void PartsDrain::choose(exec::Transport& transport) {
  std::vector<std::int64_t> first;
  const auto failure = exec::failure_of([&] {
    for (const std::size_t part : away_) {
      first.push_back(transport.size());
      try {
        check_part(storage_, index_path_, set_, part);
        first.back() = transport.rank();
      } catch (const Error& e) {
        if (!is_of_lost_part(e.code())) {
          throw;
        }
        why_lost_ = why_lost_.empty() ? e.what() : why_lost_;
      }
    }
  });
  exec::agree(transport, failure);
  transport.allreduce(first, exec::Op::min);
  for (std::size_t i = 0; i < away_.size(); ++i) {
    if (first[i] == transport.size()) {
      lost_.push_back(away_[i]);
    } else if (first[i] == transport.rank()) {
      own_.push_back(away_[i]);
    }
  }
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
    if (std::find(lost_.begin(), lost_.end(), part) == lost_.end()) {
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
