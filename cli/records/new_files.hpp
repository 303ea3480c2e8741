// Files of a folder that get their names only when all of them are complete.
//
// Invariants: an existing name is never replaced; files without their names are removed with the
// object, and the folder if it was made for them; a reader that asks for the first file of the
// first rank finds all of them if it finds that one.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "guard.hpp"
#include "storage/endings.hpp"
#include "verb.hpp"

namespace sluice::cli {

class NewFiles {
 public:
  /// Collective. Makes the folder if it is not there.
  NewFiles(const Context& context, std::string folder);
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  /// Local. The path of a file of this folder until finish(); nothing is there yet. Error exists if
  /// a file has its name.
  std::string begin(const std::string& name);
  /// Local. That path, on any rank.
  std::string building(const std::string& name) const {
    return folder_ + "/" + name + storage::convert_ending;
  }
  /// Collective. Syncs the files of all ranks, and names them.
  void finish();

 private:
  void take_name();

  const Context& context_;
  std::string folder_;
  bool is_own_folder_ = false;
  std::optional<LeftToParent> left_folder_;
  std::vector<std::string> names_;  ///< of this rank's files that are not complete
  std::deque<LeftToParent> left_;   ///< they
};

}  // namespace sluice::cli
