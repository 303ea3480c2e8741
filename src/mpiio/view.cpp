#include "mpiio/view.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::mpiio {

namespace {

bool ascends(const Flat& type) {
  for (std::size_t i = 1; i < type.runs.size(); ++i) {
    if (type.runs[i].offset < type.runs[i - 1].end()) {
      return false;
    }
  }
  // The next copy begins at the end of this one.
  return type.runs.empty() || type.runs.back().end() - type.runs[0].offset <= type.extent;
}

}  // namespace

View::View(std::int64_t displacement, std::shared_ptr<const Flat> file_type,
           std::int64_t element_bytes)
    : displacement_(displacement),
      type_(std::move(file_type)),
      element_bytes_(std::max<std::int64_t>(element_bytes, 1)),
      is_contiguous_(type_->is_dense()),
      is_ascending_(ascends(*type_)) {
  for (const Run& run : type_->runs) {
    type_end_ = std::max(type_end_, run.end());
  }
}

/// The copy of the file type that holds the last byte counts as a whole.
bool View::reaches(std::int64_t bytes) const {
  if (bytes < 0 || is_empty()) {
    return bytes == 0;
  }
  std::int64_t end = is_contiguous_ ? type_->runs[0].offset : type_end_;
  std::int64_t copies = bytes;
  if (!is_contiguous_ && __builtin_mul_overflow(bytes / type_->size, type_->extent, &copies)) {
    return false;
  }
  return !__builtin_add_overflow(end, std::max<std::int64_t>(copies, 0), &end) &&
         !__builtin_add_overflow(end, displacement_, &end);
}

std::int64_t View::file_offset(std::int64_t stream) const {
  if (is_contiguous_) {
    return displacement_ + type_->runs[0].offset + stream;
  }
  const std::int64_t within = stream % type_->size;
  const std::size_t index = type_->run_at(within);
  return displacement_ + stream / type_->size * type_->extent + type_->runs[index].offset +
         (within - type_->before[index]);
}

std::int64_t View::stream_below(std::int64_t offset) const {
  if (is_empty()) {
    return 0;
  }
  const std::int64_t first = displacement_ + type_->runs[0].offset;
  if (offset <= first) {
    return 0;
  }
  if (is_contiguous_) {
    return offset - first;
  }
  if (type_->extent == 0) {  // only one copy ascends
    return type_->size;
  }
  const std::int64_t tile = (offset - first) / type_->extent;
  const std::int64_t within = offset - displacement_ - tile * type_->extent;
  // The last run that begins before `within`.
  const auto above =
      std::lower_bound(type_->runs.begin(), type_->runs.end(), within,
                       [](const Run& run, std::int64_t at) { return run.offset < at; });
  if (above == type_->runs.begin()) {
    return tile * type_->size;
  }
  const auto index = static_cast<std::size_t>(above - type_->runs.begin()) - 1;
  const Run& run = type_->runs[index];
  return tile * type_->size + type_->before[index] + std::min(within - run.offset, run.length);
}

Run View::part_in(const Run& window, const Run& stream) const {
  const auto within = [&](std::int64_t offset) {
    return std::clamp(stream_below(offset), stream.offset, stream.end());
  };
  const std::int64_t from = within(window.offset);
  return {from, within(window.end()) - from};
}

std::int64_t View::pieces_of(const Run& stream) const {
  if (stream.length <= 0 || is_empty()) {
    return 0;
  }
  if (is_contiguous_) {
    return 1;
  }
  const auto index_of = [&](std::int64_t at) {
    return static_cast<std::int64_t>(type_->run_at(at % type_->size));
  };
  const std::int64_t last = stream.end() - 1;
  const std::int64_t copies = last / type_->size - stream.offset / type_->size;
  // Only the last run of a copy can touch another one: the first of the next copy.
  const bool touches = type_->runs.back().end() - type_->runs[0].offset == type_->extent;
  const std::int64_t runs = std::ssize(type_->runs) - (touches ? 1 : 0);
  return copies * runs + index_of(last) - index_of(stream.offset) + 1;
}

std::int64_t View::runs_in(std::int64_t length) const {
  if (length <= 0 || is_empty()) {
    return 0;
  }
  if (is_contiguous_) {
    return 1;
  }
  const double copies = static_cast<double>(length) / static_cast<double>(type_->size);
  const double runs = copies * static_cast<double>(type_->runs.size());
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(runs));
}

RunCursor::RunCursor(const View& view, std::int64_t stream, std::int64_t length)
    : view_(view), left_(view.is_empty() ? 0 : length) {
  if (left_ == 0) {
    return;
  }
  const Flat& type = view.file_type();
  if (view.is_contiguous()) {
    tile_ = view.displacement() + stream;
    return;
  }
  const std::int64_t within = stream % type.size;
  tile_ = view.displacement() + stream / type.size * type.extent;
  index_ = type.run_at(within);
  within_ = within - type.before[index_];
}

Run RunCursor::part(std::int64_t most) {
  const Flat& type = view_.file_type();
  const Run& run = type.runs[index_];
  const Run found{tile_ + run.offset + within_, std::min({run.length - within_, left_, most})};
  left_ -= found.length;
  within_ += found.length;
  if (within_ == run.length) {
    within_ = 0;
    if (++index_ == type.runs.size()) {
      index_ = 0;
      tile_ += type.extent;
    }
  }
  return found;
}

Run RunCursor::next(std::int64_t most) {
  if (left_ == 0 || most <= 0) {
    return {};
  }
  if (view_.is_contiguous()) {
    const Run found{tile_ + view_.file_type().runs[0].offset, std::min(left_, most)};
    tile_ += found.length;
    left_ -= found.length;
    return found;
  }
  Run found = part(most);
  while (left_ > 0 && found.length < most) {
    const Run& ahead = view_.file_type().runs[index_];
    if (tile_ + ahead.offset + within_ != found.end()) {
      break;
    }
    found.length += part(most - found.length).length;
  }
  return found;
}

}  // namespace sluice::mpiio
