#include "exec/check/check.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "exec/check/cells.hpp"
#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "model/coverage.hpp"

namespace sluice::exec {
namespace {

using model::Box;
using model::ByteReader;
using model::ByteWriter;
using model::Dims;
using model::OwnedBox;

constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();

// -- agreement ------------------------------------------------------------------------------------

/// Broadcasts one message to all ranks: the first in the order of `before` among those that are not
/// empty (at least one is not); of equal ones that of the lowest rank. For failures only: the root
/// receives a message of every rank.
std::vector<std::byte> share_first(
    Transport& transport, std::vector<std::byte> mine,
    const std::function<bool(std::span<const std::byte>, std::span<const std::byte>)>& before) {
  const auto all = transport.gather(mine, 0);
  std::vector<std::byte> chosen;
  for (const auto& message : all) {
    if (!message.empty() && (chosen.empty() || before(message, chosen))) {
      chosen = message;
    }
  }
  transport.broadcast(chosen, 0);
  return chosen;
}

// -- totals over all ranks ------------------------------------------------------------------------

struct Total {
  std::uint64_t blocks = 0;
  std::uint64_t elements = 0;  // or `too_many`
  Dims mean_count;
};

/// Throws if a block is not a block of its variable.
void check_blocks(std::span<const VariableShape> variables, std::span<const OwnBlock> own) {
  for (const OwnBlock& block : own) {
    if (block.variable >= variables.size()) {
      throw Error(Code::internal, "a block of variable " + std::to_string(block.variable) + " of " +
                                      std::to_string(variables.size()));
    }
    model::check_block(variables[block.variable].shape, block.box, variables[block.variable].name);
  }
}

/// A 64-bit number as two that can be summed over 2^31 blocks.
void add_halves(std::int64_t* halves, std::uint64_t value) {
  halves[0] += static_cast<std::int64_t>(value >> 32);
  halves[1] += static_cast<std::int64_t>(value & 0xffffffffU);
}

std::uint64_t join_halves(const std::int64_t* halves) {
  const auto low = static_cast<std::uint64_t>(halves[1]);
  const std::uint64_t high = static_cast<std::uint64_t>(halves[0]) + (low >> 32);
  return high >> 32 != 0 ? too_many : high << 32 | (low & 0xffffffffU);
}

/// Sums over all ranks, by variable. Throws on every rank where a rank has an invalid block.
std::vector<Total> sum_blocks(Transport& transport, std::span<const VariableShape> variables,
                              std::span<const OwnBlock> own) {
  // a flag; then for each variable: blocks, elements in halves, extents in halves
  std::vector<std::size_t> place;
  std::size_t length = 1;
  for (const VariableShape& variable : variables) {
    place.push_back(length);
    length += 3 + 2 * static_cast<std::size_t>(variable.shape.rank());
  }
  std::vector<std::int64_t> sums(length, 0);
  const auto invalid = failure_of([&] { check_blocks(variables, own); });
  sums[0] = invalid ? 1 : 0;
  for (const OwnBlock& block : invalid ? std::span<const OwnBlock>() : own) {
    if (block.box.empty()) {
      continue;
    }
    std::int64_t* at = sums.data() + place[block.variable];
    ++at[0];
    add_halves(at + 1, block.box.volume());
    for (int dim = 0; dim < block.box.count.rank(); ++dim) {
      add_halves(at + 3 + 2 * dim, block.box.count[dim]);
    }
  }
  transport.allreduce(sums, Op::sum);
  if (sums[0] != 0) {
    agree(transport, invalid);
  }

  std::vector<Total> totals;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::int64_t* at = sums.data() + place[v];
    Total total{static_cast<std::uint64_t>(at[0]), join_halves(at + 1), variables[v].shape};
    for (int dim = 0; dim < total.mean_count.rank() && total.blocks > 0; ++dim) {
      total.mean_count[dim] = join_halves(at + 3 + 2 * dim) / total.blocks;
    }
    totals.push_back(total);
  }
  return totals;
}

// -- distributing the search ----------------------------------------------------------------------

/// The cells of one variable; cell i belongs to rank (first_owner + i) modulo the ranks.
struct SharedGrid {
  CellGrid grid;
  std::uint64_t first_owner = 0;
};

std::vector<SharedGrid> share_out(std::span<const VariableShape> variables,
                                  const std::vector<Total>& totals, std::uint64_t ranks) {
  std::vector<SharedGrid> grids;
  std::uint64_t next_owner = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    grids.push_back({CellGrid(variables[v].shape, totals[v].mean_count, ranks), next_owner});
    next_owner = (next_owner + grids.back().grid.cells()) % ranks;
  }
  return grids;
}

void put_block(ByteWriter& writer, const OwnBlock& block) {
  writer.put(block.variable);
  for (int dim = 0; dim < block.box.start.rank(); ++dim) {
    writer.put(block.box.start[dim]);
    writer.put(block.box.count[dim]);
  }
}

OwnedBox get_block(ByteReader& reader, std::span<const VariableShape> variables, int rank) {
  OwnedBox owned;
  owned.rank = rank;
  owned.variable = reader.get<std::uint32_t>();
  if (owned.variable >= variables.size()) {
    throw Error(Code::internal, "message between ranks refers to an unknown variable");
  }
  for (int dim = 0; dim < variables[owned.variable].shape.rank(); ++dim) {
    owned.box.start.push_back(reader.get<std::uint64_t>());
    owned.box.count.push_back(reader.get<std::uint64_t>());
  }
  return owned;
}

/// Every block, whole, for the owners of the cells that it overlaps.
std::vector<Parcel> blocks_for_owners(std::uint64_t ranks, const std::vector<SharedGrid>& grids,
                                      std::span<const OwnBlock> own) {
  std::vector<std::pair<int, std::size_t>> sendings;  // to which rank, which block
  for (std::size_t i = 0; i < own.size(); ++i) {
    const SharedGrid& shared = grids[own[i].variable];
    shared.grid.for_each_met(own[i].box, [&](std::uint64_t cell) {
      sendings.emplace_back(static_cast<int>((shared.first_owner + cell) % ranks), i);
    });
  }
  std::sort(sendings.begin(), sendings.end());

  std::vector<Parcel> parcels;
  for (std::size_t i = 0; i < sendings.size();) {
    const int to = sendings[i].first;
    ByteWriter writer;
    for (; i < sendings.size() && sendings[i].first == to; ++i) {
      put_block(writer, own[sendings[i].second]);
    }
    parcels.push_back({to, writer.take()});
  }
  return parcels;
}

/// The blocks that were sent to this rank.
std::vector<OwnedBox> blocks_in(const std::vector<Parcel>& parcels,
                                std::span<const VariableShape> variables) {
  std::vector<OwnedBox> boxes;
  for (const Parcel& parcel : parcels) {
    ByteReader reader(parcel.bytes);
    while (!reader.at_end()) {
      boxes.push_back(get_block(reader, variables, parcel.rank));
    }
  }
  return boxes;
}

// -- the search of one rank -----------------------------------------------------------------------

struct Missing {
  std::uint32_t variable = 0;
  Dims at;
};

struct Findings {
  std::optional<model::Overlap> overlap;
  std::optional<Missing> missing;
};

std::optional<Missing> find_first_missing(int rank, int ranks,
                                          std::span<const VariableShape> variables,
                                          const std::vector<SharedGrid>& grids,
                                          const std::vector<OwnedBox>& boxes) {
  std::vector<std::vector<Box>> by_variable(variables.size());
  for (const OwnedBox& owned : boxes) {
    by_variable[owned.variable].push_back(owned.box);
  }
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::uint64_t cell = (static_cast<std::uint64_t>(rank) +
                                static_cast<std::uint64_t>(ranks) - grids[v].first_owner) %
                               static_cast<std::uint64_t>(ranks);
    if (variables[v].partial || cell >= grids[v].grid.cells()) {
      continue;
    }
    if (const auto at = model::find_missing(grids[v].grid.cell(cell), by_variable[v])) {
      return Missing{static_cast<std::uint32_t>(v), *at};
    }
  }
  return std::nullopt;
}

Findings search(const Transport& transport, std::span<const VariableShape> variables,
                const std::vector<SharedGrid>& grids, const std::vector<OwnedBox>& boxes) {
  Findings findings;
  findings.overlap = model::find_overlap(boxes);
  if (!findings.overlap) {
    findings.missing =
        find_first_missing(transport.rank(), transport.size(), variables, grids, boxes);
  }
  return findings;
}

// -- reports --------------------------------------------------------------------------------------

/// What to do about the common mistake: every rank put all of it.
const char* overlap_advice(const model::Overlap& overlap) {
  if (overlap.common.start.empty()) {
    return ": it is one value, without dimensions: put it on one rank only";
  }
  if (overlap.first.box == overlap.second.box) {
    return ": each element is put once: put it on one rank only, or each rank's part at its own "
           "start (in Python put() takes shape= and start=)";
  }
  return "";
}

[[noreturn]] void throw_overlap(Transport& transport, std::span<const VariableShape> variables,
                                const std::optional<model::Overlap>& mine) {
  ByteWriter writer;
  if (mine) {
    writer.put(*mine);
  }
  const auto before = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    const auto x = ByteReader(a).get<model::Overlap>();
    const auto y = ByteReader(b).get<model::Overlap>();
    return model::comes_before(x.first, y.first) ||
           (!model::comes_before(y.first, x.first) && model::comes_before(x.second, y.second));
  };
  const auto message = share_first(transport, writer.take(), before);
  const auto overlap = ByteReader(message).get<model::Overlap>();
  const auto block_text = [](const OwnedBox& owned) {
    return "rank " + std::to_string(owned.rank) + "'s block " + owned.box.text();
  };
  throw Error(Code::overlap,
              variables[overlap.first.variable].name + ": " + block_text(overlap.first) + " and " +
                  block_text(overlap.second) + " both cover " + overlap.common.text() +
                  overlap_advice(overlap),
              overlap.first.rank);
}

/// Extends the hole from its first element, considering the blocks of all ranks: a cell shows only
/// a part of it.
Box grow_hole(Transport& transport, const Missing& missing, const Dims& shape,
              std::span<const OwnBlock> own) {
  std::vector<Box> boxes;
  for (const OwnBlock& block : own) {
    if (block.variable == missing.variable) {
      boxes.push_back(block.box);
    }
  }
  Box hole{missing.at, Dims::filled(shape.rank(), 1)};
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    const std::uint64_t count = model::free_count(hole, dim, model::whole(shape), boxes);
    // in halves, because a count may exceed the range of a signed number: the lower half is that of
    // the ranks with the smallest upper half
    std::array<std::int64_t, 1> high{static_cast<std::int64_t>(count >> 32)};
    transport.allreduce(high, Op::min);
    const bool least = static_cast<std::int64_t>(count >> 32) == high[0];
    std::array<std::int64_t, 1> low{
        static_cast<std::int64_t>(least ? count & 0xffffffffU : 0xffffffffU)};
    transport.allreduce(low, Op::min);
    hole.count[dim] =
        static_cast<std::uint64_t>(high[0]) << 32 | static_cast<std::uint64_t>(low[0]);
  }
  return hole;
}

[[noreturn]] void throw_hole(Transport& transport, std::span<const VariableShape> variables,
                             const std::optional<Missing>& mine, std::span<const OwnBlock> own) {
  ByteWriter writer;
  if (mine) {
    writer.put(*mine);
  }
  const auto before = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    const auto x = ByteReader(a).get<Missing>();
    const auto y = ByteReader(b).get<Missing>();
    return x.variable != y.variable
               ? x.variable < y.variable
               : std::lexicographical_compare(x.at.begin(), x.at.end(), y.at.begin(), y.at.end());
  };
  const auto message = share_first(transport, writer.take(), before);
  const auto missing = ByteReader(message).get<Missing>();
  const VariableShape& variable = variables[missing.variable];
  const Box hole = grow_hole(transport, missing, variable.shape, own);
  throw Error(Code::hole, variable.name + ": no rank put " + hole.text() +
                              ": put it too, or define the variable as partial");
}

}  // namespace

void check_coverage(Transport& transport, std::span<const VariableShape> variables,
                    std::span<const OwnBlock> own) {
  const auto totals = sum_blocks(transport, variables, own);
  const auto ranks = static_cast<std::uint64_t>(transport.size());
  std::vector<SharedGrid> grids;
  std::vector<Parcel> parcels;
  auto failure = failure_of([&] {
    grids = share_out(variables, totals, ranks);
    parcels = blocks_for_owners(ranks, grids, own);
  });
  // A rank that has failed sends nothing: the others wait for it.
  parcels = transport.exchange(failure ? std::vector<Parcel>() : std::move(parcels));
  Findings findings;
  if (!failure) {
    failure = failure_of(
        [&] { findings = search(transport, variables, grids, blocks_in(parcels, variables)); });
  }

  std::array<std::int64_t, 2> found{findings.overlap ? 1 : 0, findings.missing ? 1 : 0};
  agree(transport, failure, found);
  if (found[0] != 0) {
    throw_overlap(transport, variables, findings.overlap);
  }
  if (found[1] != 0) {
    throw_hole(transport, variables, findings.missing, own);
  }
}

void check_volume(Transport& transport, std::span<const VariableShape> variables,
                  std::span<const OwnBlock> own) {
  const auto totals = sum_blocks(transport, variables, own);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::uint64_t wanted = variables[v].shape.volume();
    const std::uint64_t put = totals[v].elements;
    const std::string counts = std::to_string(put) + " elements were put, but shape " +
                               variables[v].shape.text() + " has " + std::to_string(wanted);
    if (put > wanted) {
      throw Error(Code::overlap, variables[v].name + ": " + counts);
    }
    if (put < wanted && !variables[v].partial) {
      throw Error(Code::hole, variables[v].name + ": " + counts);
    }
  }
}

}  // namespace sluice::exec
