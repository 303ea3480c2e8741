// What a rank says that an output consists of: its variables, their attributes, and the rows that
// varying variables have in the step under way.
//
// Invariants: the digest covers every definition and attribute in order, so that ranks with equal
// digests have described the same; what the file's writer then refused is in it, for it may have
// been refused on one rank only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commit/output/names.hpp"
#include "exec/transport/disagree.hpp"
#include "layout/formats.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

class Description {
 public:
  template <class Thing>
  using Accept = std::function<void(const Thing&)>;

  /// What is there already, in a file of `format`.
  void adopt(const std::vector<model::Definition>& known, const layout::Format& format);

  const layout::Format& format() const noexcept { return *format_; }
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::optional<std::uint32_t> find(const std::string& name) const { return names_.find(name); }
  /// Of a file that is there and keeps no names: its variable answers to every name until define()
  /// gives it one.
  bool is_nameless() const noexcept { return is_nameless_; }

  /// The index of the variable that `definition` means. `accept` is called with what is new (of a
  /// varying variable its companion too) once it was found right; what it throws refuses it.
  std::uint32_t define(const model::Definition& definition,
                       const Accept<model::Definition>& accept);
  void set_attribute(const model::Attribute& attribute, const Accept<model::Attribute>& accept);
  /// Error where there is no such variable, or not at this time.
  const model::Definition& require(std::uint32_t variable, bool in_step) const;

  // -- the step under way -------------------------------------------------------------------------
  /// Varying variables have all the rows that they may have.
  void reset_rows();
  /// Before anything of the variable is put.
  void resize(std::uint32_t variable, std::uint64_t rows);
  /// Something was put: the rows of this step stay as they are.
  void settle_rows(std::uint32_t variable);
  /// The variable has as many rows as the ranks join. Before anything else is said of its rows.
  void expect_joined(std::uint32_t variable);
  /// The rows that the ranks joined, the same on every rank. Error out_of_bounds.
  void join(std::uint32_t variable, std::uint64_t rows);
  const std::vector<std::uint64_t>& row_counts() const noexcept { return row_counts_; }
  model::Dims shape_of(std::uint32_t variable) const;
  /// As of a variable that has the rows of this step always.
  model::Definition step_definition(std::uint32_t variable) const;

  // -- agreeing -----------------------------------------------------------------------------------
  /// Of everything that all ranks must say alike.
  std::uint64_t digest() const;
  /// What was said since the last forget_said(), and this step's rows, in words.
  std::vector<exec::Said> said(bool in_step) const;
  void forget_said() { said_.clear(); }

 private:
  std::uint32_t add(const model::Definition& definition, const Accept<model::Definition>& accept);
  std::optional<std::uint32_t> find_same(const model::Definition& definition);

  const layout::Format* format_ = nullptr;
  std::vector<model::Definition> definitions_;
  Names names_;               ///< of the definitions; none of one that has none yet
  bool is_nameless_ = false;  ///< the appended variable has not been given its name
  enum class RowState : std::uint8_t { open, resized, put, joined };
  std::vector<RowState> row_states_;       ///< by variable: what was said of the step's rows
  std::vector<std::uint64_t> row_counts_;  ///< by variable: of the step under way
  std::uint64_t digest_ = 0;               ///< of all definitions and attributes in order
  std::vector<exec::Said> said_;
};

}  // namespace sluice::commit
