#include "exec/rows.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <utility>

#include "exec/agree.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::exec {

using model::Box;
using model::Dims;

namespace {

/// rows * rank / ranks without overflow.
std::uint64_t share(std::uint64_t rows, int rank, int ranks) {
  const auto r = static_cast<std::uint64_t>(rank);
  const auto p = static_cast<std::uint64_t>(ranks);
  return rows / p * r + rows % p * r / p;
}

}  // namespace

RowRange owned_rows(std::uint64_t rows, int rank, int ranks) {
  const std::uint64_t first = share(rows, rank, ranks);
  return {first, share(rows, rank + 1, ranks) - first};
}

int owner_of_row(std::uint64_t row, std::uint64_t rows, int ranks) {
  // The first guess is off by a few at most; shares are monotonic in the rank.
  const double guess = static_cast<double>(row) / static_cast<double>(rows) * ranks;
  int rank = std::clamp(static_cast<int>(guess), 0, ranks - 1);
  while (row < share(rows, rank, ranks)) {
    --rank;
  }
  while (row >= share(rows, rank + 1, ranks)) {
    ++rank;
  }
  return rank;
}

namespace {

/// Parcels of (id, row bytes), one a destination; what is not there yet is made.
class Sorter {
 public:
  explicit Sorter(int ranks) : slots_(static_cast<std::size_t>(ranks), -1) {}
  std::vector<std::byte>& to(int rank) {
    int& slot = slots_[static_cast<std::size_t>(rank)];
    if (slot < 0) {
      slot = static_cast<int>(parcels_.size());
      parcels_.push_back({rank, {}});
    }
    return parcels_[static_cast<std::size_t>(slot)].bytes;
  }
  std::vector<Parcel> take() { return std::move(parcels_); }

 private:
  std::vector<int> slots_;
  std::vector<Parcel> parcels_;
};

void append_id(std::vector<std::byte>& bytes, std::uint64_t id) {
  const auto view = std::as_bytes(std::span(&id, 1));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

std::uint64_t row_volume(const model::Definition& definition) {
  return definition.shape.without_front().volume();
}

/// Packs one call's rows, `batch` at a time, into the parcels.
void sort_rows(const model::Definition& definition, const Rows& rows, int ranks, Sorter& sorter) {
  const std::uint64_t total = definition.shape[0];
  const std::size_t row_bytes = row_volume(definition) * definition.type.bytes;
  const std::uint64_t batch =
      std::max<std::uint64_t>(1, (1 << 20) / std::max<std::size_t>(1, row_bytes));
  Dims shape = definition.shape;
  shape[0] = rows.ids.size();
  const Box all = model::whole(shape);
  const model::ConstMemory memory{rows.data, rows.type, shape, Dims::filled(shape.rank(), 0)};
  std::vector<std::byte> packed(batch * row_bytes);
  for (std::uint64_t first = 0; first < rows.ids.size(); first += batch) {
    Box part = all;
    part.start[0] = first;
    part.count[0] = std::min<std::uint64_t>(batch, rows.ids.size() - first);
    const std::span<std::byte> out(packed.data(), part.count[0] * row_bytes);
    model::pack(memory, all, part, definition.type, false, out);
    for (std::uint64_t i = 0; i < part.count[0]; ++i) {
      const std::uint64_t id = rows.ids[first + i];
      if (id >= total) {
        throw Error(Code::out_of_bounds, "put_rows " + definition.name + ": row " +
                                             std::to_string(id) + " of " + std::to_string(total));
      }
      auto& bytes = sorter.to(owner_of_row(id, total, ranks));
      append_id(bytes, id);
      const auto row = out.subspan(i * row_bytes, row_bytes);
      bytes.insert(bytes.end(), row.begin(), row.end());
    }
  }
}

void place_rows(const model::Definition& definition, const std::vector<Parcel>& parcels,
                OwnedRows& owned) {
  const std::size_t row_bytes = row_volume(definition) * definition.type.bytes;
  const std::uint64_t first = owned.box.start[0];
  const std::uint64_t count = owned.box.count[0];
  std::vector<int> giver(count, -1);
  for (const Parcel& parcel : parcels) {
    for (std::size_t at = 0; at < parcel.bytes.size(); at += sizeof(std::uint64_t) + row_bytes) {
      std::uint64_t id = 0;
      std::memcpy(&id, &parcel.bytes[at], sizeof id);
      int& who = giver[id - first];
      if (who >= 0) {
        throw Error(Code::duplicate_row, "put_rows " + definition.name + ": row " +
                                             std::to_string(id) + " was put by rank " +
                                             std::to_string(who) + " and by rank " +
                                             std::to_string(parcel.rank));
      }
      who = parcel.rank;
      if (row_bytes != 0) {
        std::memcpy(&owned.bytes[(id - first) * row_bytes], &parcel.bytes[at + sizeof id],
                    row_bytes);
      }
    }
  }
  const auto missing = std::find(giver.begin(), giver.end(), -1);
  if (missing != giver.end() && !definition.partial) {
    const auto left_out = std::count(giver.begin(), giver.end(), -1);
    throw Error(Code::missing_row,
                "put_rows " + definition.name + ": row " +
                    std::to_string(first + static_cast<std::uint64_t>(missing - giver.begin())) +
                    " was put by no rank (" + std::to_string(left_out) + " missing in rows " +
                    std::to_string(first) + " to " + std::to_string(first + count - 1) +
                    "): put all rows or define the variable as partial");
  }
}

}  // namespace

OwnedRows scatter_rows(Transport& transport, const model::Definition& definition,
                       std::span<const Rows> rows, std::uint64_t budget_bytes) {
  const RowRange range = owned_rows(definition.shape[0], transport.rank(), transport.size());
  OwnedRows owned;
  owned.box = model::whole(definition.shape);
  owned.box.start[0] = range.first;
  owned.box.count[0] = range.count;
  Sorter sorter(transport.size());
  together(transport, [&] {
    const std::uint64_t bytes = owned.box.volume() * definition.type.bytes;
    if (bytes > budget_bytes) {
      throw Error(Code::over_budget, "put_rows " + definition.name + ": this rank's share of " +
                                         std::to_string(bytes) + " bytes exceeds the budget of " +
                                         std::to_string(budget_bytes) +
                                         ": raise budget_bytes or use more ranks");
    }
    owned.bytes.resize(bytes);
    if (definition.partial) {
      model::fill(owned.bytes, definition.type, definition.fill);
    }
    for (const Rows& call : rows) {
      sort_rows(definition, call, transport.size(), sorter);
    }
  });
  const std::vector<Parcel> parcels = transport.exchange(sorter.take());
  together(transport, [&] { place_rows(definition, parcels, owned); });
  return owned;
}

namespace {

std::vector<std::uint64_t> ids_in(const Parcel& parcel) {
  std::vector<std::uint64_t> ids(parcel.bytes.size() / sizeof(std::uint64_t));
  if (!ids.empty()) {
    std::memcpy(ids.data(), parcel.bytes.data(), parcel.bytes.size());
  }
  return ids;
}

/// Answers what all ranks asked of this one: ascending ids, near ones in one go.
class Answers {
 public:
  Answers(const RowSource& source, std::vector<Parcel>& parcels)
      : source_(source), parcels_(parcels) {
    for (const Parcel& parcel : parcels) {
      asked_.push_back(ids_in(parcel));
    }
    next_.resize(asked_.size(), 0);
  }

  void give() {
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      parcels_[i].bytes.resize(asked_[i].size() * source_.row_bytes);
    }
    constexpr std::uint64_t window_bytes = 4U << 20;
    const std::uint64_t together = source_.rows_together;
    const std::uint64_t window = std::max<std::uint64_t>(
        together, window_bytes / std::max<std::size_t>(1, source_.row_bytes) / together * together);
    while (const auto first = smallest()) {
      answer(*first, *first / together * together + window);
    }
  }

 private:
  std::optional<std::uint64_t> smallest() const {
    std::optional<std::uint64_t> least;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (next_[i] < asked_[i].size()) {
        least = std::min(least.value_or(asked_[i][next_[i]]), asked_[i][next_[i]]);
      }
    }
    return least;
  }

  /// What was asked of the rows [first, end).
  void answer(std::uint64_t first, std::uint64_t end) {
    std::vector<std::size_t> stops;
    std::uint64_t last = first;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const auto stop = std::lower_bound(asked_[i].begin() + static_cast<std::ptrdiff_t>(next_[i]),
                                         asked_[i].end(), end);
      stops.push_back(static_cast<std::size_t>(stop - asked_[i].begin()));
      last = stops[i] > next_[i] ? std::max(last, asked_[i][stops[i] - 1]) : last;
    }
    const std::size_t row_bytes = source_.row_bytes;
    rows_.resize((last - first + 1) * row_bytes);
    source_.read(first, last - first + 1, rows_);
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      for (std::size_t at = std::exchange(next_[i], stops[i]); at < stops[i] && row_bytes != 0;
           ++at) {
        std::memcpy(&parcels_[i].bytes[at * row_bytes], &rows_[(asked_[i][at] - first) * row_bytes],
                    row_bytes);
      }
    }
  }

  const RowSource& source_;
  std::vector<Parcel>& parcels_;
  std::vector<std::vector<std::uint64_t>> asked_;
  std::vector<std::size_t> next_;  ///< of each: what is not answered yet
  std::vector<std::byte> rows_;
};

}  // namespace

std::vector<std::byte> fetch_rows(Transport& transport, const RowSource& source,
                                  std::span<const std::uint64_t> ids) {
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return ids[a] < ids[b]; });
  Sorter questions(transport.size());
  together(transport, [&] {
    if (!order.empty() && ids[order.back()] >= source.rows) {
      throw Error(Code::out_of_bounds, "get_rows " + source.name + ": row " +
                                           std::to_string(ids[order.back()]) + " of " +
                                           std::to_string(source.rows));
    }
    const std::uint64_t runs = (source.rows + source.rows_together - 1) / source.rows_together;
    for (const std::size_t i : order) {
      const std::uint64_t run = ids[i] / source.rows_together;
      append_id(questions.to(owner_of_row(run, runs, transport.size())), ids[i]);
    }
  });
  std::vector<Parcel> parcels = transport.exchange(questions.take());
  together(transport, [&] { Answers(source, parcels).give(); });
  const std::vector<Parcel> answers = transport.exchange(std::move(parcels));
  // Owners ascend with the rows, so the answers in order of owner are the rows in ascending order.
  std::vector<std::byte> out(ids.size() * source.row_bytes);
  std::size_t next = 0;
  for (const Parcel& parcel : answers) {
    for (std::size_t at = 0; source.row_bytes != 0 && at < parcel.bytes.size();
         at += source.row_bytes) {
      std::memcpy(&out[order[next++] * source.row_bytes], &parcel.bytes[at], source.row_bytes);
    }
  }
  return out;
}

}  // namespace sluice::exec
