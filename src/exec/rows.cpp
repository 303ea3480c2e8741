#include "exec/rows.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>

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

/// Reads the rows that one rank asked for: ascending ids, near ones in one go.
std::vector<std::byte> answer(
    std::span<const std::uint64_t> ids, std::size_t row_bytes,
    const std::function<void(std::uint64_t, std::uint64_t, std::span<std::byte>)>& read) {
  constexpr std::uint64_t window_bytes = 4U << 20;
  const std::uint64_t window =
      std::max<std::uint64_t>(1, window_bytes / std::max<std::size_t>(1, row_bytes));
  std::vector<std::byte> out(ids.size() * row_bytes);
  std::vector<std::byte> rows;
  std::size_t at = 0;
  while (at < ids.size()) {
    std::size_t end = at;
    while (end < ids.size() && ids[end] - ids[at] < window) {
      ++end;
    }
    const std::uint64_t count = ids[end - 1] - ids[at] + 1;
    rows.resize(count * row_bytes);
    read(ids[at], count, rows);
    for (std::size_t i = at; i < end && row_bytes != 0; ++i) {
      std::memcpy(&out[i * row_bytes], &rows[(ids[i] - ids[at]) * row_bytes], row_bytes);
    }
    at = end;
  }
  return out;
}

std::vector<std::uint64_t> ids_in(const Parcel& parcel) {
  std::vector<std::uint64_t> ids(parcel.bytes.size() / sizeof(std::uint64_t));
  if (!ids.empty()) {
    std::memcpy(ids.data(), parcel.bytes.data(), parcel.bytes.size());
  }
  return ids;
}

}  // namespace

std::vector<std::byte> fetch_rows(
    Transport& transport, const std::string& name, std::uint64_t rows, std::size_t row_bytes,
    std::span<const std::uint64_t> ids,
    const std::function<void(std::uint64_t, std::uint64_t, std::span<std::byte>)>& read) {
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return ids[a] < ids[b]; });
  Sorter questions(transport.size());
  together(transport, [&] {
    if (!order.empty() && ids[order.back()] >= rows) {
      throw Error(Code::out_of_bounds, "get_rows " + name + ": row " +
                                           std::to_string(ids[order.back()]) + " of " +
                                           std::to_string(rows));
    }
    for (const std::size_t i : order) {
      append_id(questions.to(owner_of_row(ids[i], rows, transport.size())), ids[i]);
    }
  });
  std::vector<Parcel> parcels = transport.exchange(questions.take());
  together(transport, [&] {
    for (Parcel& parcel : parcels) {
      parcel.bytes = answer(ids_in(parcel), row_bytes, read);
    }
  });
  const std::vector<Parcel> answers = transport.exchange(std::move(parcels));
  // Owners ascend with the rows, so the answers in order of owner are the rows in ascending order.
  std::vector<std::byte> out(ids.size() * row_bytes);
  std::size_t next = 0;
  for (const Parcel& parcel : answers) {
    for (std::size_t at = 0; row_bytes != 0 && at < parcel.bytes.size(); at += row_bytes) {
      std::memcpy(&out[order[next++] * row_bytes], &parcel.bytes[at], row_bytes);
    }
  }
  return out;
}

}  // namespace sluice::exec
