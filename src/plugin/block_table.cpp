#include "plugin/block_table.hpp"

#include <algorithm>
#include <array>

#include "codec/checksum.hpp"

namespace sluice::plugin {

namespace {

constexpr std::array<char, 8> table_magic = {'S', 'L', 'U', 'I', 'C', 'E', 'C', '1'};
constexpr std::uint64_t header_bytes = 64;

struct Header {
  std::array<char, 8> magic = table_magic;
  std::uint64_t block_bytes = checksum_block_bytes;
  std::uint64_t file_bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t digest = 0;
  std::array<std::uint64_t, 2> unused = {};
  std::uint64_t checksum = 0;  ///< of what is before it
};
static_assert(sizeof(Header) == header_bytes);

std::uint64_t checksum_of(const Header& header) {
  return codec::checksum(
      std::as_bytes(std::span(&header, 1)).first(header_bytes - sizeof header.checksum));
}

std::uint64_t blocks_in(std::uint64_t file_bytes) {
  return file_bytes / checksum_block_bytes + (file_bytes % checksum_block_bytes != 0 ? 1 : 0);
}

/// What an entry adds to the digest: a sum, so that one entry may change without the others.
std::uint64_t share_of(std::uint64_t number, std::uint64_t checksum) {
  const std::array<std::uint64_t, 2> entry = {number, checksum};
  return checksum == 0 ? 0 : codec::checksum(std::as_bytes(std::span(entry)));
}

}  // namespace

std::uint64_t block_checksum(std::span<const std::byte> bytes) {
  return std::max<std::uint64_t>(codec::checksum(bytes), 1);
}

bool BlockTable::is_of(storage::File& file) const {
  return file.size() == file_bytes && file.modified_ns() == modified_ns;
}

std::uint64_t BlockTable::length_of(std::uint64_t number) const {
  const std::uint64_t begin = std::min(number * checksum_block_bytes, file_bytes);
  return std::min(checksum_block_bytes, file_bytes - begin);
}

void BlockTable::set(std::uint64_t number, std::uint64_t checksum) {
  std::uint64_t& entry = checksums.at(number);
  digest += share_of(number, checksum) - share_of(number, entry);
  entry = checksum;
}

void BlockTable::resize(std::uint64_t new_file_bytes) {
  const std::uint64_t blocks = blocks_in(new_file_bytes);
  for (std::uint64_t number = blocks; number < checksums.size(); ++number) {
    set(number, 0);
  }
  checksums.resize(blocks, 0);
  file_bytes = new_file_bytes;
}

bool remove_block_table(storage::Storage& storage, const std::string& path) {
  const std::string name = block_table_path(path);
  return !storage.exists(name) ||
         storage.remove_if(name, [](const std::unique_ptr<storage::File>& file) {
           std::array<char, 8> magic{};
           const auto bytes = std::as_writable_bytes(std::span(magic));
           return file->read(0, bytes) == bytes.size() && magic == table_magic;
         });
}

std::optional<BlockTable> read_block_table(storage::Storage& storage, const std::string& path) {
  const std::string name = block_table_path(path);
  if (!storage.exists(name)) {
    return std::nullopt;
  }
  const auto file = storage.open(name, storage::Access::read);
  Header header;
  if (file->read(0, std::as_writable_bytes(std::span(&header, 1))) != header_bytes ||
      header.magic != table_magic || header.block_bytes != checksum_block_bytes ||
      header.checksum != checksum_of(header)) {
    return std::nullopt;
  }
  const std::uint64_t blocks = blocks_in(header.file_bytes);
  // The size that the header claims: it is there before so much memory is taken.
  if (const std::uint64_t bytes = file->size();
      bytes < header_bytes || (bytes - header_bytes) / sizeof(std::uint64_t) < blocks) {
    return std::nullopt;
  }
  BlockTable table{header.file_bytes, header.modified_ns, header.digest, {}};
  table.checksums.resize(blocks);
  const auto bytes = std::as_writable_bytes(std::span(table.checksums));
  if (file->read(header_bytes, bytes) != bytes.size()) {
    return std::nullopt;
  }
  std::uint64_t digest = 0;
  for (std::uint64_t number = 0; number < blocks; ++number) {
    digest += share_of(number, table.checksums[number]);
  }
  return digest == table.digest ? std::optional(std::move(table)) : std::nullopt;
}

void write_block_table(storage::File& to, const BlockTable& table,
                       std::span<const std::uint64_t> changed) {
  const std::uint64_t end = header_bytes + table.checksums.size() * sizeof(std::uint64_t);
  if (to.size() < end) {
    to.resize(end);  // zeros: not known
  }
  for (std::size_t first = 0; first < changed.size();) {
    std::size_t next = first + 1;
    while (next < changed.size() && changed[next] == changed[next - 1] + 1) {
      ++next;
    }
    const auto entries = std::span(table.checksums).subspan(changed[first], next - first);
    to.write(header_bytes + changed[first] * sizeof(std::uint64_t), std::as_bytes(entries));
    first = next;
  }
  Header header;
  header.file_bytes = table.file_bytes;
  header.modified_ns = table.modified_ns;
  header.digest = table.digest;
  header.checksum = checksum_of(header);
  to.write(0, std::as_bytes(std::span(&header, 1)));
}

}  // namespace sluice::plugin
