#include "codec/methods.hpp"

#ifdef SLUICE_HAS_ZSTD

#include <algorithm>
#include <new>
#include <zstd.h>

namespace sluice::codec {

namespace {

constexpr int default_zstd_level = 3;
constexpr int highest_zstd_level = 19;

class Zstd final : public Worker {
 public:
  std::size_t encode(const Parameters& parameters, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    if (!compressor_) {
      compressor_.reset(ZSTD_createCCtx());
      if (!compressor_) {
        throw std::bad_alloc();
      }
    }
    const int level = parameters.empty()
                          ? default_zstd_level
                          : static_cast<int>(std::min<std::uint32_t>(parameters[0], 22));
    const std::size_t size =
        ZSTD_compressCCtx(compressor_.get(), out.data(), out.size(), in.data(), in.size(), level);
    return ZSTD_isError(size) != 0 ? 0 : size;
  }

  bool decode(const Parameters&, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (!decompressor_) {
      decompressor_.reset(ZSTD_createDCtx());
      if (!decompressor_) {
        throw std::bad_alloc();
      }
    }
    const std::size_t size =
        ZSTD_decompressDCtx(decompressor_.get(), out.data(), out.size(), in.data(), in.size());
    return ZSTD_isError(size) == 0 && size == out.size();
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
    void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> compressor_;
  std::unique_ptr<ZSTD_DCtx, Free> decompressor_;
};

}  // namespace

std::optional<Method> zstd_method() {
  return Method{"zstd", zstd_id, true, 0, 1, highest_zstd_level, default_zstd_level, [] {
                  return std::make_unique<Zstd>();
                }};
}

}  // namespace sluice::codec

#else

namespace sluice::codec {
std::optional<Method> zstd_method() { return std::nullopt; }
}  // namespace sluice::codec

#endif
