// Shapes and their decompositions.
#include <numeric>

#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::shapes {
namespace {

using model::Box;

/// Writes one step of `v` with the boxes of `boxes_of(rank)`, and reads it back elsewhere.
void round_trip(World& world, const std::string& name, const Shape& shape,
                const std::function<std::vector<Box>(const Rank&)>& boxes_of,
                const VariableOptions& variable = {.steps = true}) {
  const std::string path = world.path(name + ".h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, variable);
    Giver<double> giver;
    commit(out, variable.steps, [&](auto& target) {
      for (const Box& box : boxes_of(rank)) {
        giver.put(target, v, 7, shape, box);
      }
    });
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        EXPECT_EQ(in.info(in.find("v")).shape, shape);
        expect_values<double>(in, "v", 7, shape, whole_box(shape));
        if (!shape.empty()) {
          expect_values<double>(in, "v", 7, shape, slab(shape, rank.rank(), rank.ranks()));
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(shapes, scalars) {
  const std::string path = world.path("scalars.h5");
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable moving = out.of("moving").define<double>("moving", {}, {.steps = true});
    const Variable fixed = out.of("fixed").define<std::int64_t>("fixed", {});
    const std::int64_t answer = 42;
    if (rank.is(rank.ranks() - 1)) {
      out.of("fixed").put(fixed, &answer);
    }
    for (int s = 0; s < 3; ++s) {
      const double value = 1.5 * s;
      out.begin_step();
      if (rank.is(s)) {
        out.into("moving", [&](auto& step) { step.put(moving, &value); });
      }
      out.end_step();
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        File& in = files.of("moving");
        File& fixed = files.of("fixed");
        for (std::uint64_t s = 0; s < 3; ++s) {
          double got = -1;
          in.get(in.find("moving"), &got, {}, s);
          EXPECT_EQ(got, 1.5 * static_cast<double>(s));
        }
        std::int64_t got = 0;
        fixed.get(fixed.find("fixed"), &got);
        EXPECT_EQ(got, 42);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(shapes, one_to_seven_dimensions) {
  const Shape extents = {7, 3, 2, 5, 2, 3, 2};
  for (std::size_t rank = 1; rank <= extents.size(); ++rank) {
    const Shape shape(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(rank));
    for (const bool steps : {true, false}) {
      const std::string name = std::to_string(rank) + (steps ? "s" : "f");
      round_trip(world, name, shape,
                 [&](const Rank& r) { return dealt_to(r.rank(), r.ranks(), shape, rank); },
                 {.steps = steps});
    }
  }
}

SLUICE_BEHAVIOUR(shapes, variables_without_elements) {
  const std::string path = world.path("empty.h5");
  const std::vector<Shape> shapes = {{0}, {0, 3}, {4, 0}, {2, 0, 5}};
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    std::vector<Variable> all;
    auto name_of = [](std::size_t i) {
      return (i % 2 == 0 ? "moving" : "fixed") + std::to_string(i / 2);
    };
    for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
      all.push_back(
          out.of(name_of(i)).define<float>(name_of(i), shapes[i / 2], {.steps = i % 2 == 0}));
    }
    const float nothing = 0;
    for (int s = 0; s < 2; ++s) {
      out.begin_step();
      for (std::size_t i = 0; i < all.size(); i += s == 0 ? 1 : 2) {
        out.into(name_of(i), [&](auto& target) {
          target.put(all[i], &nothing);  // a box of no elements
        });
      }
      out.end_step();
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          File& in = files.of("moving" + std::to_string(i));
          EXPECT_EQ(in.steps(), 2u);
          EXPECT_EQ(world.count_variables(in), world.format().many ? 8u : 1u);
          const Variable v = in.find("moving" + std::to_string(i));
          EXPECT_EQ(in.info(v).shape, shapes[i]);
          float nothing = 1;
          in.get(v, &nothing, {}, 1);
          File& fixed = files.of("fixed" + std::to_string(i));
          fixed.get(fixed.find("fixed" + std::to_string(i)), &nothing);
          EXPECT_EQ(nothing, 1);
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(shapes, blocks_without_elements) {
  const Shape shape = {6, 4};
  round_trip(world, "blocks", shape, [&](const Rank& rank) {
    std::vector<Box> boxes = {{{3, 2}, {0, 1}}, {{6, 0}, {0, 4}}, {{0, 4}, {6, 0}}};
    boxes.push_back(slab(shape, rank.rank(), rank.ranks()));
    boxes.push_back({{0, 0}, {0, 0}});
    return boxes;
  });
}

SLUICE_BEHAVIOUR(shapes, one_rank_puts_all) {
  const Shape shape = {5, 6};
  round_trip(world, "last", shape, [&](const Rank& rank) {
    return rank.rank() + 1 == rank.ranks() ? std::vector<Box>{whole_box(shape)}
                                           : std::vector<Box>{};
  });
}

SLUICE_BEHAVIOUR(shapes, more_ranks_than_rows) {
  const Shape shape = {2, 3};
  round_trip(world, "few", shape, [&](const Rank& rank) {
    return std::vector<Box>{slab(shape, rank.rank(), rank.ranks())};
  });
}

SLUICE_BEHAVIOUR(shapes, several_adjoining_blocks_a_rank) {
  const Shape shape = {64, 5};
  round_trip(world, "adjoining", shape, [&](const Rank& rank) {
    std::vector<Box> boxes;
    const Box mine = slab(shape, rank.rank(), rank.ranks());
    for (std::uint64_t row = mine.start[0]; row < mine.end(0); ++row) {
      boxes.push_back({{row, 0}, {1, 2}});
      boxes.push_back({{row, 2}, {1, 3}});
    }
    return boxes;
  });
}

SLUICE_BEHAVIOUR(shapes, several_scattered_blocks_a_rank) {
  const Shape shape = {61, 7};
  round_trip(world, "scattered", shape, [&](const Rank& rank) {
    std::vector<Box> boxes;
    const auto ranks = static_cast<std::uint64_t>(rank.ranks());
    for (std::uint64_t row = static_cast<std::uint64_t>(rank.rank()); row < 61; row += ranks) {
      boxes.push_back({{60 - row, 0}, {1, 7}});
    }
    return boxes;
  });
}

SLUICE_BEHAVIOUR(shapes, columns) {
  const Shape shape = {13, 24};
  round_trip(world, "columns", shape, [&](const Rank& rank) {
    const Box turned = slab({24, 13}, rank.rank(), rank.ranks());
    return std::vector<Box>{{{0, turned.start[0]}, {13, turned.count[0]}}};
  });
}

SLUICE_BEHAVIOUR(shapes, single_elements_anywhere) {
  const Shape shape = {4, 3, 5};
  round_trip(world, "single", shape, [&](const Rank& rank) {
    std::vector<Box> boxes;
    for (const model::Dims& at : elements_of(whole_box(shape))) {
      if (mixed(at[0] * 100 + at[1] * 10 + at[2]) % static_cast<std::uint64_t>(rank.ranks()) ==
          static_cast<std::uint64_t>(rank.rank())) {
        boxes.push_back({at, {1, 1, 1}});
      }
    }
    return boxes;
  });
}

SLUICE_BEHAVIOUR(shapes, uneven_3d_blocks) {
  const Shape shape = {17, 23, 19};
  round_trip(world, "uneven", shape,
             [&](const Rank& rank) { return dealt_to(rank.rank(), rank.ranks(), shape, 99); });
}

SLUICE_BEHAVIOUR(shapes, chunks_of_the_callers_choice) {
  const Shape shape = {19, 14};
  int number = 0;
  for (const Shape& chunk : std::vector<Shape>{{1, 1}, {5, 3}, {19, 14}, {100, 100}, {3, 14}}) {
    round_trip(world, "chunk" + std::to_string(number++), shape,
               [&](const Rank& rank) { return dealt_to(rank.rank(), rank.ranks(), shape, 5); },
               {.steps = true, .chunk = chunk});
  }
}

SLUICE_BEHAVIOUR(shapes, blocks_larger_than_the_staging) {
  // 9.6 MB in blocks of 4.8 MB and a rest, cut so that no block begins at a page boundary.
  const Shape shape = {400003, 3};
  round_trip(world, "large", shape, [&](const Rank& rank) {
    std::vector<Box> boxes;
    for (std::uint64_t first = 0, b = 0; first < shape[0]; first += 200001, ++b) {
      if (rank.is(static_cast<int>(b))) {
        boxes.push_back({{first, 0}, {std::min<std::uint64_t>(200001, shape[0] - first), 3}});
      }
    }
    return boxes;
  });
}

SLUICE_BEHAVIOUR(shapes, the_decomposition_changes_at_every_step) {
  const Shape shape = {12, 9, 4};
  const std::string path = world.path("changing.h5");
  constexpr std::uint64_t steps = 6;
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < steps; ++s) {
      Giver<float> giver;
      Step step = out.begin_step();
      for (const Box& box : dealt_to(rank.rank(), rank.ranks(), shape, s)) {
        giver.put(step, v, s, shape, box);
      }
      step.end();
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        for (std::uint64_t s = steps; s-- > 0;) {
          expect_values<float>(in, "v", s, shape, slab(shape, rank.rank(), rank.ranks()), s);
        }
      },
      world.other_ranks());
}

}  // namespace
}  // namespace sluice::test::shapes
