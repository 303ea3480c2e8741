#include "text/selection.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "model/coverage.hpp"
#include "model/number_text.hpp"

namespace sluice::cli {

namespace {

/// A bound of a range: from 0 to `size`, negative from the end.
std::uint64_t border(std::int64_t value, std::uint64_t size, const std::string& text,
                     const std::string& option) {
  const auto back = static_cast<std::uint64_t>(-(value + 1)) + 1;
  if (value < 0 ? back > size : static_cast<std::uint64_t>(value) > size) {
    throw Error(Code::out_of_bounds,
                fmt::format("{} {}: there are {}, numbered from 0", option, text, size));
  }
  return value < 0 ? size - back : static_cast<std::uint64_t>(value);
}

}  // namespace

Range parse_range(const std::string& text, std::uint64_t size, const std::string& option) {
  const std::size_t colon = text.find(':');
  const std::string head = text.substr(0, colon);
  const std::string tail = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto first = head.empty() ? 0 : model::number_in<std::int64_t>(head);
  const auto end = tail.empty() ? 0 : model::number_in<std::int64_t>(tail);
  if (colon == std::string::npos || !first || !end) {
    throw Error(Code::invalid_argument,
                fmt::format("{} {}: use a range a:b (b is not included), a: or :b", option, text));
  }
  Range range;
  range.first = border(*first, size, text, option);
  range.end = tail.empty() ? size : border(*end, size, text, option);
  if (range.end < range.first) {
    throw Error(Code::invalid_argument, fmt::format("{} {}: ends before it begins", option, text));
  }
  return range;
}

commit::StepRange parse_steps(const std::string& text, const std::string& option) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  std::array<std::optional<std::int64_t>, 3> numbers;
  bool is_range = parts.size() == 2 || parts.size() == 3;
  for (std::size_t i = 0; i < parts.size() && is_range; ++i) {
    numbers[i] = model::number_in<std::int64_t>(parts[i]);
    is_range = parts[i].empty() || numbers[i];
  }
  const std::int64_t stride = numbers[2].value_or(1);
  if (!is_range || stride < 1) {
    throw Error(Code::invalid_argument,
                fmt::format("{} {}: use a range a:b (b is not included) or a:b:k (one of k)",
                            option, text));
  }
  return {numbers[0].value_or(0), numbers[1], static_cast<std::uint64_t>(stride)};
}

std::uint64_t parse_index(std::int64_t index, std::uint64_t size, const std::string& option) {
  const std::uint64_t found = border(index, size, std::to_string(index), option);
  if (found == size) {
    throw Error(Code::out_of_bounds,
                fmt::format("{} {}: there are {}, numbered from 0", option, index, size));
  }
  return found;
}

model::Dims parse_list(const std::string& text, int rank, const std::string& option) {
  model::Dims dims;
  std::string_view rest = text;
  bool is_list = true;
  while (is_list) {
    const std::size_t comma = rest.find(',');
    const auto value = model::number_in<std::uint64_t>(rest.substr(0, comma));
    is_list = value && dims.rank() < rank;
    if (is_list) {
      dims.push_back(*value);
    }
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  if (!is_list || dims.rank() != rank) {
    throw Error(Code::invalid_argument,
                fmt::format("{} {}: use a list of {} integers, one for each dimension, "
                            "separated by commas",
                            option, text, rank));
  }
  return dims;
}

model::Box parse_box(const BoxRequest& request, const model::Dims& shape) {
  model::Box box = model::whole(shape);
  if (!request.rows.empty()) {
    if (shape.empty()) {
      throw Error(Code::invalid_argument, "--rows: a scalar has no rows");
    }
    const Range rows = parse_range(request.rows, shape[0], "--rows");
    box.start[0] = rows.first;
    box.count[0] = rows.end - rows.first;
    return box;
  }
  if (!request.start.empty()) {
    box.start = parse_list(request.start, shape.rank(), "--start");
    for (int d = 0; d < shape.rank(); ++d) {
      box.count[d] = shape[d] - std::min(shape[d], box.start[d]);
    }
  }
  if (!request.count.empty()) {
    box.count = parse_list(request.count, shape.rank(), "--count");
  }
  model::check_block(shape, box, "--start, --count");
  return box;
}

}  // namespace sluice::cli
