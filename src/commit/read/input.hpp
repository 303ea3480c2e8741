// A file being read: any selection of any variable and step, on any number of ranks.
//
// Invariants: those of FileInput; every rank reads its own bytes; data with checksum records is
// checked before it is returned, partial reads too; reading changes nothing. The steps from a
// selection to the caller's memory are those of SelectionReader.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/read/file_input.hpp"
#include "commit/read/parts_input.hpp"
#include "commit/read/row_reader.hpp"
#include "commit/read/selection_reader.hpp"
#include "exec/transport/transport.hpp"
#include "layout/catalog.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Must all parts of a set be there, or is Input::absent_part() asked before a step is read?
enum class NeededParts : std::uint8_t { all, of_steps };

// Size: half of the functions answer one question each about the file, from its view.
class Input {
 public:
  /// Collective. transport and storage must outlive the object. If the path is a symbolic link,
  /// every rank reads the target that it has on rank 0.
  Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
        const Options& options, NeededParts needed = NeededParts::all);
  Input(const Input&) = delete;

  const std::string& path() const noexcept { return file_.path(); }
  const std::vector<InputVariable>& variables() const noexcept { return file_.view.variables(); }
  const std::vector<model::Attribute>& attributes() const noexcept {
    return file_.view.contents().attributes;
  }
  /// Those of an owner, as indices into attributes().
  const std::vector<std::size_t>& attributes_of(const std::string& owner) const {
    return file_.view.attributes_of(owner);
  }
  const std::vector<CommitInfo>& commits() const noexcept { return file_.view.contents().commits; }
  std::uint64_t steps() const noexcept { return file_.view.contents().steps; }
  /// NaN if none was given.
  double time(std::uint64_t step) const { return file_.view.time(step); }
  /// The shape of a step. Error out_of_bounds for steps that do not exist.
  model::Dims shape(std::uint32_t variable, std::uint64_t step) const {
    return file_.view.shape(variable, step);
  }
  /// The same; for steps that do not exist, the shape of the variable.
  model::Dims shape_or_most(std::uint32_t variable, std::uint64_t step) const noexcept {
    return file_.view.shape_or_most(variable, step);
  }
  /// Is there a variable `time` of the caller's, and no record of those times by that name? Its
  /// unit is not that of time().
  bool has_own_time() const;
  bool written_by_sluice() const noexcept { return file_.view.contents().is_ours; }
  /// Does the mtime of the file differ from that of its last commit? Never reported for an
  /// unfinished one.
  bool modified_since_commit() const noexcept { return file_.view.contents().is_modified; }
  /// Is it being written, or was it left by a writer that did not close it? See
  /// commit::is_unfinished.
  bool is_unfinished() const noexcept { return file_.view.contents().is_unfinished; }
  /// Index of a variable. Error not_found lists the existing ones.
  std::uint32_t find(const std::string& name) const { return file_.view.find(name); }
  /// Gives the variables of `old` their old numbers, and takes over its deferred requests. Error
  /// changed_outside if one of them is missing, or of another type or rank (fixed ones may have
  /// grown).
  void keep_order_of(const Input& old);

  /// On rank 0: is the file unchanged, with its journal, since it was opened?
  bool is_unchanged() const { return file_.root->is_unchanged(); }
  /// On rank 0. Valid until follow().
  layout::Catalog& catalog() noexcept { return file_.root->catalog(); }
  /// On rank 0. The number of a variable in catalog(), which reading beside a writer may change.
  std::uint32_t number_in_catalog(std::uint32_t variable) const {
    return file_.root->number_of(file_.view[variable]);
  }
  /// On rank 0. If the file was changed since its catalog was opened: opens that again. It has the
  /// commits and variables of the previous one, with their numbers, and perhaps more; false if
  /// there is no such catalog.
  bool follow() { return file_.root->follow(false); }

  /// Of the index of a set of parts: the set, without its mappings; nullptr for ordinary files.
  const layout::PartSet* set() const noexcept { return parts_ ? &parts_->set() : nullptr; }
  /// What reads its parts, and has its mappings; nullptr as set().
  PartsInput* parts() const noexcept { return parts_.get(); }
  /// The path of a part that the step needs and that is not there for every rank, or is not as the
  /// index knows it; "": they are. The same on every rank. With NeededParts::of_steps.
  std::string absent_part(std::uint64_t step) const;

  /// Collective; each rank its own box.
  /// `failure`: an error that the caller found with it, which every rank then throws.
  void get(const GetRequest& request, const std::exception_ptr& failure = nullptr);
  /// Local. Records a request for get_deferred(). Throws what is wrong with it.
  void defer(const GetRequest& request);
  /// Local. Makes the next get_deferred() fail on every rank: a request could not be recorded.
  void fail_deferred(const std::exception_ptr& failure);
  /// Collective. Gets what was deferred since the last time, with little more agreement than one
  /// get() needs: the same variables and steps in the same order on every rank (Error divergent),
  /// while the boxes are each rank's own. If it fails, the recorded requests are cleared.
  void get_deferred();
  /// Collective; each rank its own ids. Rows into dense memory of `type`.
  void get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                std::byte* data, const Type& type, const std::exception_ptr& failure = nullptr);

  /// Collective. Locates one variable of one step, with its checksum records, for all ranks; valid
  /// until the next call of this or get().
  const Located& locate(const Wanted& wanted);
  /// Reads of this rank by itself from what was located.
  CheckedReader& checked() noexcept { return reader_.checked(); }

 private:
  /// Empty for ordinary files.
  std::unique_ptr<PartsInput> open_parts(NeededParts needed);
  void read(std::span<const GetRequest> requests, const std::exception_ptr& failure);

  FileInput file_;
  std::vector<std::size_t> absent_;    ///< of the parts, by number
  std::unique_ptr<PartsInput> parts_;  ///< of the index of a set of parts
  SelectionReader reader_;
  RowReader rows_;
  std::vector<GetRequest> deferred_;
  std::exception_ptr deferred_failure_;  ///< the first
};

/// Error not_found, which names the absent_part(). Local; the same on every rank.
void require_parts(const Input& input, std::uint64_t step);

}  // namespace sluice::commit
