#include "model/dims.hpp"

namespace sluice::model {

std::uint64_t Dims::volume() const {
  std::uint64_t product = 1;
  bool too_large = false;
  for (std::uint64_t value : *this) {
    if (value == 0) {
      return 0;  // also overflows if only the other extents are too large
    }
    too_large |= __builtin_mul_overflow(product, value, &product);
  }
  if (too_large) {
    throw Error(Code::out_of_bounds, "shape " + text() + " has more than 2^64 elements");
  }
  return product;
}

std::string Dims::text() const {
  std::string out = "(";
  for (int i = 0; i < rank_; ++i) {
    out += i > 0 ? ", " : "";
    out += std::to_string((*this)[i]);
  }
  return out + ")";
}

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, const char* what) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw Error(Code::out_of_bounds, std::string(what) + ": " + std::to_string(a) + " times " +
                                         std::to_string(b) + " exceeds 64 bits");
  }
  return product;
}

}  // namespace sluice::model
