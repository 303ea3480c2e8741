// The values of every element of every test variable, and the boxes of the ranks.
#pragma once

#include <complex>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <sluice/sluice.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "model/box.hpp"
#include "model/random_boxes.hpp"

namespace sluice::test {

inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// The value of element `index` (row-major in the whole variable) under `key`; never 0 for numbers,
/// so that elements that were not written are detected.
template <class T>
T value_at(std::uint64_t key, std::uint64_t index) {
  const std::uint64_t bits = mixed(key * 0x10001 + index);
  if constexpr (std::is_same_v<T, bool>) {
    return (bits >> 17 & 1) != 0;
  } else if constexpr (std::is_same_v<T, Float16>) {
    const auto whole = static_cast<std::int64_t>(bits >> 53) - (1 << 10);
    return Float16(static_cast<double>(whole == 0 ? 1 : whole) / 64);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto whole = static_cast<std::int64_t>(bits >> 40) - (1 << 23);
    return static_cast<T>(whole == 0 ? 1 : whole) / T{64};
  } else if constexpr (std::is_integral_v<T>) {
    const T value = static_cast<T>(bits);
    return value == 0 ? T{1} : value;
  } else {
    using Part = typename T::value_type;
    return {value_at<Part>(key, 2 * index), value_at<Part>(key + 1, 2 * index + 1)};
  }
}

inline model::Dims dims_of(const Shape& shape) {
  return model::Dims(std::span<const std::uint64_t>(shape));
}
inline Shape shape_of(const model::Dims& dims) { return {dims.begin(), dims.end()}; }

/// Calls visit(row-major index in `shape`, row-major index in the box) for each element of a box.
template <class Visit>
void for_each_element(const model::Dims& shape, const model::Box& box, Visit&& visit) {
  if (box.empty()) {
    return;
  }
  model::Dims at = box.start;
  for (std::uint64_t k = 0;; ++k) {
    std::uint64_t index = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      index = index * shape[d] + at[d];
    }
    visit(index, k);
    int d = shape.rank() - 1;
    while (d >= 0 && ++at[d] == box.end(d)) {
      at[d] = box.start[d];
      --d;
    }
    if (d < 0) {
      return;
    }
  }
}

/// Plain arrays of T, because std::vector<bool> is not one.
template <class T>
class Array {
 public:
  explicit Array(std::uint64_t size, T value = T{}) : size_(size), data_(new T[size + 1]) {
    std::fill(data_.get(), data_.get() + size + 1, value);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::uint64_t i) { return data_[i]; }
  const T& operator[](std::uint64_t i) const { return data_[i]; }
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_;
  std::unique_ptr<T[]> data_;  // never null, so that a zero-size block has an address
};

/// The values of a box, dense.
template <class T>
Array<T> values_of(std::uint64_t key, const model::Dims& shape, const model::Box& box) {
  Array<T> values(box.volume());
  for_each_element(shape, box, [&](std::uint64_t index, std::uint64_t k) {
    values[k] = value_at<T>(key, index);
  });
  return values;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

inline Selection selection_of(const model::Box& box) {
  Selection selection;
  selection.start = shape_of(box.start);
  selection.count = shape_of(box.count);
  return selection;
}

/// Puts boxes with their values, and keeps them until its destruction.
template <class T>
class Giver {
 public:
  /// To a Step or a File.
  template <class Target>
  void put(Target& target, Variable variable, std::uint64_t key, const Shape& shape,
           const model::Box& box) {
    held_.push_back(values_of<T>(key, dims_of(shape), box));
    target.template put<T>(variable, held_.back().data(), selection_of(box));
  }

 private:
  std::deque<Array<T>> held_;
};

/// As it is printed: a byte as its number.
template <class T>
auto shown(const T& value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return static_cast<float>(value);
  } else {
    return +value;
  }
}

/// Compares a dense array with the values of a box; reports the first difference only.
template <class T>
void expect_box(const Array<T>& got, std::uint64_t key, const Shape& shape, const model::Box& box,
                const std::string& what) {
  std::uint64_t wrong = 0;
  std::ostringstream first;
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    const T expected = value_at<T>(key, index);
    if (!same_bits(got[k], expected) && wrong++ == 0) {
      first << "element " << index << " is " << shown(got[k]) << ", not " << shown(expected);
    }
  });
  EXPECT_EQ(wrong, 0u) << what << " " << box.text() << " of " << dims_of(shape).text() << ": "
                       << first.str();
}

/// Collective: each rank gets its box and compares.
template <class T>
void expect_values(File& in, const std::string& name, std::uint64_t key, const Shape& shape,
                   const model::Box& box, std::uint64_t step = 0) {
  Array<T> got(box.volume());
  in.get<T>(in.find(name), got.data(), selection_of(box), step);
  expect_box(got, key, shape, box, name + " step " + std::to_string(step));
}

inline model::Box whole_box(const Shape& shape) { return model::whole(dims_of(shape)); }

/// Rows [N*r/P, N*(r+1)/P) of a shape; all of a scalar on rank 0.
inline model::Box slab(const Shape& shape, int rank, int ranks) {
  model::Box box = whole_box(shape);
  if (shape.empty()) {
    return box;
  }
  const auto r = static_cast<std::uint64_t>(rank);
  const auto p = static_cast<std::uint64_t>(ranks);
  box.start[0] = shape[0] * r / p;
  box.count[0] = shape[0] * (r + 1) / p - box.start[0];
  return box;
}

/// `shape` divided at random among `ranks` ranks, several boxes or none for each; the same on every
/// rank for one seed.
inline std::vector<std::vector<model::Box>> deal(const Shape& shape, int ranks, std::uint64_t seed,
                                                 int depth = 4) {
  Random random(seed);
  std::vector<model::Box> pieces;
  cut(random, whole_box(shape), depth, pieces);
  std::shuffle(pieces.begin(), pieces.end(), random);
  std::vector<std::vector<model::Box>> dealt(static_cast<std::size_t>(ranks));
  for (const model::Box& piece : pieces) {
    dealt[pick(random, 0, static_cast<std::uint64_t>(ranks) - 1)].push_back(piece);
  }
  return dealt;
}

/// The result of deal() for one rank.
inline std::vector<model::Box> dealt_to(int rank, int ranks, const Shape& shape,
                                        std::uint64_t seed) {
  return deal(shape, ranks, seed)[static_cast<std::size_t>(rank)];
}

}  // namespace sluice::test
