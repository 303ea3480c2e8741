#include "exec/write/ring.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "exec/notify/bits.hpp"
#include "exec/notify/node_memory.hpp"
#include "exec/write/stream_copy.hpp"
#include "exec/write/window.hpp"
#include "model/clock.hpp"

namespace sluice::exec {

namespace {

/// A waiter looks again so often, whatever it hears.
constexpr double ring_look_again_s = 1;
/// Passes gather what they bring for so many windows at once.
constexpr std::uint64_t windows_in_batch = 8;
/// What stays in the nearest cache of a core between its checksum and its copy.
constexpr std::uint64_t ring_slice_bytes = 16 << 10;
constexpr std::uint64_t page_bytes = 4096;
/// As much is made room for at once: what was zeroed should still be in a cache when it is filled.
constexpr std::uint64_t room_bytes = 64 << 10;
constexpr std::uint64_t word_bits = 64;

std::uint64_t pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

void set_shared(std::uint64_t* words, std::uint64_t at, std::uint64_t length) {
  const std::uint64_t end = at + length;
  const std::uint64_t first = at / word_bits;
  const std::uint64_t last = (end - 1) / word_bits;
  const std::uint64_t head = ~std::uint64_t{0} << (at % word_bits);
  const std::uint64_t tail = ~std::uint64_t{0} >> ((word_bits - end % word_bits) % word_bits);
  const auto set = [&](std::uint64_t word, std::uint64_t mask) {
    std::atomic_ref(words[word]).fetch_or(mask, std::memory_order_release);
  };
  if (first == last) {
    set(first, head & tail);
    return;
  }
  set(first, head);
  for (std::uint64_t word = first + 1; word < last; ++word) {
    std::atomic_ref(words[word]).store(~std::uint64_t{0}, std::memory_order_release);
  }
  set(last, tail);
}

}  // namespace

struct alignas(64) Ring::Writer {
  std::atomic<std::uint64_t> written;  ///< windows up to this number
  EventCount came;                     ///< a rank has passed a window
  EventCount went;                     ///< a window was written
};

namespace {

struct alignas(64) Passed {
  std::atomic<std::uint64_t> windows;
};

}  // namespace

std::uint64_t Ring::head_bytes(std::size_t ranks, std::size_t writers) {
  return pages(writers * sizeof(Writer) + ranks * writers * sizeof(Passed));
}

std::uint64_t Ring::memory_bytes(const RingShape& shape) {
  const std::uint64_t head = head_bytes(shape.ranks, shape.writers);
  const std::uint64_t slot = pages(shape.window_bytes) + pages(shape.window_bytes / 8 + 8);
  return head + shape.writers * shape.slots * slot;
}

std::unique_ptr<Ring> Ring::share(Transport& transport, RingShape shape, double timeout_s) {
  shape.ranks = static_cast<std::size_t>(transport.size());
  const std::uint64_t bytes = memory_bytes(shape);
  std::shared_ptr<storage::SharedMemory> memory = share_on_node(
      transport, bytes,
      storage::SharedMemory::makes_room_in_parts() ? head_bytes(shape.ranks, shape.writers)
                                                   : bytes);
  if (!memory) {
    return nullptr;
  }
  const auto rank = static_cast<std::size_t>(transport.rank());
  return std::make_unique<Ring>(std::move(memory), shape, rank, timeout_s);
}

void Ring::Rooms::make(storage::SharedMemory& memory, const void* first, std::uint64_t length) {
  if (length == 0 || !storage::SharedMemory::makes_room_in_parts()) {
    return;
  }
  made_.resize((memory.bytes() + room_bytes - 1) / room_bytes);
  const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(first) - memory.data());
  for (std::uint64_t room = at / room_bytes; room <= (at + length - 1) / room_bytes; ++room) {
    if (!made_[room]) {
      memory.reserve(room * room_bytes, std::min((room + 1) * room_bytes, memory.bytes()));
      made_[room] = true;
    }
  }
}

/// Its windows' marks, as a writer reads and clears them.
std::uint64_t Ring::bits_bytes(const Pass& pass) const {
  return window_bytes_ / pass.granule / 8 + 8;
}

Ring::Ring(std::shared_ptr<storage::SharedMemory> memory, const RingShape& shape, std::size_t rank,
           double timeout_s)
    : memory_(std::move(memory)),
      rank_(rank),
      ranks_(shape.ranks),
      writers_(shape.writers),
      window_bytes_(shape.window_bytes),
      slots_(shape.slots),
      timeout_s_(timeout_s) {}

Ring::~Ring() = default;

Ring::Writer& Ring::writer(std::size_t w) const {
  return std::launder(reinterpret_cast<Writer*>(memory_->data()))[w];
}

std::atomic<std::uint64_t>& Ring::passed(std::size_t rank, std::size_t w) const {
  auto* first =
      std::launder(reinterpret_cast<Passed*>(memory_->data() + writers_ * sizeof(Writer)));
  return first[rank * writers_ + w].windows;
}

std::uint64_t Ring::passed_by_all(std::size_t w) const {
  std::uint64_t least = passed(0, w).load(std::memory_order_acquire);
  for (std::size_t rank = 1; rank < ranks_; ++rank) {
    least = std::min(least, passed(rank, w).load(std::memory_order_acquire));
  }
  return least;
}

std::byte* Ring::slot(std::size_t w, std::uint64_t number) const {
  return memory_->data() + head_bytes(ranks_, writers_) +
         (w * slots_ + number % slots_) * pages(window_bytes_);
}

std::uint64_t* Ring::bits(std::size_t w, std::uint64_t number) const {
  std::byte* first = slot(0, 0) + writers_ * slots_ * pages(window_bytes_);
  return reinterpret_cast<std::uint64_t*>(first + (w * slots_ + number % slots_) *
                                                      pages(window_bytes_ / 8 + 8));
}

Pass Ring::pass(const plan::TileMap& tiles, const plan::OwnRange& range, std::uint64_t granule) {
  Pass pass;
  pass.first_window = range.first / window_bytes_;
  pass.last_window = std::max(pass.first_window, (range.last + window_bytes_ - 1) / window_bytes_);
  pass.number = next_;
  pass.granule = granule;
  pass.tiles = tiles;
  next_ += pass.last_window - pass.first_window;
  return pass;
}

void Ring::advance(std::uint64_t number) {
  stream_fence();
  for (std::size_t w = 0; w < writers_; ++w) {
    passed(rank_, w).store(number, std::memory_order_release);
    writer(w).came.notify();
  }
}

void Ring::put(const Pass& pass, RoundSource& source) {
  std::exception_ptr failure;
  for (std::uint64_t first = pass.first_window; first < pass.last_window && !failure;
       first += windows_in_batch) {
    const std::uint64_t last = std::min(pass.last_window, first + windows_in_batch);
    try {
      const auto leaving = items_by_writer(source.items(), pass.tiles,
                                           {first * window_bytes_, last * window_bytes_});
      for (std::uint64_t window = first; window < last; ++window) {
        for (std::size_t i = 0; i < writers_; ++i) {
          // Each begins with another writer, so that not all wait for the same one.
          const std::size_t w = (i + rank_) % writers_;
          const auto items = leaving.find(static_cast<std::uint32_t>(w));
          if (items != leaving.end()) {
            put_window(pass, window, w, source, items->second);
          }
        }
        advance(pass.number + (window - pass.first_window) + 1);
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }
  advance(pass.number + (pass.last_window - pass.first_window));
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void Ring::put_nothing(const Pass& pass) {
  advance(pass.number + (pass.last_window - pass.first_window));
}

void Ring::put_window(const Pass& pass, std::uint64_t window, std::size_t w, RoundSource& source,
                      const std::vector<std::size_t>& items) {
  Stretches stretches;
  pass.tiles.for_each_stretch(static_cast<std::uint32_t>(w),
                              {window * window_bytes_, (window + 1) * window_bytes_},
                              [&](const plan::Stretch& here) { stretches.push_back(here); });
  bool has_slot = false;
  for (const std::size_t i : items) {
    const RoundItem& item = source.items()[i];
    for_each_part(item.runs, stretches,
                  [&](const plan::Stretch& stretch, std::uint64_t from, std::uint64_t to) {
                    if (!has_slot) {
                      wait_for_slot(w, pass.number + (window - pass.first_window));
                      has_slot = true;
                    }
                    for (std::uint64_t at = from; at < to; at += ring_slice_bytes) {
                      const std::uint64_t end = std::min(to, at + ring_slice_bytes);
                      const auto bytes = source.bytes(i, at, end).bytes;
                      copy(pass, stretch, item, bytes, at, window, w);
                    }
                    outcome(pass, stretch, item, from, to, window, w);
                  });
  }
}

void Ring::copy(const Pass& pass, const plan::Stretch& stretch, const RoundItem& item,
                std::span<const std::byte> bytes, std::uint64_t from, std::uint64_t window,
                std::size_t w) {
  std::byte* const memory = slot(w, pass.number + (window - pass.first_window));
  const std::uint64_t first = item.runs.offset_of_packed(from);
  const std::uint64_t last = item.runs.offset_of_packed(from + bytes.size() - 1) + 1;
  item.runs.for_each_within(
      first, last, [&](std::uint64_t offset, std::uint64_t packed, std::uint64_t length) {
        const std::uint64_t at = stretch.own + (offset - stretch.offset) - window * window_bytes_;
        put_rooms_.make(*memory_, memory + at, length);
        stream_copy(memory + at, bytes.data() + (packed - from), length);
      });
}

/// Packed bytes [from, to) were copied.
void Ring::outcome(const Pass& pass, const plan::Stretch& stretch, const RoundItem& item,
                   std::uint64_t from, std::uint64_t to, std::uint64_t window, std::size_t w) {
  std::uint64_t* const came = bits(w, pass.number + (window - pass.first_window));
  if (!pass.gathers) {
    stream_fence();  // the writer may look at once
  }
  item.runs.for_each_within(
      item.runs.offset_of_packed(from), item.runs.offset_of_packed(to - 1) + 1,
      [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
        const std::uint64_t at = stretch.own + (offset - stretch.offset) - window * window_bytes_;
        const std::uint64_t first = at / pass.granule;
        const std::uint64_t last = first + length / pass.granule;
        put_rooms_.make(*memory_, came + first / word_bits,
                        ((last - 1) / word_bits - first / word_bits + 1) * sizeof *came);
        set_shared(came, first, last - first);
      });
  if (!pass.gathers) {
    writer(w).came.notify();
  }
}

void Ring::wait_for_slot(std::size_t w, std::uint64_t number) {
  if (number < writer(w).written.load(std::memory_order_acquire) + slots_) {
    return;
  }
  const double start = model::now_s();
  while (true) {
    const std::uint32_t epoch = writer(w).went.epoch();
    if (number < writer(w).written.load(std::memory_order_acquire) + slots_) {
      waited_s_ += model::now_s() - start;
      return;
    }
    const double waited = model::now_s() - start;
    if (timeout_s_ > 0 && waited > timeout_s_) {
      waited_s_ += waited;
      throw Error(Code::timeout, "writer " + std::to_string(w) + " of the node took no bytes for " +
                                     std::to_string(timeout_s_) + " s");
    }
    writer(w).went.wait(epoch, ring_look_again_s);
  }
}

void Ring::wait_for_ranks(std::size_t w, std::uint64_t number) {
  while (true) {
    const std::uint32_t epoch = writer(w).came.epoch();
    if (passed_by_all(w) > number) {
      return;
    }
    if (stopped_.load()) {
      throw Error(Code::timeout, "not all ranks delivered their bytes");
    }
    writer(w).came.wait(epoch, ring_look_again_s);
  }
}

void Ring::take(const Pass& pass, storage::File* file) {
  const auto w = static_cast<std::size_t>(pass.tiles.index_of(static_cast<int>(rank_)));
  std::exception_ptr failure;
  for (std::uint64_t window = pass.first_window; window < pass.last_window; ++window) {
    const std::uint64_t number = pass.number + (window - pass.first_window);
    const auto write = [&](auto how) {
      try {
        if (file != nullptr && !failure) {
          (this->*how)(pass, window, w, *file);
        }
      } catch (...) {
        failure = std::current_exception();
      }
    };
    bool has_marks = true;
    try {
      take_rooms_.make(*memory_, bits(w, number), bits_bytes(pass));
    } catch (const Error&) {
      has_marks = false;  // those of others stay: after a failure a ring begins anew
      failure = std::current_exception();
    }
    if (!pass.gathers) {
      write(&Ring::write_as_it_comes);
    }
    wait_for_ranks(w, number);
    if (pass.gathers) {
      write(&Ring::write_complete);
    }
    if (has_marks) {
      std::memset(bits(w, number), 0, bits_bytes(pass));
    }
    writer(w).written.store(number + 1, std::memory_order_release);
    writer(w).went.notify();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void Ring::write_complete(const Pass& pass, std::uint64_t window, std::size_t w,
                          storage::File& file) {
  write_runs(pass, window, w, bits(w, pass.number + (window - pass.first_window)), file);
}

void Ring::write_as_it_comes(const Pass& pass, std::uint64_t window, std::size_t w,
                             storage::File& file) {
  const std::uint64_t number = pass.number + (window - pass.first_window);
  std::uint64_t* const came = bits(w, number);
  std::vector<std::uint64_t> done(window_bytes_ / pass.granule / word_bits + 1);
  std::vector<std::uint64_t> fresh(done.size());
  for (bool is_last = false; !is_last;) {
    const std::uint32_t epoch = writer(w).came.epoch();
    is_last = passed_by_all(w) > number;  // looked at first: then all bits are set
    bool any = false;
    for (std::size_t word = 0; word < done.size(); ++word) {
      const std::uint64_t now = std::atomic_ref(came[word]).load(std::memory_order_acquire);
      fresh[word] = now & ~done[word];
      any = any || fresh[word] != 0;
      done[word] = now;
    }
    if (any) {
      write_runs(pass, window, w, fresh.data(), file);
    } else if (!is_last) {
      if (stopped_.load()) {
        return;  // wait_for_ranks() says so
      }
      writer(w).came.wait(epoch, ring_look_again_s);
    }
  }
}

/// The granules of the window whose bits are set in `which`.
void Ring::write_runs(const Pass& pass, std::uint64_t window, std::size_t w,
                      const std::uint64_t* which, storage::File& file) {
  const std::uint64_t number = pass.number + (window - pass.first_window);
  const std::byte* const memory = slot(w, number);
  const std::uint64_t own = window * window_bytes_;
  pass.tiles.for_each_stretch(
      static_cast<std::uint32_t>(w), {own, own + window_bytes_}, [&](const plan::Stretch& here) {
        const std::uint64_t first = (here.own - own) / pass.granule;
        const std::uint64_t last = first + here.length / pass.granule;
        for (std::uint64_t from = find_bit(which, true, first, last); from < last;) {
          const std::uint64_t to = find_bit(which, false, from, last);
          file.write(here.offset + (from - first) * pass.granule,
                     {memory + from * pass.granule, (to - from) * pass.granule});
          from = find_bit(which, true, to, last);
        }
      });
}

void Ring::stop() noexcept {
  stopped_.store(true);
  for (std::size_t w = 0; w < writers_; ++w) {
    writer(w).came.notify();
  }
}

}  // namespace sluice::exec
