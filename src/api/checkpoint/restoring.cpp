#include "api/checkpoint/restoring.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/checkpoint/failures.hpp"
#include "api/checkpoint/names.hpp"
#include "exec/transport/agree.hpp"
#include "storage/endings.hpp"

namespace sluice::detail {

Taken take_newest(exec::Transport& transport, const std::string& path, State& state, File& in,
                  const commit::Input& input) {
  const int ranks = transport.size();
  Variable number;
  Variable writers;
  try {
    number = in.find(checkpoint_number_name);
    writers = in.find(checkpoint_ranks_name);
  } catch (const Error&) {
    throw Error(Code::format, path + ": restore: holds no checkpoints: choose another name");
  }
  exec::together(transport, [&] { exec::for_file(path, [&] { state.check(in); }); });
  Taken taken;
  Restored& restored = taken.restored;
  for (std::uint64_t step = in.steps(); step-- > 0;) {
    RejectedCheckpoint rejected;
    std::int32_t wrote = 0;
    try {
      commit::require_parts(input, step);
      in.get(number, &rejected.number, {}, step);
      taken.last_number = std::max(taken.last_number, rejected.number);
      in.get(writers, &wrote, {}, step);
      std::vector<Variable> variables;
      exec::together(transport, [&] {
        restored.kept = state.kept(path, ranks, wrote);
        exec::for_file(path, [&] { variables = state.find(in, ranks, wrote); });
      });
      exec::together(transport, [&] {
        state.defer_gets(in, variables, step, transport.rank(), ranks == wrote);
      });
      state.finish_gets(in, variables, step);
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
    taken.after_step = restored.newer.empty() ? -1 : static_cast<std::int64_t>(step);
    return taken;
  }
  throw Error(Code::damaged,
              path + ": restore: none of the " + std::to_string(in.steps()) +
                  " checkpoints is whole: remove the file to begin anew" +
                  (restored.newer.empty() ? "" : "; the newest: " + restored.newer.front().why));
}

bool is_there(exec::Transport& transport, storage::Storage& storage, const std::string& path) {
  const auto message = exec::on_root(transport, [&] {
    const bool there = storage.exists(path) || storage.exists(path + storage::old_ending);
    return std::vector<std::byte>{std::byte{there}};
  });
  return message.front() != std::byte{0};
}

bool holds_checkpoints(const File& in) {
  const std::vector<VariableInfo> all = in.variables();
  return std::any_of(all.begin(), all.end(),
                     [](const VariableInfo& info) { return info.name == checkpoint_number_name; });
}

}  // namespace sluice::detail
