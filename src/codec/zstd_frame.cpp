#include "codec/zstd_frame.hpp"

#include <algorithm>

#include "sluice/error.hpp"

#ifdef SLUICE_HAS_ZSTD

#include <memory>
#include <zstd.h>

namespace sluice::codec {

namespace {

constexpr int frame_level = 3;

struct FreeStream {
  void operator()(ZSTD_DCtx* stream) const { ZSTD_freeDCtx(stream); }
};

}  // namespace

bool has_zstd() { return true; }

std::vector<std::byte> zstd_frame(std::span<const std::byte> bytes) {
  std::vector<std::byte> frame(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), frame_level);
  if (ZSTD_isError(size) != 0) {
    throw Error(Code::internal, std::string("zstd: ") + ZSTD_getErrorName(size));
  }
  frame.resize(size);
  return frame;
}

std::vector<std::byte> from_zstd_frame(std::span<const std::byte> frame, std::uint64_t most_bytes,
                                       const std::string& what) {
  const std::unique_ptr<ZSTD_DCtx, FreeStream> stream(ZSTD_createDCtx());
  if (!stream) {
    throw std::bad_alloc();
  }
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  std::vector<std::byte> bytes(
      std::min<std::uint64_t>(most_bytes, std::max<std::uint64_t>(frame.size() * 4, 4096)));
  std::size_t done = 0;
  for (std::size_t left = 1; left != 0;) {
    if (done == bytes.size()) {
      if (bytes.size() >= most_bytes) {
        throw Error(Code::damaged,
                    what + ": decodes to more than " + std::to_string(most_bytes) + " bytes");
      }
      bytes.resize(std::min<std::uint64_t>(most_bytes, bytes.size() * 2));
    }
    ZSTD_outBuffer out{bytes.data(), bytes.size(), done};
    left = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      throw Error(Code::damaged, what + ": zstd: " + ZSTD_getErrorName(left));
    }
    const bool is_stuck = out.pos == done && in.pos == in.size && left != 0;
    done = out.pos;
    if (is_stuck && done < bytes.size()) {
      throw Error(Code::truncated, what + ": ends inside its compressed data");
    }
  }
  if (in.pos != in.size) {
    throw Error(Code::damaged, what + ": has bytes behind its compressed data");
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace sluice::codec

#else

namespace sluice::codec {

bool has_zstd() { return false; }

std::vector<std::byte> zstd_frame(std::span<const std::byte>) {
  throw Error(Code::unsupported, "this build has no zstd: install libzstd-dev and build again");
}

std::vector<std::byte> from_zstd_frame(std::span<const std::byte>, std::uint64_t,
                                       const std::string& what) {
  throw Error(Code::unsupported,
              what + ": is compressed with zstd, which this build lacks: install libzstd-dev");
}

}  // namespace sluice::codec

#endif
