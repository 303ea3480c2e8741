// A thousand programs with sessions, each with an order of its own: ranks, writers, tiles, budgets,
// pieces, who writes what and when, all drawn from a seed. Every byte must be in the file once the
// session is complete, `complete` must be called once, and errors must be found on every rank.
#include <algorithm>
#include <map>
#include <random>

#include "sessions/local_sessions.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

struct Piece {
  std::size_t session = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

enum class Flaw : std::uint8_t { none, twice, missing };

struct Schedule {
  int ranks = 1;
  std::size_t files = 1;
  std::vector<std::size_t> file_of;  ///< of each session
  std::vector<int> home_of;
  std::vector<plan::ByteRange> ranges;
  std::vector<std::uint64_t> after;  ///< bytes of each range that are written after the others
  std::vector<std::vector<Piece>> pieces;  ///< by rank, in the order in which it writes
  Flaw flaw = Flaw::none;
  bool closes_sessions = false;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t operator()(std::uint64_t least, std::uint64_t most) {
    return least + random_() % (most - least + 1);
  }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

Schedule draw_schedule(Draw& draw) {
  Schedule all;
  all.ranks = static_cast<int>(draw(1, 5));
  all.files = draw(1, 2);
  all.closes_sessions = draw(0, 1) == 1;
  all.pieces.resize(static_cast<std::size_t>(all.ranks));
  std::vector<std::uint64_t> ends(all.files);
  const std::size_t sessions = draw(1, 4);
  for (std::size_t s = 0; s < sessions; ++s) {
    all.file_of.push_back(draw(0, all.files - 1));
    all.home_of.push_back(static_cast<int>(draw(0, static_cast<std::uint64_t>(all.ranks) - 1)));
    std::uint64_t& end = ends[all.file_of[s]];
    const std::uint64_t after = draw(0, 2) == 0 ? draw(1, 20) : 0;
    const plan::ByteRange range{end + draw(0, 30) + after, draw(0, 3) == 0 ? 0 : draw(1, 600)};
    end = range.end();
    all.ranges.push_back(range);
    all.after.push_back(after);  // just before the session
    for (std::uint64_t at = range.offset; at < range.end();) {
      const std::uint64_t bytes = std::min(range.end() - at, draw(1, 90));
      all.pieces[draw(0, static_cast<std::uint64_t>(all.ranks) - 1)].push_back({s, at, bytes});
      at += bytes;
    }
  }
  for (auto& mine : all.pieces) {
    std::shuffle(mine.begin(), mine.end(), draw.random());
  }
  const std::uint64_t what = draw(0, 9);
  auto& victim = all.pieces[draw(0, static_cast<std::uint64_t>(all.ranks) - 1)];
  if (what == 0 && !victim.empty()) {
    all.flaw = Flaw::missing;
    victim.pop_back();
  } else if (what == 1 && !victim.empty()) {
    all.flaw = Flaw::twice;
    all.pieces[draw(0, static_cast<std::uint64_t>(all.ranks) - 1)].push_back(victim.front());
  }
  return all;
}

std::string name_of(std::size_t file) { return "file" + std::to_string(file); }

/// The completions that each rank saw: by session, how often.
using Completions = std::map<std::size_t, int>;

void follow(const Schedule& all, LocalSessions& local, exec::Transport& transport,
            std::uint64_t seed, Completions& completions) {
  Draw draw(seed * 31 + static_cast<std::uint64_t>(transport.rank()));
  std::vector<SessionFile> files;
  for (std::size_t f = 0; f < all.files; ++f) {
    files.push_back(local.open(transport, name_of(f), Mode::write));
  }
  std::vector<Session> sessions;
  for (std::size_t s = 0; s < all.ranges.size(); ++s) {
    Session mine;
    const plan::ByteRange range = all.ranges[s];
    if (all.home_of[s] == transport.rank()) {
      SessionHandlers handlers;
      const plan::ByteRange whole{range.offset - all.after[s], range.bytes + all.after[s]};
      handlers.complete = [&, s, whole, f = all.file_of[s]](const Error* failure) {
        ++completions[s];
        if (failure != nullptr) {
          return;
        }
        const auto there = local.memory().contents(name_of(f));
        ASSERT_GE(there.size(), whole.bytes == 0 ? 0 : whole.end());
        for (std::uint64_t at = whole.offset; at < whole.end(); ++at) {
          ASSERT_EQ(there[at], byte_at(at, f)) << "byte " << at << " of file " << f;
        }
      };
      handlers.after_offset = whole.offset;
      handlers.after = bytes_at(whole.offset, all.after[s], all.file_of[s]);
      mine = files[all.file_of[s]].start(range.offset, range.bytes, std::move(handlers));
    }
    sessions.push_back(share(transport, all.home_of[s], mine));
  }
  for (const Piece& piece : all.pieces[static_cast<std::size_t>(transport.rank())]) {
    const std::size_t f = all.file_of[piece.session];
    const auto bytes = bytes_at(piece.offset, piece.bytes, f);
    files[f].write(sessions[piece.session], bytes.data(), bytes.size(), piece.offset);
    for (std::uint64_t polls = draw(0, 2); polls != 0; --polls) {
      files[draw(0, all.files - 1)].poll();
    }
  }
  if (all.closes_sessions && all.flaw == Flaw::none) {
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      files[all.file_of[s]].close(sessions[s]);
    }
  }
  std::exception_ptr failure;
  for (SessionFile& file : files) {
    try {
      file.close();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void check(std::uint64_t seed) {
  Draw draw(seed);
  const Schedule all = draw_schedule(draw);
  LocalSessions local(seed);
  local.options().writers = static_cast<int>(draw(0, static_cast<std::uint64_t>(all.ranks)));
  local.options().tile_bytes = draw(1, 100);
  local.options().budget_bytes = draw(1, 8) == 1 ? draw(1, 100) : draw(1000, 100000);
  local.options().coalesce = draw(0, 3) != 0;
  std::vector<Completions> seen(static_cast<std::size_t>(all.ranks));
  const auto errors = local.errors(all.ranks, [&](exec::Transport& transport) {
    follow(all, local, transport, seed, seen[static_cast<std::size_t>(transport.rank())]);
  });
  for (const Error& error : errors) {
    const Code expected = all.flaw == Flaw::none    ? Code::ok
                          : all.flaw == Flaw::twice ? Code::overlap
                                                    : Code::hole;
    EXPECT_EQ(error.code(), expected) << error.what();
    EXPECT_STREQ(error.what(), errors[0].what());
  }
  for (std::size_t s = 0; s < all.ranges.size(); ++s) {
    for (int rank = 0; rank < all.ranks; ++rank) {
      EXPECT_EQ(seen[static_cast<std::size_t>(rank)][s], rank == all.home_of[s] ? 1 : 0)
          << "complete of session " << s << " on rank " << rank;
    }
  }
}

TEST(Sessions, a_thousand_random_schedules) {
  const int cases = case_count(1000, 100, 20000);
  for (int seed = 1; seed <= cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(static_cast<std::uint64_t>(seed));
  }
}

}  // namespace
}  // namespace sluice::test
