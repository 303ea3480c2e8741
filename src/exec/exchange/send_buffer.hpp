// The sending side of rounds: sends that are on their way, and the memory in which those lie that
// had to be packed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// Memory that may outlive an exchange: touching it first costs more than the messages.
struct ExchangeBuffers {
  std::vector<std::byte> sent;
  std::vector<std::byte> received;

  std::uint64_t bytes() const { return sent.size() + received.size(); }
};

class SendBuffer {
 public:
  /// `memory` must outlive the object, and is used by nothing else meanwhile.
  explicit SendBuffer(std::vector<std::byte>& memory) : memory_(memory) {}

  /// Room for one more message. Where there is none, waits for what is on its way; the memory grows
  /// to `enough_bytes`, or to the message if that is larger.
  std::span<std::byte> room(std::uint64_t bytes, std::uint64_t enough_bytes) {
    if (memory_.size() < used_bytes_ + bytes) {
      if (used_bytes_ != 0) {
        wait();
      }
      memory_.resize(std::max<std::size_t>(memory_.size(), std::max(enough_bytes, bytes)));
    }
    used_bytes_ += bytes;
    return std::span(memory_).subspan(used_bytes_ - bytes, bytes);
  }
  /// A send was started: of a message in the room of this object, or of one that lies elsewhere.
  void add(std::unique_ptr<Pending> send) { sends_.push_back(std::move(send)); }
  /// For all of them; then the memory is free.
  void wait() {
    for (const std::unique_ptr<Pending>& send : sends_) {
      send->wait();
    }
    sends_.clear();
    used_bytes_ = 0;
  }

 private:
  std::vector<std::byte>& memory_;
  std::vector<std::unique_ptr<Pending>> sends_;
  std::uint64_t used_bytes_ = 0;  ///< of the memory, by sends on their way
};

}  // namespace sluice::exec
