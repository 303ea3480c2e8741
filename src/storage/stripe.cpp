#include "storage/stripe.hpp"

#include <cstring>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <vector>

#include "storage/calls.hpp"

namespace sluice::storage {

namespace {

constexpr std::uint32_t lustre_file_system = 0x0BD00BD0;
constexpr std::uint32_t plain_layout_1 = 0x0BD10BD0;
constexpr std::uint32_t plain_layout_3 = 0x0BD30BD0;
/// Both versions begin alike: magic, pattern, a 16-byte object id, the stripe size.
constexpr std::size_t stripe_size_at = 24;
constexpr std::uint32_t lustre_min_stripe_bytes = 64 << 10;
/// With room for the list of 2,000 servers that follows the head, which is all we look at.
constexpr std::size_t attribute_bytes = 64 << 10;
constexpr std::uint64_t min_block_bytes = 1 << 20;

std::uint32_t u32_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::uint64_t lustre_stripe_of(const std::string& path) {
  std::vector<std::byte> buffer(attribute_bytes);
  const ssize_t got = ::getxattr(path.c_str(), "lustre.lov", buffer.data(), buffer.size());
  if (got <= 0) return 0;
  return lustre_stripe_bytes(std::span(buffer).first(static_cast<std::size_t>(got)));
}

}  // namespace

std::uint64_t lustre_stripe_bytes(std::span<const std::byte> attribute) {
  if (attribute.size() < stripe_size_at + sizeof(std::uint32_t)) return 0;
  const std::uint32_t magic = u32_at(attribute, 0);
  if (magic != plain_layout_1 && magic != plain_layout_3) return 0;
  const std::uint32_t bytes = u32_at(attribute, stripe_size_at);
  return bytes % lustre_min_stripe_bytes == 0 ? bytes : 0;
}

std::uint64_t file_system_stripe_bytes(const std::string& path) {
  struct stat status = {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  const std::string place = there ? path : folder_of(path);
  if (!there && ::stat(place.c_str(), &status) != 0) return 0;
  struct statfs system = {};
  if (::statfs(place.c_str(), &system) != 0) return 0;
  if (static_cast<std::uint32_t>(system.f_type) == lustre_file_system) {
    if (const std::uint64_t bytes = lustre_stripe_of(place); bytes != 0) return bytes;
  }
  const auto block = static_cast<std::uint64_t>(status.st_blksize);
  return block >= min_block_bytes ? block : 0;
}

}  // namespace sluice::storage
