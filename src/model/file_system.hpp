// The kinds of file systems, as far as it matters to who should write: storage finds them out,
// plan compares by them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::model {

/// What stands between the ranks and the disk.
enum class Reach : std::uint8_t {
  unknown,
  memory,    ///< of this node
  node,      ///< disks of this node
  server,    ///< one server, over a network
  parallel,  ///< several servers at the same time
};

/// What a file system says of itself: hints, all of them.
struct FileSystemFacts {
  std::string kind = {};  ///< "ext4", "lustre", ...; empty: unknown
  Reach reach = Reach::unknown;
  std::uint64_t stripe_bytes = 0;  ///< 0: it has none, or does not say
  std::uint32_t stripes = 0;       ///< of a file: servers that hold a part of it; 0: not known
};

}  // namespace sluice::model
