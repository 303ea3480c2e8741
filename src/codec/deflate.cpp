#include "codec/methods.hpp"

#ifdef SLUICE_HAS_LIBDEFLATE

#include <algorithm>
#include <libdeflate.h>
#include <new>

namespace sluice::codec {

namespace {

constexpr int default_deflate_level = 6;

struct Free {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};
using Decompressor = std::unique_ptr<libdeflate_decompressor, Free>;

Decompressor make_decompressor() {
  Decompressor made(libdeflate_alloc_decompressor());
  if (!made) {
    throw std::bad_alloc();
  }
  return made;
}

class Deflate final : public Worker {
 public:
  std::size_t encode(const Parameters& parameters, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    const int level = parameters.empty()
                          ? default_deflate_level
                          : static_cast<int>(std::clamp<std::uint32_t>(parameters[0], 0, 12));
    if (!compressor_ || level != level_) {
      compressor_.reset(libdeflate_alloc_compressor(level));
      level_ = level;
      if (!compressor_) {
        throw std::bad_alloc();
      }
    }
    return libdeflate_zlib_compress(compressor_.get(), in.data(), in.size(), out.data(),
                                    out.size());
  }

  bool decode(const Parameters&, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (!decompressor_) {
      decompressor_ = make_decompressor();
    }
    // Without a place for the size the library insists on exactly out.size() bytes.
    return libdeflate_zlib_decompress(decompressor_.get(), in.data(), in.size(), out.data(),
                                      out.size(), nullptr) == LIBDEFLATE_SUCCESS;
  }

 private:
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
  Decompressor decompressor_;
  int level_ = 0;
};

/// What other programs wrote.
class Gzip final : public Worker {
 public:
  std::size_t encode(const Parameters&, std::span<const std::byte>, std::span<std::byte>) override {
    return 0;
  }
  bool decode(const Parameters&, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (!decompressor_) {
      decompressor_ = make_decompressor();
    }
    return libdeflate_gzip_decompress(decompressor_.get(), in.data(), in.size(), out.data(),
                                      out.size(), nullptr) == LIBDEFLATE_SUCCESS;
  }

 private:
  Decompressor decompressor_;
};

}  // namespace

std::optional<Method> deflate_method() {
  return Method{"deflate", deflate_id, true, 0, 1, 12, default_deflate_level, [] {
                  return std::make_unique<Deflate>();
                }};
}

std::optional<Method> gzip_method() {
  return Method{"gzip", gzip_id, false, 0, 1, 1, 1, [] { return std::make_unique<Gzip>(); }};
}

}  // namespace sluice::codec

#else

namespace sluice::codec {
std::optional<Method> deflate_method() { return std::nullopt; }
std::optional<Method> gzip_method() { return std::nullopt; }
}  // namespace sluice::codec

#endif
