#include "storage/say.hpp"

#include <chrono>
#include <cstdio>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "model/name.hpp"

namespace sluice::storage {

void say(const std::string& text) noexcept {
  try {
    std::fprintf(stderr, "sluice: %s\n", model::escaped(text, model::Shown::lines).c_str());
  } catch (const std::exception&) {
    std::fprintf(stderr, "sluice: %s\n", text.c_str());  // no memory to escape it
  }
}

void say_before_abort(const std::string& text) noexcept {
  say(text);
  struct stat seen = {};
  if (::fstat(STDERR_FILENO, &seen) != 0 || !S_ISFIFO(seen.st_mode)) {
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  int unread_bytes = 0;
  while (::ioctl(STDERR_FILENO, FIONREAD, &unread_bytes) == 0 && unread_bytes > 0 &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace sluice::storage
