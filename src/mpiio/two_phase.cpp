#include "mpiio/two_phase.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

#include "model/round_up.hpp"
#include "mpiio/announcements.hpp"
#include "mpiio/kept.hpp"
#include "mpiio/messages.hpp"
#include "sluice/error.hpp"

namespace sluice::mpiio {

namespace {

/// The runs and the bytes of a rank are one message up to this size.
constexpr std::int64_t most_joined_bytes = 16 << 10;

/// A run in a window.
struct Piece {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};
struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte, Freed>;
/// Aligned so that whole pages of the file can be whole pages of memory.
Buffer make_buffer(std::int64_t bytes) {
  constexpr std::int64_t alignment = 2 << 20;
  const std::int64_t rounded = model::round_up(bytes, alignment);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(size_of(alignment), size_of(rounded)));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return Buffer(memory);
}

/// A buffer that is reused and grows.
class Room {
 public:
  std::byte* of(std::int64_t bytes) {
    if (bytes > bytes_) {
      buffer_.reset();
      buffer_ = make_buffer(bytes);
      bytes_ = bytes;
    }
    return buffer_.get();
  }

 private:
  Buffer buffer_;
  std::int64_t bytes_ = 0;
};

std::int64_t list_bytes(std::int64_t pieces) {
  return pieces * static_cast<std::int64_t>(sizeof(Piece));
}
/// Does the list of runs go with the bytes? Sender and receiver decide alike.
bool is_joined(std::int64_t list, std::int64_t bytes) { return list + bytes <= most_joined_bytes; }

/// The data of this rank in one of the windows of a round.
struct Share {
  std::int64_t stream = 0;  ///< where its bytes begin in the memory
  std::vector<Piece> pieces;
  std::int64_t bytes = 0;

  std::int64_t list() const { return list_bytes(std::ssize(pieces)); }
};

/// The message of a rank to an aggregator: a list of runs, followed by their bytes.
struct Arrival {
  int rank = 0;
  std::int64_t list = 0;  ///< bytes of it
  std::int64_t bytes = 0;
  std::byte* at = nullptr;

  /// Whole, so that the next list is aligned.
  std::int64_t room() const { return model::round_up<std::int64_t>(list + bytes, 8); }
  std::byte* data() const { return at + list; }
  std::span<const Piece> pieces() const {
    return {reinterpret_cast<const Piece*>(at), size_of(list) / sizeof(Piece)};
  }
};

/// The rounds of one collective access, seen by one rank.
class Rounds {
 public:
  Rounds(MPI_Comm comm, const View& view, std::int64_t stream, const Memory& memory,
         const Domains& domains, std::span<const Run> ranges)
      : comm_(comm),
        view_(view),
        stream_(stream),
        memory_(memory),
        domains_(domains),
        busy_(domains, ranges),
        announcements_(comm, domains, ranges),
        shares_(static_cast<std::size_t>(domains.aggregators)),
        sends_(comm) {}

  void write(Sink& sink) {
    in_rounds([&](int round) {
      send_own();
      if (announcements_.own() >= 0) {
        collect(round, sink);
      }
      sends_.wait();
    });
  }

  void read(Straight& file) {
    in_rounds([&](int round) {
      ask_for_own();
      if (announcements_.own() >= 0) {
        serve(round, file);
      }
      sends_.wait();
      take_own();
    });
  }

 private:
  /// Calls `work` when this rank's shares of the round are known.
  template <class Work>
  void in_rounds(Work&& work) {
    const int rounds = domains_.rounds();
    const int most = announcements_.most_rounds();
    int last = 0;
    for (int first = busy_.next(0); first < rounds; first = busy_.next(last)) {
      last = std::min(rounds - first, most) + first;
      announcements_.exchange(first, last, view_, {stream_, memory_.bytes()});
      for (int round = first; round < last; ++round) {
        for (const int i : announcements_.aggregators()) {
          cut(domains_.window(i, round), share_of(i));
        }
        work(round);
        announcements_.wait();
      }
    }
    kept_.rethrow();
  }

  Share& share_of(int aggregator) { return shares_[static_cast<std::size_t>(aggregator)]; }

  void cut(const Run& window, Share& share) const {
    const Run part = view_.part_in(window, {stream_, memory_.bytes()});
    share.stream = part.offset - stream_;
    share.bytes = part.length;
    share.pieces.clear();
    RunCursor runs(view_, part.offset, part.length);
    for (Run run = runs.next(part.length); run.length > 0; run = runs.next(part.length)) {
      share.pieces.push_back({static_cast<std::uint32_t>(run.offset - window.offset),
                              static_cast<std::uint32_t>(run.length)});
    }
  }

  /// Calls `action` with each of this rank's shares that have bytes, and its aggregator's rank.
  template <class Action>
  void for_each_share(Action&& action) {
    for (const int i : announcements_.aggregators()) {
      if (const Share& share = share_of(i); share.bytes > 0) {
        action(share, domains_.rank_of(i));
      }
    }
  }

  void send_own() {
    const bool is_contiguous = memory_.is_contiguous();
    const auto packed_bytes = [&](const Share& share) {
      return is_joined(share.list(), share.bytes) ? share.list() + share.bytes
             : is_contiguous                      ? 0
                                                  : share.bytes;
    };
    std::int64_t all = 0;
    for_each_share([&](const Share& share, int) { all += packed_bytes(share); });
    std::byte* at = packed_.of(all);
    for_each_share([&](const Share& share, int to) {
      std::byte* const packed = at;
      at += packed_bytes(share);
      if (is_joined(share.list(), share.bytes)) {
        std::memcpy(packed, share.pieces.data(), size_of(share.list()));
        memory_.gather(share.stream, {packed + share.list(), size_of(share.bytes)});
        sends_.send_expected(packed, share.list() + share.bytes, to, about_data);
        return;
      }
      if (!is_contiguous) {
        memory_.gather(share.stream, {packed, size_of(share.bytes)});
      }
      sends_.send(share.pieces.data(), share.list(), to, about_runs);
      sends_.send_expected(is_contiguous ? memory_.at(share.stream) : packed, share.bytes, to,
                           about_data);
    });
  }

  /// Calls `action` with each share, its aggregator's rank, and the place for its bytes: in memory,
  /// or packed if that is scattered.
  template <class Action>
  void for_each_place(Action&& action) {
    std::int64_t all = 0;
    const bool is_contiguous = memory_.is_contiguous();
    for_each_share([&](const Share& share, int) { all += is_contiguous ? 0 : share.bytes; });
    std::byte* at = packed_.of(all);
    for_each_share([&](const Share& share, int rank) {
      action(share, rank, is_contiguous ? memory_.at(share.stream) : at);
      at += is_contiguous ? 0 : share.bytes;
    });
  }

  void ask_for_own() {
    for_each_place([&](const Share& share, int from, std::byte* place) {
      sends_.receive(place, share.bytes, from, about_data);
      sends_.send(share.pieces.data(), share.list(), from, about_runs);
    });
  }

  void take_own() {
    if (memory_.is_contiguous()) {
      return;
    }
    for_each_place([&](const Share& share, int, const std::byte* place) {
      memory_.scatter(share.stream, {place, size_of(share.bytes)});
    });
  }

  /// Calls `work` with batches of ranks that have something in the window, each with messages of
  /// at most two windows together, or a single rank.
  template <class Work>
  void in_batches(int round, Work&& work) {
    std::vector<Arrival> batch;
    std::int64_t bytes = 0;
    const auto work_on_batch = [&] {
      std::byte* at = messages_.of(bytes);
      for (Arrival& arrival : batch) {
        arrival.at = at;
        at += arrival.room();
      }
      work(batch);
      batch.clear();
      bytes = 0;
    };
    const std::vector<int>& ranks = announcements_.ranks();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const Announced told = announcements_.of(i, round);
      const Arrival arrival{ranks[i], list_bytes(told.pieces), told.bytes};
      if (told.bytes == 0) {
        continue;
      }
      if (!batch.empty() && bytes + arrival.room() > 2 * domains_.window_bytes) {
        work_on_batch();
      }
      batch.push_back(arrival);
      bytes += arrival.room();
    }
    if (!batch.empty()) {
      work_on_batch();
    }
  }

  void collect(int round, Sink& sink) {
    const Run window = domains_.window(announcements_.own(), round);
    std::vector<Piece> covered;
    std::byte* const bytes =
        window_.of(domains_.window_bytes + page_bytes) + window.offset % page_bytes;
    in_batches(round, [&](const std::vector<Arrival>& batch) {
      Requests receives(comm_);
      for (const Arrival& arrival : batch) {
        if (is_joined(arrival.list, arrival.bytes)) {
          receives.receive(arrival.at, arrival.list + arrival.bytes, arrival.rank, about_data);
        } else {
          receives.receive(arrival.at, arrival.list, arrival.rank, about_runs);
          receives.receive(arrival.data(), arrival.bytes, arrival.rank, about_data);
        }
      }
      receives.wait();
      for (const Arrival& arrival : batch) {
        const std::byte* from = arrival.data();
        for (const Piece& piece : arrival.pieces()) {
          std::memcpy(bytes + piece.offset, from, piece.length);
          from += piece.length;
          covered.push_back(piece);
        }
      }
    });
    kept_.run([&] { write_covered(window, bytes, covered, sink); });
  }

  static void write_covered(const Run& window, const std::byte* bytes, std::vector<Piece>& covered,
                            Sink& sink) {
    std::sort(covered.begin(), covered.end(),
              [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
    for (std::size_t i = 0; i < covered.size();) {
      const std::uint64_t first = covered[i].offset;
      std::uint64_t last = first + covered[i].length;
      for (++i; i < covered.size() && covered[i].offset <= last; ++i) {
        last = std::max<std::uint64_t>(last, std::uint64_t{covered[i].offset} + covered[i].length);
      }
      sink.write(static_cast<std::uint64_t>(window.offset) + first, {bytes + first, last - first});
    }
  }

  void serve(int round, Straight& file) {
    const Run window = domains_.window(announcements_.own(), round);
    std::byte* const bytes = window_.of(domains_.window_bytes + page_bytes);
    bool is_read = false;
    in_batches(round, [&](const std::vector<Arrival>& batch) {
      Requests messages(comm_);
      for (const Arrival& arrival : batch) {
        messages.receive(arrival.at, arrival.list, arrival.rank, about_runs);
      }
      if (!is_read) {
        kept_.run([&] { read_window(window, bytes, file); });
        is_read = true;
      }
      messages.wait();
      for (const Arrival& arrival : batch) {
        std::byte* into = arrival.data();
        for (const Piece& piece : arrival.pieces()) {
          std::memcpy(into, bytes + piece.offset, piece.length);
          into += piece.length;
        }
        messages.send(arrival.data(), arrival.bytes, arrival.rank, about_data);
      }
      messages.wait();
    });
  }

  MPI_Comm comm_;
  const View& view_;
  const std::int64_t stream_;
  const Memory& memory_;
  const Domains& domains_;
  const BusyRounds busy_;
  Announcements announcements_;
  std::vector<Share> shares_;
  Requests sends_;
  Room packed_;
  Room messages_;
  Room window_;
  Kept kept_;
};

}  // namespace

void read_window(const Run& window, std::byte* bytes, Straight& file) {
  const std::size_t wanted = size_of(window.length);
  const std::size_t got = file.read(static_cast<std::uint64_t>(window.offset), {bytes, wanted});
  if (got < wanted) {
    throw Error(Code::truncated, file.path() + ": became shorter while it was read");
  }
}

void write_together(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                    const Memory& memory, const Domains& domains, std::span<const Run> ranges) {
  Rounds(comm, view, stream, memory, domains, ranges).write(sink);
}

void read_together(MPI_Comm comm, Straight& file, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains, std::span<const Run> ranges) {
  Rounds(comm, view, stream, memory, domains, ranges).read(file);
}

}  // namespace sluice::mpiio
