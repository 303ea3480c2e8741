#include "api/messages.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "sluice/sluice.hpp"
#include "storage/say.hpp"

namespace sluice {

namespace {

using MessageHandler = std::function<void(const std::string&)>;

struct Listener {
  std::mutex mutex;
  std::shared_ptr<const MessageHandler> handler;
};

/// Never destroyed: files of static lifetime may be closed after main().
Listener& listener() {
  static auto* one = new Listener;
  return *one;
}

}  // namespace

void set_message_handler(std::function<void(const std::string&)> handler) {
  auto named = handler ? std::make_shared<const MessageHandler>(std::move(handler)) : nullptr;
  const std::lock_guard lock(listener().mutex);
  listener().handler = std::move(named);
}

void detail::say(const std::string& text) noexcept {
  try {
    std::shared_ptr<const MessageHandler> handler;
    {
      const std::lock_guard lock(listener().mutex);
      handler = listener().handler;  // it may be replaced while it is called
    }
    if (handler) {
      (*handler)("sluice: " + text);
      return;
    }
  } catch (...) {
    // Also called from destructors, so a handler that throws is passed over:
  }
  storage::say(text);
}

}  // namespace sluice
