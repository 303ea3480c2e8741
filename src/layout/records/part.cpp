#include "layout/records/part.hpp"

#include <algorithm>
#include <cstdlib>

#include "sluice/error.hpp"

namespace sluice::layout::records {

// -- writing --------------------------------------------------------------------------------------

void PartWriter::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

bool PartWriter::grow(std::size_t bytes) noexcept {
  constexpr std::size_t least_bytes = 64 << 10;
  const auto used = static_cast<std::size_t>(place_.at - memory_.get());
  const auto room = static_cast<std::size_t>(place_.end - memory_.get());
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
  place_.at = larger + used;
  place_.end = larger + wanted;
  return true;
}

bool PartWriter::close_run() noexcept {
  try {
    coder_.add(place_.run);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::span<const std::byte> PartWriter::signature() {
  if (place_.run.count != 0) {
    coder_.add(place_.run);
    place_.run = {};
  }
  return coder_.finish();
}

void PartWriter::restart() {
  place_.at = memory_.get();
  place_.run = {};
  coder_.restart();
}

// -- reading --------------------------------------------------------------------------------------

void PartReader::add(std::span<const std::byte> signature, std::span<std::byte> payload,
                     std::string name) {
  parts_.push_back({signature, payload, std::move(name)});
}

void PartReader::clear() {
  parts_.clear();
  next_part_ = 0;
  place_.run = {};
  signature_ = {};
  place_.at = place_.end = nullptr;
}

/// Moves to the next run if nothing is left of this one; false at the end of all parts.
bool PartReader::advance() {
  while (place_.run.count == 0) {
    if (signature_.next(place_.run)) {
      const std::uint64_t room =
          static_cast<std::uint64_t>(place_.end - place_.at) / scalar_bytes(place_.run.code);
      if (place_.run.count > room) {
        throw Error(Code::damaged,
                    parts_[next_part_ - 1].name + ": its signature has more values than there are");
      }
      continue;
    }
    place_.run = {};
    if (place_.at != place_.end) {
      throw Error(Code::damaged,
                  parts_[next_part_ - 1].name + ": its signature has fewer values than there are");
    }
    if (next_part_ == parts_.size()) {
      return false;
    }
    const Part& part = parts_[next_part_++];
    signature_ = SignatureReader(part.signature);
    place_.at = part.payload.data();
    place_.end = place_.at + part.payload.size();
  }
  return true;
}

bool PartReader::at_end() { return !advance(); }

void PartReader::refuse(ScalarCode code) const {
  if (place_.run.count == 0) {
    throw Error(Code::out_of_bounds, "the record group has no further " + scalar_name(code) +
                                         ": all of it has been read");
  }
  throw Error(Code::type_mismatch, parts_[next_part_ - 1].name + ": the next value is " +
                                       scalar_name(place_.run.code) + ", but " + scalar_name(code) +
                                       " was requested: read what was written, in the same order");
}

void PartReader::read_across(ScalarCode code, void* data, std::uint64_t count) {
  const std::uint64_t size = scalar_bytes(code);
  auto* out = static_cast<std::byte*>(data);
  while (count != 0) {
    if (!advance() || place_.run.code != code) {
      refuse(code);
    }
    const std::uint64_t now = std::min(count, place_.run.count);
    std::memcpy(out, place_.at, now * size);
    out += now * size;
    place_.at += now * size;
    place_.run.count -= now;
    count -= now;
  }
}

}  // namespace sluice::layout::records
