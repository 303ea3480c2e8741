// What a file system says of itself: its kind, and over how many servers a file is dealt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/file_system.hpp"

namespace sluice::storage {

using model::FileSystemFacts;
using model::Reach;

/// How a file is dealt to the servers.
struct Striping {
  std::uint64_t stripe_bytes = 0;  ///< 0: not known
  std::uint32_t stripes = 0;       ///< 0: not known

  friend bool operator==(const Striping&, const Striping&) = default;
};

/// Of `path`, or of its folder where it is not there yet. The striping is Lustre's own attribute;
/// elsewhere the attribute `user.striping`, which anybody may set on a folder; else the preferred
/// block size where that is at least 1 MiB. Writes nothing, never fails.
FileSystemFacts file_system_facts(const std::string& path);

/// The striping in a `lustre.lov` attribute of a plain layout (version 1 or 3), or of the last
/// component of a composite one, where long files lie. Nothing of an attribute that is anything
/// else or holds a number that Lustre does not allow; `stripes` 0 where it says "all" or leaves it
/// open.
Striping lustre_striping(std::span<const std::byte> attribute);

/// The striping in the text "size=1048576 count=4"; nothing where it is any other.
Striping striping_of_text(std::string_view text);

/// Kind and reach by the number that statfs() gives a file system.
FileSystemFacts kind_of_number(std::uint32_t number);

}  // namespace sluice::storage
