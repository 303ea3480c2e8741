#include "plugin/say.hpp"

#include <cstdio>

#include "model/name.hpp"

namespace sluice::plugin {

void say(const std::string& text) noexcept {
  try {
    std::fprintf(stderr, "sluice: %s\n", model::escaped(text, model::Shown::lines).c_str());
  } catch (const std::exception&) {
    // no memory for a message
  }
}

}  // namespace sluice::plugin
