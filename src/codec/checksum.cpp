#include "codec/checksum.hpp"

#include <array>
#include <bit>
#include <cstring>
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

namespace {

/// The three words of the state of lookup3.
struct Lookup3 {
  std::uint32_t a, b, c;

  /// Words before the last ones.
  void mix() {
    step(a, c, b, 4);
    step(b, a, c, 6);
    step(c, b, a, 8);
    step(a, c, b, 16);
    step(b, a, c, 19);
    step(c, b, a, 4);
  }
  void finish() {
    last(c, b, 14);
    last(a, c, 11);
    last(b, a, 25);
    last(c, b, 16);
    last(a, c, 4);
    last(b, a, 14);
    last(c, b, 24);
  }

 private:
  static void step(std::uint32_t& x, std::uint32_t& y, std::uint32_t z, int bits) {
    x -= y;
    x ^= std::rotl(y, bits);
    y += z;
  }
  static void last(std::uint32_t& x, std::uint32_t y, int bits) {
    x ^= y;
    x -= std::rotl(y, bits);
  }
};

}  // namespace

std::uint32_t lookup3(std::span<const std::byte> bytes) {
  constexpr std::size_t words_bytes = 12;
  const std::uint32_t first = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  Lookup3 state{first, first, first};
  const auto add = [&state](const std::byte* from) {
    std::array<std::uint32_t, 3> words;
    std::memcpy(words.data(), from, words_bytes);
    state.a += words[0];
    state.b += words[1];
    state.c += words[2];
  };
  for (; bytes.size() > words_bytes; bytes = bytes.subspan(words_bytes)) {
    add(bytes.data());
    state.mix();
  }
  if (!bytes.empty()) {
    std::array<std::byte, words_bytes> rest{};
    std::memcpy(rest.data(), bytes.data(), bytes.size());
    add(rest.data());
    state.finish();
  }
  return state.c;
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
