// Options of one open file. Every field has a default that is right for most runs.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

enum class Durability : std::uint8_t {
  none,   ///< nothing is synced
  close,  ///< everything is synced once, at close
  step,   ///< every step is synced before its ticket says durable
};

enum class Check : std::uint8_t {
  off,
  volume,  ///< the number of elements put must equal the shape's
  full,    ///< overlaps and holes are found and named, whenever the decomposition changes
};

struct Options {
  std::string strategy = "auto";  ///< serial | shared | auto
  std::string storage = "auto";   ///< direct | posix | auto (direct where the file system takes it)
  std::uint64_t budget_bytes = 256ULL << 20;  ///< staging memory of one rank, a hard limit
  std::uint64_t stripe_bytes = 0;             ///< 0: what the file system says, else 4 KiB pages
  Durability durability = Durability::step;
  Check check = Check::full;
  bool checksum = true;     ///< write checksums, and check them when reading
  double timeout_s = 1800;  ///< limit of one collective wait; 0: none
};

}  // namespace sluice
