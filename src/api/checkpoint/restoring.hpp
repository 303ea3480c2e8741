// What restore() takes from a file, if one is there.
#pragma once

#include <cstdint>
#include <string>

#include "api/checkpoint/state.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/checkpoint.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

struct Taken {
  Restored restored;
  std::int64_t after_step = -1;   ///< later steps were rejected; -1: none
  std::uint64_t last_number = 0;  ///< of the newest checkpoint in the file
};

/// Collective. The newest checkpoint of which everything that is registered can be read. Error
/// format if the file holds none, damaged if none is whole, and those of State::check(). `path`:
/// for the messages. `input`: of `in`, opened with NeededParts::of_steps.
Taken take_newest(exec::Transport& transport, const std::string& path, State& state, File& in,
                  const commit::Input& input);

/// Collective. A store that was being replaced when its writer died counts as there.
bool is_there(exec::Transport& transport, storage::Storage& storage, const std::string& path);
/// Does a file hold checkpoints? Local.
bool holds_checkpoints(const File& in);

}  // namespace sluice::detail
