#include "mpiio/pending.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "model/clock.hpp"
#include "model/number_text.hpp"
#include "mpiio/hooks.hpp"
#include "sluice/error.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

constexpr double standard_timeout_s = 1800;
constexpr std::int64_t any_call = std::numeric_limits<std::int64_t>::max();

/// SLUICE_TIMEOUT_S; empty where that is no number.
std::optional<double> read_timeout_s() {
  const char* const text = std::getenv("SLUICE_TIMEOUT_S");
  std::string_view word = model::trimmed(text == nullptr ? "" : text);
  if (word.empty()) {
    return standard_timeout_s;
  }
  if (word.front() == '+') {
    word.remove_prefix(1);
  }
  // Not atof: the program's locale may have a decimal comma.
  return model::number_in<double>(word);
}

}  // namespace

double pending_timeout_s(bool says) {
  static const std::optional<double> asked_s = read_timeout_s();
  static std::atomic<bool> is_said{false};
  if (!asked_s && says && !is_said.exchange(true)) {
    storage::say("SLUICE_TIMEOUT_S=" + std::string(std::getenv("SLUICE_TIMEOUT_S")) +
                 ": expected seconds, such as 0.5: it is " +
                 std::to_string(static_cast<int>(standard_timeout_s)));
  }
  const double limit_s = asked_s.value_or(standard_timeout_s);
  return limit_s > 0 ? limit_s : std::numeric_limits<double>::max();
}

std::uint64_t Board::bytes_for(int ranks) {
  return static_cast<std::uint64_t>(ranks) * sizeof(Row);
}

Board::Board(std::unique_ptr<storage::SharedMemory> memory, int ranks, int own_rank)
    : memory_(std::move(memory)), ranks_(ranks), own_(own_rank) {
  row(own_).process.store(::getpid());
  pending_timeout_s(own_ == 0);  // rank 0 says for all that the setting is wrong
}

std::uint64_t Board::pending() const {
  const Row& own = row(own_);
  return own.posted.load() - own.written.load();
}

void Board::post(const Run& range, std::int64_t call) {
  Row& own = row(own_);
  const std::uint64_t number = own.posted.load();
  Slot& slot = own.ring[number % slots];
  slot.first.store(range.offset);
  slot.last.store(range.end());
  slot.call.store(call);
  own.posted.store(number + 1);
}

void Board::pass() { row(own_).written.fetch_add(1); }

bool Board::is_idle() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (row(rank).posted.load() != row(rank).written.load()) {
      return false;
    }
  }
  return true;
}

std::uint64_t Board::needed(int rank, const Run& range, std::int64_t call) const {
  const Row& theirs = row(rank);
  const std::uint64_t written = theirs.written.load();
  for (std::uint64_t i = theirs.posted.load(); i > written; --i) {
    const Slot& slot = theirs.ring[(i - 1) % slots];
    const std::int64_t first = slot.first.load();
    const std::int64_t last = slot.last.load();
    const bool is_before = slot.call.load() < call;
    // A slot is used again only after its range was written, which is seen then.
    if (theirs.written.load() >= i) {
      return 0;
    }
    if (is_before && first < range.end() && last > range.offset) {
      return i;
    }
  }
  return 0;
}

void Board::wait(int rank, std::uint64_t written) const {
  const Row& theirs = row(rank);
  std::uint64_t seen = theirs.written.load();
  if (seen >= written || !waits_for_pending()) {
    return;
  }
  constexpr std::chrono::microseconds longest_pause{500};
  std::chrono::microseconds pause{20};
  double moved_s = model::now_s();
  while (seen < written) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
    const std::uint64_t now = theirs.written.load();
    if (now != seen) {
      seen = now;
      moved_s = model::now_s();
      continue;
    }
    const auto process = static_cast<pid_t>(theirs.process.load());
    if (rank != own_ && ::kill(process, 0) != 0 && errno == ESRCH &&
        theirs.written.load() < written) {
      throw Error(Code::io, "rank " + std::to_string(rank) +
                                " of the file has ended before it wrote what it had staged");
    }
    if (model::now_s() - moved_s > pending_timeout_s()) {
      throw Error(Code::timeout, "rank " + std::to_string(rank) +
                                     " of the file has not written what it staged within "
                                     "SLUICE_TIMEOUT_S");
    }
  }
}

void Board::wait_for(const Run& range) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    wait(rank, needed(rank, range, any_call));
  }
}

void Board::wait_for_all() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    wait(rank, row(rank).posted.load());
  }
}

void Board::wait_for_earlier(const Run& range, std::int64_t call) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != own_) {
      wait(rank, needed(rank, range, call));
    }
  }
}

Boards& Boards::all() {
  static auto* const boards = new Boards;  // asked until the process ends
  return *boards;
}

void Boards::add(const storage::FileIdentity& file, std::shared_ptr<Board> board) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({file, std::move(board)});
  count_.fetch_add(1);
}

void Boards::remove(const Board* board) {
  const std::lock_guard lock(mutex_);
  const auto removed =
      std::erase_if(entries_, [&](const Entry& entry) { return entry.board.get() == board; });
  count_.fetch_sub(static_cast<int>(removed));
}

std::vector<std::shared_ptr<Board>> Boards::busy(const storage::FileIdentity& file) {
  std::vector<std::shared_ptr<Board>> found;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.file == file && !entry.board->is_idle()) {
      found.push_back(entry.board);
    }
  }
  return found;
}

void wait_for_pending(const storage::FileIdentity& file, const Run& range) {
  if (Boards::all().is_empty()) {
    return;
  }
  for (const auto& board : Boards::all().busy(file)) {
    board->wait_for(range);
  }
}

void wait_for_all_pending(const storage::FileIdentity& file) {
  if (Boards::all().is_empty()) {
    return;
  }
  for (const auto& board : Boards::all().busy(file)) {
    board->wait_for_all();
  }
}

void wait_to_read(const storage::FileIdentity& file, const Run& range, storage::File& storage) {
  if (Boards::all().is_empty()) {
    return;
  }
  for (const auto& board : Boards::all().busy(file)) {
    board->wait_for(range);
    if (range.end() > static_cast<std::int64_t>(storage.size())) {
      board->wait_for_all();  // what is pending behind it may make the file longer
    }
  }
}

}  // namespace sluice::mpiio
