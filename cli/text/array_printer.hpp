// Prints an array as rows of aligned values in brackets, like numpy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/dims.hpp"
#include "sluice/types.hpp"

namespace sluice::cli {

/// Receives pieces of the output in order.
using Sink = std::function<void(std::string_view)>;

/// Counts through an array in row-major order.
class Odometer {
 public:
  explicit Odometer(const model::Dims& shape);
  const model::Dims& at() const noexcept { return at_; }
  /// The number of last dimensions that begin (end) with the current element: 0 .. rank.
  int opening() const noexcept;
  int closing() const noexcept;
  void advance() noexcept;

 private:
  model::Dims shape_;
  model::Dims at_;
};

/// The width of values: numbers are aligned at their decimal points, texts at the left.
class Fields {
 public:
  explicit Fields(const Type& type) : kind_(type.kind) {}
  void measure(std::string_view value);
  std::size_t width() const noexcept { return left_ + right_; }
  void append(std::string& out, std::string_view value) const;

 private:
  std::size_t left_part(std::string_view value) const;

  Kind kind_;
  std::size_t left_ = 0;
  std::size_t right_ = 0;
};

class ArrayPrinter {
 public:
  /// shape: of the elements to be added. cut: for each dimension, 0 or the index before which
  /// elements were left out (shown as "...").
  ArrayPrinter(const model::Dims& shape, const model::Dims& cut, const Fields& fields, Sink sink);
  /// The next element in row-major order.
  void add(std::string_view value);
  /// After the last element.
  void finish();

 private:
  void break_line(int depth);
  void before(int opening);

  Odometer odometer_;
  model::Dims cut_;
  int rank_;
  Fields fields_;
  Sink sink_;
  std::string line_;
  bool is_first_ = true;
};

}  // namespace sluice::cli
