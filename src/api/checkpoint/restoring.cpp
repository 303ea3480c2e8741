// What restore() takes, and what the first save may replace where it took nothing.
#include <algorithm>
#include <utility>

#include "api/checkpoint/checkpoint_impl.hpp"
#include "api/checkpoint/failures.hpp"
#include "api/checkpoint/names.hpp"
#include "storage/endings.hpp"

namespace sluice::detail {

/// Collective. A store that was being replaced when its writer died counts as there.
bool CheckpointImpl::is_there() {
  const auto message = exec::on_root(*transport_, [&] {
    const bool there = storage_->exists(path_) || storage_->exists(path_ + storage::old_ending);
    return std::vector<std::byte>{std::byte{there}};
  });
  return message.front() != std::byte{0};
}

Restored CheckpointImpl::restore() {
  require_open("restore");
  if (file_ || last_number_ != 0) {
    throw Error(Code::wrong_state, path_ +
                                       ": restore: after a save or another restore(): call it "
                                       "once, at the start");
  }
  try {
    Restored restored = try_restore();
    not_restored_.clear();
    return restored;
  } catch (const std::exception& e) {
    not_restored_ = e.what();
    throw;
  }
}

/// Collective.
Restored CheckpointImpl::try_restore() {
  if (!is_there()) {
    return {};
  }
  std::optional<std::string> lost;
  if (options_.file.parts_dir.empty()) {
    lost = bring_home(*transport_, *storage_, path_, scratch_ ? scratch_->folder() : "");
  }
  File in(open(Mode::read, options_.file));
  Restored restored = read(in);
  if (lost) {
    restored.newer.insert(restored.newer.begin(), {0, *lost});
  }
  return restored;
}

/// Collective.
Restored CheckpointImpl::read(File& in) {
  const int ranks = transport_->size();
  Variable number;
  Variable writers;
  try {
    number = in.find(checkpoint_number_name);
    writers = in.find(checkpoint_ranks_name);
  } catch (const Error&) {
    throw Error(Code::format, path_ + ": restore: holds no checkpoints: choose another name");
  }
  exec::together(*transport_, [&] { exec::for_file(path_, [&] { state_.check(in); }); });
  Restored restored;
  std::uint64_t newest = 0;
  for (std::uint64_t step = in.steps(); step-- > 0;) {
    RejectedCheckpoint rejected;
    std::int32_t wrote = 0;
    try {
      in.get(number, &rejected.number, {}, step);
      newest = std::max(newest, rejected.number);
      in.get(writers, &wrote, {}, step);
      std::vector<Variable> variables;
      exec::together(*transport_, [&] {
        restored.kept = state_.kept(path_, ranks, wrote);
        exec::for_file(path_, [&] { variables = state_.find(in, ranks, wrote); });
      });
      exec::together(*transport_, [&] {
        state_.defer_gets(in, variables, step, transport_->rank(), ranks == wrote);
      });
      state_.finish_gets(in, variables, step);
    } catch (const Error& e) {
      if (!is_damage(e.code())) {
        throw;
      }
      rejected.why = e.what();
      restored.newer.push_back(std::move(rejected));
      continue;
    }
    restored.number = rejected.number;
    restored.time = in.time(step);
    restored.ranks = wrote;
    goes_on_ = true;
    may_replace_ = true;
    after_step_ = restored.newer.empty() ? -1 : static_cast<std::int64_t>(step);
    last_number_ = std::max(newest, restored.number);
    return restored;
  }
  throw Error(Code::damaged,
              path_ + ": restore: none of the " + std::to_string(in.steps()) +
                  " checkpoints is whole: remove the file to begin anew" +
                  (restored.newer.empty() ? "" : "; the newest: " + restored.newer.front().why));
}

/// Collective. What is damaged may be checkpoints of which parts are lost.
bool CheckpointImpl::holds_other_things() {
  Options options = options_.file;
  options.log = Log::off;
  try {
    File in(open(Mode::read, options));
    const std::vector<VariableInfo> all = in.variables();
    const bool is_ours = std::any_of(all.begin(), all.end(), [](const VariableInfo& info) {
      return info.name == checkpoint_number_name;
    });
    in.close();
    return !is_ours;
  } catch (const Error& e) {
    if (!is_damage(e.code()) || e.code() == Code::io || e.code() == Code::version) {
      throw;
    }
    return e.code() == Code::format || e.code() == Code::truncated;
  }
}

/// Collective. Error wrong_state or exists where a first save would replace what nobody has asked
/// it to.
void CheckpointImpl::require_replaceable() {
  if (may_replace_ || !is_there()) {
    return;
  }
  if (!not_restored_.empty()) {
    throw Error(Code::wrong_state,
                path_ + ": save: it would replace what restore() could not take: choose another " +
                    "name, or replace its checkpoints by a new Checkpoint whose first call is " +
                    "save(); restore() failed with: " + not_restored_);
  }
  if (holds_other_things()) {
    throw Error(Code::exists, path_ +
                                  ": save: it would replace a file that holds no checkpoints: "
                                  "choose another name, or remove the file");
  }
}

}  // namespace sluice::detail
