#include "exec/rows/rows.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "exec/transport/agree.hpp"
#include "model/numbering.hpp"

namespace sluice::exec {

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

model::Box owned_box(const model::Dims& shape, int rank, int ranks) {
  model::Box box = model::whole(shape);
  if (shape.rank() != 0) {
    const RowRange own = owned_rows(shape[0], rank, ranks);
    box.start[0] = own.first;
    box.count[0] = own.count;
  }
  return box;
}

RowOwners::RowOwners(std::uint64_t rows, int ranks) {
  for (int rank = 0; rank <= ranks; ++rank) {
    firsts_.push_back(share(rows, rank, ranks));
  }
  if (rows != 0) {
    ranks_a_row_ = static_cast<double>(ranks) / static_cast<double>(rows);
  }
}

namespace {

/// Parcels of ids, one for each destination, created on demand.
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

std::vector<std::uint64_t> ids_in(const Parcel& parcel) {
  std::vector<std::uint64_t> ids(parcel.bytes.size() / sizeof(std::uint64_t));
  if (!ids.empty()) {
    std::memcpy(ids.data(), parcel.bytes.data(), parcel.bytes.size());
  }
  return ids;
}

/// Answers the requests of all ranks to this one: ascending ids, neighbouring ones in one read.
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
    while (const auto first = smallest()) {
      answer(*first, end_of_window(*first));
    }
  }

 private:
  /// What is read at once from `first` on: to the end of its tiles, or 4 MiB.
  std::uint64_t end_of_window(std::uint64_t first) const {
    if (source_.put) {
      return (first / source_.tile_rows + 1) * source_.tile_rows;
    }
    constexpr std::uint64_t window_bytes = 4U << 20;
    return first +
           std::max<std::uint64_t>(1, window_bytes / std::max<std::size_t>(1, source_.row_bytes));
  }
  std::optional<std::uint64_t> smallest() const {
    std::optional<std::uint64_t> least;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (next_[i] < asked_[i].size()) {
        least = std::min(least.value_or(asked_[i][next_[i]]), asked_[i][next_[i]]);
      }
    }
    return least;
  }

  /// The requested ids among the rows [first, end).
  void answer(std::uint64_t first, std::uint64_t end) {
    std::vector<std::size_t> stops;
    std::uint64_t last = first;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const auto stop = std::lower_bound(asked_[i].begin() + static_cast<std::ptrdiff_t>(next_[i]),
                                         asked_[i].end(), end);
      stops.push_back(static_cast<std::size_t>(stop - asked_[i].begin()));
      last = stops[i] > next_[i] ? std::max(last, asked_[i][stops[i] - 1]) : last;
    }
    const std::uint64_t count = last - first + 1;
    if (source_.put) {
      source_.put(first, count, [&](const auto& visit) { for_each_run(stops, visit); });
    } else {
      const std::size_t row_bytes = source_.row_bytes;
      rows_.resize(count * row_bytes);
      source_.read(first, count, rows_);
      for_each_run(stops, [&](std::uint64_t row, std::uint64_t rows, std::byte* out) {
        std::memcpy(out, &rows_[(row - first) * row_bytes], rows * row_bytes);
      });
    }
    next_ = std::move(stops);
  }

  /// Visits what is asked before `stops` and not answered, rows that follow each other at once.
  template <class Visit>
  void for_each_run(const std::vector<std::size_t>& stops, Visit&& visit) {
    for (std::size_t i = 0; source_.row_bytes != 0 && i < asked_.size(); ++i) {
      const std::vector<std::uint64_t>& ids = asked_[i];
      for (std::size_t at = next_[i]; at < stops[i];) {
        std::size_t end = at + 1;
        while (end < stops[i] && ids[end] == ids[end - 1] + 1) {
          ++end;
        }
        visit(ids[at], end - at, &parcels_[i].bytes[at * source_.row_bytes]);
        at = end;
      }
    }
  }

  const RowSource& source_;
  std::vector<Parcel>& parcels_;
  std::vector<std::vector<std::uint64_t>> asked_;
  std::vector<std::size_t> next_;  ///< for each: the part that is not answered yet
  std::vector<std::byte> rows_;
};

}  // namespace

std::vector<std::byte> fetch_rows(Transport& transport, const RowSource& source,
                                  std::span<const std::uint64_t> ids) {
  // What one rank has no memory for is the error of all of them.
  std::vector<std::size_t> order;
  std::vector<std::byte> out;
  std::vector<std::byte> room;  // as much as the answers take
  Sorter questions(transport.size());
  together(transport, [&] {
    order.resize(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return ids[a] < ids[b]; });
    if (!order.empty() && ids[order.back()] >= source.rows) {
      throw Error(Code::out_of_bounds, "get_rows " + source.name + ": row " +
                                           model::number_text(ids[order.back()]) + " of " +
                                           std::to_string(source.rows));
    }
    const std::uint64_t runs = (source.rows + source.rows_together - 1) / source.rows_together;
    const RowOwners owners(runs, transport.size());
    for (const std::size_t i : order) {
      append_id(questions.to(owners.of(ids[i] / source.rows_together)), ids[i]);
    }
  });
  std::vector<Parcel> parcels = transport.exchange(questions.take());
  together(transport, [&] {
    out.resize(ids.size() * source.row_bytes);
    room.reserve(out.size());
    Answers(source, parcels).give();
  });
  room = {};
  const std::vector<Parcel> answers = transport.exchange(std::move(parcels));
  // Owners ascend with the rows, so the answers in order of owner are the rows in ascending order.
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
