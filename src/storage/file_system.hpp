// The properties of a file system: its kind, and how files are striped over servers.
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

/// How a file is striped over the servers.
struct Striping {
  std::uint64_t stripe_bytes = 0;  ///< 0: unknown
  std::uint32_t stripes = 0;       ///< 0: unknown

  friend bool operator==(const Striping&, const Striping&) = default;
};

/// The striping of `path`, or of its folder if it does not exist yet. From Lustre's own attribute;
/// elsewhere from the attribute `user.striping`, which anybody may set on a folder; otherwise from
/// the preferred block size if that is at least 1 MiB. Writes nothing, never fails.
FileSystemFacts file_system_facts(const std::string& path);

/// Is the file system of `path`, or of its folder if it does not exist yet, mounted for reading
/// only? Never fails.
bool is_mounted_read_only(const std::string& path);
/// Does `path` lead to a folder? Never fails.
bool is_folder(const std::string& path);

/// The striping in a `lustre.lov` attribute of a plain layout (version 1 or 3), or of the last
/// component of a composite one, which holds the bulk of long files. Empty for an attribute of any
/// other kind or with a number that Lustre does not allow; `stripes` is 0 if the attribute says
/// "all" or leaves it open.
Striping lustre_striping(std::span<const std::byte> attribute);

/// The striping in the text "size=1048576 count=4"; empty for any other text.
Striping striping_of_text(std::string_view text);

/// Kind and reach of the file system with this statfs() number.
FileSystemFacts kind_of_number(std::uint32_t number);

}  // namespace sluice::storage
