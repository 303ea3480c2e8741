// Filters: what turns the dense bytes of a tile into those that stand in the file, and back.
//
// A filter has the number that HDF5 gives it, so that a list of them (a pipeline) means the same in
// a file as here. Which ones there are is a registry: shuffle and fletcher32 always, deflate and
// zstd where the build found their libraries, others by add_method().
//
// Invariants: nothing is written outside the span that was given, whatever the input; a decoder
// yields exactly as many bytes as the caller says, so that a decompression bomb ends at that size;
// bytes that cannot be decoded are Error damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/scratch_memory.hpp"

namespace sluice::codec {

/// Numbers by which HDF5 knows filters.
inline constexpr std::uint32_t deflate_id = 1;
inline constexpr std::uint32_t shuffle_id = 2;
inline constexpr std::uint32_t fletcher32_id = 3;
inline constexpr std::uint32_t zstd_id = 32015;
/// From the range for private use: HDF5 knows Blosc by other parameters, and gzip files not at all.
inline constexpr std::uint32_t blosc_id = 510;
inline constexpr std::uint32_t gzip_id = 511;

using Parameters = std::vector<std::uint32_t>;

struct Filter {
  std::uint32_t id = 0;
  Parameters parameters;  ///< as HDF5 stores them: shuffle: element size; deflate, zstd: level
  friend bool operator==(const Filter&, const Filter&) = default;
};

/// In the order in which encoding applies them.
using Pipeline = std::vector<Filter>;

/// One filter at work; used by one thread at a time.
class Worker {
 public:
  virtual ~Worker() = default;
  /// Bytes written to `out`; 0 where they do not fit.
  virtual std::size_t encode(const Parameters& parameters, std::span<const std::byte> in,
                             std::span<std::byte> out) = 0;
  /// Fills `out` exactly; false where `in` is not what encoding so many bytes gives.
  virtual bool decode(const Parameters& parameters, std::span<const std::byte> in,
                      std::span<std::byte> out) = 0;
};

/// A kind of filter.
struct Method {
  std::string name;
  std::uint32_t id = 0;
  /// Can it fail to make bytes fewer, and is then left out? If not, it adds at most `added_bytes`
  /// to however many there are.
  bool compresses = false;
  std::uint32_t added_bytes = 0;
  int lowest_level = 1;  ///< of compressors, as in "deflate:6"
  int highest_level = 1;
  int default_level = 1;
  std::function<std::unique_ptr<Worker>()> make;
  bool is_plugin = false;  ///< of HDF5: named by the options of codec/plugins
};

/// Adds a method to the registry; a later one of the same number or name replaces it. Thread-safe.
void add_method(Method method);
/// Is there a method of that number that is no plugin of HDF5?
bool has_codec(std::uint32_t id);
/// The method of that number or name; nullptr where there is none. Valid until it is replaced.
std::shared_ptr<const Method> find_method(std::uint32_t id);
std::shared_ptr<const Method> find_method(const std::string& name);
/// The compressors of this build with their levels, "deflate:1..12, " and so on; "" where there is
/// none.
std::string compressor_names();
/// The option `compress` for who has no wish: the first compressor, at its default level; "none"
/// where there is none.
std::string default_compressor();

/// Can Coder decode what this pipeline made?
bool can_decode(const Pipeline& pipeline);

/// The pipeline of an option `compress`: "" or "none" (nothing), "deflate:6", "zstd:3" (a level
/// left out: the method's default), and behind it "+noshuffle". Elements of more than one byte are
/// shuffled first unless it is. Plugins of HDF5: see codec/plugins. Error invalid_argument lists
/// what there is.
Pipeline parse_pipeline(const std::string& text, std::uint32_t element_bytes);
/// The option that gives this pipeline; "" for none, and for one that no option gives.
std::string pipeline_text(const Pipeline& pipeline);

/// Encodes and decodes the tiles of one pipeline; used by one thread at a time. Keeps its memory:
/// about twice the largest tile.
class Coder {
 public:
  /// Error unsupported where a filter is not in the registry.
  explicit Coder(const Pipeline& pipeline);
  ~Coder();
  Coder(Coder&&) noexcept;
  Coder& operator=(Coder&&) noexcept;

  struct Encoded {
    std::span<const std::byte> bytes;  ///< valid until the next call, or as long as the input
    std::uint32_t mask = 0;            ///< bit i: filter i was left out
  };
  /// What does not shrink is given back as it is, with every filter left out but a checksum.
  Encoded encode(std::span<const std::byte> dense);
  /// Fills `dense` exactly. Error damaged where `stored` does not yield that.
  void decode(std::span<const std::byte> stored, std::uint32_t mask, std::span<std::byte> dense);

 private:
  struct Stage;
  std::span<std::byte> room(std::size_t which, std::size_t bytes);

  std::vector<Stage> stages_;
  ScratchMemory scratch_[2];
};

}  // namespace sluice::codec
