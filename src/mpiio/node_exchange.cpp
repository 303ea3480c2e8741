#include "mpiio/node_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "model/bits.hpp"
#include "model/round_up.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hooks.hpp"
#include "mpiio/kept.hpp"
#include "mpiio/two_phase.hpp"
#include "sluice/error.hpp"

namespace sluice::mpiio {

namespace {

/// Room for the bytes of a window and its bits, in whole pages.
std::int64_t stride_of(std::int64_t window_bytes) {
  const std::int64_t bytes = window_bytes + window_bytes / 8 + page_bytes;
  return model::round_up(bytes, page_bytes);
}

class NodeRounds {
 public:
  NodeRounds(MPI_Comm comm, const View& view, std::int64_t stream, const Memory& memory,
             const Domains& domains, std::span<const Run> ranges, const SharedWindows& windows)
      : comm_(comm),
        view_(view),
        stream_(stream),
        memory_(memory),
        domains_(domains),
        busy_(domains, ranges),
        windows_(windows) {
    int rank = 0;
    check(mpi.Comm_rank(comm, &rank), "asking for the rank");
    for (int i = 0; i < domains.aggregators; ++i) {
      own_ = domains.rank_of(i) == rank ? i : own_;
    }
  }

  void write(Sink& sink) {
    in_rounds([&](int round, int half) {
      kept_.run([&] { fill(round, half); });
      check(mpi.Barrier(comm_), "waiting for each other");
      if (own_ >= 0) {
        kept_.run([&] { write_window(round, half, sink); });
        clear(half);
      }
    });
    // Nobody begins another exchange while a window is written.
    check(mpi.Barrier(comm_), "waiting for each other");
    kept_.rethrow();
  }

  void read(Straight& file) {
    in_rounds([&](int round, int half) {
      if (own_ >= 0) {
        kept_.run([&] { read_window(round, half, file); });
      }
      check(mpi.Barrier(comm_), "waiting for each other");
      kept_.run([&] { take(round, half); });
    });
    check(mpi.Barrier(comm_), "waiting for each other");
    kept_.rethrow();
  }

 private:
  /// Calls `work` with a round in which a rank may have bytes, and the half of the windows for it.
  template <class Work>
  void in_rounds(Work&& work) const {
    int half = 0;
    for (int round = busy_.next(0); round < domains_.rounds(); round = busy_.next(round + 1)) {
      work(round, half);
      half = 1 - half;
    }
  }

  /// Calls `move` with the place in the window, the run's length, and where in memory it is.
  template <class Move>
  void each_run(const Run& window, Move&& move) const {
    const Run part = view_.part_in(window, {stream_, memory_.bytes()});
    RunCursor runs(view_, part.offset, part.length);
    std::int64_t at = part.offset - stream_;
    for (Run run = runs.next(part.length); run.length > 0; run = runs.next(part.length)) {
      move(run.offset - window.offset, run.length, at);
      at += run.length;
    }
  }

  void fill(int round, int half) const {
    const bool is_contiguous = memory_.is_contiguous();
    for (int i = 0; i < domains_.aggregators; ++i) {
      std::byte* const into = windows_.bytes(i, half);
      std::uint64_t* const bits = windows_.bits(i, half);
      each_run(domains_.window(i, round),
               [&](std::int64_t place, std::int64_t length, std::int64_t at) {
                 if (is_contiguous) {
                   std::memcpy(into + place, memory_.at(at), size_of(length));
                 } else {
                   memory_.gather(at, {into + place, size_of(length)});
                 }
                 model::set_bits_shared(bits, size_of(place), size_of(length));
               });
    }
  }

  void take(int round, int half) const {
    const bool is_contiguous = memory_.is_contiguous();
    for (int i = 0; i < domains_.aggregators; ++i) {
      const std::byte* const from = windows_.bytes(i, half);
      each_run(domains_.window(i, round),
               [&](std::int64_t place, std::int64_t length, std::int64_t at) {
                 if (is_contiguous) {
                   std::memcpy(memory_.at(at), from + place, size_of(length));
                 } else {
                   memory_.scatter(at, {from + place, size_of(length)});
                 }
               });
    }
  }

  void write_window(int round, int half, Sink& sink) const {
    const Run window = domains_.window(own_, round);
    const std::byte* const bytes = windows_.bytes(own_, half);
    const std::uint64_t* const bits = windows_.bits(own_, half);
    const std::uint64_t end = size_of(window.length);
    std::uint64_t first = model::find_bit(bits, true, 0, end);
    while (first < end) {
      const std::uint64_t last = model::find_bit(bits, false, first, end);
      sink.write(size_of(window.offset) + first, {bytes + first, last - first});
      first = model::find_bit(bits, true, last, end);
    }
  }

  void clear(int half) const {
    const std::uint64_t words =
        (size_of(domains_.window_bytes) + model::word_bits - 1) / model::word_bits;
    std::memset(windows_.bits(own_, half), 0, words * sizeof(std::uint64_t));
  }

  void read_window(int round, int half, Straight& file) const {
    const Run window = domains_.window(own_, round);
    if (busy_.meets(window)) {
      mpiio::read_window(window, windows_.bytes(own_, half), file);
    }
  }

  MPI_Comm comm_;
  const View& view_;
  const std::int64_t stream_;
  const Memory& memory_;
  const Domains& domains_;
  const BusyRounds busy_;
  const SharedWindows& windows_;
  int own_ = -1;  ///< which aggregator this rank is
  Kept kept_;
};

}  // namespace

namespace {

/// The set that the process keeps while no file uses it. Any thread.
class Idle {
 public:
  static Idle& all() {
    static auto* const idle = new Idle;  // files may be closed while the process ends
    return *idle;
  }
  /// The kept set if `is_meant` says so of it, else an empty one.
  template <class Test>
  SharedWindows::Set take(Test&& is_meant) {
    const std::lock_guard lock(mutex_);
    return set_.memory && is_meant(set_) ? std::exchange(set_, {}) : SharedWindows::Set{};
  }
  void keep(SharedWindows::Set set) {
    const std::lock_guard lock(mutex_);
    std::swap(set_, set);
  }

 private:
  std::mutex mutex_;
  SharedWindows::Set set_;
};

/// `value` of rank 0.
template <class Value>
void broadcast(Value& value, MPI_Comm comm) {
  check(mpi.Bcast(&value, static_cast<int>(sizeof value), MPI_BYTE, 0, comm), "shared memory");
}

/// Of all ranks.
bool have_all(bool has_own, MPI_Comm comm) {
  const int lacks = has_own ? 0 : 1;
  int any_lacks = lacks;
  check(mpi.Allreduce(&lacks, &any_lacks, 1, MPI_INT, MPI_MAX, comm), "shared memory");
  return any_lacks == 0;
}

}  // namespace

SharedWindows::~SharedWindows() {
  if (set_.memory && !is_dirty_) {
    Idle::all().keep(std::move(set_));
  }
}

/// What all ranks kept: as many share it as there are, and each of them had it, so no other does.
bool SharedWindows::take_idle(MPI_Comm comm, int rank, const Domains& domains) {
  std::uint64_t nonce = 0;
  if (rank == 0) {
    set_ = Idle::all().take(
        [&](const Set& kept) { return kept.has_room_for(domains) && kept.ranks == domains.ranks; });
    nonce = set_.memory ? set_.memory->key().nonce : 0;
  }
  broadcast(nonce, comm);
  if (nonce == 0) {
    return false;
  }
  if (rank != 0) {
    set_ = Idle::all().take([&](const Set& kept) {
      return kept.memory->key().nonce == nonce && kept.ranks == domains.ranks;
    });
  }
  if (have_all(set_.memory != nullptr, comm)) {
    return true;
  }
  set_ = {};  // some ranks may be another group's
  return false;
}

/// New memory, on all ranks or on none.
void SharedWindows::make(MPI_Comm comm, int rank, const Domains& domains) {
  storage::SharedMemory::Key key;
  Set set{nullptr, domains.window_bytes, domains.aggregators, domains.ranks};
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error&) {
      set.memory.reset();  // the key, or the agreement, says so
    }
  };
  if (rank == 0) {
    attempt([&] {
      set.memory = storage::SharedMemory::make(
          static_cast<std::uint64_t>(2 * set.aggregators * stride_of(set.window_bytes)));
      set.memory->reserve(0, set.memory->bytes());
      key = set.memory->key();
    });
  }
  broadcast(key, comm);
  if (rank != 0 && key.bytes > 0) {
    attempt([&] { set.memory = storage::SharedMemory::attach(key); });
  }
  if (have_all(set.memory != nullptr, comm)) {
    set_ = std::move(set);
  }
}

bool SharedWindows::prepare(MPI_Comm comm, int rank, const Domains& domains) {
  if (is_refused_ || domains.high - domains.low < least_shared_exchange_bytes()) {
    return false;
  }
  if (set_.has_room_for(domains)) {
    return true;
  }
  set_ = {};
  if (!take_idle(comm, rank, domains)) {
    make(comm, rank, domains);
  }
  is_refused_ = set_.memory == nullptr;
  return !is_refused_;
}

std::byte* SharedWindows::window(int aggregator, int half) const {
  return set_.memory->data() + (2 * aggregator + half) * stride_of(set_.window_bytes);
}
std::byte* SharedWindows::bytes(int aggregator, int half) const { return window(aggregator, half); }
std::uint64_t* SharedWindows::bits(int aggregator, int half) const {
  const std::int64_t rounded = model::round_up(set_.window_bytes, page_bytes);
  return reinterpret_cast<std::uint64_t*>(window(aggregator, half) + rounded);
}

void write_on_node(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains, std::span<const Run> ranges,
                   SharedWindows& windows) {
  windows.set_dirty(true);
  NodeRounds(comm, view, stream, memory, domains, ranges, windows).write(sink);
  windows.set_dirty(false);
}

void read_on_node(MPI_Comm comm, Straight& file, const View& view, std::int64_t stream,
                  const Memory& memory, const Domains& domains, std::span<const Run> ranges,
                  const SharedWindows& windows) {
  NodeRounds(comm, view, stream, memory, domains, ranges, windows).read(file);
}

}  // namespace sluice::mpiio
