#include "plugin/held_writes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::plugin {

HeldWrites::HeldWrites(storage::Storage& storage, std::string spill_path,
                       std::uint64_t budget_bytes)
    : storage_(storage), spill_path_(std::move(spill_path)), budget_bytes_(budget_bytes) {}

void HeldWrites::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (memory_.held_bytes() + bytes.size() > budget_bytes_) {
    spill();
  }
  if (bytes.size() > budget_bytes_) {
    put_spilled(offset, bytes);
  } else {
    put_in_memory(offset, bytes);
  }
}

void HeldWrites::put_in_memory(std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto fits = [&](const std::vector<std::byte>& run) {
    return run.capacity() >= bytes.size() && run.capacity() / 2 <= bytes.size();
  };
  const auto spare = std::find_if(spare_.begin(), spare_.end(), fits);
  if (spare == spare_.end() || memory_.touches(offset, bytes.size())) {
    memory_.write(offset, bytes);
    return;
  }
  spare->assign(bytes.begin(), bytes.end());
  memory_.adopt(offset, std::move(*spare));
  spare_.erase(spare);
}

void HeldWrites::read_over(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::uint64_t end = offset + bytes.size();
  auto next = spilled_.upper_bound(offset);
  if (next != spilled_.begin()) {
    --next;
  }
  for (; next != spilled_.end() && next->first < end; ++next) {
    const std::uint64_t from = std::max(offset, next->first);
    const std::uint64_t to = std::min(end, next->first + next->second.length);
    if (from >= to) {
      continue;
    }
    const auto part = bytes.subspan(from - offset, to - from);
    if (spill_->read(next->second.at + (from - next->first), part) != part.size()) {
      throw Error(Code::truncated, spill_path_ + ": held less than was written to it");
    }
  }
  memory_.read_over(offset, bytes);
}

bool HeldWrites::touches(std::uint64_t offset, std::uint64_t length) const {
  const auto next = spilled_.lower_bound(offset + length);
  const bool is_spilled =
      next != spilled_.begin() && std::prev(next)->first + std::prev(next)->second.length > offset;
  return memory_.touches(offset, length) || is_spilled;
}

std::span<const std::byte> HeldWrites::view(std::uint64_t offset, std::uint64_t length) const {
  const auto next = memory_.runs().upper_bound(offset);
  if (next == memory_.runs().begin()) {
    return {};
  }
  const auto& [begin, bytes] = *std::prev(next);
  const bool is_inside = offset - begin < bytes.size() && length <= bytes.size() - (offset - begin);
  return is_inside ? std::span(bytes).subspan(offset - begin, length)
                   : std::span<const std::byte>();
}

std::vector<HeldWrites::Range> HeldWrites::ranges(std::uint64_t most_bytes) const {
  std::vector<Range> all;
  all.reserve(spilled_.size() + memory_.runs().size());
  for (const auto& [offset, run] : spilled_) {
    all.push_back({offset, run.length});
  }
  for (const auto& [offset, bytes] : memory_.runs()) {
    all.push_back({offset, bytes.size()});
  }
  std::sort(all.begin(), all.end(),
            [](const Range& a, const Range& b) { return a.offset < b.offset; });
  std::vector<Range> joined;
  for (const Range& range : all) {
    if (!joined.empty() && range.offset <= joined.back().offset + joined.back().length) {
      Range& last = joined.back();
      last.length = std::max(last.length, range.offset + range.length - last.offset);
    } else {
      joined.push_back(range);
    }
  }
  std::vector<Range> cut;
  for (const Range& range : joined) {
    for (std::uint64_t done = 0; done < range.length; done += most_bytes) {
      cut.push_back({range.offset + done, std::min(most_bytes, range.length - done)});
    }
  }
  return cut;
}

void HeldWrites::write_to(storage::File& file, std::uint64_t from, FreshRanges& written) const {
  constexpr std::uint64_t piece_bytes = 1 << 20;
  std::vector<std::byte> bytes;
  for (const Range& range : ranges(piece_bytes)) {
    const std::uint64_t begin = std::max(range.offset, from);
    const std::uint64_t end = range.offset + range.length;
    if (begin < end) {
      bytes.assign(end - begin, std::byte{0});
      read_over(begin, bytes);
      file.write(begin, bytes);
      written.add(begin, bytes);
    }
  }
}

void HeldWrites::clear() {
  constexpr std::size_t least_spare_bytes = 128 << 10;
  constexpr std::size_t most_spare_bytes = 16 << 20;
  spare_.clear();
  std::size_t spare_bytes = 0;
  auto runs = memory_.take_runs();
  for (auto& [offset, run] : runs) {
    const bool is_kept =
        run.size() >= least_spare_bytes && run.capacity() <= most_spare_bytes - spare_bytes;
    if (is_kept) {
      spare_bytes += run.capacity();
      spare_.push_back(std::move(run));
    }
  }
  spilled_.clear();
  spilled_bytes_ = spill_end_ = 0;
  spill_.reset();
}

void HeldWrites::drop_from(std::uint64_t from) {
  cut_spilled(from, std::numeric_limits<std::uint64_t>::max() - from);
  model::Overlay kept;
  for (const auto& [offset, bytes] : memory_.runs()) {
    if (offset < from) {
      kept.write(offset, std::span(bytes).first(std::min(bytes.size(), from - offset)));
    }
  }
  memory_ = std::move(kept);
}

void HeldWrites::open_spill() {
  if (storage_.exists(spill_path_)) {
    storage_.remove(spill_path_);  // of a process that ended between the next two calls
  }
  spill_ = storage_.open(spill_path_, storage::Access::create);
  storage_.remove(spill_path_);
  spill_end_ = 0;
}

void HeldWrites::spill() {
  for (const auto& [offset, bytes] : memory_.runs()) {
    put_spilled(offset, bytes);
  }
  memory_.clear();
}

void HeldWrites::put_spilled(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!spill_) {
    open_spill();
  }
  const auto same = spilled_.find(offset);
  if (same != spilled_.end() && same->second.length == bytes.size()) {
    spill_->write(same->second.at, bytes);
    return;
  }
  if (spill_end_ + bytes.size() > 2 * (spilled_bytes_ + bytes.size()) + 2 * budget_bytes_) {
    compact();
  }
  spill_->write(spill_end_, bytes);
  cut_spilled(offset, bytes.size());
  spilled_[offset] = {bytes.size(), spill_end_};
  spilled_bytes_ += bytes.size();
  spill_end_ += bytes.size();
}

/// What is in [offset, offset + length) is not valid any more.
void HeldWrites::cut_spilled(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  auto next = spilled_.upper_bound(offset);
  if (next != spilled_.begin()) {
    --next;
  }
  while (next != spilled_.end() && next->first < end) {
    const auto [begin, run] = *next;
    const std::uint64_t run_end = begin + run.length;
    if (run_end <= offset) {
      ++next;
      continue;
    }
    next = spilled_.erase(next);
    spilled_bytes_ -= run.length;
    if (begin < offset) {
      spilled_[begin] = {offset - begin, run.at};
      spilled_bytes_ += offset - begin;
    }
    if (run_end > end) {
      spilled_[end] = {run_end - end, run.at + (end - begin)};
      spilled_bytes_ += run_end - end;
      return;
    }
  }
}

/// Copies what is valid to a new file.
void HeldWrites::compact() {
  constexpr std::uint64_t piece_bytes = 1 << 20;
  std::unique_ptr<storage::File> old = std::move(spill_);
  const std::uint64_t old_end = spill_end_;
  std::map<std::uint64_t, Spilled> moved = spilled_;
  try {
    open_spill();
    std::vector<std::byte> piece;
    for (auto& [offset, run] : moved) {
      const std::uint64_t from = std::exchange(run.at, spill_end_);
      for (std::uint64_t done = 0; done < run.length; done += piece.size()) {
        piece.resize(std::min(piece_bytes, run.length - done));
        if (old->read(from + done, piece) != piece.size()) {
          throw Error(Code::truncated, spill_path_ + ": held less than was written to it");
        }
        spill_->write(spill_end_ + done, piece);
      }
      spill_end_ += run.length;
    }
  } catch (...) {
    spill_ = std::move(old);
    spill_end_ = old_end;
    throw;
  }
  spilled_ = std::move(moved);
}

void cut(std::vector<HeldWrites::Range>& ranges, std::uint64_t offset, std::uint64_t length) {
  if (ranges.empty()) {
    return;
  }
  std::vector<HeldWrites::Range> left;
  for (const HeldWrites::Range& range : ranges) {
    const std::uint64_t end = range.offset + range.length;
    const std::uint64_t from = std::clamp(offset, range.offset, end);
    const std::uint64_t to = std::clamp(offset + length, range.offset, end);
    if (range.offset < from) {
      left.push_back({range.offset, from - range.offset});
    }
    if (to < end) {
      left.push_back({to, end - to});
    }
  }
  ranges = std::move(left);
}

}  // namespace sluice::plugin
