// Sessions whose messages the program carries (sluice_service_*): in whatever order they arrive,
// the same bytes and the same errors; no call waits, and a service can be destroyed in any state.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#define SLUICE_NO_MPI_H
#include "sluice/service.h"
#include "storage/scratch.hpp"

namespace sluice::test {
namespace {

using Seen = std::map<int, std::vector<std::pair<int, std::string>>>;  // kind: codes and messages

/// The services of all ranks in one process, and the program that carries their messages.
class Ranks {
 public:
  Ranks(int ranks, const std::string& path, const char* mode, const char* options,
        std::uint64_t seed)
      : services_(static_cast<std::size_t>(ranks)), seen_(services_.size()), random_(seed) {
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(sluice_service_open(rank, ranks, path.c_str(), mode, options, &at(rank)),
                SLUICE_OK);
    }
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    for (sluice_service* service : services_) {
      sluice_service_free(service);
    }
  }

  sluice_service*& at(int rank) { return services_[static_cast<std::size_t>(rank)]; }
  int ranks() const { return static_cast<int>(services_.size()); }
  const Seen& seen(int rank) const { return seen_[static_cast<std::size_t>(rank)]; }

  /// Delivers messages in any order until every rank has seen `kind` `times`.
  void until(int kind, std::size_t times = 1) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!all_saw(kind, times)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      carry();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void close() {
    for (int rank = 0; rank < ranks(); ++rank) {
      EXPECT_EQ(sluice_service_close(at(rank)), SLUICE_OK);
    }
    until(SLUICE_EVENT_CLOSED);
  }

  /// Takes all messages, delivers about half of them, and records events.
  void carry() {
    for (sluice_service* service : services_) {
      int to = 0;
      const void* message = nullptr;
      std::int64_t bytes = 0;
      while (sluice_service_next_outgoing(service, &to, &message, &bytes) == SLUICE_OK &&
             bytes > 0) {
        const auto* first = static_cast<const char*>(message);
        bag_.push_back({to, std::string(first, first + bytes)});
      }
    }
    std::shuffle(bag_.begin(), bag_.end(), random_);
    for (std::size_t keep = bag_.size() / 2; bag_.size() > keep; bag_.pop_back()) {
      const auto& [to, message] = bag_.back();
      EXPECT_EQ(
          sluice_service_deliver(at(to), message.data(), static_cast<std::int64_t>(message.size())),
          SLUICE_OK);
    }
    for (std::size_t rank = 0; rank < services_.size(); ++rank) {
      sluice_event event;
      while (sluice_service_next(services_[rank], &event) == SLUICE_OK &&
             event.kind != SLUICE_EVENT_NONE) {
        seen_[rank][event.kind].emplace_back(event.code, event.message);
      }
    }
  }

 private:
  bool all_saw(int kind, std::size_t times) const {
    return std::all_of(seen_.begin(), seen_.end(), [&](const Seen& seen) {
      const auto found = seen.find(kind);
      return found != seen.end() && found->second.size() >= times;
    });
  }

  std::vector<sluice_service*> services_;
  std::vector<Seen> seen_;
  std::vector<std::pair<int, std::string>> bag_;
  std::mt19937_64 random_;
};

constexpr char options[] = "writers = 2\ntile_bytes = 4096\n";
constexpr std::int64_t each = 10007;

char byte_of(std::int64_t offset) { return static_cast<char>(offset * 31 % 127); }

/// As a program does that has nobody to wait for.
void write_all(Ranks& ranks, int rank, const sluice_session& session, std::int64_t offset,
               std::int64_t bytes) {
  std::vector<char> data(static_cast<std::size_t>(bytes));
  for (std::int64_t i = 0; i < bytes; ++i) {
    data[static_cast<std::size_t>(i)] = byte_of(offset + i);
  }
  for (std::int64_t done = 0; done < bytes;) {
    std::int64_t taken = 0;
    ASSERT_EQ(sluice_service_write(ranks.at(rank), &session, data.data() + done, bytes - done,
                                   offset + done, &taken),
              SLUICE_OK);
    done += taken;
    ranks.carry();
  }
}

TEST(Service, EveryByteIsWhereItBelongsWhateverOrderLettersComeIn) {
  const storage::Scratch folder;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const std::string path = folder / "bytes";
    Ranks ranks(3, path, "w", options, seed);
    ranks.until(SLUICE_EVENT_OPENED);
    for (int home = 0; home < 3; ++home) {
      sluice_session session;
      ASSERT_EQ(sluice_service_start(ranks.at(home), each * 3 * home, each * 3, nullptr, &session),
                SLUICE_OK);
      for (int rank = 2; rank >= 0; --rank) {
        write_all(ranks, rank, session, session.offset + each * rank, each);
      }
    }
    ranks.until(SLUICE_EVENT_COMPLETE);
    ranks.close();
    for (int rank = 0; rank < 3; ++rank) {
      for (const int kind : {SLUICE_EVENT_OPENED, SLUICE_EVENT_COMPLETE, SLUICE_EVENT_CLOSED}) {
        ASSERT_EQ(ranks.seen(rank).at(kind).size(), 1U) << kind;
        EXPECT_EQ(ranks.seen(rank).at(kind)[0].first, SLUICE_OK);
      }
    }
    std::ifstream file(path, std::ios::binary);
    const std::string found{std::istreambuf_iterator<char>(file), {}};
    ASSERT_EQ(found.size(), static_cast<std::size_t>(each * 9));
    for (std::int64_t i = 0; i < each * 9; ++i) {
      ASSERT_EQ(found[static_cast<std::size_t>(i)], byte_of(i)) << i;
    }
  }
}

TEST(Service, MoreThanTheBudgetIsTakenPieceByPiece) {
  const storage::Scratch folder;
  Ranks ranks(2, folder / "large", "w", "writers = 1\ntile_bytes = 65536\nbudget_bytes = 1048576\n",
              9);
  ranks.until(SLUICE_EVENT_OPENED);
  sluice_session session;
  constexpr std::int64_t bytes = 6 << 20;
  ASSERT_EQ(sluice_service_start(ranks.at(1), 0, bytes, nullptr, &session), SLUICE_OK);
  const std::vector<char> data(bytes, 'x');
  std::int64_t taken = -1;
  ASSERT_EQ(sluice_service_write(ranks.at(1), &session, data.data(), bytes, 0, &taken), SLUICE_OK);
  EXPECT_GT(taken, 0);
  EXPECT_LE(taken, 1 << 20);
  for (std::int64_t done = taken; done < bytes; done += taken) {
    ranks.carry();
    ASSERT_EQ(
        sluice_service_write(ranks.at(1), &session, data.data() + done, bytes - done, done, &taken),
        SLUICE_OK);
  }
  ranks.close();
  EXPECT_EQ(ranks.seen(1).at(SLUICE_EVENT_COMPLETE)[0].first, SLUICE_OK);
  EXPECT_EQ(std::filesystem::file_size(folder / "large"), static_cast<std::uintmax_t>(bytes));
}

TEST(Service, BytesWrittenTwiceAreAnErrorThatNamesBoth) {
  const storage::Scratch folder;
  Ranks ranks(3, folder / "twice", "w", "writers = 1\n", 4);
  ranks.until(SLUICE_EVENT_OPENED);
  sluice_session session;
  ASSERT_EQ(sluice_service_start(ranks.at(1), 0, 100, nullptr, &session), SLUICE_OK);
  write_all(ranks, 1, session, 0, 60);
  write_all(ranks, 2, session, 50, 50);
  ranks.close();
  const auto& [code, message] = ranks.seen(1).at(SLUICE_EVENT_COMPLETE)[0];
  EXPECT_EQ(code, SLUICE_ERROR_OVERLAP);
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 2"), std::string::npos) << message;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.seen(rank).at(SLUICE_EVENT_CLOSED)[0].first, SLUICE_ERROR_OVERLAP);
  }
}

TEST(Service, WhatCannotBeOpenedIsToldOnEveryRank) {
  const storage::Scratch folder;
  Ranks ranks(2, folder / "absent", "r", "", 2);
  ranks.until(SLUICE_EVENT_OPENED);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ranks.seen(rank).at(SLUICE_EVENT_OPENED)[0].first, SLUICE_ERROR_NOT_FOUND);
    EXPECT_EQ(sluice_service_close(ranks.at(rank)), SLUICE_ERROR_WRONG_STATE);
  }
  sluice_service* none = nullptr;
  EXPECT_EQ(sluice_service_open(2, 2, "x", "w", "", &none), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_service_open(0, 2, "x", "w", "nonsense = 1", &none),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST(Service, GoesInWhateverState) {
  const storage::Scratch folder;
  const auto begin = std::chrono::steady_clock::now();
  { const Ranks opening(2, folder / "opening", "w", options, 1); }
  {
    Ranks ranks(2, folder / "open", "w", options, 1);
    ranks.until(SLUICE_EVENT_OPENED);
    EXPECT_EQ(sluice_service_close(ranks.at(0)), SLUICE_OK);  // and rank 1 never
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace sluice::test
