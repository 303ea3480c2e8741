#include "exec/write/ring.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>

#include "exec/write/stream_copy.hpp"
#include "exec/write/window.hpp"
#include "model/bits.hpp"
#include "model/clock.hpp"
#include "model/round_up.hpp"
#include "model/size_text.hpp"

namespace sluice::exec {

namespace {

/// A waiter looks again so often, whatever it hears.
constexpr double ring_look_again_s = 1;
/// Passes gather what they bring for so many windows at once.
constexpr std::uint64_t windows_in_batch = 8;
/// What stays in the nearest cache of a core between its checksum and its copy.
constexpr std::uint64_t ring_slice_bytes = 16 << 10;
constexpr std::uint64_t page_bytes = 4096;

std::uint64_t pages(std::uint64_t bytes) { return model::round_up(bytes, page_bytes); }

/// Of a window, in a pass.
std::uint64_t marks_bytes(std::uint64_t window_bytes, const Pass& pass) {
  return window_bytes / pass.granule / 8 + 8;
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

std::uint64_t Ring::head_bytes(const RingShape& shape) {
  return pages(shape.writers * (sizeof(Writer) + RingSlots::bytes(shape.slots)) +
               shape.ranks * shape.writers * sizeof(Passed));
}

namespace {

bool fills_huge_pages(std::uint64_t window_bytes) {
  return window_bytes >= storage::SharedMemory::huge_page_bytes;
}

/// Behind the head and the marks.
std::uint64_t windows_offset(const RingShape& shape) {
  using storage::SharedMemory;
  const std::uint64_t after =
      Ring::head_bytes(shape) + shape.writers * shape.slots * pages(shape.window_bytes / 8 + 8);
  if (!fills_huge_pages(shape.window_bytes)) {
    return after;
  }
  constexpr std::uint64_t unit = SharedMemory::huge_page_bytes;
  return model::round_up(SharedMemory::header_bytes + after, unit) - SharedMemory::header_bytes;
}

}  // namespace

std::uint64_t Ring::memory_bytes(const RingShape& shape) {
  return windows_offset(shape) + shape.writers * shape.slots * pages(shape.window_bytes);
}

std::unique_ptr<Ring> Ring::share(Transport& transport, RingShape shape, std::uint64_t fewest_slots,
                                  std::uint64_t budget_bytes, double timeout_s) {
  shape.ranks = static_cast<std::size_t>(transport.size());
  // What rank 0 sees is what all do: they open the same files.
  const auto fit = [&](std::uint64_t room_bytes) {
    while (shape.slots / 2 >= fewest_slots && memory_bytes(shape) / shape.ranks > room_bytes) {
      shape.slots /= 2;
    }
    return RingMemory::Need{shape.slots, memory_bytes(shape), head_bytes(shape)};
  };
  auto memory = RingMemory::share(transport, fit, budget_bytes, shape.slots);
  if (!memory) {
    return nullptr;
  }
  const auto rank = static_cast<std::size_t>(transport.rank());
  return std::make_unique<Ring>(std::move(memory), shape, rank, timeout_s);
}

Ring::Ring(std::unique_ptr<RingMemory> memory, const RingShape& shape, std::size_t rank,
           double timeout_s)
    : memory_(std::move(memory)),
      rank_(rank),
      ranks_(shape.ranks),
      writers_(shape.writers),
      window_bytes_(shape.window_bytes),
      slots_(shape.slots),
      timeout_s_(timeout_s),
      head_bytes_(head_bytes(shape)),
      windows_offset_(windows_offset(shape)) {
  memory_->prefer_huge_pages(fills_huge_pages(window_bytes_));
}

void Ring::give_back(double idle_s) {
  memory_->leave();
  StagingPool::of_process().give_back(std::move(memory_), idle_s);
}

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

RingSlots Ring::slots_of(std::size_t w) const {
  const std::uint64_t before = writers_ * sizeof(Writer) + ranks_ * writers_ * sizeof(Passed);
  return {memory_->data() + before + w * RingSlots::bytes(slots_), slots_};
}

/// Slots of one number lie beside each other: what is used, of whatever shape the ring is, is the
/// front of the memory.
Ring::Place Ring::place(std::size_t w, std::uint32_t slot, std::uint64_t first) const {
  const std::uint64_t at = slot * writers_ + w;
  std::byte* const marks = memory_->data() + head_bytes_;
  std::byte* const bytes = memory_->data() + windows_offset_;
  return {bytes + at * pages(window_bytes_),
          reinterpret_cast<std::uint64_t*>(marks + at * pages(window_bytes_ / 8 + 8)), first,
          window_bytes_};
}

std::optional<Ring::Place> Ring::find_place(const Pass& pass, std::uint64_t window,
                                            std::size_t w) const {
  const auto slot = slots_of(w).find(pass.number + (window - pass.first_window));
  return slot ? std::optional(place(w, *slot, window * window_bytes_)) : std::nullopt;
}

Ring::Place Ring::make_place(const Pass& pass, std::uint64_t window, std::size_t w) {
  const std::uint64_t number = pass.number + (window - pass.first_window);
  advance(number);  // nobody waits for this rank while it copies
  wait_for_slot(w, number);
  RingSlots slots = slots_of(w);
  const auto prepare = [&](std::uint32_t slot) {
    // Marks are cleared by who takes them; what memory had before it was a ring's is cleared here.
    std::atomic<std::uint32_t>& cleared = slots.cleared_bytes(slot);
    const auto before = cleared.load(std::memory_order_relaxed);
    const auto wanted = static_cast<std::uint32_t>(marks_bytes(window_bytes_, pass));
    if (before < wanted) {
      auto* const marks = reinterpret_cast<std::byte*>(place(w, slot, 0).marks);
      memory_->make_room(marks + before, wanted - before);
      std::memset(marks + before, 0, wanted - before);
      cleared.store(wanted, std::memory_order_relaxed);
    }
  };
  const double start = model::now_s();
  std::optional<std::uint32_t> slot = slots.claim(number, prepare);
  while (!slot) {
    if (timeout_s_ > 0 && model::now_s() - start > timeout_s_) {
      throw Error(Code::timeout, "a rank of the node holds what others wait for");
    }
    std::this_thread::yield();
    slot = slots.claim(number, prepare);
  }
  return place(w, *slot, window * window_bytes_);
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

/// Passes all windows before this one.
void Ring::advance(std::uint64_t number) {
  if (passed_ >= number) {
    return;
  }
  passed_ = number;
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
        bool has_put = false;
        for (std::size_t i = 0; i < writers_; ++i) {
          // Each begins with another writer, so that not all wait for the same one.
          const std::size_t w = (i + rank_) % writers_;
          const auto items = leaving.find(static_cast<std::uint32_t>(w));
          if (items != leaving.end()) {
            has_put = put_window(pass, window, w, source, items->second) || has_put;
          }
        }
        // Those without bytes are passed with the next that has some: waking a writer takes longer
        // than a small window.
        if (has_put) {
          advance(pass.number + (window - pass.first_window) + 1);
        }
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

/// Had this rank bytes for it?
bool Ring::put_window(const Pass& pass, std::uint64_t window, std::size_t w, RoundSource& source,
                      const std::vector<std::size_t>& items) {
  Stretches stretches;
  pass.tiles.for_each_stretch(static_cast<std::uint32_t>(w),
                              {window * window_bytes_, (window + 1) * window_bytes_},
                              [&](const plan::Stretch& here) { stretches.push_back(here); });
  std::optional<Place> here;
  for (const std::size_t i : items) {
    const RoundItem& item = source.items()[i];
    for_each_part(item.runs, stretches,
                  [&](const plan::Stretch& stretch, std::uint64_t from, std::uint64_t to) {
                    here = here ? here : make_place(pass, window, w);
                    for (std::uint64_t at = from; at < to; at += ring_slice_bytes) {
                      const std::uint64_t end = std::min(to, at + ring_slice_bytes);
                      copy(*here, stretch, item, source.bytes(i, at, end).bytes, at);
                    }
                    outcome(pass, *here, stretch, item, from, to, w);
                  });
  }
  return here.has_value();
}

void Ring::copy(const Place& place, const plan::Stretch& stretch, const RoundItem& item,
                std::span<const std::byte> bytes, std::uint64_t from) {
  const std::uint64_t first = item.runs.offset_of_packed(from);
  const std::uint64_t last = item.runs.offset_of_packed(from + bytes.size() - 1) + 1;
  item.runs.for_each_within(
      first, last, [&](std::uint64_t offset, std::uint64_t packed, std::uint64_t length) {
        std::byte* const to = place.bytes + (stretch.own + (offset - stretch.offset) - place.first);
        memory_->make_room(to, length);
        stream_copy(to, bytes.data() + (packed - from), length);
      });
}

/// Packed bytes [from, to) were copied.
void Ring::outcome(const Pass& pass, const Place& place, const plan::Stretch& stretch,
                   const RoundItem& item, std::uint64_t from, std::uint64_t to, std::size_t w) {
  if (!pass.gathers) {
    stream_fence();  // the writer may look at once
  }
  item.runs.for_each_within(
      item.runs.offset_of_packed(from), item.runs.offset_of_packed(to - 1) + 1,
      [&](std::uint64_t offset, std::uint64_t, std::uint64_t length) {
        const std::uint64_t at = stretch.own + (offset - stretch.offset) - place.first;
        model::set_bits_shared(place.marks, at / pass.granule, length / pass.granule);
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
                                     model::seconds_text(timeout_s_));
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
    const auto write = [&](const auto& what) {
      try {
        if (file != nullptr && !failure) {
          what();
        }
      } catch (...) {
        failure = std::current_exception();
      }
    };
    if (!pass.gathers) {
      write([&] { write_as_it_comes(pass, window, w, *file); });
    }
    wait_for_ranks(w, number);
    if (pass.gathers) {
      write([&] {
        if (const auto here = find_place(pass, window, w)) {
          here->write_runs(pass, w, here->marks, *file);
        }
      });
    }
    const auto slot = slots_of(w).find(number);
    if (slot) {
      std::memset(place(w, *slot, 0).marks, 0, marks_bytes(window_bytes_, pass));
      slots_of(w).free(*slot);
    }
    writer(w).written.store(number + 1, std::memory_order_release);
    // Over empty windows it goes on at once: who waits for a later one is woken once.
    if (slot || window + 1 == pass.last_window || passed_by_all(w) <= number + 1) {
      writer(w).went.notify();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void Ring::write_as_it_comes(const Pass& pass, std::uint64_t window, std::size_t w,
                             storage::File& file) {
  const std::uint64_t number = pass.number + (window - pass.first_window);
  std::optional<Place> here;
  std::vector<std::uint64_t> done(window_bytes_ / pass.granule / model::word_bits + 1);
  std::vector<std::uint64_t> fresh(done.size());
  for (bool is_last = false; !is_last;) {
    const std::uint32_t epoch = writer(w).came.epoch();
    is_last = passed_by_all(w) > number;  // looked at first: then all bits are set
    here = here ? here : find_place(pass, window, w);
    bool any = false;
    for (std::size_t word = 0; here && word < done.size(); ++word) {
      const std::uint64_t now = std::atomic_ref(here->marks[word]).load(std::memory_order_acquire);
      fresh[word] = now & ~done[word];
      any = any || fresh[word] != 0;
      done[word] = now;
    }
    if (any) {
      here->write_runs(pass, w, fresh.data(), file);
    } else if (!is_last) {
      if (stopped_.load()) {
        return;  // wait_for_ranks() says so
      }
      writer(w).came.wait(epoch, ring_look_again_s);
    }
  }
}

void Ring::Place::write_runs(const Pass& pass, std::size_t w, const std::uint64_t* which,
                             storage::File& file) const {
  pass.tiles.for_each_stretch(
      static_cast<std::uint32_t>(w), {first, first + length}, [&](const plan::Stretch& here) {
        const std::uint64_t begin = (here.own - first) / pass.granule;
        const std::uint64_t last = begin + here.length / pass.granule;
        for (std::uint64_t from = model::find_bit(which, true, begin, last); from < last;) {
          const std::uint64_t to = model::find_bit(which, false, from, last);
          file.write(here.offset + (from - begin) * pass.granule,
                     {bytes + from * pass.granule, (to - from) * pass.granule});
          from = model::find_bit(which, true, to, last);
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
