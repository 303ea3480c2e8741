// The metadata of a file that is being read, on rank 0: the only rank that reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/publish/recovery.hpp"
#include "commit/read/file_view.hpp"
#include "commit/read/records.hpp"
#include "layout/catalog.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class RootCatalog {
 public:
  /// Opens the last durable commit of a file. `storage` must outlive the object. Error damaged if
  /// the log, or with checksums the structure, differs from the last commit.
  RootCatalog(storage::Storage& storage, const std::string& path, const Options& options);

  /// The message to all ranks.
  const FileView::Contents& contents() const noexcept { return contents_; }
  /// The journal of a commit that is durable, but may not be applied yet.
  const std::vector<std::byte>& journal() const noexcept { return journal_; }
  /// Valid until follow().
  layout::Catalog& catalog() noexcept { return *catalog_; }
  bool is_unchanged() const;
  /// See Input::follow(). Without `may_reorder` also false where the variables of the catalog have
  /// other numbers: a new one may come before others, as the groups are read one by one.
  bool follow(bool may_reorder);
  /// The number in catalog() of a variable of the view.
  std::uint32_t number_of(const InputVariable& variable) const {
    return numbers_.at(variable.catalog_index);
  }

  /// The checksum records of a variable of one step, numbered as in `view`; none if checksums are
  /// off. Valid until the next call.
  const RecordSet& records_of(const FileView& view, std::uint32_t variable, std::uint64_t step);

 private:
  void describe(bool is_modified);
  /// As number_of(), in a catalog that follows; empty if a variable is not there.
  std::optional<std::vector<std::uint32_t>> numbers_in(const layout::Catalog& next) const;
  void show_names();
  void require_contents(const std::vector<model::Attribute>& attributes, bool is_modified) const;
  void require_rows(const std::vector<std::vector<std::uint64_t>>& rows) const;
  /// Records by the hash of their variable's name.
  using ByHash = std::multimap<std::uint64_t, Record>;
  const ByHash& load(std::size_t commit);
  std::vector<Record> find_records(const FileView& view, std::uint32_t variable,
                                   std::uint64_t step);
  /// The last commit that has records of a fixed variable; if none has, those of all commits.
  std::size_t owner_of_fixed(std::uint64_t hash);
  /// Compares the times of the steps with the log, which has them too.
  std::vector<Record> records_of_times(const FileView& view, std::uint32_t variable) const;

  storage::Storage& storage_;
  const std::string path_;
  const std::string format_;
  const bool is_checked_;
  FileView::Contents contents_;
  std::vector<std::byte> journal_;
  std::unique_ptr<storage::File> file_;
  std::unique_ptr<layout::Catalog> catalog_;
  std::vector<std::uint32_t> numbers_;  ///< by InputVariable::catalog_index, see number_of()
  std::uint64_t moment_ = 0;

  // The location of records; determined on demand, every commit is scanned once.
  std::size_t loaded_ = ~std::size_t{0};  ///< the commit whose records are in by_hash_
  ByHash by_hash_;
  std::multimap<std::uint64_t, std::size_t> by_step_;     ///< commits, ascending
  std::map<std::uint64_t, std::size_t> owners_of_fixed_;  ///< by name hash
  std::size_t looked_through_ = 0;                        ///< of the last commits, for these
  std::pair<std::uint32_t, std::uint64_t> found_;         ///< whose records are in records_
  std::optional<RecordSet> records_;
};

}  // namespace sluice::commit
