// Kinds of file systems, as far as they matter for who should write: storage detects them, plan
// compares by them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::model {

/// FileSystemFacts::kind of what has rates of its own.
inline constexpr const char* fuse_kind = "fuse";
inline constexpr const char* object_store_kind = "s3";

/// Where the disk is, seen from the ranks.
enum class Reach : std::uint8_t {
  unknown,
  memory,    ///< memory of this node
  node,      ///< disks of this node
  server,    ///< one server, over a network
  parallel,  ///< several servers in parallel
};

/// What a file system reports about itself; every field is a hint.
struct FileSystemFacts {
  std::string kind = {};  ///< "ext4", "lustre", ...; empty: unknown
  Reach reach = Reach::unknown;
  std::uint64_t stripe_bytes = 0;  ///< 0: no stripes, or not reported
  std::uint32_t stripes = 0;       ///< the number of servers that a file is striped over; 0:
                                   ///< unknown
};

}  // namespace sluice::model
