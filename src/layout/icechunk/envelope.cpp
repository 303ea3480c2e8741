#include "layout/icechunk/envelope.hpp"

#include <algorithm>
#include <string_view>

#include "codec/zstd_frame.hpp"
#include "layout/icechunk/metadata.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

// The header: a mark, the program that wrote it, and three bytes.
constexpr std::string_view mark =
    "ICE\xF0\x9F\xA7\x8A"
    "CHUNK";
constexpr std::size_t program_bytes = 24;
constexpr std::size_t version_at = mark.size() + program_bytes;
constexpr std::size_t type_at = version_at + 1;
constexpr std::size_t compression_at = type_at + 1;
constexpr std::size_t header_bytes = compression_at + 1;
constexpr std::uint8_t format_version = 1;
constexpr std::uint8_t uncompressed = 0;
constexpr std::uint8_t compressed = 1;

}  // namespace

bool has_envelope(std::span<const std::byte> file) {
  return file.size() >= header_bytes &&
         std::equal(mark.begin(), mark.end(), reinterpret_cast<const char*>(file.data()));
}

std::vector<std::byte> in_envelope(FileType type, std::span<const std::byte> content) {
  std::string header(mark);
  header += std::string("sluice-") + SLUICE_VERSION;
  header.resize(mark.size() + program_bytes, ' ');
  header += static_cast<char>(format_version);
  header += static_cast<char>(type);
  header += static_cast<char>(codec::has_zstd() ? compressed : uncompressed);
  const auto* first = reinterpret_cast<const std::byte*>(header.data());
  std::vector<std::byte> file(first, first + header.size());
  if (codec::has_zstd()) {
    const std::vector<std::byte> frame = codec::zstd_frame(content);
    file.insert(file.end(), frame.begin(), frame.end());
  } else {
    file.insert(file.end(), content.begin(), content.end());
  }
  return file;
}

std::vector<std::byte> from_envelope(FileType type, std::span<const std::byte> file,
                                     const std::string& what) {
  if (!has_envelope(file)) {
    throw Error(Code::damaged, what + ": is no metadata file of Icechunk");
  }
  const auto version = std::to_integer<int>(file[version_at]);
  if (version != format_version) {
    throw Error(Code::version, what + ": is of version " + std::to_string(version) +
                                   " of Icechunk's format; version 1 is read");
  }
  if (file[type_at] != static_cast<std::byte>(type)) {
    throw Error(Code::damaged, what + ": is a metadata file of another type (" +
                                   std::to_string(std::to_integer<int>(file[type_at])) + ")");
  }
  const auto content = file.subspan(header_bytes);
  const auto compression = std::to_integer<std::uint8_t>(file[compression_at]);
  if (compression == compressed) {
    return codec::from_zstd_frame(content, most_metadata_bytes, what);
  }
  if (compression != uncompressed) {
    throw Error(Code::damaged, what + ": is compressed in a way that is not known (" +
                                   std::to_string(static_cast<int>(compression)) + ")");
  }
  return {content.begin(), content.end()};
}

}  // namespace sluice::layout::icechunk
