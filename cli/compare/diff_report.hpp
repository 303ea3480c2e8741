// The findings of diff, and their text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/compare.hpp"
#include "model/definition.hpp"

namespace sluice::cli {

/// A variable of either file.
struct VariableResult {
  std::string name;
  std::vector<std::string> structure;  ///< "type: int32 against int64", "only in A", ...
  bool is_stepped = false;
  Differences differences;
  bool is_equal() const { return structure.empty() && differences.differing == 0; }
};

/// An attribute that is not the same in both files.
struct AttributeResult {
  std::string owner;  ///< "" the file
  std::string name;
  std::string a;  ///< as text; "" if it is missing
  std::string b;
  bool in_a = false;
  bool in_b = false;
};

struct DiffReport {
  std::string a;
  std::string b;
  Tolerance tolerance;
  std::vector<VariableResult> variables;
  std::vector<AttributeResult> attributes;
  std::uint64_t attributes_compared = 0;
  /// Datasets and attributes of types that Sluice cannot read.
  std::vector<std::string> not_compared;
  std::uint64_t bytes = 0;  ///< compared, of each file
  double seconds = 0;

  std::size_t differing_variables() const;
  bool is_equal() const { return differing_variables() == 0 && attributes.empty(); }
  std::string text() const;
  nlohmann::ordered_json json() const;
};

/// The attributes that differ between two lists, in the order of the first; counts all into
/// `compared`.
std::vector<AttributeResult> compare_attributes(const std::vector<model::Attribute>& a,
                                                const std::vector<model::Attribute>& b,
                                                std::uint64_t& compared);

}  // namespace sluice::cli
