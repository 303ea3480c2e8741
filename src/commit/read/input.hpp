// A file being read: any selection of any variable and step, on any number of ranks.
//
// Invariants: only rank 0 looks at the file's metadata (RootCatalog), the others know what it told
// them (FileView); every rank reads its own bytes; what has checksum records is checked before it
// is handed out, partial reads too; reading changes nothing. The road from a selection to the
// caller's memory is SelectionReader's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/read/file_view.hpp"
#include "commit/read/parts_input.hpp"
#include "commit/read/root_catalog.hpp"
#include "commit/read/selection_reader.hpp"
#include "commit/read/source_file.hpp"
#include "exec/transport/transport.hpp"
#include "layout/catalog.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class Input {
 public:
  /// Collective. transport and storage must outlive the object. Of a symbolic link, what it leads
  /// to is read, on every rank what it leads to on rank 0.
  Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
        const Options& options);
  Input(const Input&) = delete;

  const std::string& path() const noexcept { return view_.contents().path; }
  const std::vector<InputVariable>& variables() const noexcept { return view_.variables(); }
  const std::vector<model::Attribute>& attributes() const noexcept {
    return view_.contents().attributes;
  }
  const std::vector<CommitInfo>& commits() const noexcept { return view_.contents().commits; }
  std::uint64_t steps() const noexcept { return view_.contents().steps; }
  /// NaN where none was given.
  double time(std::uint64_t step) const { return view_.time(step); }
  /// The shape of a step. Error out_of_bounds for steps that are not there.
  model::Dims shape(std::uint32_t variable, std::uint64_t step) const {
    return view_.shape(variable, step);
  }
  /// The same, but that of the variable for steps that are not there.
  model::Dims shape_or_most(std::uint32_t variable, std::uint64_t step) const noexcept {
    return view_.shape_or_most(variable, step);
  }
  bool written_by_sluice() const noexcept { return view_.contents().is_ours; }
  /// Has the file another mtime than its last commit gave it? Not told of an unfinished one.
  bool modified_since_commit() const noexcept { return view_.contents().is_modified; }
  /// Was it being written, or left by a writer that did not close it? See commit::is_unfinished.
  bool is_unfinished() const noexcept { return view_.contents().is_unfinished; }
  /// Index of a variable. Error not_found lists what there is.
  std::uint32_t find(const std::string& name) const { return view_.find(name); }
  /// Gives the variables that `old` had their old numbers, and takes over what was deferred there.
  /// Error changed_outside where one of them is not here, or of another type or rank (fixed ones
  /// may have grown).
  void keep_order_of(const Input& old);

  /// On rank 0: has nobody written to the file or its journal since it was opened?
  bool is_unchanged() const { return root_->is_unchanged(); }
  /// On rank 0. Valid until follow().
  layout::Catalog& catalog() noexcept { return root_->catalog(); }
  /// On rank 0. Where the file was changed since its catalog was opened: opens that anew. It has
  /// the commits and variables of the one before, and perhaps more; false where there is no such.
  bool follow() { return root_->follow(); }

  /// Of the index of a set of parts: the set; nullptr for ordinary files.
  const layout::PartSet* set() const noexcept { return parts_ ? &parts_->set() : nullptr; }
  /// Local. As get(), of a variable whose elements are in parts; the box lies inside its shape.
  void get_from_parts(const GetRequest& request);

  /// Collective; each rank its own box.
  /// `failure`: what the caller found wrong with it, which every rank then throws.
  void get(const GetRequest& request, const std::exception_ptr& failure = nullptr);
  void get(std::uint32_t variable, std::uint64_t step, const model::Box& box,
           const model::Memory& memory, bool allow_overflow) {
    get({variable, step, box, memory, allow_overflow});
  }
  /// Local. Notes a request for get_deferred(). What is wrong with it is thrown.
  void defer(const GetRequest& request);
  /// Local. Makes the next get_deferred() fail on every rank: a request could not be noted.
  void fail_deferred(const std::exception_ptr& failure);
  /// Collective. Gets what was deferred since the last time, with little more agreement than one
  /// get() needs: the same variables and steps in the same order on every rank (Error divergent),
  /// the boxes are each rank's own. Where it fails, nothing stays noted.
  void get_deferred();
  /// Collective; each rank its own ids. Rows into dense memory of `type`.
  void get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                std::byte* data, const Type& type, const std::exception_ptr& failure = nullptr);

  /// Collective. Places one variable of one step, with its checksum records, for everybody; valid
  /// until the next call of this or get().
  const Located& locate(const Wanted& wanted);
  /// What this rank reads by itself of what was located.
  CheckedReader& checked() noexcept { return reader_->checked(); }

 private:
  /// What rank 0 tells the others.
  std::vector<std::byte> open_on_root(std::string path);
  void open_parts(std::span<const std::uint64_t> words);

  exec::Transport& transport_;
  storage::Storage& storage_;
  Options options_;
  std::unique_ptr<RootCatalog> root_;  ///< on rank 0
  FileView view_;
  std::unique_ptr<SourceFile> source_;
  std::unique_ptr<PartsInput> parts_;  ///< of the index of a set of parts
  std::unique_ptr<SelectionReader> reader_;
  std::vector<GetRequest> deferred_;
  std::exception_ptr deferred_failure_;  ///< the first
};

}  // namespace sluice::commit
