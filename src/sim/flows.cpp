#include "sim/flows.hpp"

#include <algorithm>
#include <bit>

#include "model/round_up.hpp"

namespace sluice::sim {

using layout::Extent;
using layout::RunList;

namespace {

/// The number of small runs of one client that a file system takes at once.
constexpr std::uint64_t runs_in_request = 256;
/// As in storage: a direct write has at least this many bytes in whole pages; otherwise all of it
/// is buffered.
constexpr std::uint64_t min_direct_bytes = 64 << 10;
/// As in exec: shorter ones are written by the rank itself.
constexpr std::uint64_t worth_a_thread_bytes = 256 << 10;

/// Gathers adjacent extents into long writes.
class Writes {
 public:
  Writes(Program& program, const FileUse& use) : program_(program), use_(use) {}
  ~Writes() { flush(); }
  Writes(const Writes&) = delete;
  Writes& operator=(const Writes&) = delete;

  void add(const Extent& extent) {
    if (extent.length != 0 && extent.offset != held_.offset + held_.length) {
      flush();
      held_ = {extent.offset, 0};
    }
    held_.length += extent.length;
  }
  /// Runs with the bytes of others between them: stripe by stripe.
  void add_scattered(const RunList& runs) {
    flush();
    if (use_.is_run_by_run) {
      for (std::uint64_t i = 0; i < runs.count(); ++i) {
        add({runs.offset(i), runs.run_bytes()});
      }
      return;
    }
    std::uint64_t at = runs.begin();
    while (at < runs.end()) {
      const std::uint64_t end =
          std::min((at / use_.stripe_bytes + 1) * use_.stripe_bytes, runs.end());
      const std::uint64_t bytes = runs.packed_before(end) - runs.packed_before(at);
      if (bytes != 0) {
        Op op = write(use_.file, at, bytes, use_.is_direct && runs.run_bytes() >= min_direct_bytes);
        op.is_scattered = true;
        op.count = static_cast<std::uint32_t>(1 + bytes / runs.run_bytes() / runs_in_request);
        program_.push_back(op);
      }
      at = runs.next_byte(end);
    }
  }
  void flush() {
    if (!use_.is_direct && held_.length != 0) {
      program_.push_back(write(use_.file, held_.offset, held_.length));
    }
    while (use_.is_direct && held_.length != 0) {
      const std::uint64_t room = layout::portion_bytes - held_.offset % page_bytes;
      const std::uint64_t part = std::min(held_.length, room);
      program_.push_back(copy(part));
      add_direct({held_.offset, part});
      held_ = {held_.offset + part, held_.length - part};
    }
    held_ = {};
  }

 private:
  /// Whole pages directly, the unaligned ends through the cache.
  void add_direct(const Extent& part) {
    const std::uint64_t end = part.offset + part.length;
    std::uint64_t from = model::round_up(part.offset, page_bytes);
    std::uint64_t to = end / page_bytes * page_bytes;
    if (to < from + min_direct_bytes) {
      from = to = end;
    }
    const bool in_thread = part.length >= worth_a_thread_bytes;
    const auto put = [&](std::uint64_t first, std::uint64_t last, bool is_direct) {
      if (first < last) {
        const std::uint64_t bytes = last - first;
        program_.push_back(in_thread ? submit(use_.file, first, bytes, is_direct)
                                     : write(use_.file, first, bytes, is_direct));
      }
    };
    put(part.offset, from, false);
    put(from, to, true);
    put(to, end, false);
  }

  Program& program_;
  const FileUse& use_;
  Extent held_;
};

void add_runs(Writes& writes, const RunList& runs) {
  if (runs.count() == 1) {
    writes.add({runs.begin(), runs.bytes()});
  } else if (runs.count() != 0) {
    writes.add_scattered(runs);
  }
}

}  // namespace

void add_own(Program& program, const FileUse& use, const std::vector<RunList>& runs,
             const Extent& words) {
  Writes writes(program, use);
  for (const RunList& list : runs) {
    add_runs(writes, list);
  }
  writes.add(words);
}

void add_in_turn(Programs& programs, const FileUse& use, int writer, int rank,
                 const std::vector<RunList>& runs, const Extent& words) {
  constexpr std::uint64_t turn_bytes = 1;
  if (rank != writer) {
    std::uint64_t bytes = words.length;
    for (const RunList& list : runs) {
      bytes += list.bytes();
    }
    Program& sender = programs[rank];
    sender.push_back(receive(turn_bytes));
    for (std::uint64_t done = 0; done < bytes; done += layout::portion_bytes) {
      sender.push_back(send(writer, std::min(layout::portion_bytes, bytes - done)));
      sender.push_back(sent());
    }
    programs[writer].push_back(send(rank, turn_bytes));
    programs[writer].push_back(receive(bytes));
  }
  add_own(programs[writer], use, runs, words);
}

RoundsOfAll::RoundsOfAll(const plan::TileMap& tiles, std::uint64_t window_bytes, int ranks)
    : tiles_(tiles),
      window_bytes_(window_bytes),
      parts_(static_cast<std::size_t>(ranks)),
      totals_((tiles.own_bytes() / window_bytes + 1) * tiles.writers().size()) {}

void RoundsOfAll::add_part(int rank, std::uint32_t window, std::uint32_t writer,
                           std::uint64_t bytes) {
  std::vector<Part>& parts = parts_[static_cast<std::size_t>(rank)];
  if (!parts.empty() && parts.back().window == window && parts.back().writer == writer) {
    parts.back().bytes += bytes;
  } else {
    parts.push_back({window, writer, bytes});
  }
  total(writer, window) += bytes;
}

void RoundsOfAll::add(int rank, const RunList& runs) {
  std::uint64_t before = 0;
  for (std::uint64_t at = runs.begin(); at < runs.end();) {
    const plan::Stretch here = tiles_.stretch_at(at);
    const std::uint64_t to_window_end = window_bytes_ - here.own % window_bytes_;
    const std::uint64_t end = std::min(at + std::min(here.length, to_window_end), runs.end());
    const std::uint64_t packed = runs.packed_before(end);
    if (packed != before) {
      add_part(rank, static_cast<std::uint32_t>(here.own / window_bytes_), here.writer,
               packed - before);
    }
    before = packed;
    at = end == runs.end() ? end : runs.next_byte(end);
  }
}

void RoundsOfAll::add(int rank, const Extent& extent) {
  for (std::uint64_t at = extent.offset; at < extent.offset + extent.length;) {
    const plan::Stretch here = tiles_.stretch_at(at);
    const std::uint64_t to_window_end = window_bytes_ - here.own % window_bytes_;
    const std::uint64_t length =
        std::min({here.length, to_window_end, extent.offset + extent.length - at});
    add_part(rank, static_cast<std::uint32_t>(here.own / window_bytes_), here.writer, length);
    at += length;
  }
}

void RoundsOfAll::sort(int rank) {
  // By window; within one, each rank begins with the next writer.
  const auto& writers = tiles_.writers();
  const auto count = static_cast<std::uint32_t>(writers.size());
  std::uint32_t beside = 0;
  for (std::uint32_t step = std::bit_ceil(count); step != 0; step /= 2) {
    beside += beside + step <= count && writers[beside + step - 1] <= rank ? step : 0;
  }
  const auto turn = [&](const Part& part) { return (part.writer + count - beside) % count; };
  std::vector<Part>& parts = parts_[static_cast<std::size_t>(rank)];
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return a.window != b.window ? a.window < b.window : turn(a) < turn(b);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (kept != 0 && parts[kept - 1].window == parts[i].window &&
        parts[kept - 1].writer == parts[i].writer) {
      parts[kept - 1].bytes += parts[i].bytes;
    } else {
      parts[kept++] = parts[i];
    }
  }
  parts.resize(kept);
}

void RoundsOfAll::emit(Programs& programs, const FileUse& use, const plan::OwnRange& range,
                       const Extent& space) {
  const auto first = static_cast<std::uint32_t>(range.first / window_bytes_);
  const auto last = static_cast<std::uint32_t>((range.last + window_bytes_ - 1) / window_bytes_);
  for (int rank = 0; rank < programs.ranks; ++rank) {
    sort(rank);
    emit_rank(programs, use, rank, first, last, space);
    parts_[static_cast<std::size_t>(rank)] = {};
  }
  std::fill(totals_.begin(), totals_.end(), 0);
  rounds_before_ += last;
}

void RoundsOfAll::emit_rank(Programs& programs, const FileUse& use, int rank, std::uint32_t first,
                            std::uint32_t last, const Extent& space) {
  Program& program = programs[rank];
  const int index = tiles_.index_of(rank);
  auto part = parts_[static_cast<std::size_t>(rank)].cbegin();
  const auto end = parts_[static_cast<std::size_t>(rank)].cend();
  for (std::uint32_t window = first; window < last; ++window) {
    if ((window - first) % rounds_of_barrier == 0) {
      program.push_back(barrier(everybody));
    }
    const std::uint32_t round = rounds_before_ + window + 1;
    std::uint64_t expected = index < 0 ? 0 : total(static_cast<std::uint32_t>(index), window);
    if (expected != 0) {
      program.push_back(admit(round));
    }
    bool has_sent = false;
    for (; part != end && part->window == window; ++part) {
      if (static_cast<int>(part->writer) == index) {
        program.push_back(copy(part->bytes));
        expected -= part->bytes;
      } else {
        program.push_back(send(tiles_.writers()[part->writer], part->bytes, round));
        has_sent = true;
      }
    }
    if (expected != 0) {
      program.push_back(receive(expected));
    }
    if (has_sent) {
      program.push_back(sent());
    }
    if (index >= 0) {
      emit_window(program, use, static_cast<std::uint32_t>(index), window, space);
    }
  }
}

void RoundsOfAll::emit_window(Program& program, const FileUse& use, std::uint32_t writer,
                              std::uint32_t window, const Extent& space) {
  // Exactly the bytes that arrived; if there are gaps, as if they were contiguous at the front.
  std::uint64_t left = total(writer, window);
  tiles_.for_each_stretch(
      writer, {window * window_bytes_, (window + std::uint64_t{1}) * window_bytes_},
      [&](const plan::Stretch& stretch) {
        const std::uint64_t from = std::max(stretch.offset, space.offset);
        const std::uint64_t to =
            std::min(stretch.offset + stretch.length, space.offset + space.length);
        const std::uint64_t bytes = from < to ? std::min(left, to - from) : 0;
        if (bytes != 0) {
          program.push_back(submit(use.file, from, bytes, use.is_direct));
          left -= bytes;
        }
      });
}

}  // namespace sluice::sim
