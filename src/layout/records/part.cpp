#include "layout/records/part.hpp"

#include <algorithm>
#include <cstdlib>

#include "sluice/error.hpp"

namespace sluice::layout::records {

// -- writing --------------------------------------------------------------------------------------

void PartWriter::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

bool PartWriter::grow(std::size_t bytes) noexcept {
  constexpr std::size_t least_bytes = 64 << 10;
  const auto used = static_cast<std::size_t>(at_ - memory_.get());
  const auto room = static_cast<std::size_t>(end_ - memory_.get());
  std::size_t wanted = 0;
  if (__builtin_add_overflow(used, bytes, &wanted)) {
    return false;
  }
  wanted = std::max({wanted, room + room / 2, least_bytes});
  auto* larger = static_cast<std::byte*>(std::realloc(memory_.get(), wanted));
  if (larger == nullptr) {
    return false;
  }
  static_cast<void>(memory_.release());
  memory_.reset(larger);
  at_ = larger + used;
  end_ = larger + wanted;
  return true;
}

bool PartWriter::close_run() noexcept {
  try {
    coder_.add(run_);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::span<const std::byte> PartWriter::signature() {
  if (run_.count != 0) {
    coder_.add(run_);
    run_ = {};
  }
  return coder_.finish();
}

void PartWriter::restart() {
  at_ = memory_.get();
  run_ = {};
  coder_.restart();
}

// -- reading --------------------------------------------------------------------------------------

void PartReader::add(std::span<const std::byte> signature, std::span<const std::byte> payload,
                     std::string name) {
  parts_.push_back({signature, payload, std::move(name)});
}

void PartReader::clear() {
  parts_.clear();
  next_part_ = 0;
  run_ = {};
  signature_ = {};
  at_ = end_ = nullptr;
}

/// Goes to the next run where none is left of this one; false at the end of all parts.
bool PartReader::advance() {
  while (run_.count == 0) {
    if (signature_.next(run_)) {
      const std::uint64_t room = static_cast<std::uint64_t>(end_ - at_) / scalar_bytes(run_.code);
      if (run_.count > room) {
        throw Error(Code::damaged,
                    parts_[next_part_ - 1].name + ": the signature promises more than there is");
      }
      continue;
    }
    run_ = {};
    if (at_ != end_) {
      throw Error(Code::damaged,
                  parts_[next_part_ - 1].name + ": the signature promises less than there is");
    }
    if (next_part_ == parts_.size()) {
      return false;
    }
    const Part& part = parts_[next_part_++];
    signature_ = SignatureReader(part.signature);
    at_ = part.payload.data();
    end_ = at_ + part.payload.size();
  }
  return true;
}

bool PartReader::at_end() { return !advance(); }

void PartReader::refuse(ScalarCode code) const {
  if (run_.count == 0) {
    throw Error(Code::out_of_bounds, "the record group has no further " + scalar_name(code) +
                                         ": everything of it has been read");
  }
  throw Error(Code::type_mismatch, parts_[next_part_ - 1].name + ": the next value is " +
                                       scalar_name(run_.code) + ", but " + scalar_name(code) +
                                       " is asked for: read what was written, in the same order");
}

void PartReader::read_across(ScalarCode code, void* data, std::uint64_t count) {
  const std::uint64_t size = scalar_bytes(code);
  auto* out = static_cast<std::byte*>(data);
  while (count != 0) {
    if (!advance() || run_.code != code) {
      refuse(code);
    }
    const std::uint64_t now = std::min(count, run_.count);
    std::memcpy(out, at_, now * size);
    out += now * size;
    at_ += now * size;
    run_.count -= now;
    count -= now;
  }
}

}  // namespace sluice::layout::records
