// The content of a file of format `records`: the sum of its entries.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/records/log.hpp"

namespace sluice::layout::records {

class RecordsCatalog final : public Catalog {
 public:
  /// Reads every entry of `file`, which must outlive the catalog.
  static std::unique_ptr<RecordsCatalog> open(storage::File& file);

  const char* format() const override { return "records"; }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  std::vector<std::uint64_t> rows_by_step(std::uint32_t variable) override;
  std::vector<std::uint64_t> checksum_words(const CommitRow& commit) override;
  std::vector<model::Attribute> attributes() override { return attributes_; }

  // -- for a planner that continues the file
  // --------------------------------------------------
  const Root& root() const noexcept { return root_; }
  /// The end of the newest entry.
  std::uint64_t end() const noexcept { return root_.offset + root_.bytes; }
  /// Has a fixed variable been written?
  bool holds_fixed(std::uint32_t variable) const { return fixed_[variable].address != absent; }

 private:
  RecordsCatalog(storage::File& file, const Root& root);
  void add(const Entry& entry);
  void add(const model::Attribute& attribute);
  void drop_later_steps();
  void check(const Section& section) const;

  storage::File& file_;
  Root root_;
  std::vector<Section> fixed_;                             ///< by variable
  std::vector<std::map<std::uint64_t, Section>> stepped_;  ///< by variable, then step
  std::vector<model::Attribute> attributes_;
};

}  // namespace sluice::layout::records
