#include "commit/output/joined_puts.hpp"

#include <algorithm>
#include <limits>

namespace sluice::commit {

using model::Dims;

namespace {

constexpr std::uint64_t most_rows = std::numeric_limits<std::int64_t>::max();

/// Above any shape where it would wrap around.
std::uint64_t add_rows(std::uint64_t a, std::uint64_t b) {
  return a > most_rows - std::min(b, most_rows) ? most_rows : a + b;
}

}  // namespace

void JoinedPuts::sign(model::ByteWriter& out) const {
  for (const JoinedRows& call : calls_) {
    out.put(call.variable);
    out.put(call.rows);
  }
  out.put(calls_.size());
}

std::size_t JoinedPuts::told_values(const Description& description, int ranks) {
  const auto varying = std::ranges::count_if(description.definitions(),
                                             [](const auto& known) { return known.varying; });
  return static_cast<std::size_t>(varying) * static_cast<std::size_t>(ranks);
}

void JoinedPuts::tell(const Description& description, int rank, int ranks,
                      std::span<std::int64_t> told) const {
  std::vector<std::uint64_t> mine(description.definitions().size(), 0);
  for (const JoinedRows& call : calls_) {
    mine[call.variable] = add_rows(mine[call.variable], call.rows);
  }
  auto at = static_cast<std::size_t>(rank);
  for (std::size_t v = 0; v < mine.size(); ++v) {
    if (description.definitions()[v].varying) {
      told[at] = static_cast<std::int64_t>(mine[v]);
      at += static_cast<std::size_t>(ranks);
    }
  }
}

void JoinedPuts::learn(const Description& description, int rank, int ranks,
                       std::span<const std::int64_t> told) {
  places_.assign(description.definitions().size(), {});
  std::size_t at = 0;
  for (std::size_t v = 0; v < places_.size(); ++v) {
    if (!description.definitions()[v].varying) {
      continue;
    }
    Place& place = places_[v];
    for (int r = 0; r < ranks; ++r, ++at) {
      place.by_rank.push_back(static_cast<std::uint64_t>(told[at]));
      place.first = r == rank ? place.total : place.first;
      place.total = add_rows(place.total, static_cast<std::uint64_t>(told[at]));
    }
  }
}

void JoinedPuts::place(const std::vector<bool>& joined, Description& description,
                       std::vector<model::Block>& blocks) const {
  for (std::uint32_t v = 0; v < joined.size(); ++v) {
    if (joined[v]) {
      description.join(v, places_[v].total);
    }
  }
  std::vector<std::uint64_t> next(joined.size(), 0);
  for (const JoinedRows& call : calls_) {
    if (call.rows == 0) {
      continue;
    }
    const Dims count = description.definitions()[call.variable].shape_of(call.rows);
    const Dims zeros = Dims::filled(count.rank(), 0);
    model::Box box{zeros, count};
    box.start[0] = places_[call.variable].first + next[call.variable];
    next[call.variable] += call.rows;
    if (!box.empty()) {
      blocks.push_back({call.variable, box, {call.data, call.type, count, zeros}, false});
    }
  }
}

}  // namespace sluice::commit
