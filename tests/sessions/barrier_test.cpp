// The barriers of a session file over a tree of ranks: no rank handles a message of every other
// one, and a timeout names those that have not come, wherever in the tree they are.
#include <map>

#include "commit/session/session_barrier.hpp"
#include "sessions/local_sessions.hpp"

namespace sluice::test {
namespace {

/// Three levels: rank 0, 1 to 16, 17 to 39, of which 17 to 32 are below rank 1.
constexpr int ranks = 40;

TEST(Barrier, a_rank_handles_messages_of_those_next_to_it_only) {
  LocalSessions local;
  std::vector<std::map<int, int>> received(ranks);
  local.run(ranks, [&](exec::Transport& t) {
    commit::SessionMessages messages(t, "f");
    commit::SessionBarrier barrier(t.rank(), t.size(), messages);
    std::map<int, int>& mine = received[static_cast<std::size_t>(t.rank())];
    commit::SessionMessages::Handlers on;
    on.arrived = [&](int from, std::uint64_t number, std::uint64_t reports) {
      ++mine[from];
      barrier.arrive(from, number, reports);
    };
    on.released = [&](std::uint64_t number) {
      ++mine[-1];
      barrier.release(number);
    };
    on.report = [](int, std::uint64_t, std::uint64_t) { FAIL() << "nobody was late"; };
    messages.set_handlers(std::move(on));
    for (int round = 0; round < 3; ++round) {
      const std::uint64_t number = barrier.enter();
      while (!barrier.has_released(number) || !messages.is_idle()) {
        messages.poll();
        exec::LocalTransport::pause();
      }
    }
    t.barrier();
    messages.settle();
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& mine = received[static_cast<std::size_t>(rank)];
    EXPECT_LE(mine.size(), std::size_t{commit::SessionBarrier::tree_width} + 1) << rank;
    for (const auto& [from, messages] : mine) {
      EXPECT_EQ(messages, 3) << rank << " of " << from;
    }
  }
}

TEST(Barrier, a_rank_that_does_not_come_is_named_wherever_it_is) {
  for (const int gone : {1, 16, 17, 33, 39}) {
    LocalSessions local;
    local.options().timeout_s = 0.5;
    const auto errors = local.errors(ranks, [&](exec::Transport& t) {
      SessionFile out = local.open(t, "f", Mode::write);
      if (t.rank() == gone) {
        throw Error(Code::internal, "gone");
      }
      out.close();
    });
    for (int rank = 0; rank < ranks; ++rank) {
      const Code code = errors[static_cast<std::size_t>(rank)].code();
      EXPECT_EQ(code, rank == gone ? Code::internal : Code::timeout) << rank << ", " << gone;
    }
    const std::string text = errors[0].what();
    const std::string named = "not come: ranks " + std::to_string(gone);
    const std::size_t at = text.find(named);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_TRUE(at + named.size() == text.size() || text[at + named.size()] == ';') << text;
  }
}

}  // namespace
}  // namespace sluice::test
