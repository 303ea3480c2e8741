#include "text/array_printer.hpp"

#include <algorithm>

#include "text/text.hpp"

namespace sluice::cli {

namespace {

constexpr std::size_t columns = 80;
constexpr const char* gap = "  ";

}  // namespace

Odometer::Odometer(const model::Dims& shape)
    : shape_(shape), at_(model::Dims::filled(shape.rank(), 0)) {}

int Odometer::opening() const noexcept {
  int count = 0;
  while (count < at_.rank() && at_[at_.rank() - 1 - count] == 0) {
    ++count;
  }
  return count;
}

int Odometer::closing() const noexcept {
  int count = 0;
  while (count < at_.rank() && at_[at_.rank() - 1 - count] + 1 == shape_[at_.rank() - 1 - count]) {
    ++count;
  }
  return count;
}

void Odometer::advance() noexcept {
  for (int d = at_.rank() - 1; d >= 0 && ++at_[d] == shape_[d]; --d) {
    at_[d] = 0;
  }
}

std::size_t Fields::left_part(std::string_view value) const {
  switch (kind_) {
    case Kind::string:
      return 0;
    case Kind::f16:
    case Kind::f32:
    case Kind::f64: {
      // "inf" and "nan" have no digits and are aligned like integers
      const bool is_number = value.find_first_of("0123456789") != std::string_view::npos;
      return is_number ? std::min(value.find_first_of(".e"), value.size()) : value.size();
    }
    default:
      return width_of(value);
  }
}

void Fields::measure(std::string_view value) {
  const std::size_t left = left_part(value);
  left_ = std::max(left_, left);
  right_ = std::max(right_, width_of(value) - left);
}

void Fields::append(std::string& out, std::string_view value) const {
  const std::size_t left = left_part(value);
  out.append(left_ - std::min(left_, left), ' ');
  out += value;
  out.append(right_ - std::min(right_, width_of(value) - left), ' ');
}

ArrayPrinter::ArrayPrinter(const model::Dims& shape, const model::Dims& cut, const Fields& fields,
                           Sink sink)
    : odometer_(shape), cut_(cut), rank_(shape.rank()), fields_(fields), sink_(std::move(sink)) {
  if (shape.volume() == 0) {
    sink_("[]");
  }
}

void ArrayPrinter::break_line(int depth) {
  line_.erase(line_.find_last_not_of(' ') + 1);
  line_ += '\n';
  sink_(line_);
  line_.assign(static_cast<std::size_t>(depth), ' ');
}

void ArrayPrinter::before(int opening) {
  if (opening == 0) {
    if (cut_[rank_ - 1] != 0 && odometer_.at()[rank_ - 1] == cut_[rank_ - 1]) {
      line_ += gap;
      line_ += "...";
    }
    if (line_.size() + 2 + fields_.width() + 1 > columns) {
      break_line(rank_);
    } else {
      line_ += gap;
    }
    return;
  }
  if (!is_first_) {
    break_line(rank_ - opening);
    const int dim = rank_ - 1 - opening;  // the dimension that advanced
    const auto separate = [&] {
      if (opening > 1) {
        line_.clear();
        break_line(rank_ - opening);  // an empty line between matrices
      }
    };
    separate();
    if (cut_[dim] != 0 && odometer_.at()[dim] == cut_[dim]) {
      line_ += "...";
      break_line(rank_ - opening);
      separate();
    }
  }
  line_.append(static_cast<std::size_t>(opening), '[');
}

void ArrayPrinter::add(std::string_view value) {
  const int opening = odometer_.opening();
  if (rank_ > 0) {
    before(opening);
  }
  fields_.append(line_, value);
  const int closing = odometer_.closing();
  if (rank_ > 0 && closing > 0) {
    line_.append(static_cast<std::size_t>(closing), ']');
  }
  is_first_ = false;
  odometer_.advance();
}

void ArrayPrinter::finish() {
  line_ += '\n';
  sink_(line_);
  line_.clear();
}

}  // namespace sluice::cli
