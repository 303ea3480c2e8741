// Messages whose length the receiver does not know: a head (length and first bytes) and a rest.
//
// Invariants: a blob of at most inline_bytes is one message; head and rest have different tags; a
// sender never waits for the rest before it has received its own heads, so crossing blobs cannot
// block each other (senders and receivers use separate batches).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "exec/transport/mpi_core.hpp"

namespace sluice::exec {

/// Represents "no blob" in the place of one.
inline constexpr std::int64_t no_blob = -1;

/// Posts `bytes` to `to` with the current collective's tags. `bytes` must stay valid as long as
/// `batch` holds it if it is longer than inline_bytes.
void post_blob(MpiCore& core, Batch& batch, int to, std::span<const std::byte> bytes);
/// Its two halves. The head copies what it needs of `bytes`.
void post_blob_head(MpiCore& core, Batch& batch, int to, std::span<const std::byte> bytes,
                    bool synchronous = false);
void post_blob_rest(MpiCore& core, Batch& batch, int to, std::span<const std::byte> bytes);
/// Posts the message "no blob".
void post_no_blob(MpiCore& core, Batch& batch, int to);

/// A blob being received.
class BlobReceive {
 public:
  /// Posts the receive of the head. `head_bytes`: its length, if a probe has told it.
  BlobReceive(MpiCore& core, Batch& batch, int from, int head_bytes = -1);
  /// After the batch is done, and before it is cleared: checks the head, and allocates space for
  /// the body, in the memory of `room` if that suffices.
  void take_head(MpiCore& core, const Batch& heads, std::vector<std::byte> room = {});
  /// Posts the receive of the rest, if there is one.
  void post_rest(MpiCore& core, Batch& batch);

  int from() const noexcept { return from_; }
  /// no_blob or the number of bytes; known after take_head().
  std::int64_t length() const noexcept { return length_; }
  /// Valid once the rest is received.
  std::vector<std::byte>& body() { return *body_; }

 private:
  int from_;
  std::size_t item_;
  std::span<const std::byte> head_;
  std::int64_t length_ = no_blob;
  std::shared_ptr<std::vector<std::byte>> body_;
};

/// Receives the bodies of blobs whose heads, in the batch `in`, are done.
void receive_rests(MpiCore& core, Batch& in, std::vector<BlobReceive>& blobs);

}  // namespace sluice::exec
