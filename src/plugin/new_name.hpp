// The name of a new file, which is built beside it until the first commit.
//
// Invariant: what had the name keeps it until the new file is complete.
#pragma once

#include <memory>
#include <string>

#include "storage/storage.hpp"

namespace sluice::plugin {

class NewName {
 public:
  NewName(storage::Storage& storage, std::string path);

  /// An empty file beside the name. With `exclusive` take() is an Error exists where another file
  /// has the name by then.
  std::unique_ptr<storage::File> build(bool exclusive);
  /// Was build() called, and neither take() nor forget()?
  bool is_ahead() const noexcept { return !building_.empty(); }
  /// Where the file is now.
  const std::string& present() const noexcept { return building_.empty() ? path_ : building_; }
  /// Gives the file, which is complete, its name; with `synced` durably. Where that fails the file
  /// is where it was, or is_in_doubt().
  void take(bool synced);
  /// Would a crash decide between what was replaced and the new file?
  bool is_in_doubt() const noexcept { return is_in_doubt_; }
  /// Removes the file that was built.
  void forget() noexcept;

 private:
  storage::Storage& storage_;
  const std::string path_;
  std::string building_;
  bool is_exclusive_ = false;
  bool is_in_doubt_ = false;
};

}  // namespace sluice::plugin
