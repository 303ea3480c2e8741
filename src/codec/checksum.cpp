#include "codec/checksum.hpp"

#include <new>
#include <xxhash.h>

namespace sluice::codec {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

struct Checksum::State {
  XXH3_state_t* xxh = XXH3_createState();
};

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
