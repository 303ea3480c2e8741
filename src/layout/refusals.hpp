// What one file refuses of definitions that its format takes, and the refusal to write a variable
// again. Rank 0 finds the former as it opens the file; all ranks refuse the same.
#pragma once

#include <string>
#include <vector>

#include "model/bytes.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// Error unsupported for what a commit has written already: committed data is never overwritten in
/// place. `what`: the name of the variable.
[[noreturn]] void refuse_rewriting(const std::string& what,
                                   const std::string& remedy = "define it with steps");

struct Refusals {
  /// An array or a group of another program that is none of the variables.
  struct Node {
    std::string name;
    bool is_array = false;
  };
  std::vector<Node> nodes;
  std::string no_partial;  ///< why partial variables are refused; empty: they are not

  /// Error exists or unsupported for one of them; nothing was changed.
  void check(const model::Definition& definition) const;

  void write_to(model::ByteWriter& out) const;
  static Refusals read_from(model::ByteReader& in);
};

}  // namespace sluice::layout
