// A file, or a folder, that gets its name only when it is complete.
//
// Invariants: an existing name is never replaced; a file without its name is removed with the
// object that made it, on rank 0, and never while another program writes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "commit/output/output.hpp"
#include "commit/publish/agreed_path.hpp"
#include "commit/publish/atomic_file.hpp"
#include "commit/publish/recovery.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/formats.hpp"
#include "storage/endings.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class NewFile {
 public:
  /// Collective. Error exists, or locked: another program makes it.
  NewFile(exec::Transport& transport, storage::Storage& storage, const std::string& path,
          const Options& options)
      : transport_(transport), storage_(storage), path_(agreed_path(transport, storage, path)) {
    const layout::Format& format = layout::format_of(path, options);
    format_ = format.option;
    is_folder_ = format.is_store();
    exec::on_root(transport_, [&] {
      if (names_folder(path)) layout::require_folder_format(path, format);
      if (storage_.exists(path_)) {
        throw Error(Code::exists, path_ + ": exists already: choose another name");
      }
      const auto lease = storage_.lease(building());
      remove_building();
    });
  }
  ~NewFile() {
    if (!is_named_ && !is_anothers_ && transport_.rank() == 0) {
      try {
        remove_building();
      } catch (const Error&) {
        return;  // the next conversion replaces what is left
      }
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  std::string building() const { return path_ + storage::convert_ending; }
  /// The error with `name` in place of building().
  Error named(const Error& error, const std::string& name) const {
    return naming(error, building(), name);
  }
  /// Collective: what is to be written into it. Errors of open_output().
  std::unique_ptr<Output> open(Options options) {
    options.format = format_;
    if (options.durability != Durability::none) {
      options.durability = Durability::close;  // no step of it counts before it has its name
    }
    try {
      return open_output(transport_, storage_, building(), Opening::create, options);
    } catch (const Error& e) {
      is_anothers_ = e.code() == Code::locked;  // which began at the same moment
      throw;
    }
  }
  /// Collective, after the close of the output.
  void finish() {
    exec::on_root(transport_, [&] { take_name(); });
  }
  /// On rank 0.
  void take_name() {
    try {
      storage_.rename_new(building(), path_);
    } catch (const Error& e) {
      throw e.code() == Code::exists
          ? Error(Code::exists, path_ + ": was created by another program meanwhile")
          : e;
    }
    is_named_ = true;
    storage_.sync_directory(path_);
  }

 private:
  void remove_building() {
    if (storage_.exists(journal_path(building()))) {
      storage_.remove(journal_path(building()));
    }
    if (!storage_.exists(building())) {
      return;
    }
    if (is_folder_) {
      storage_.remove_folder(building());
    } else {
      storage_.remove(building());
    }
  }

  exec::Transport& transport_;
  storage::Storage& storage_;
  std::string path_;
  std::string format_;
  bool is_folder_ = false;
  bool is_named_ = false;     ///< on rank 0
  bool is_anothers_ = false;  ///< the file that is being built
};

/// An output that writes a NewFile.
class NewOutput {
 public:
  /// Collective. Error exists, and those of open_output().
  NewOutput(exec::Transport& transport, storage::Storage& storage, const std::string& path,
            const Options& options)
      : file_(transport, storage, path, options), output_(file_.open(options)) {}

  Output& operator*() { return *output_; }
  Output* operator->() { return output_.get(); }
  /// Collective: the file is complete, and gets its name.
  void close() {
    output_->close();
    file_.finish();
  }

 private:
  NewFile file_;
  std::unique_ptr<Output> output_;
};

}  // namespace sluice::commit
