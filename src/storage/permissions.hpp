// Permissions of a file, so that a file which replaces another one grants no more than that did.
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
  mode_t mode = 0;             ///< the nine bits of rwx; of a folder set-gid and sticky too
  std::vector<std::byte> acl;  ///< as the file system stores it; empty: none
};

/// Empty if nothing exists at `place`, or it is a symbolic link. `path` is for messages.
std::optional<Permissions> permissions_of(const Place& place, const std::string& path);

/// Gives the file or folder `fd`, which this process has just created with access for itself only,
/// the same owner and group as far as that is allowed, then the same permissions. If the group
/// cannot be set, the other group gets no more than everybody; if the access control list cannot be
/// read or set, only the owner gets access. A folder stays set-gid where the one around it is.
void give_permissions(int fd, const Permissions& permissions) noexcept;

}  // namespace sluice::storage
