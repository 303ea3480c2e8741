#include "storage/say.hpp"

#include <cstdio>

#include "model/name.hpp"

namespace sluice::storage {

void say(const std::string& text) noexcept {
  try {
    std::fprintf(stderr, "sluice: %s\n", model::escaped(text, model::Shown::lines).c_str());
  } catch (const std::exception&) {
    std::fprintf(stderr, "sluice: %s\n", text.c_str());  // no memory to escape it
  }
}

}  // namespace sluice::storage
