// A file being read: any selection of any variable and step, on any number of ranks.
//
// Invariants: only rank 0 looks at the file's metadata; every rank reads its own bytes; what has
// checksum records is checked before it is handed out, partial reads too; reading changes nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/records.hpp"
#include "exec/transport.hpp"
#include "layout/hdf5/catalog.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"

namespace sluice::commit {

/// What every rank knows of a stored variable.
struct InputVariable {
  model::Definition definition;
  bool big_endian = false;
  bool placeable = false;
};

/// A commit of the file, as far as verifying needs it.
struct CommitInfo {
  std::uint64_t step = 0;  ///< CommitRow::no_step outside steps
  double time = 0;
};

class Input {
 public:
  /// Collective. transport and storage must outlive the object.
  Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
        const Options& options);

  const std::string& path() const noexcept { return path_; }
  const std::vector<InputVariable>& variables() const noexcept { return variables_; }
  const std::vector<model::Attribute>& attributes() const noexcept { return attributes_; }
  const std::vector<CommitInfo>& commits() const noexcept { return commits_; }
  std::uint64_t steps() const noexcept { return steps_; }
  double time(std::uint64_t step) const;
  bool written_by_sluice() const noexcept { return ours_; }
  /// Does the file still have the mtime that its last commit gave it?
  bool modified_since_commit() const noexcept { return modified_; }

  /// Index of a variable. Error not_found lists what there is.
  std::uint32_t find(const std::string& name) const;

  /// Collective; each rank its own box (in coordinates of the variable, without the step).
  void get(std::uint32_t variable, std::uint64_t step, const model::Box& box,
           const model::Memory& memory, bool allow_overflow);
  /// Collective; each rank its own ids. Rows into dense memory of `type`.
  void get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                std::byte* data, const Type& type);

  /// Collective. Places one variable of one step for everybody, with its checksum records.
  struct Located {
    std::uint32_t variable = 0;
    std::uint64_t step = 0;
    model::Box region;
    layout::Placement placement;
    std::vector<Record> records;
  };
  const Located& locate(std::uint32_t variable, std::uint64_t step, const model::Box& region);

  /// Local. Dense little-endian file bytes of a box of a located variable, not checked.
  void read_located(const Located& located, const model::Box& box, std::span<std::byte> out);
  /// Local. Reads the box of a record and compares: false where it does not match.
  bool read_record(const Located& located, const Record& record, std::vector<std::byte>& out);

 private:
  void adopt(std::span<const std::byte> message);
  std::vector<std::byte> describe();
  void check_request(std::uint32_t variable, std::uint64_t step, const model::Box& box) const;
  std::optional<model::Box> common_region(std::uint32_t variable, std::uint64_t step,
                                          const model::Box& box, const std::exception_ptr& failure);
  void get_placed(const Located& located, const model::Box& box, const model::Memory& memory,
                  bool allow_overflow);
  void get_through_root(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                        const model::Memory& memory, bool allow_overflow);
  std::vector<Record> records_of(std::uint32_t variable, std::uint64_t step);
  storage::File& file();

  exec::Transport& transport_;
  storage::Storage& storage_;
  std::string path_;
  Options options_;
  std::vector<InputVariable> variables_;
  std::vector<model::Attribute> attributes_;
  std::vector<CommitInfo> commits_;
  std::vector<double> times_;
  std::uint64_t steps_ = 0;
  bool ours_ = false;
  bool modified_ = false;
  std::unique_ptr<storage::File> file_;
  std::optional<Located> located_;
  // rank 0
  std::unique_ptr<storage::File> root_file_;
  std::unique_ptr<layout::hdf5::Catalog> catalog_;
  std::uint64_t cached_commit_ = ~std::uint64_t{0};
  std::multimap<std::uint64_t, Record> cached_records_;
};

}  // namespace sluice::commit
