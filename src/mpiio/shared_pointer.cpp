#include "mpiio/shared_pointer.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <exception>
#include <random>

#include "mpiio/errors.hpp"
#include "mpiio/hooks.hpp"
#include "sluice/error.hpp"
#include "storage/foreign_file.hpp"

namespace sluice::mpiio {

namespace {

constexpr std::uint64_t memory_bytes = 4096;
constexpr std::uint64_t memory_words = memory_bytes / sizeof(std::int64_t);

std::unique_ptr<storage::File> open_or_create(storage::Storage& files, const std::string& path) {
  try {
    return files.open(path, storage::Access::create);
  } catch (const Error& e) {
    if (e.code() != Code::exists) {
      throw;
    }
    return files.open(path, storage::Access::read_write);
  }
}

}  // namespace

SharedPointer::~SharedPointer() {
  file_.reset();
  if (!owns_ || path_.empty() || key_.memory.bytes > 0) {
    return;
  }
  try {
    if (files_->exists(path_)) {
      files_->remove(path_);
    }
  } catch (const std::exception&) {
    // the file that remains has eight bytes and is not used
  }
}

SharedPointerKey SharedPointer::make(bool by_memory) {
  std::random_device device;
  SharedPointerKey key;
  key.number = (std::uint64_t{device()} << 32) | device();
  if (by_memory) {
    try {
      memory_ = storage::SharedMemory::make(memory_bytes);
      memory_->reserve(0, memory_bytes);
      key.memory = memory_->key();
    } catch (const Error&) {
      memory_.reset();  // no shared memory: the file is used
    }
  }
  return key;
}

bool SharedPointer::attach(const SharedPointerKey& key) noexcept {
  if (key.memory.bytes == 0) {
    return true;
  }
  try {
    memory_ = may_attach_memory() ? storage::SharedMemory::attach(key.memory) : nullptr;
  } catch (const std::exception&) {
    memory_.reset();
  }
  return memory_ != nullptr;
}

void SharedPointer::join(const SharedPointerKey& key, std::shared_ptr<storage::Storage> files,
                         const std::string& beside, bool owns) {
  key_ = key;
  if (key_.memory.bytes == 0) {
    memory_.reset();
  }
  files_ = std::move(files);
  path_ = beside + ".shared-pointer-" + std::to_string(key.number);
  owns_ = owns;
}

std::int64_t* SharedPointer::word(std::uint64_t view) const {
  return reinterpret_cast<std::int64_t*>(memory_->data()) + view % memory_words;
}

/// `change` computes the new value from the old one.
template <class Change>
std::int64_t SharedPointer::change(Change&& change) {
  const std::lock_guard guard(mutex_);
  if (key_.memory.bytes > 0) {
    std::atomic_ref<std::int64_t> shared(*word(view_));
    std::int64_t before = shared.load();
    while (!shared.compare_exchange_weak(before, change(before))) {
    }
    return before;
  }
  if (!file_) {
    file_ = open_or_create(*files_, path_);
  }
  const std::uint64_t place = view_ * sizeof(std::int64_t);
  const auto lock = storage::lock_range(*file_, {place, sizeof(std::int64_t)}, true);
  std::array<std::byte, sizeof(std::int64_t)> bytes{};
  file_->read(place, bytes);  // not written yet: zero
  const auto before = std::bit_cast<std::int64_t>(bytes);
  if (const std::int64_t after = change(before); after != before) {
    file_->write(place, std::bit_cast<std::array<std::byte, sizeof(std::int64_t)>>(after));
  }
  return before;
}

std::int64_t SharedPointer::add(std::int64_t count) {
  return change([&](std::int64_t before) {
    std::int64_t after = 0;
    if (__builtin_add_overflow(before, count, &after)) {
      throw Fault(MPI_ERR_ARG, "beyond the largest file");
    }
    return after;
  });
}

void SharedPointer::restart() {
  const std::lock_guard guard(mutex_);
  ++view_;
  if (owns_ && key_.memory.bytes > 0) {
    // The word of the next view, which no rank uses before this rank has got there as well.
    std::atomic_ref<std::int64_t>(*word(view_ + 1)).store(0);
  }
}

void SharedPointer::set(std::int64_t position) {
  change([&](std::int64_t) { return position; });
}

}  // namespace sluice::mpiio
