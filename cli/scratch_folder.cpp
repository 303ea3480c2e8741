#include "scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sluice/error.hpp"
#include "storage/background_thread.hpp"

namespace sluice::cli {

ScratchFolder::ScratchFolder(const std::string& folder, const std::string& name)
    : path_(folder + "/" + name + "-XXXXXX") {
  const storage::SignalsBlocked signals;  // none between the two calls
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(Code::io, folder + ": no folder can be made here: " + std::strerror(errno));
  }
  left_.emplace(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace sluice::cli
