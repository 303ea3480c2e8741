// The record of a writer lease: its holder, and whether that process still runs.
//
// Format of the record: a line for people ("host H, process P"), and one for other writers:
// "sluice-lease 1 KERNEL PIDS PROCESS START HOW": the id of the boot, the namespace of process
// numbers, the process and the time of its start, `lock` or `file`. If the second line cannot be
// parsed, the holder is unknown.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "sluice/error.hpp"

namespace sluice::storage {

struct LeaseHolder {
  std::string text;  ///< for people, without control characters; empty: unknown
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
/// The holder in the text of a record.
LeaseHolder parse_holder(const std::string& text);
/// Reads the record that is open as `fd`.
LeaseHolder read_holder(int fd);
/// Is the holder this process?
bool is_own(const LeaseHolder& holder);
/// True: it runs. False: it has ended. Empty: it is on another system, so this is unknown.
std::optional<bool> is_running(const LeaseHolder& holder);
/// The same of the holder in the record of that name, which only reads it. On another system one
/// that holds it by a lock runs while the lock is there.
std::optional<bool> is_holder_running(const std::string& record_path);

/// Of a lease that is no longer this writer's.
Error lost_lease_error(const std::string& path);
/// The same of a lease whose record has, or had, a name: says what has become of that. Error
/// locked; changed_outside where the folder is gone.
Error lost_record_error(const std::string& path);
/// Of a lease whose time nobody would renew.
Error no_renewal_error(const std::string& path, const std::exception& why);

}  // namespace sluice::storage
