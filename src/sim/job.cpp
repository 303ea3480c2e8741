#include "sim/job.hpp"

#include <algorithm>
#include <numeric>

#include "layout/chunking.hpp"
#include "layout/layout.hpp"
#include "model/round_up.hpp"

namespace sluice::sim {

using layout::Extent;
using model::Box;
using model::Dims;

namespace {

constexpr std::uint64_t word_bytes = 8;

std::vector<int> prime_factors(int number) {
  std::vector<int> factors;
  for (int p = 2; p * p <= number; ++p) {
    for (; number % p == 0; number /= p) {
      factors.push_back(p);
    }
  }
  if (number > 1) {
    factors.push_back(number);
  }
  return factors;
}

std::uint64_t records_of(const Share& share) {
  std::uint64_t words = 0;
  for (const layout::Portion& portion : share.portions) {
    words += layout::record_words(portion.piece.box.start.rank());
  }
  return words;
}

void add_portions(std::uint32_t block, const Box& box, const layout::Placement& placement,
                  Share& share) {
  const std::size_t before = share.portions.size();
  layout::append_portions(block, box, placement.shape(), placement.tile(),
                          placement.element_bytes(), share.portions);
  for (std::size_t i = before; i < share.portions.size(); ++i) {
    share.runs.emplace_back(placement, share.portions[i].piece);
    share.sizes.push_back(share.runs.back().bytes());
    share.bytes += share.sizes.back();
  }
}

}  // namespace

Dims rank_grid(const Dims& shape, Cut cut, int ranks) {
  if (shape.rank() == 0) {
    throw Error(Code::invalid_argument,
                "a variable without dimensions cannot be divided among ranks");
  }
  Dims grid = Dims::filled(shape.rank(), 1);
  if (cut == Cut::columns) {
    if (shape.rank() < 2) {
      throw Error(Code::invalid_argument, "columns need a variable of two dimensions at least");
    }
    grid[1] = static_cast<std::uint64_t>(ranks);
    return grid;
  }
  const int cut_dims = std::min(shape.rank(), static_cast<int>(cut));
  const std::vector<int> factors = prime_factors(ranks);
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
    int longest = 0;
    for (int d = 1; d < cut_dims; ++d) {
      longest = shape[d] * grid[longest] > shape[longest] * grid[d] ? d : longest;
    }
    grid[longest] *= static_cast<std::uint64_t>(*factor);
  }
  return grid;
}

Box block_of(const Dims& shape, const Dims& grid, int rank) {
  Box box{Dims::filled(shape.rank(), 0), Dims::filled(shape.rank(), 0)};
  auto rest = static_cast<std::uint64_t>(rank);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const std::uint64_t at = rest % grid[d];
    rest /= grid[d];
    box.start[d] = shape[d] / grid[d] * at + std::min(at, shape[d] % grid[d]);
    box.count[d] = shape[d] / grid[d] + (at < shape[d] % grid[d] ? 1 : 0);
  }
  return box;
}

Arrangement::Arrangement(const Job& job, std::uint64_t alignment_bytes, bool has_checksums)
    : job_(job) {
  std::uint64_t at = alignment_bytes;  // after the metadata of the file
  const std::uint64_t first = at;
  for (const Variable& variable : job.variables) {
    at = place(variable, at, alignment_bytes);
  }
  if (has_checksums) {
    first_words_.assign(static_cast<std::size_t>(job.ranks) + 1, 0);
    for (const Placed& placed : placed_) {
      count_words(placed);
    }
    std::partial_sum(first_words_.begin(), first_words_.end(), first_words_.begin());
    words_space_ = {model::round_up(at, alignment_bytes), first_words_.back() * word_bytes};
    at = words_space_.offset + words_space_.length;
  }
  space_ = {first, at - first};
}

void Arrangement::count_words(const Placed& placed) {
  const Dims& shape = placed.placement.shape();
  Box before;  // blocks of one size at the same place within their tiles have the same number of
               // portions
  std::uint64_t words = 0;
  std::vector<layout::Portion> portions;
  for (int rank = 0; rank < job_.ranks; ++rank) {
    const Box box = block_of(shape, placed.grid, rank);
    Box alike = box;
    for (int d = 0; d < shape.rank(); ++d) {
      alike.start[d] %= placed.tile[d];
    }
    if (rank == 0 || !(alike == before)) {
      portions.clear();
      layout::append_portions(0, box, shape, placed.tile, placed.placement.element_bytes(),
                              portions);
      words = portions.size() * layout::record_words(shape.rank());
      before = alike;
    }
    first_words_[static_cast<std::size_t>(rank) + 1] += words;
  }
}

std::uint64_t Arrangement::place(const Variable& variable, std::uint64_t at,
                                 std::uint64_t alignment_bytes) {
  Placed placed;
  placed.grid = rank_grid(variable.shape, job_.cut, job_.ranks);
  placed.tile = variable.shape;
  if (variable.is_stepped) {
    layout::Decomposition all(variable.shape.rank());
    for (int rank = 0; rank < job_.ranks; ++rank) {
      all.add(block_of(variable.shape, placed.grid, rank), variable.shape);
    }
    placed.tile = layout::choose_tile(variable.shape, variable.element_bytes, all);
  }
  const std::uint64_t tile_bytes = placed.tile.volume() * variable.element_bytes;
  const std::uint64_t unit = tile_bytes >= layout::worth_aligning_bytes ? alignment_bytes : 1;
  const std::uint64_t stride = model::round_up(tile_bytes, unit);
  std::vector<std::uint64_t> addresses(layout::grid_of(variable.shape, placed.tile).volume());
  at = model::round_up(at, unit);
  for (std::uint64_t& address : addresses) {
    address = at;
    at += stride;
  }
  placed.placement = {static_cast<std::uint32_t>(placed_.size()), variable.element_bytes,
                      variable.shape, placed.tile, addresses};
  placed_.push_back(std::move(placed));
  return at;
}

Share Arrangement::share(int rank) const {
  Share share;
  for (std::size_t v = 0; v < placed_.size(); ++v) {
    const Placed& placed = placed_[v];
    const Box box = block_of(placed.placement.shape(), placed.grid, rank);
    add_portions(static_cast<std::uint32_t>(v), box, placed.placement, share);
  }
  share.words = first_words_.empty() ? 0 : records_of(share);
  return share;
}

Extent Arrangement::words_of(int rank) const {
  if (first_words_.empty()) {
    return {};
  }
  const auto at = static_cast<std::size_t>(rank);
  return {words_space_.offset + first_words_[at] * word_bytes,
          (first_words_[at + 1] - first_words_[at]) * word_bytes};
}

std::uint64_t Arrangement::tiles() const {
  std::uint64_t sum = 0;
  for (const Placed& placed : placed_) {
    sum += placed.placement.tiles();
  }
  return sum;
}

std::uint64_t Arrangement::bytes() const {
  std::uint64_t sum = 0;
  for (const Variable& variable : job_.variables) {
    sum += variable.shape.volume() * variable.element_bytes;
  }
  return sum;
}

std::uint64_t Arrangement::mean_run_bytes() const {
  std::uint64_t runs = 0;
  for (int rank = 0; rank < job_.ranks; ++rank) {
    for (const layout::RunList& list : share(rank).runs) {
      runs += list.count();
    }
  }
  return bytes() / std::max<std::uint64_t>(1, runs);
}

PartArrangement::PartArrangement(const Job& job, const std::vector<int>& members) {
  std::uint64_t at = 4096;
  const std::uint64_t first = at;
  for (const Variable& variable : job.variables) {
    const Dims grid = rank_grid(variable.shape, job.cut, job.ranks);
    Listed listed{{0}, variable.element_bytes, at};
    for (const int rank : members) {
      const std::uint64_t elements = block_of(variable.shape, grid, rank).volume();
      listed.first.push_back(listed.first.back() + elements);
    }
    at = model::round_up(at + listed.first.back() * variable.element_bytes, 4096);
    listed_.push_back(std::move(listed));
  }
  space_ = {first, at - first};
}

Share PartArrangement::share(std::size_t index) const {
  Share share;
  for (std::size_t v = 0; v < listed_.size(); ++v) {
    const Listed& listed = listed_[v];
    const Dims shape{std::max<std::uint64_t>(1, listed.first.back())};
    const std::uint64_t address[] = {listed.address};
    const layout::Placement placement(static_cast<std::uint32_t>(v), listed.element_bytes, shape,
                                      shape, address);
    const std::uint64_t begin = listed.first[index];
    add_portions(static_cast<std::uint32_t>(v), {{begin}, {listed.first[index + 1] - begin}},
                 placement, share);
  }
  return share;
}

}  // namespace sluice::sim
