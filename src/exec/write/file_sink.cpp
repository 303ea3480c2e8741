#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "exec/write/sink.hpp"
#include "layout/portion.hpp"

namespace sluice::exec {

namespace {

/// Runs of at least this length bypass the staging if the file accepts them from any address.
constexpr std::size_t long_run_bytes = 128 << 10;

/// Shorter writes take less time than waking up a thread.
constexpr std::size_t worth_a_thread_bytes = 256 << 10;

}  // namespace

FileSink::FileSink(storage::File& file, WriteBehind& writer)
    : file_(file),
      writer_(writer),
      alignment_(std::max<std::size_t>(1, file.alignment())),
      room_(std::min<std::size_t>(writer.buffer_bytes(), layout::portion_bytes)) {}

FileSink::~FileSink() { writer_.abandon(staging_); }

void FileSink::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (begin_ != end_ && offset != base_ + end_) {
      flush();
    }
    std::size_t taken = 0;
    if (begin_ == end_ && alignment_ == 1 && bytes.size() >= long_run_bytes) {
      taken = bytes.size();
      writer_.write_through(file_, offset, bytes);
      bytes_written_ += taken;
    } else {
      if (begin_ == end_) {
        staging_ = staging_ != nullptr ? staging_ : writer_.take();
        begin_ = end_ = offset % alignment_;
        base_ = offset - begin_;
      }
      taken = std::min(bytes.size(), room_ - end_);
      std::memcpy(staging_->data() + end_, bytes.data(), taken);
      end_ += taken;
      if (end_ == room_) {
        flush();
      }
    }
    offset += taken;
    bytes = bytes.subspan(taken);
  }
}

void FileSink::flush() {
  if (begin_ == end_) {
    return;
  }
  const std::size_t from = std::exchange(begin_, 0);
  const std::size_t to = std::exchange(end_, 0);
  bytes_written_ += to - from;
  if (to - from >= worth_a_thread_bytes) {
    writer_.submit(file_, std::exchange(staging_, nullptr), base_, from, to);
  } else {
    writer_.write_through(file_, base_ + from, {staging_->data() + from, to - from});
  }
}

void FileSink::finish() {
  flush();
  writer_.drain();
}

}  // namespace sluice::exec
