#include "plugin/run_report.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>

namespace sluice::plugin {

void report_to_run(storage::Storage& storage) noexcept {
  const char* const path = std::getenv(report_variable);
  if (path == nullptr) {
    return;
  }
  const int before = errno;  // the caller's
  try {
    const auto file = storage.open(path, storage::Access::read_write);
    std::array byte{std::byte{0}};
    // Else it is not the file of a run.
    if (file->read(0, byte) == 1 && byte[0] == std::byte{not_loaded}) {
      byte[0] = std::byte{loaded};
      file->write(0, byte);
    }
  } catch (const std::exception&) {
    // The run has ended, or is on another node.
  }
  errno = before;
}

}  // namespace sluice::plugin
