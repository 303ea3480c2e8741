// A disk that is small enough to be filled.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

namespace sluice::storage {

/// A tmpfs of this many bytes, visible to this process only and removed with it. The reason if it
/// is not allowed, else empty.
inline std::string mount_small_disk(const std::string& folder, std::uint64_t bytes) {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  const auto reason = [](const char* what) { return std::string(what) + ": " + strerror(errno); };
  if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) {
    return reason("no mount namespace");
  }
  if (user != 0) {  // root inside the namespace is who we are outside
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return reason("mounts cannot be made private");
  }
  const std::string size = "size=" + std::to_string(bytes);
  if (::mount("sluice", folder.c_str(), "tmpfs", 0, size.c_str()) != 0) return reason("no tmpfs");
  return "";
}

}  // namespace sluice::storage
