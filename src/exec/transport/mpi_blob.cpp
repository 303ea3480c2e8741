#include "exec/transport/mpi_blob.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::exec {

namespace {

constexpr std::size_t length_bytes = sizeof(std::int64_t);
constexpr int head_phase = 0;
constexpr int rest_phase = 1;

void post_head(MpiCore& core, Batch& batch, int to, std::int64_t length,
               std::span<const std::byte> first, bool synchronous) {
  std::vector<std::byte>& head = batch.buffer(length_bytes + first.size());
  std::memcpy(head.data(), &length, length_bytes);
  if (!first.empty()) {
    std::memcpy(head.data() + length_bytes, first.data(), first.size());
  }
  core.post_send(batch, to, core.tag(head_phase), head, synchronous);
}

}  // namespace

void post_blob(MpiCore& core, Batch& batch, int to, std::span<const std::byte> bytes) {
  post_blob_head(core, batch, to, bytes);
  post_blob_rest(core, batch, to, bytes);
}

void post_blob_head(MpiCore& core, Batch& batch, int to, std::span<const std::byte> bytes,
                    bool synchronous) {
  post_head(core, batch, to, static_cast<std::int64_t>(bytes.size()),
            bytes.first(std::min(bytes.size(), inline_bytes)), synchronous);
}

void post_blob_rest(MpiCore& core, Batch& batch, int to, std::span<const std::byte> bytes) {
  if (bytes.size() > inline_bytes) {
    core.post_send(batch, to, core.tag(rest_phase), bytes.subspan(inline_bytes));
  }
}

void post_no_blob(MpiCore& core, Batch& batch, int to) {
  post_head(core, batch, to, no_blob, {}, false);
}

BlobReceive::BlobReceive(MpiCore& core, Batch& batch, int from, int head_bytes)
    : from_(from), item_(batch.items.size()) {
  constexpr std::size_t most = length_bytes + inline_bytes;
  std::vector<std::byte>& head =
      batch.buffer(head_bytes < 0 ? most : std::min(static_cast<std::size_t>(head_bytes), most));
  head_ = head;
  core.post_receive(batch, from, core.tag(head_phase), head, false);
}

void BlobReceive::take_head(MpiCore& core, const Batch& heads, std::vector<std::byte> room) {
  const auto received = static_cast<std::size_t>(heads.items[item_].received);
  if (received >= length_bytes) {
    std::memcpy(&length_, head_.data(), length_bytes);
  }
  const std::size_t inlined =
      length_ <= 0 ? 0 : std::min(static_cast<std::size_t>(length_), inline_bytes);
  if (length_ < no_blob || received != length_bytes + inlined) {
    core.fail(Code::internal, core.prefix() + "a message of rank " +
                                  std::to_string(core.outer_rank(from_)) +
                                  " is damaged: its header has " + std::to_string(received) +
                                  " bytes and says " + std::to_string(length_));
  }
  room.resize(static_cast<std::size_t>(std::max<std::int64_t>(length_, 0)));
  body_ = std::make_shared<std::vector<std::byte>>(std::move(room));
  std::copy_n(head_.data() + length_bytes, inlined, body_->data());
}

void BlobReceive::post_rest(MpiCore& core, Batch& batch) {
  if (body_->size() > inline_bytes) {
    batch.hold(body_);
    core.post_receive(batch, from_, core.tag(rest_phase), std::span(*body_).subspan(inline_bytes));
  }
}

void receive_rests(MpiCore& core, Batch& in, std::vector<BlobReceive>& blobs) {
  for (BlobReceive& blob : blobs) {
    blob.take_head(core, in);
  }
  in.clear();
  for (BlobReceive& blob : blobs) {
    blob.post_rest(core, in);
  }
  core.wait(in);
}

}  // namespace sluice::exec
