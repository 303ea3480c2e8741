// A folder for files that nobody keeps.
//
// Invariant: it is removed with the object, and also if a signal, or a crash, ends the command
// (guard.hpp).
#pragma once

#include <optional>
#include <string>

#include "guard.hpp"

namespace sluice::cli {

class ScratchFolder {
 public:
  /// A new folder in `folder`, whose name begins with `name`. Local.
  ScratchFolder(const std::string& folder, const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<LeftToParent> left_;
};

}  // namespace sluice::cli
