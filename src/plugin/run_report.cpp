#include "plugin/run_report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace sluice::plugin {

void report_to_run() noexcept {
  const char* const path = std::getenv(report_variable);
  if (path == nullptr) {
    return;
  }
  const int before = errno;  // the caller's
  if (std::FILE* const file = std::fopen(path, "r+e"); file != nullptr) {
    if (std::fgetc(file) == not_loaded) {  // else it is not the file of a run
      std::rewind(file);
      std::fputc(loaded, file);
    }
    std::fclose(file);
  }
  errno = before;
}

}  // namespace sluice::plugin
