#include "exec/rows/row_scatter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "exec/notify/node_memory.hpp"
#include "exec/transport/agree.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "model/numbering.hpp"
#include "model/round_up.hpp"

namespace sluice::exec {

using model::Box;
using model::Dims;

namespace {

/// For fewer rows, requesting shared memory costs more than sending the rows.
constexpr std::uint64_t least_shared_bytes = 16 << 10;
/// Rows of another type are converted in batches of this many bytes.
constexpr std::uint64_t batch_bytes = 256 << 10;
constexpr std::size_t id_bytes = sizeof(std::uint64_t);
constexpr std::byte put_mark{1};

/// The slots of rows [first, end), dense, and a mark for each.
struct RowPlaces {
  std::byte* data = nullptr;
  std::byte* marks = nullptr;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::size_t row_bytes = 0;

  bool has(std::uint64_t id) const noexcept { return id - first < end - first; }

  /// `bytes` is row_bytes; if the caller passes a constant, this compiles to two moves.
  void put(std::uint64_t id, const std::byte* row, std::size_t bytes) const noexcept {
    std::memcpy(data + (id - first) * bytes, row, bytes);
    // Other threads mark neighbouring rows at the same time; a faulty call marks the same one.
    std::atomic_ref(marks[id - first]).store(put_mark, std::memory_order_relaxed);
  }
};

[[noreturn]] void throw_no_such_row(const model::Definition& definition, std::uint64_t id) {
  throw Error(Code::out_of_bounds, "put_rows " + definition.name + ": row " +
                                       model::number_text(id) + " of " +
                                       std::to_string(definition.shape[0]));
}

/// The parcels of one rank: the rows of its calls that have no slot here.
class Leaving {
 public:
  Leaving(std::uint64_t rows, int ranks, std::size_t row_bytes)
      : owners_(rows, ranks), row_bytes_(row_bytes), parcels_(static_cast<std::size_t>(ranks)) {}

  /// First all rows are counted, so that the parcels are allocated once, with their final length.
  void count(std::span<const std::uint64_t> ids, const RowPlaces& here, std::uint64_t rows) {
    for (const std::uint64_t id : ids) {
      if (!here.has(id) && id < rows) {
        parcels_[static_cast<std::size_t>(owners_.of(id))].rows += 1;
      }
    }
  }
  void make() {
    for (Counted& parcel : parcels_) {
      parcel.bytes.resize(parcel.rows * (id_bytes + row_bytes_));
    }
  }
  void put(std::uint64_t id, const std::byte* row) {
    Counted& parcel = parcels_[static_cast<std::size_t>(owners_.of(id))];
    std::byte* const to = parcel.bytes.data() + parcel.filled;
    std::memcpy(to, &id, id_bytes);
    if (row_bytes_ != 0) {
      std::memcpy(to + id_bytes, row, row_bytes_);
    }
    parcel.filled += id_bytes + row_bytes_;
  }
  std::vector<Parcel> take() {
    std::vector<Parcel> parcels;
    for (std::size_t rank = 0; rank < parcels_.size(); ++rank) {
      if (parcels_[rank].rows != 0) {
        parcels.push_back({static_cast<int>(rank), std::move(parcels_[rank].bytes)});
      }
    }
    return parcels;
  }

 private:
  struct Counted {
    std::uint64_t rows = 0;
    std::size_t filled = 0;
    std::vector<std::byte> bytes;
  };
  RowOwners owners_;
  std::size_t row_bytes_;
  std::vector<Counted> parcels_;
};

/// Copies dense file bytes of rows to their slots. `leaving` is null if all slots are here.
class Placer {
 public:
  Placer(const model::Definition& definition, const RowPlaces& here, Leaving* leaving)
      : definition_(definition), here_(here), leaving_(leaving) {}

  void place(std::span<const std::uint64_t> ids, const std::byte* rows) const {
    switch (here_.row_bytes) {
      case 4:
        return each<4>(ids, rows);
      case 8:
        return each<8>(ids, rows);
      case 12:
        return each<12>(ids, rows);
      case 16:
        return each<16>(ids, rows);
      case 24:
        return each<24>(ids, rows);
      case 48:
        return each<48>(ids, rows);
      default:
        return each<0>(ids, rows);
    }
  }

 private:
  /// Bytes 0: known at run time only.
  template <std::size_t Bytes>
  void each(std::span<const std::uint64_t> ids, const std::byte* rows) const {
    const std::size_t bytes = Bytes != 0 ? Bytes : here_.row_bytes;
    const RowPlaces here = here_;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint64_t id = ids[i];
      if (here.has(id)) {
        here.put(id, rows + i * bytes, bytes);
      } else if (leaving_ != nullptr && id < definition_.shape[0]) {
        leaving_->put(id, rows + i * bytes);
      } else {
        throw_no_such_row(definition_, id);
      }
    }
  }

  const model::Definition& definition_;
  const RowPlaces& here_;
  Leaving* leaving_;
};

/// The rows of one call; converted in batches if the file needs other bytes than memory has.
void place_call(const model::Definition& definition, const Rows& rows, std::size_t row_bytes,
                const Placer& placer) {
  Dims shape = definition.shape;
  shape[0] = rows.ids.size();
  const Box all = model::whole(shape);
  const model::ConstMemory memory{rows.data, rows.type, shape, Dims::filled(shape.rank(), 0)};
  if (all.empty() || model::is_dense(memory, all, all, definition.type)) {
    placer.place(rows.ids, rows.data);
    return;
  }
  const std::uint64_t batch = std::max<std::uint64_t>(1, batch_bytes / row_bytes);
  std::vector<std::byte> packed(std::min<std::uint64_t>(batch, rows.ids.size()) * row_bytes);
  for (std::uint64_t first = 0; first < rows.ids.size(); first += batch) {
    Box part = all;
    part.start[0] = first;
    part.count[0] = std::min<std::uint64_t>(batch, rows.ids.size() - first);
    const std::span<std::byte> out(packed.data(), part.count[0] * row_bytes);
    model::pack(memory, all, part, definition.type, false, out);
    placer.place(rows.ids.subspan(first, part.count[0]), packed.data());
  }
}

void place_parcels(const std::vector<Parcel>& parcels, const RowPlaces& here) {
  for (const Parcel& parcel : parcels) {
    for (std::size_t at = 0; at < parcel.bytes.size(); at += id_bytes + here.row_bytes) {
      std::uint64_t id = 0;
      std::memcpy(&id, &parcel.bytes[at], id_bytes);
      here.put(id, parcel.bytes.data() + at + id_bytes, here.row_bytes);
    }
  }
}

/// Which row of those that this rank owns is at fault, from the indices that all ranks put.
void name_fault(const model::Definition& definition, const std::vector<Parcel>& parcels,
                const RowRange& owned) {
  std::vector<int> giver(owned.count, -1);
  for (const Parcel& parcel : parcels) {
    for (std::size_t at = 0; at < parcel.bytes.size(); at += id_bytes) {
      std::uint64_t id = 0;
      std::memcpy(&id, &parcel.bytes[at], id_bytes);
      const int before = std::exchange(giver[id - owned.first], parcel.rank);
      if (before >= 0) {
        throw Error(Code::duplicate_row, "put_rows " + definition.name + ": row " +
                                             model::number_text(id) + " was put by rank " +
                                             std::to_string(before) + " and by rank " +
                                             std::to_string(parcel.rank));
      }
    }
  }
  const auto missing = std::find(giver.begin(), giver.end(), -1);
  if (missing != giver.end() && !definition.partial) {
    const auto left_out = std::count(giver.begin(), giver.end(), -1);
    throw Error(
        Code::missing_row,
        "put_rows " + definition.name + ": row " +
            model::number_text(owned.first + static_cast<std::uint64_t>(missing - giver.begin())) +
            " was put by no rank (" + std::to_string(left_out) + " missing in rows " +
            model::number_text(owned.first) + " to " +
            model::number_text(owned.first + owned.count - 1) +
            "): put all rows or define the variable as partial");
  }
}

/// Collective. Sends the indices alone to the owners.
[[noreturn]] void search_fault(Transport& transport, const model::Definition& definition,
                               std::span<const Rows> rows, const RowRange& owned) {
  Leaving ids(definition.shape[0], transport.size(), 0);
  together(transport, [&] {
    for (const Rows& call : rows) {
      ids.count(call.ids, {}, definition.shape[0]);
    }
    ids.make();
    const std::byte nothing{};
    for (const Rows& call : rows) {
      for (const std::uint64_t id : call.ids) {
        ids.put(id, &nothing);
      }
    }
  });
  const std::vector<Parcel> parcels = transport.exchange(ids.take());
  together(transport, [&] { name_fault(definition, parcels, owned); });
  throw Error(Code::internal, "put_rows " + definition.name +
                                  ": the counts of rows differ from what was put: the memory "
                                  "changed during the call");
}

/// Rows that no rank put get the fill value. Clears all marks; returns how many such rows there
/// were.
std::uint64_t take_marks(const model::Definition& definition, const RowPlaces& places,
                         const RowRange& owned) {
  std::byte* const marks = places.marks + (owned.first - places.first);
  std::byte* const data = places.data + (owned.first - places.first) * places.row_bytes;
  const auto found = static_cast<std::uint64_t>(std::count(marks, marks + owned.count, put_mark));
  for (std::uint64_t i = 0; definition.partial && found != owned.count && i < owned.count; ++i) {
    if (marks[i] != put_mark) {
      model::fill({data + i * places.row_bytes, places.row_bytes}, definition.type,
                  definition.fill);
    }
  }
  std::fill_n(marks, owned.count, std::byte{0});
  return found;
}

}  // namespace

/// The slots of the rows of one variable.
struct RowScatter::Cut {
  RowRange mine;
  RowRange group;
  std::size_t row_bytes = 0;
};

struct RowScatter::Area {
  std::uint64_t rows = 0;  ///< the same on all ranks; the number of rows for which there is space
  std::size_t row_bytes = 0;
  std::uint64_t places_rows = 0;  ///< rows in this memory
  std::unique_ptr<storage::SharedMemory> shared;
  std::vector<std::byte> own;  ///< private to this rank, if there is no shared memory

  std::uint64_t bytes() const { return places_rows * (row_bytes + 1) + alignment; }

  /// Marks first, with space for the maximum: so they stay where they are, all cleared, if a step
  /// has another number of rows.
  RowPlaces places(const Cut& cut) {
    const RowRange& rows_here = shared ? cut.group : cut.mine;
    std::byte* const begin = shared ? shared->data() : own.data();
    const std::uint64_t after = model::round_up(places_rows, alignment);
    return {begin + after, begin, rows_here.first, rows_here.first + rows_here.count,
            cut.row_bytes};
  }

  static constexpr std::uint64_t alignment = 64;
};

RowScatter::RowScatter(Transport& transport) : transport_(transport) {}
RowScatter::~RowScatter() { drop_areas(); }

void RowScatter::drop_areas() noexcept {
  mark_.keep_used(areas_);
  mark_ = {};
  areas_.clear();
  used_ = 0;
}

/// Collective, once: the ranks that are neighbours on one node.
void RowScatter::meet() {
  if (has_met_) {
    return;
  }
  has_met_ = true;
  group_first_ = 0;
  group_end_ = transport_.size();
  if (transport_.nodes() == 1) {
    return;
  }
  const auto node = static_cast<std::uint32_t>(transport_.node());
  const auto nodes = transport_.allgather(std::as_bytes(std::span(&node, 1)));
  const auto same_as_mine = [&](int rank) {
    return std::memcmp(nodes[static_cast<std::size_t>(rank)].data(), &node, sizeof node) == 0;
  };
  group_first_ = transport_.rank();
  while (group_first_ > 0 && same_as_mine(group_first_ - 1)) {
    --group_first_;
  }
  group_end_ = transport_.rank() + 1;
  while (group_end_ < transport_.size() && same_as_mine(group_end_)) {
    ++group_end_;
  }
  group_ = transport_.split(group_first_);
}

RowScatter::Cut RowScatter::cut(const model::Definition& definition) const {
  const std::uint64_t rows = definition.shape[0];
  Cut cut;
  cut.mine = owned_rows(rows, transport_.rank(), transport_.size());
  cut.row_bytes = definition.shape.without_front().volume() * definition.type.bytes;
  cut.group.first = owned_rows(rows, group_first_, transport_.size()).first;
  const RowRange last = owned_rows(rows, group_end_ - 1, transport_.size());
  cut.group.count = last.first + last.count - cut.group.first;
  return cut;
}

/// Collective. An area of at least the required size.
RowScatter::Area& RowScatter::next_area(const Cut& cut, std::uint64_t rows,
                                        const std::function<void()>& check_budget) {
  if (used_ == areas_.size()) {
    areas_.emplace_back();
  }
  Area& area = areas_[used_++];
  if (rows <= area.rows && cut.row_bytes <= area.row_bytes) {
    return area;
  }
  together(transport_, check_budget);
  // Where the number of rows grows from step to step, not every step makes memory.
  const std::uint64_t most_rows = area.rows == 0 ? rows : std::max(rows, area.rows) / 8 * 9;
  const auto ranks_here = static_cast<std::uint64_t>(group_end_ - group_first_);
  mark_.keep_used(area);
  area = {};
  area.rows = std::max(rows, most_rows);
  area.row_bytes = cut.row_bytes;
  // The shares of other numbers of rows differ by one for each rank.
  const auto room = [&](int first, int end) {
    const RowRange last = owned_rows(area.rows, end - 1, transport_.size());
    return last.first + last.count - owned_rows(area.rows, first, transport_.size()).first +
           static_cast<std::uint64_t>(end - first);
  };
  area.places_rows = room(group_first_, group_end_);
  if (ranks_here > 1 && area.bytes() >= least_shared_bytes) {
    area.shared = share_on_node(group_ ? *group_ : transport_, area.bytes(), area.bytes());
  }
  if (!area.shared) {
    area.places_rows = room(transport_.rank(), transport_.rank() + 1);
  }
  return area;
}

OwnedRows RowScatter::scatter(const model::Definition& definition, std::span<const Rows> rows,
                              std::uint64_t budget_bytes) {
  try {
    return carry(definition, rows, budget_bytes);
  } catch (...) {
    drop_areas();  // rows may have been marked
    throw;
  }
}

OwnedRows RowScatter::carry(const model::Definition& definition, std::span<const Rows> rows,
                            std::uint64_t budget_bytes) {
  meet();
  const Cut cut = this->cut(definition);
  const auto check_budget = [&] {
    const std::uint64_t bytes = cut.mine.count * cut.row_bytes;
    if (bytes > budget_bytes) {
      throw Error(Code::over_budget, "put_rows " + definition.name + ": this rank's share of " +
                                         std::to_string(bytes) + " bytes exceeds the budget of " +
                                         std::to_string(budget_bytes) +
                                         ": raise budget_bytes or use more ranks");
    }
  };
  Area& area = next_area(cut, definition.shape[0], check_budget);
  const bool is_alone = transport_.size() == 1;
  const bool all_here = is_alone || (area.shared && group_end_ - group_first_ == transport_.size());
  RowPlaces here;
  std::optional<Leaving> leaving;
  std::int64_t counts[] = {0, 0};  // more rows were put than marked; missing rows
  together(transport_, [&] {
    check_budget();
    if (!area.shared && area.own.empty()) {
      area.own.resize(area.bytes());
    }
    here = area.places(cut);
    if (!all_here) {
      leaving.emplace(definition.shape[0], transport_.size(), cut.row_bytes);
      for (const Rows& call : rows) {
        leaving->count(call.ids, here, definition.shape[0]);
      }
      leaving->make();
    }
    const Placer placer(definition, here, leaving ? &*leaving : nullptr);
    for (const Rows& call : rows) {
      place_call(definition, call, cut.row_bytes, placer);
      counts[0] += static_cast<std::int64_t>(call.ids.size());
    }
    std::atomic_thread_fence(std::memory_order_release);
  });
  if (leaving) {
    place_parcels(transport_.exchange(leaving->take()), here);
    leaving.reset();
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t found = take_marks(definition, here, cut.mine);
  counts[0] -= static_cast<std::int64_t>(found);
  counts[1] = definition.partial ? 0 : static_cast<std::int64_t>(cut.mine.count - found);
  transport_.allreduce(counts, Op::sum);
  if (counts[0] != 0 || counts[1] != 0) {
    search_fault(transport_, definition, rows, cut.mine);
  }
  OwnedRows owned;
  owned.box = model::whole(definition.shape);
  owned.box.start[0] = cut.mine.first;
  owned.box.count[0] = cut.mine.count;
  owned.bytes = {here.data + (cut.mine.first - here.first) * cut.row_bytes,
                 cut.mine.count * cut.row_bytes};
  return owned;
}

void RowScatter::done(bool keeps_memory) noexcept {
  used_ = 0;
  if (!keeps_memory) {
    drop_areas();
  }
}

}  // namespace sluice::exec
