// A rank's description of an output: its variables, their attributes, and the rows of varying
// variables in the current step.
//
// Invariants: the digest covers every definition in order, and every attribute but its value, which
// may come from a rank's clock (rank 0's is stored): ranks with equal digests have described the
// same. It also covers what a definition adds to a variable of an existing file, and definitions
// that the file's writer refused, because they may have been refused on one rank only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commit/output/names.hpp"
#include "exec/transport/disagree.hpp"
#include "layout/formats/formats.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

class Description {
 public:
  template <class Thing>
  using Accept = std::function<void(const Thing&)>;

  /// The variables of an existing file of `format`. `has_times`: it has the library's own `time`,
  /// which may be none of them.
  void adopt(const std::vector<model::Definition>& known, const layout::Format& format,
             bool has_times);

  const layout::Format& format() const noexcept { return *format_; }
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::optional<std::uint32_t> find(const std::string& name) const { return names_.find(name); }
  /// For an existing file without names: its variable is found by every name until define() gives
  /// it one.
  bool is_nameless() const noexcept { return is_nameless_; }

  /// The index of the variable that `definition` describes. `accept` is called with a new
  /// definition (and with the companion of a varying variable) once it was found valid; its
  /// exceptions refuse it. Error exists if a variable of that name was defined otherwise.
  /// `default_compress`: of a large variable that says none.
  std::uint32_t define(const model::Definition& definition, const Accept<model::Definition>& accept,
                       const std::string& default_compress = {});
  void set_attribute(const model::Attribute& attribute, const Accept<model::Attribute>& accept);
  /// Error if there is no such variable, or it cannot be put now.
  const model::Definition& require(std::uint32_t variable, bool in_step) const;

  // -- the current step
  // -----------------------------------------------------------------------------
  /// The number of rows of varying variables is their maximum.
  void reset_rows();
  /// Before anything of the variable is put.
  void resize(std::uint32_t variable, std::uint64_t rows);
  /// Something was put: the number of rows in this step is fixed.
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
  /// The digest of everything that must be the same on all ranks.
  std::uint64_t digest() const;
  /// The statements since the last settle(), and the rows of this step, as text.
  std::vector<exec::Said> said(bool in_step) const;
  /// All ranks have said the same, and it becomes part of the file. `time`: of the step.
  void settle(std::optional<double> time);

 private:
  /// Error exists for a new variable that is, or hides, the library's own `time`.
  void refuse_own_time(const std::string& name) const;
  /// The variable that `definition` describes, or nothing where it may be added; completes it.
  std::optional<std::uint32_t> check(model::Definition& definition,
                                     const std::string& default_compress);
  std::uint32_t add(const model::Definition& definition, const Accept<model::Definition>& accept);
  std::optional<std::uint32_t> find_same(const model::Definition& definition, bool gives_compress);
  void note(const model::Definition& definition, const exec::Said& said);

  const layout::Format* format_ = nullptr;
  std::vector<model::Definition> definitions_;
  std::size_t old_count_ = 0;  ///< the first so many are those of the existing file
  Names names_;                ///< of the definitions; none of one that has none yet
  bool is_nameless_ = false;   ///< the appended variable has not been given its name
  std::optional<layout::Definitions> checked_;  ///< what the format remembers of them
  enum class TimeVariable : std::uint8_t { none, own, callers };
  /// Whose `time` is, once a step has a time.
  TimeVariable time_variable_ = TimeVariable::none;
  enum class RowState : std::uint8_t { open, resized, put, joined };
  std::vector<RowState> row_states_;       ///< by variable: what is known of its rows in this step
  std::vector<std::uint64_t> row_counts_;  ///< by variable: of the current step
  std::uint64_t digest_ = 0;               ///< of all definitions and attributes in order
  std::vector<exec::Said> said_;
};

}  // namespace sluice::commit
