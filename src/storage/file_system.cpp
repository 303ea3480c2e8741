#include "storage/file_system.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <vector>

#include "storage/calls.hpp"

namespace sluice::storage {

namespace {

struct Known {
  std::uint32_t number;  ///< statfs: f_type
  const char* kind;
  Reach reach;
};
constexpr std::uint32_t lustre_number = 0x0BD00BD0;
constexpr std::array<Known, 17> known_kinds{{
    {0x01021994, "tmpfs", Reach::memory},
    {0x858458F6, "ramfs", Reach::memory},
    {0xEF53, "ext4", Reach::node},
    {0x58465342, "xfs", Reach::node},
    {0x9123683E, "btrfs", Reach::node},
    {0x2FC12FC1, "zfs", Reach::node},
    {0xF2F52010, "f2fs", Reach::node},
    {0x794C7630, "overlayfs", Reach::node},
    {0x6969, "nfs", Reach::server},
    {0xFF534D42, "cifs", Reach::server},
    {0xFE534D42, "smb2", Reach::server},
    {lustre_number, "lustre", Reach::parallel},
    {0x47504653, "gpfs", Reach::parallel},
    {0x19830326, "beegfs", Reach::parallel},
    {0x00C36400, "ceph", Reach::parallel},
    {0x20030528, "orangefs", Reach::parallel},
    {0x65735546, model::fuse_kind, Reach::unknown},
}};

// Both plain versions start with magic, pattern, a 16-byte object id, stripe size and count.
constexpr std::uint32_t plain_layout_1 = 0x0BD10BD0;
constexpr std::uint32_t plain_layout_3 = 0x0BD30BD0;
constexpr std::size_t stripe_size_at = 24;
constexpr std::size_t stripe_count_at = 28;
constexpr std::uint32_t lustre_min_stripe_bytes = 64 << 10;
constexpr std::uint16_t all_servers = 0xFFFF;
// A composite one: a header, and an entry for each component with the offset of its plain layout.
constexpr std::uint32_t composite_layout = 0x0BD60BD0;
constexpr std::size_t entry_count_at = 14;
constexpr std::size_t composite_head_bytes = 32;
constexpr std::size_t entry_bytes = 48;
constexpr std::size_t layout_offset_at = 24;

/// Includes space for the list of 2,000 servers that follows the header; only the header is used.
constexpr std::size_t attribute_bytes = 64 << 10;
constexpr std::uint64_t min_block_bytes = 1 << 20;
constexpr std::uint64_t most_stripe_bytes = 1ULL << 40;
constexpr std::uint32_t most_stripes = 1 << 16;
constexpr std::uint64_t smallest_stripe_bytes = 4096;

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Striping plain_striping(std::span<const std::byte> layout) {
  if (layout.size() < stripe_count_at + sizeof(std::uint16_t)) return {};
  const auto magic = number_at<std::uint32_t>(layout, 0);
  if (magic != plain_layout_1 && magic != plain_layout_3) return {};
  const auto bytes = number_at<std::uint32_t>(layout, stripe_size_at);
  if (bytes == 0 || bytes % lustre_min_stripe_bytes != 0) return {};
  const auto count = number_at<std::uint16_t>(layout, stripe_count_at);
  return {bytes, count == all_servers ? 0U : count};
}

std::vector<std::byte> attribute_of(const std::string& path, const char* name) {
  // Asked for its size first: most files have none, and the room for the largest is much to clear.
  const ssize_t needed = ::getxattr(path.c_str(), name, nullptr, 0);
  std::vector<std::byte> bytes(needed > 0 ? attribute_bytes : 0);
  const ssize_t got =
      bytes.empty() ? 0 : ::getxattr(path.c_str(), name, bytes.data(), bytes.size());
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

/// Parses "KEY=123" at the front of `text` and removes it.
bool take_number(std::string_view& text, std::string_view key, std::uint64_t& number) {
  if (!text.starts_with(key)) return false;
  text.remove_prefix(key.size());
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

Striping lustre_striping(std::span<const std::byte> attribute) {
  if (attribute.size() < composite_head_bytes) return plain_striping(attribute);
  if (number_at<std::uint32_t>(attribute, 0) != composite_layout) return plain_striping(attribute);
  const auto entries = number_at<std::uint16_t>(attribute, entry_count_at);
  const std::size_t last = composite_head_bytes + entry_bytes * (entries - std::size_t{1});
  if (entries == 0 || attribute.size() < last + entry_bytes) return {};
  const auto at = number_at<std::uint32_t>(attribute, last + layout_offset_at);
  return at < attribute.size() ? plain_striping(attribute.subspan(at)) : Striping{};
}

Striping striping_of_text(std::string_view text) {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  const bool is_one = take_number(text, "size=", bytes) && take_number(text, " count=", count) &&
                      (text.empty() || text == "\n");
  const bool is_possible = bytes != 0 && bytes % smallest_stripe_bytes == 0 &&
                           bytes <= most_stripe_bytes && count != 0 && count <= most_stripes;
  return is_one && is_possible ? Striping{bytes, static_cast<std::uint32_t>(count)} : Striping{};
}

FileSystemFacts kind_of_number(std::uint32_t number) {
  const auto* const found = std::find_if(known_kinds.begin(), known_kinds.end(),
                                         [&](const Known& one) { return one.number == number; });
  return found == known_kinds.end() ? FileSystemFacts{}
                                    : FileSystemFacts{found->kind, found->reach, 0, 0};
}

FileSystemFacts file_system_facts(const std::string& path) {
  struct stat status = {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  const std::string place = there ? path : folder_of(path);
  if (!there && ::stat(place.c_str(), &status) != 0) return {};
  struct statfs system = {};
  if (::statfs(place.c_str(), &system) != 0) return {};
  const auto number = static_cast<std::uint32_t>(system.f_type);
  FileSystemFacts facts = kind_of_number(number);
  Striping striping;
  if (number == lustre_number) striping = lustre_striping(attribute_of(place, "lustre.lov"));
  if (striping.stripe_bytes == 0) {
    const std::vector<std::byte> text = attribute_of(place, "user.striping");
    striping = striping_of_text({reinterpret_cast<const char*>(text.data()), text.size()});
    facts.reach = striping.stripes != 0 ? Reach::parallel : facts.reach;
  }
  const auto block = static_cast<std::uint64_t>(status.st_blksize);
  facts.stripe_bytes = striping.stripe_bytes != 0 ? striping.stripe_bytes
                       : block >= min_block_bytes ? block
                                                  : 0;
  facts.stripes = striping.stripes;
  return facts;
}

bool is_mounted_read_only(const std::string& path) {
  struct statvfs system = {};
  return (::statvfs(path.c_str(), &system) == 0 ||
          ::statvfs(folder_of(path).c_str(), &system) == 0) &&
         (system.f_flag & ST_RDONLY) != 0;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace sluice::storage
