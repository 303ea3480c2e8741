#include "codec/checksum.hpp"

#include <array>
#include <new>

// The widest instructions that the processor has, chosen at run time, where the library offers
// them: with the narrowest, taking a checksum costs as much as a copy.
#ifdef SLUICE_HAS_XXH_DISPATCH
#include <immintrin.h>
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace sluice::codec {

namespace {

#ifdef SLUICE_HAS_XXH_DISPATCH
__attribute__((target("avx"))) void clear_upper_halves() { _mm256_zeroupper(); }

/// The library's wide variants leave values in the upper halves of the vector registers. A caller
/// compiled for SSE, as simulations are by default, would compute at half its speed from then on.
struct RegistersLeftClean {
  ~RegistersLeftClean() {
    static const bool has_them = __builtin_cpu_supports("avx") != 0;
    if (has_them) {
      clear_upper_halves();
    }
  }
};
#else
struct RegistersLeftClean {
  ~RegistersLeftClean() {}  // NOLINT(modernize-use-equals-default): a variable that is used
};
#endif

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  const RegistersLeftClean clean;
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum(std::string_view text) { return checksum(std::as_bytes(std::span(text))); }

struct Checksum::State {
  XXH3_state_t* xxh = XXH3_createState();
};

namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? reversed_polynomial : 0);
    }
    table[byte] = value;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t value = 0xffffffff;
  for (const std::byte byte : bytes) {
    value = (value >> 8) ^ crc_table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return ~value;
}

Checksum::Checksum() : state_(new State) {
  if (state_->xxh == nullptr) {
    delete state_;
    throw std::bad_alloc();
  }
  restart();
}

Checksum::~Checksum() {
  XXH3_freeState(state_->xxh);
  delete state_;
}

void Checksum::restart() { XXH3_64bits_reset(state_->xxh); }

void Checksum::update(std::span<const std::byte> bytes) {
  const RegistersLeftClean clean;
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
  const RegistersLeftClean clean;
  return XXH3_64bits_digest(state_->xxh);
}

}  // namespace sluice::codec
