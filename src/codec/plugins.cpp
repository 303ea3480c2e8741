#include "codec/plugins.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "sluice/error.hpp"

namespace sluice::codec {

namespace {

constexpr std::uint32_t bzip2_id = 307;
constexpr std::uint32_t hdf5_blosc_id = 32001;
constexpr std::uint32_t lz4_id = 32004;
constexpr std::uint32_t bitshuffle_id = 32008;
constexpr std::uint32_t zfp_id = 32013;
constexpr std::uint32_t blosc2_id = 32026;

/// Blosc keeps its compressor in a global variable, and Blosc2 begins with a call that is not
/// protected: one thread at a time.
constexpr std::array known_plugins{
    KnownPlugin{bzip2_id, "bzip2", "bz", true, true, true, true, 0},
    KnownPlugin{32000, "lzf", "lzf", true, false, false, false, -1},
    KnownPlugin{hdf5_blosc_id, "blosc", "blosc", true, true, false, false, 0},
    KnownPlugin{lz4_id, "lz4", "lz4", true, true, true, true, 0},
    KnownPlugin{bitshuffle_id, "bitshuffle", "shuf", true, true, true, false, 3},
    KnownPlugin{zfp_id, "zfp", "zfp", false, false, false, false, -1},
    KnownPlugin{32017, "sz", "sz", false, false, false, false, -1, true},
    KnownPlugin{32018, "fcidecomp", "fci", true, false, false, false, -1},
    KnownPlugin{32024, "sz3", "sz3", false, false, false, false, -1},
    KnownPlugin{blosc2_id, "blosc2", "blosc2", true, true, false, false, 0},
    KnownPlugin{32028, "sperr", "sperr", false, false, false, false, -1},
};

constexpr unsigned most_blosc2_rank = 8;

/// HDF5's own filters have lower numbers.
constexpr std::uint32_t first_plugin = 256;

/// Blosc2 may cut bits off before it compresses; zfp has a mode that keeps all.
bool keeps_bits(const Filter& filter) {
  constexpr std::uint32_t truncate = 4;
  constexpr std::uint32_t reversible = 5;
  constexpr std::uint32_t reversible_in_file = 2048 + 128;
  const KnownPlugin* known = find_known_plugin(filter.id);
  const Parameters& values = filter.parameters;
  if (known == nullptr) {
    return false;
  }
  if (filter.id == blosc2_id) {
    return values.size() <= 5 || values[5] != truncate;
  }
  if (filter.id == zfp_id && values.size() >= 4) {
    return values[1] == 0 ? values[0] == reversible : values[3] >> 20 == reversible_in_file;
  }
  return known->is_lossless;
}

std::atomic<PluginFinder> plugin_finder{nullptr};

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t count,
                        bool big_endian) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t shift = 8 * (big_endian ? count - 1 - i : i);
    number |= std::to_integer<std::uint64_t>(bytes[at + i]) << shift;
  }
  return number;
}

bool is_compressed_bitshuffle(const Filter& filter) {
  return filter.id == bitshuffle_id && filter.parameters.size() > 4 && filter.parameters[4] != 0;
}

/// Behind the size and the bytes of a block: blocks, each behind its length, for all groups of
/// elements.
bool has_blocks(std::span<const std::byte> stored, std::uint64_t dense_bytes,
                std::uint64_t element_bytes, std::uint64_t group) {
  constexpr std::size_t front_bytes = 12;
  constexpr std::size_t length_bytes = 4;
  if (stored.size() < front_bytes || element_bytes == 0 || dense_bytes % element_bytes != 0) {
    return false;
  }
  const std::uint64_t block = number_at(stored, 8, 4, true) / element_bytes;
  if (block == 0 || block % group != 0) {
    return false;
  }
  const std::uint64_t elements = dense_bytes / element_bytes;
  const std::uint64_t whole = elements / group * group;
  stored = stored.subspan(front_bytes);
  for (std::uint64_t at = 0; at < whole; at += block) {
    if (stored.size() < length_bytes) {
      return false;
    }
    const std::uint64_t length = number_at(stored, 0, length_bytes, true);
    if (length > stored.size() - length_bytes) {
      return false;
    }
    stored = stored.subspan(length_bytes + length);
  }
  return stored.size() >= (elements - whole) * element_bytes;
}

/// The values in a file are zfp's own header: magic, type, lengths.
std::optional<std::uint64_t> claimed_by_zfp(const Parameters& values) {
  constexpr std::uint32_t magic = 'z' | 'f' << 8 | 'p' << 16;
  if (values.size() < 4 || (values[1] & 0xffffff) != magic) {
    return std::nullopt;
  }
  const std::uint64_t header = values[2] | std::uint64_t{values[3] & 0xfffff} << 32;
  const unsigned type = header & 3;  // int32, int64, float, double
  const unsigned rank = 1 + (header >> 2 & 3);
  const unsigned bits = 48 / rank;
  std::uint64_t bytes = type == 0 || type == 2 ? 4 : 8;
  for (unsigned d = 0; d < rank; ++d) {
    bytes *= 1 + (header >> (4 + d * bits) & ((std::uint64_t{1} << bits) - 1));
  }
  return bytes;
}

}  // namespace

const KnownPlugin* find_known_plugin(std::uint32_t id) {
  const auto* const found = std::find_if(known_plugins.begin(), known_plugins.end(),
                                         [&](const KnownPlugin& one) { return one.id == id; });
  return found == known_plugins.end() ? nullptr : found;
}

bool is_plugin(std::uint32_t id) {
  const bool is_own = id < first_plugin || id == zstd_id || id == blosc_id || id == gzip_id;
  return !is_own && !has_codec(id);
}

std::string plugin_name(std::uint32_t id) {
  const KnownPlugin* known = find_known_plugin(id);
  return known != nullptr ? known->name : "filter " + std::to_string(id);
}

bool has_plugin(const Pipeline& pipeline) {
  return std::any_of(pipeline.begin(), pipeline.end(),
                     [](const Filter& filter) { return is_plugin(filter.id); });
}

std::string refuse_unchecked(const Pipeline& pipeline) {
  for (auto at = pipeline.begin(); at != pipeline.end(); ++at) {
    const KnownPlugin* known = find_known_plugin(at->id);
    const bool is_checked = std::any_of(
        at, pipeline.end(), [](const Filter& behind) { return behind.id == fletcher32_id; });
    if (known != nullptr && known->ends_process && !is_checked) {
      return std::string(known->name) + " (filter number " + std::to_string(at->id) +
             ") ends the process if its data is damaged, so it is only used behind fletcher32: "
             "decode the file with the program that wrote it, or write it with fletcher32";
    }
  }
  return "";
}

bool is_lossy(const Pipeline& pipeline) {
  return std::any_of(pipeline.begin(), pipeline.end(), [](const Filter& filter) {
    return is_plugin(filter.id) && !keeps_bits(filter);
  });
}

std::string loss_of(const Pipeline& pipeline) {
  const bool is_known = std::all_of(pipeline.begin(), pipeline.end(), [](const Filter& filter) {
    return !is_plugin(filter.id) || find_known_plugin(filter.id) != nullptr;
  });
  return !is_lossy(pipeline) ? "" : is_known ? " (lossy)" : " (may be lossy)";
}

void set_plugin_finder(PluginFinder finder) { plugin_finder = finder; }

std::shared_ptr<const Method> find_plugin(std::uint32_t id, std::string& why_not) {
  const PluginFinder find = plugin_finder;
  if (find == nullptr) {
    why_not = plugin_name(id) + ": this program loads no plugins of HDF5";
    return nullptr;
  }
  return find(id, why_not);
}

void require_plugins(const Pipeline& pipeline) {
  for (const Filter& filter : pipeline) {
    std::string why_not;
    if (is_plugin(filter.id) && !find_method(filter.id) && !find_plugin(filter.id, why_not)) {
      throw Error(Code::unsupported, why_not);
    }
  }
}

std::optional<std::uint64_t> claimed_bytes(const Filter& filter,
                                           std::span<const std::byte> stored) {
  // Positions in the headers: lz4 and bitshuffle begin with the size, most significant byte first;
  // Blosc has it behind four bytes of versions and flags, and a frame of Blosc2 behind 30.
  constexpr std::size_t blosc_size_at = 4;
  constexpr std::size_t frame_size_at = 30;
  constexpr std::string_view frame = "b2frame";
  if ((filter.id == lz4_id || is_compressed_bitshuffle(filter)) && stored.size() >= 8) {
    return number_at(stored, 0, 8, true);
  }
  const bool is_blosc2 = filter.id == blosc2_id;
  if (is_blosc2 && stored.size() >= frame_size_at + 8 &&
      std::memcmp(stored.data() + 2, frame.data(), frame.size()) == 0) {
    return number_at(stored, frame_size_at, 8, true);
  }
  if ((is_blosc2 || filter.id == hdf5_blosc_id) && stored.size() >= blosc_size_at + 4) {
    return number_at(stored, blosc_size_at, 4, false);
  }
  if (filter.id == zfp_id) {
    return claimed_by_zfp(filter.parameters);
  }
  return std::nullopt;
}

bool is_plausible(const Filter& filter, std::span<const std::byte> stored,
                  std::uint64_t dense_bytes) {
  const auto claimed = claimed_bytes(filter, stored);
  // Blosc2 pads every dimension to whole blocks, which are no longer than it.
  const unsigned padded = filter.id == blosc2_id ? most_blosc2_rank : 0;
  if (stored.empty() || (claimed && (*claimed < dense_bytes || *claimed >> padded > dense_bytes))) {
    return false;
  }
  if (filter.id == lz4_id) {
    return has_blocks(stored, dense_bytes, 1, 1);
  }
  if (is_compressed_bitshuffle(filter)) {
    // Elements that are not enough for a group of eight are at the end as they are.
    return has_blocks(stored, dense_bytes, filter.parameters[2], 8);
  }
  return true;
}

}  // namespace sluice::codec
