#include "exec/write/window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::exec {

std::uint64_t bytes_in(const layout::RunList& runs, const Stretches& window) {
  std::uint64_t bytes = 0;
  for_each_part(runs, window, [&](const plan::Stretch&, std::uint64_t from, std::uint64_t to) {
    bytes += to - from;
  });
  return bytes;
}

Window::Window(storage::File& file, WriteBehind& writer, bool is_left_to_writer)
    : file_(&file), writer_(&writer), came_(own_came_), is_left_to_writer_(is_left_to_writer) {}

Window::Window(const WindowMemory& memory) : data_(memory.bytes), came_(memory.came) {}

Window::~Window() {
  if (writer_ == nullptr) {
    return;
  }
  if (!is_left_to_writer_) {
    writer_->abandon(staging_);
  } else if (staging_ != nullptr) {
    writer_->put_back(staging_);
  }
}

void Window::prepare() {
  if (file_ != nullptr && staging_ == nullptr) {
    staging_ = writer_->take();
  }
}

void Window::begin(const Stretches& stretches, std::uint64_t own) {
  if (file_ == nullptr) {
    return;
  }
  stretches_ = stretches;
  own_ = own;
  prepare();
  data_ = staging_->data();
  came_.clear();
}

void Window::place(const layout::RunList& runs, const plan::Stretch& stretch,
                   std::span<const std::byte> bytes) {
  const std::byte* from = bytes.data();
  runs.for_each_within(stretch.offset, stretch.offset + stretch.length,
                       [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
                         const std::uint64_t own = stretch.own + (offset - stretch.offset);
                         std::memcpy(at(own), from, length);
                         outcome(own, length);
                         from += length;
                       });
}

void Window::outcome(std::uint64_t own, std::uint64_t length) { came_.set(own - own_, length); }

std::vector<storage::WritePiece> Window::pieces() {
  std::vector<storage::WritePiece> pieces;
  for (const plan::Stretch& stretch : stretches_) {
    const std::uint64_t first = stretch.own - own_;
    const std::uint64_t last = first + stretch.length;
    for (std::uint64_t from = came_.find(true, first, last); from < last;) {
      const std::uint64_t to = came_.find(false, from, last);
      pieces.push_back({stretch.offset + (from - first), {data_ + from, to - from}});
      bytes_written_ += to - from;
      from = came_.find(true, to, last);
    }
  }
  return pieces;
}

void Window::end() {
  if (file_ == nullptr) {
    return;
  }
  try {
    std::vector<storage::WritePiece> all = pieces();
    if (file_->is_collective()) {
      // The others are in this call too, even after a failure of this rank.
      file_->write_collective(failure_ ? std::span<const storage::WritePiece>{} : all);
    } else if (!failure_ && !all.empty()) {
      writer_->submit(*file_, std::exchange(staging_, nullptr), std::move(all));
    }
  } catch (...) {
    failure_ = failure_ ? failure_ : std::current_exception();
  }
}

void Window::finish() {
  try {
    if (writer_ != nullptr) {
      writer_->drain();
    }
  } catch (...) {
    failure_ = failure_ ? failure_ : std::current_exception();
  }
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void Window::leave() {
  if (staging_ != nullptr) {
    writer_->put_back(std::exchange(staging_, nullptr));
  }
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

}  // namespace sluice::exec
