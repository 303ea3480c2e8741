#include "storage/file_lock.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/sysmacros.h>

#include "sluice/error.hpp"

namespace sluice::storage {

namespace {

/// As /proc/locks names a file.
std::string file_in_locks(const FileIdentity& identity) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::hex;
  text.fill('0');
  text.width(2);
  text << major(identity.device) << ':';
  text.width(2);
  text << minor(identity.device) << ':' << std::dec << identity.number;
  return text.str();
}

}  // namespace

bool locks_files(bool asked) {
  const char* const text = std::getenv("HDF5_USE_FILE_LOCKING");
  if (text == nullptr) {
    return asked;
  }
  const std::string_view word = text;
  const bool is_on = word == "TRUE" || word == "1" || word == "BEST_EFFORT";
  return is_on || (asked && word != "FALSE" && word != "0");
}

void require_share_lock(File& file, bool is_wanted) {
  if (is_wanted && !file.share_lock()) {
    throw Error(Code::locked, file.path() + ": " + lock_holder(file.identity()) +
                                  " has locked it for writing: wait for it, or stop it");
  }
}

std::string lock_holder(const FileIdentity& identity) {
  const std::string wanted = file_in_locks(identity);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string how;
    std::string access;
    std::string process;
    std::string file;
    words >> number >> kind >> how >> access >> process >> file;
    if (kind == "FLOCK" && access == "WRITE" && file == wanted && process != "0") {
      std::string name;
      std::getline(std::ifstream("/proc/" + process + "/comm") >> std::ws, name);
      return "another program (" + (name.empty() ? "" : name + ", ") + "process " + process + ")";
    }
  }
  return "another program";
}

}  // namespace sluice::storage
