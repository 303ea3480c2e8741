// NAMD's binary coordinates and velocities: an int32 number of atoms, and three float64 for each.
// One fixed array, everything at known offsets; it has no magic number, so a file is one if its
// length matches its number. Either byte order is read, little-endian is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/commit_history.hpp"
#include "layout/layout.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::namdbin {

inline constexpr std::uint64_t header_bytes = 4;
inline constexpr std::uint64_t atom_bytes = 24;

struct Shape {
  std::uint64_t atoms = 0;
  bool big_endian = false;
};
/// Empty if the length of `file` matches in neither byte order.
std::optional<Shape> shape_in(storage::File& file);

/// Why it cannot be stored; "" if it can.
std::string refusal(const model::Definition& definition);

class NamdbinPlanner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner. (Nothing can be
  /// appended: the one array is complete once it is written.)
  static std::unique_ptr<NamdbinPlanner> create(storage::File& file);

  const char* format() const override { return "namdbin"; }
  const std::vector<model::Definition>& known() const override { return definitions_; }
  std::uint64_t steps() const override { return 0; }
  std::uint64_t committed_end() const override { return in_file().has_header ? end() : 0; }
  void define(const model::Definition& definition) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t, std::int64_t) override {}
  void make_all() override;
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override { history_.commit(); }
  void abandon() override;

 private:
  explicit NamdbinPlanner(storage::File& file) : file_(file) {}
  std::uint64_t end() const;

  storage::File& file_;
  std::vector<model::Definition> definitions_;  ///< none or one
  bool is_placed_ = false;
  bool must_fill_ = false;  ///< no rank put it: the last commit fills it
  struct State {
    bool placed = false;
    bool has_header = false;
  };
  const State& in_file() const { return history_.committed(); }
  CommitHistory<State> history_;
};

class NamdbinCatalog final : public Catalog {
 public:
  /// Error format if the length does not match. The array is named after the file, and is found by
  /// every name.
  static std::unique_ptr<NamdbinCatalog> open(storage::File& file);

  const char* format() const override { return "namdbin"; }
  std::string title() const override { return "NAMD binary"; }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;

 private:
  explicit NamdbinCatalog(const Shape& shape);
};

}  // namespace sluice::layout::namdbin
