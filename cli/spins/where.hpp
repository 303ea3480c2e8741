// Conditions on an atom: `sz < 0 and material == 1`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cli {

/// The values of one atom that a condition may use.
struct AtomValues {
  double x = 0, y = 0, z = 0;     ///< Angstrom
  double sx = 0, sy = 0, sz = 0;  ///< of its spin
  double material = 0, category = 0, id = 0, moment = 0;
};

class Where {
 public:
  /// Numbers, names of AtomValues, + - * / , < <= > >= == != , and or not (also && || !), brackets.
  /// Error invalid_argument shows the position.
  explicit Where(const std::string& text);
  bool holds(const AtomValues& atom) const;

 private:
  friend class WhereParser;
  /// Nodes refer to earlier nodes; the last one is the root.
  struct Node {
    char kind = 0;  ///< 'n' number, 'v' value, else an operator
    double number = 0;
    double AtomValues::*value = nullptr;
    std::size_t left = 0;
    std::size_t right = 0;
  };
  double evaluate(std::size_t node, const AtomValues& atom) const;
  std::vector<Node> nodes_;
};

}  // namespace sluice::cli
