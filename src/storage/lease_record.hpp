// What the record of a writer lease says of its holder, and whether that one is still there.
//
// Format of the record: a line for people ("host H, process P"), and one for other writers:
// "sluice-lease 1 KERNEL PIDS PROCESS START HOW": the id of the boot, the namespace of process
// numbers, the process and the time of its start, `lock` or `file`. What cannot be read as such a
// line is of a holder of whom nothing is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::storage {

struct LeaseHolder {
  std::string text;  ///< for people, without control characters; empty: not known
  bool is_known = false;
  bool by_file = false;  ///< holds it by the existence of the record, and renews its time
  std::string kernel;
  std::string pids;
  std::int64_t process = 0;
  std::uint64_t start = 0;

  std::string record() const;
};

/// This process.
LeaseHolder own_holder(bool by_file);
/// What the record that is open as `fd` says.
LeaseHolder read_holder(int fd);
/// Is it this process?
bool is_own(const LeaseHolder& holder);
/// True: it runs. False: it ended. Nothing: it is not of this system, where nobody can tell.
std::optional<bool> is_running(const LeaseHolder& holder);

}  // namespace sluice::storage
