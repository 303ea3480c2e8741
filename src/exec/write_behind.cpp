#include "exec/write_behind.hpp"

#include <cstdlib>
#include <sys/mman.h>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::exec {

Staging::Staging(std::size_t bytes) : size_(bytes) {
  // Direct writes from huge pages cost the kernel a quarter of what small ones do.
  constexpr std::size_t huge_page = 2 << 20;
  const std::size_t reserved = (bytes + huge_page - 1) / huge_page * huge_page;
  void* memory = std::aligned_alloc(huge_page, reserved);
  if (memory == nullptr) {
    throw Error(Code::over_budget, "no memory for " + std::to_string(bytes) + " bytes of staging");
  }
  madvise(memory, reserved, MADV_HUGEPAGE);  // a hint: where it is refused, small pages do
  data_.reset(static_cast<std::byte*>(memory));
}

void Staging::Free::operator()(std::byte* at) const noexcept { std::free(at); }

WriteBehind::WriteBehind(std::size_t buffer_bytes, std::size_t buffers, bool in_background)
    : buffer_bytes_(buffer_bytes), most_buffers_(buffers), in_background_(in_background) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Staging* WriteBehind::take() {
  std::unique_lock lock(mutex_);
  if (free_.empty() && owned_.size() < most_buffers_) {
    owned_.push_back(std::make_unique<Staging>(buffer_bytes_));
    return owned_.back().get();
  }
  changed_.wait(lock, [&] { return !free_.empty(); });
  Staging* staging = free_.back();
  free_.pop_back();
  return staging;
}

void WriteBehind::put_back(Staging* staging) {
  const std::lock_guard lock(mutex_);
  free_.push_back(staging);
}

void WriteBehind::submit(storage::File& file, Staging* staging, std::uint64_t base,
                         std::size_t from, std::size_t to) {
  submit(file, staging, {{base + from, {staging->data() + from, to - from}}});
}

void WriteBehind::submit(storage::File& file, Staging* staging,
                         std::vector<storage::WritePiece> pieces) {
  if (!in_background_) {
    put_back(staging);
    for (const storage::WritePiece& piece : pieces) {
      file.write(piece.offset, piece.bytes);
    }
    return;
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({&file, staging, std::move(pieces)});
  }
  changed_.notify_all();
}

void WriteBehind::write_through(storage::File& file, std::uint64_t offset,
                                std::span<const std::byte> bytes) {
  drain();
  file.write(offset, bytes);
}

void WriteBehind::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void WriteBehind::abandon(Staging* staging) noexcept {
  if (staging != nullptr) {
    put_back(staging);
  }
  try {
    drain();
  } catch (...) {
    // one failure is enough
  }
}

void WriteBehind::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    const bool skip = failure_ != nullptr;
    lock.unlock();
    std::exception_ptr failure;
    try {
      for (std::size_t i = 0; i < job.pieces.size() && !skip; ++i) {
        job.file->write(job.pieces[i].offset, job.pieces[i].bytes);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure_ ? failure_ : failure;
    free_.push_back(job.staging);
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace sluice::exec
