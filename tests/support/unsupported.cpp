#include "support/unsupported.hpp"

#include <algorithm>
#include <gtest/gtest-spi.h>
#include <vector>

#include "support/world.hpp"

namespace sluice::test {

std::span<const Unsupported> unsupported() {
  static const std::vector<Unsupported> all{};
  return all;
}

const Unsupported* find_unsupported(const std::string& layout, const std::string& behaviour) {
  const auto all = unsupported();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Unsupported& one) {
    const std::string pattern = one.behaviour;
    const bool is_group = pattern.ends_with(".*");
    return one.layout == layout &&
           (is_group ? behaviour.starts_with(pattern.substr(0, pattern.size() - 1))
                     : behaviour == pattern);
  });
  return found == all.end() ? nullptr : &*found;
}

void run_behaviour(World& world, const std::string& behaviour, BehaviourBody body) {
  const Unsupported* declared = find_unsupported(world.cell().layout, behaviour);
  if (declared == nullptr) {
    body(world);
    return;
  }
  if (!declared->is_refused) {
    GTEST_SKIP() << declared->reason;
  }
  {
    // What the behaviour expects cannot be, so its own complaints do not count here.
    testing::TestPartResultArray complaints;
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &complaints);
    try {
      body(world);
    } catch (const Error&) {
      // the world has noted what it was
    }
  }
  EXPECT_TRUE(world.has_refused()) << behaviour << " is declared unsupported in layout "
                                   << world.cell().layout << ", but nothing was refused";
}

}  // namespace sluice::test
