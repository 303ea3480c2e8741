#include "mpiio/two_phase.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "model/round_up.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/kept.hpp"
#include "sluice/error.hpp"

namespace sluice::mpiio {

namespace {

/// The limit of a rank's bytes of one round, while there are few aggregators.
constexpr std::int64_t round_bytes = std::int64_t{32} << 20;
constexpr std::int64_t most_window_bytes = std::int64_t{8} << 20;
/// A rank holds about three (cb_buffer_size).
constexpr std::int64_t most_hinted_window_bytes = std::int64_t{64} << 20;
constexpr std::int64_t least_window_bytes = 256 << 10;
/// Lists of runs take 8 bytes for each: the limit of their number in a window is about this.
constexpr std::int64_t most_window_runs = 256 << 10;
/// One rank in this many writes for the others, unless a hint gives the number: more were slower on
/// two cores (4 ranks, runs of 512 B: 0.42 s with one, 0.65 s with two, 0.83 s with four).
constexpr int ranks_for_one = 4;
constexpr int most_default_aggregators = 16;

/// On the file's own communicator, which has no other messages.
enum Subject : int { about_runs = 1, about_data };

/// A run in a window.
struct Piece {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};
/// What a rank announces for a window.
struct Announced {
  std::int32_t pieces = 0;
  std::int32_t bytes = 0;
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

class Requests {
 public:
  void send(const void* from, std::int64_t bytes, int to, int tag, MPI_Comm comm) {
    check(mpi.Isend(from, static_cast<int>(bytes), MPI_BYTE, to, tag, comm, next()), "sending");
  }
  void receive(void* into, std::int64_t bytes, int from, int tag, MPI_Comm comm) {
    check(mpi.Irecv(into, static_cast<int>(bytes), MPI_BYTE, from, tag, comm, next()), "receiving");
  }
  void wait() {
    check(mpi.Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "waiting for messages");
    requests_.clear();
  }

 private:
  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  std::vector<MPI_Request> requests_;
};

/// The data of one rank in the windows of a round.
struct Share {
  std::int64_t stream = 0;  ///< where its bytes begin in the memory
  std::vector<Piece> pieces;
  std::int64_t bytes = 0;
};

/// The rounds of one collective access, seen by one rank.
class Rounds {
 public:
  Rounds(MPI_Comm comm, const View& view, std::int64_t stream, const Memory& memory,
         const Domains& domains)
      : comm_(comm),
        view_(view),
        stream_(stream),
        memory_(memory),
        domains_(domains),
        shares_(static_cast<std::size_t>(domains.aggregators)) {
    check(mpi.Comm_rank(comm, &rank_), "asking for the rank");
    for (int i = 0; i < domains.aggregators; ++i) {
      own_ = domains.rank_of(i) == rank_ ? i : own_;
    }
  }

  void write(Sink& sink) {
    for (int round = 0; round < domains_.rounds(); ++round) {
      announce(round);
      send_own();
      if (own_ >= 0) {
        collect(domains_.window(own_, round), sink);
      }
      sends_.wait();
    }
    kept_.rethrow();
  }

  void read(storage::File& file) {
    for (int round = 0; round < domains_.rounds(); ++round) {
      announce(round);
      ask_for_own();
      if (own_ >= 0) {
        serve(domains_.window(own_, round), file);
      }
      sends_.wait();
      take_own();
    }
    kept_.rethrow();
  }

 private:
  /// Determines what this rank has in each window, and exchanges the sizes with all ranks.
  void announce(int round) {
    const auto ranks = static_cast<std::size_t>(domains_.ranks);
    std::vector<Announced> mine(ranks);
    theirs_.resize(ranks);
    for (int i = 0; i < domains_.aggregators; ++i) {
      Share& share = shares_[static_cast<std::size_t>(i)];
      cut(domains_.window(i, round), share);
      Announced& told = mine[static_cast<std::size_t>(domains_.rank_of(i))];
      told.pieces = static_cast<std::int32_t>(share.pieces.size());
      told.bytes = static_cast<std::int32_t>(share.bytes);
    }
    check(mpi.Alltoall(mine.data(), 2, MPI_INT, theirs_.data(), 2, MPI_INT, comm_),
          "exchanging the sizes");
  }

  void cut(const Run& window, Share& share) const {
    const std::int64_t last = stream_ + memory_.bytes();
    const auto within = [&](std::int64_t offset) {
      return std::clamp(view_.stream_below(offset), stream_, last);
    };
    share.pieces.clear();
    share.bytes = 0;
    if (window.length == 0 || memory_.bytes() == 0) {
      return;
    }
    const std::int64_t from = within(window.offset);
    share.bytes = within(window.end()) - from;
    share.stream = from - stream_;
    RunCursor runs(view_, from, share.bytes);
    for (Run run = runs.next(share.bytes); run.length > 0; run = runs.next(share.bytes)) {
      share.pieces.push_back({static_cast<std::uint32_t>(run.offset - window.offset),
                              static_cast<std::uint32_t>(run.length)});
    }
  }

  static std::int64_t list_bytes(std::size_t pieces) {
    return static_cast<std::int64_t>(pieces * sizeof(Piece));
  }

  /// The location of this rank's bytes of a share; consecutive if memory is scattered.
  std::byte* place_of(const Share& share, std::int64_t& used) {
    if (memory_.is_contiguous()) {
      return memory_.at(share.stream);
    }
    std::byte* const place = packed_.of(packed_bytes()) + used;
    used += share.bytes;
    return place;
  }
  std::int64_t packed_bytes() const {
    std::int64_t bytes = 0;
    for (const Share& share : shares_) {
      bytes += share.bytes;
    }
    return bytes;
  }

  void send_own() {
    std::int64_t used = 0;
    for (int i = 0; i < domains_.aggregators; ++i) {
      const Share& share = shares_[static_cast<std::size_t>(i)];
      if (share.bytes == 0) {
        continue;
      }
      std::byte* const from = place_of(share, used);
      if (!memory_.is_contiguous()) {
        memory_.gather(share.stream, {from, size_of(share.bytes)});
      }
      const int to = domains_.rank_of(i);
      sends_.send(share.pieces.data(), list_bytes(share.pieces.size()), to, about_runs, comm_);
      sends_.send(from, share.bytes, to, about_data, comm_);
    }
  }

  void ask_for_own() {
    std::int64_t used = 0;
    for (int i = 0; i < domains_.aggregators; ++i) {
      const Share& share = shares_[static_cast<std::size_t>(i)];
      if (share.bytes == 0) {
        continue;
      }
      const int from = domains_.rank_of(i);
      sends_.receive(place_of(share, used), share.bytes, from, about_data, comm_);
      sends_.send(share.pieces.data(), list_bytes(share.pieces.size()), from, about_runs, comm_);
    }
  }

  void take_own() {
    if (memory_.is_contiguous()) {
      return;
    }
    std::int64_t used = 0;
    for (const Share& share : shares_) {
      if (share.bytes > 0) {
        memory_.scatter(share.stream, {place_of(share, used), size_of(share.bytes)});
      }
    }
  }

  /// Calls `work` with batches of ranks that have something in the window, each with messages of
  /// at most two windows together, or a single rank.
  template <class Work>
  void in_batches(Work&& work) {
    std::vector<int> batch;
    std::int64_t bytes = 0;
    for (int rank = 0; rank < domains_.ranks; ++rank) {
      const Announced& told = theirs_[static_cast<std::size_t>(rank)];
      if (told.bytes == 0) {
        continue;
      }
      const std::int64_t more = told.bytes + list_bytes(static_cast<std::size_t>(told.pieces));
      if (!batch.empty() && bytes + more > 2 * domains_.window_bytes) {
        work(batch, bytes);
        batch.clear();
        bytes = 0;
      }
      batch.push_back(rank);
      bytes += more;
    }
    if (!batch.empty()) {
      work(batch, bytes);
    }
  }

  /// Memory for the messages of a batch: the list of each rank, followed by its bytes.
  struct Arrived {
    std::vector<std::byte*> lists;
    std::vector<std::byte*> data;
  };
  Arrived room_for(const std::vector<int>& batch, std::int64_t bytes) {
    Arrived arrived;
    std::byte* at = messages_.of(bytes);
    for (const int rank : batch) {  // lists first: they need alignment
      arrived.lists.push_back(at);
      at += list_bytes(static_cast<std::size_t>(theirs_[static_cast<std::size_t>(rank)].pieces));
    }
    for (const int rank : batch) {
      arrived.data.push_back(at);
      at += theirs_[static_cast<std::size_t>(rank)].bytes;
    }
    return arrived;
  }
  std::span<const Piece> pieces_of(const std::byte* list, int rank) const {
    return {reinterpret_cast<const Piece*>(list),
            static_cast<std::size_t>(theirs_[static_cast<std::size_t>(rank)].pieces)};
  }

  void collect(const Run& window, Sink& sink) {
    std::vector<Piece> covered;
    std::byte* const bytes =
        window_.of(domains_.window_bytes + page_bytes) + window.offset % page_bytes;
    in_batches([&](const std::vector<int>& batch, std::int64_t batch_bytes) {
      const Arrived arrived = room_for(batch, batch_bytes);
      Requests receives;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Announced& told = theirs_[static_cast<std::size_t>(batch[i])];
        receives.receive(arrived.lists[i], list_bytes(static_cast<std::size_t>(told.pieces)),
                         batch[i], about_runs, comm_);
        receives.receive(arrived.data[i], told.bytes, batch[i], about_data, comm_);
      }
      receives.wait();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::byte* from = arrived.data[i];
        for (const Piece& piece : pieces_of(arrived.lists[i], batch[i])) {
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

  void serve(const Run& window, storage::File& file) {
    std::byte* const bytes = window_.of(domains_.window_bytes + page_bytes);
    bool is_read = false;
    in_batches([&](const std::vector<int>& batch, std::int64_t batch_bytes) {
      const Arrived arrived = room_for(batch, batch_bytes);
      Requests messages;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto pieces = theirs_[static_cast<std::size_t>(batch[i])].pieces;
        messages.receive(arrived.lists[i], list_bytes(static_cast<std::size_t>(pieces)), batch[i],
                         about_runs, comm_);
      }
      if (!is_read) {
        kept_.run([&] { read_window(window, bytes, file); });
        is_read = true;
      }
      messages.wait();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        std::byte* into = arrived.data[i];
        for (const Piece& piece : pieces_of(arrived.lists[i], batch[i])) {
          std::memcpy(into, bytes + piece.offset, piece.length);
          into += piece.length;
        }
        messages.send(arrived.data[i], theirs_[static_cast<std::size_t>(batch[i])].bytes, batch[i],
                      about_data, comm_);
      }
      messages.wait();
    });
  }

  MPI_Comm comm_;
  const View& view_;
  const std::int64_t stream_;
  const Memory& memory_;
  const Domains& domains_;
  int rank_ = 0;
  int own_ = -1;  ///< which aggregator this rank is
  std::vector<Share> shares_;
  std::vector<Announced> theirs_;
  Requests sends_;
  Room packed_;
  Room messages_;
  Room window_;
  Kept kept_;
};

}  // namespace

void read_window(const Run& window, std::byte* bytes, storage::File& file) {
  const std::size_t wanted = size_of(window.length);
  const std::size_t got = file.read(static_cast<std::uint64_t>(window.offset), {bytes, wanted});
  if (got < wanted) {
    throw Error(Code::truncated, file.path() + ": became shorter while it was read");
  }
}

Run Domains::window(int aggregator, int round) const {
  const std::int64_t first = low + aggregator * domain_bytes;
  const std::int64_t last = std::min(first + domain_bytes, high);
  const std::int64_t from = first + round * window_bytes;
  return {from, std::clamp<std::int64_t>(last - from, 0, window_bytes)};
}

Domains make_domains(const Run& range, std::int64_t mean_run, int ranks,
                     const ExchangeHints& hints) {
  Domains domains;
  // Whole stripes, where somebody says how long these are: no two ranks write in one.
  const std::int64_t unit = model::round_up(std::max(hints.stripe_bytes, page_bytes), page_bytes);
  domains.low = range.offset / unit * unit;
  domains.high = range.end();
  domains.ranks = ranks;
  const std::int64_t units = (domains.high - domains.low + unit - 1) / unit;
  const int wanted = hints.aggregators > 0 ? hints.aggregators
                                           : std::min((ranks + ranks_for_one - 1) / ranks_for_one,
                                                      most_default_aggregators);
  // No less than 64 KiB for each.
  constexpr std::int64_t least_bytes = 64 << 10;
  const std::int64_t useful = std::max<std::int64_t>(1, units * unit / std::max(least_bytes, unit));
  domains.aggregators =
      static_cast<int>(std::clamp<std::int64_t>(std::min<std::int64_t>(wanted, useful), 1, ranks));
  domains.domain_bytes = (units + domains.aggregators - 1) / domains.aggregators * unit;
  std::int64_t window =
      hints.window_bytes > 0
          ? std::clamp(hints.window_bytes, least_window_bytes, most_hinted_window_bytes)
          : std::clamp(round_bytes / domains.aggregators, least_window_bytes, most_window_bytes);
  const std::int64_t run = std::clamp<std::int64_t>(mean_run, 1, most_window_bytes);
  window = std::clamp(run * most_window_runs, least_window_bytes, window);
  const std::int64_t whole = window >= unit ? unit : page_bytes;
  window = window / whole * whole;
  domains.window_bytes = std::min(window, domains.domain_bytes);
  return domains;
}

void write_together(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                    const Memory& memory, const Domains& domains) {
  Rounds(comm, view, stream, memory, domains).write(sink);
}

void read_together(MPI_Comm comm, storage::File& file, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains) {
  Rounds(comm, view, stream, memory, domains).read(file);
}

}  // namespace sluice::mpiio
