// Messages of the library, a line at a time: to stderr, or to a callback of the program.
#pragma once

#include <exception>
#include <string>

namespace sluice::detail {

/// Tells "sluice: `text`". On the rank that reports; any thread.
void say(const std::string& text) noexcept;

/// For a destructor, which can only say why the closing fails.
template <class Impl>
void close_or_say(Impl& impl) {
  const bool speaks = impl.speaks();
  try {
    impl.close();
  } catch (const std::exception& e) {
    if (speaks) {
      say(std::string("closing failed: ") + e.what());
    }
  }
}

}  // namespace sluice::detail
