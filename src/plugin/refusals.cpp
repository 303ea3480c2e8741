#include "plugin/refusals.hpp"

#include <cstdlib>
#include <exception>
#include <mutex>

#include "storage/own_process.hpp"
#include "storage/say.hpp"

namespace sluice::plugin {

namespace {

struct Refusal {
  std::mutex mutex;
  std::string path;
  std::string text;  ///< empty: there is none
  storage::OwnProcess own;

  /// A forked child leaves it to its parent.
  void say_it() noexcept {
    if (!text.empty() && own.is_here()) {
      storage::say(text);
    }
    text.clear();
  }
};

Refusal& refusal() {
  static auto* const last = [] {
    auto* const made = new Refusal;
    std::atexit([] { settle_refusal("", false); });
    return made;
  }();
  return *last;
}

}  // namespace

void settle_refusal(const std::string& path, bool makes) noexcept {
  Refusal& last = refusal();
  const std::lock_guard lock(last.mutex);
  if (makes && path == last.path) {
    last.text.clear();
  }
  last.say_it();
}

void say_unless_made(const std::string& path, const std::string& text) noexcept {
  try {
    Refusal& last = refusal();
    const std::lock_guard lock(last.mutex);
    last.say_it();
    last.own = storage::OwnProcess();
    last.path = path;
    last.text = text;
  } catch (const std::exception&) {
    storage::say(text);  // no memory to keep it
  }
}

}  // namespace sluice::plugin
