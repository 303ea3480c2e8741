// Blocks that are a part of a larger array in memory: ghost cells.
#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::memory {
namespace {

using model::Box;

constexpr double ghost_value = -777;

/// The array of a block with `low` ghosts before and `high` behind it in every dimension.
struct Ghosted {
  Shape shape;
  Shape start;
  Array<double> data;
};

Ghosted with_ghosts(const Box& box, std::uint64_t low, std::uint64_t high) {
  Shape shape;
  std::uint64_t volume = 1;
  for (const std::uint64_t count : box.count) {
    shape.push_back(count + low + high);
    volume *= shape.back();
  }
  return {shape, Shape(shape.size(), low), Array<double>(volume, ghost_value)};
}

/// Visits (index in the variable, place in the ghosted array) of every inner element.
template <class Visit>
void for_each_inner(const Ghosted& ghosted, const Shape& shape, const Box& box, Visit&& visit) {
  std::vector<std::uint64_t> places;
  for_each_element(dims_of(ghosted.shape), {dims_of(ghosted.start), box.count},
                   [&](std::uint64_t place, std::uint64_t) { places.push_back(place); });
  for_each_element(dims_of(shape), box,
                   [&](std::uint64_t index, std::uint64_t k) { visit(index, places[k]); });
}

Selection selection_with(const Ghosted& ghosted, const Box& box) {
  Selection selection = selection_of(box);
  selection.memory_shape = ghosted.shape;
  selection.memory_start = ghosted.start;
  return selection;
}

void put_and_get(World& world, const Shape& shape, std::uint64_t low, std::uint64_t high) {
  const std::string path = world.path("ghosts.h5");
  auto my_boxes = [&](const Rank& rank) { return dealt_to(rank.rank(), rank.ranks(), shape, 3); };
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable same = out.of("same").define<double>("same", shape, {.steps = true});
    const Variable narrow = out.of("narrow").define<float>("narrow", shape, {.steps = true});
    std::deque<Ghosted> held;
    out.begin_step();
    for (const Box& box : my_boxes(rank)) {
      held.push_back(with_ghosts(box, low, high));
      Ghosted& ghosted = held.back();
      for_each_inner(ghosted, shape, box, [&](std::uint64_t index, std::uint64_t place) {
        ghosted.data[place] = value_at<float>(4, index);
      });
      const Selection selection = selection_with(ghosted, box);
      out.into("same", [&](auto& step) { step.put(same, ghosted.data.data(), selection); });
      out.into("narrow", [&](auto& step) { step.put(narrow, ghosted.data.data(), selection); });
    }
    out.end_step();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        expect_values<float>(files.of("narrow"), "narrow", 4, shape, whole_box(shape));
        File& in = files.of("same");
        const Box box = slab(shape, rank.rank(), rank.ranks());
        Ghosted ghosted = with_ghosts(box, high, low);
        in.get(in.find("same"), ghosted.data.data(), selection_with(ghosted, box));
        std::uint64_t inner = 0;
        for_each_inner(ghosted, shape, box, [&](std::uint64_t index, std::uint64_t place) {
          ASSERT_EQ(ghosted.data[place], value_at<float>(4, index)) << index;
          ++inner;
        });
        // Elements around the block are unchanged.
        std::uint64_t untouched = 0;
        for (std::uint64_t i = 0; i < ghosted.data.size(); ++i) {
          untouched += ghosted.data[i] == ghost_value ? 1 : 0;
        }
        EXPECT_EQ(untouched, ghosted.data.size() - inner);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(memory, ghost_cells_of_1d) { put_and_get(world, {40}, 1, 2); }
SLUICE_BEHAVIOUR(memory, ghost_cells_of_2d) { put_and_get(world, {16, 11}, 2, 1); }
SLUICE_BEHAVIOUR(memory, ghost_cells_of_3d) { put_and_get(world, {9, 7, 8}, 1, 1); }

SLUICE_BEHAVIOUR(memory, a_block_outside_its_array_is_refused_everywhere) {
  const std::string path = world.path("outside.h5");
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", {4});
    double values[4] = {};
    if (rank.is(1)) {
      out.put(v, values, {.count = {4}, .memory_shape = {4}, .memory_start = {1}});
    }
    out.close();
  }),
                    Code::out_of_bounds, {"v (memory)", "(4)", path});
}

}  // namespace
}  // namespace sluice::test::memory
