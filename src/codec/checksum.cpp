#include "codec/checksum.hpp"

#include <array>
#include <new>

// The widest instructions that the processor has, chosen at run time, where the library offers
// them: with the narrowest, taking a checksum costs as much as a copy.
#ifdef SLUICE_HAS_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace sluice::codec {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

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
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const { return XXH3_64bits_digest(state_->xxh); }

}  // namespace sluice::codec
