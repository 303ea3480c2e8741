// Who may do what with a file, so that one which replaces another grants no more than that one did.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "storage/place.hpp"

namespace sluice::storage {

struct Permissions {
  uid_t owner = 0;
  gid_t group = 0;
  mode_t mode = 0;             ///< the nine bits of rwx
  std::vector<std::byte> acl;  ///< as the file system keeps it; empty: none
};

/// Nothing where there is nothing at `place`, or a symbolic link. `path` is for messages.
std::optional<Permissions> permissions_of(const Place& place, const std::string& path);

/// Gives the file or folder `fd`, which this process has just made for itself alone, the same
/// owner and group as far as that is allowed, then the same permissions. Where it cannot get the
/// group, that other group gets no more than everybody; where it cannot get the list of further
/// users and groups, only its owner gets anything.
void give_permissions(int fd, const Permissions& permissions) noexcept;

}  // namespace sluice::storage
