// Partial variables: elements that were never put read as the fill value.
#include <filesystem>
#include <limits>
#include <sys/stat.h>

#include "commit/publish/parts_files.hpp"
#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::partial {
namespace {

using model::Box;

const double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Random boxes of which every third is left out.
std::vector<Box> kept_boxes(const Shape& shape, const Rank& rank, std::uint64_t seed) {
  std::vector<Box> kept;
  const auto dealt = deal(shape, rank.ranks(), seed, 5);
  for (std::size_t i = 0; i < dealt[static_cast<std::size_t>(rank.rank())].size(); ++i) {
    if (mixed(seed * 31 + i + static_cast<std::uint64_t>(rank.rank())) % 3 != 0) {
      kept.push_back(dealt[static_cast<std::size_t>(rank.rank())][i]);
    }
  }
  return kept;
}

/// All boxes that were put by the `ranks` that wrote.
std::vector<bool> kept_elements(const Shape& shape, int ranks, std::uint64_t seed) {
  std::vector<bool> kept(dims_of(shape).volume(), false);
  const auto dealt = deal(shape, ranks, seed, 5);
  for (std::size_t r = 0; r < dealt.size(); ++r) {
    for (std::size_t i = 0; i < dealt[r].size(); ++i) {
      if (mixed(seed * 31 + i + r) % 3 != 0) {
        for_each_element(dims_of(shape), dealt[r][i],
                         [&](std::uint64_t index, std::uint64_t) { kept[index] = true; });
      }
    }
  }
  return kept;
}

template <class T>
void holes(World& world, const std::string& name, double fill, bool steps) {
  const Shape shape = {14, 11};
  const std::string path = world.path(name + (steps ? "-steps.h5" : ".h5"));
  const std::uint64_t count = steps ? 3 : 1;
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<T>("v", shape, {.steps = steps, .partial = true, .fill = fill});
    Giver<T> giver;
    for (std::uint64_t s = 0; s < count; ++s) {
      commit(out, steps, [&](auto& target) {
        for (const Box& box : kept_boxes(shape, rank, s)) {
          giver.put(target, v, s, shape, box);
        }
      });
    }
    out.close();
  });
  const int writers = world.ranks();
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        for (std::uint64_t s = 0; s < count; ++s) {
          const std::vector<bool> kept = kept_elements(shape, writers, s);
          Array<T> got(dims_of(shape).volume());
          in.get<T>(in.find("v"), got.data(), {}, s);
          const T filled = static_cast<T>(fill);
          for (std::uint64_t i = 0; i < got.size(); ++i) {
            const T expected = kept[i] ? value_at<T>(s, i) : filled;
            ASSERT_TRUE(same_bits(got[i], expected))
                << name << " step " << s << " element " << i << ": " << +got[i];
          }
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(partial, holes_read_as_zero) {
  holes<double>(world, "f64", 0, true);
  holes<std::int32_t>(world, "i32", 0, true);
  holes<std::uint8_t>(world, "u8", 0, false);
}

SLUICE_BEHAVIOUR(partial, holes_read_as_a_value) {
  holes<double>(world, "f64", -1.25, true);
  holes<float>(world, "f32", 1e30f, false);
  holes<std::int16_t>(world, "i16", -9, true);
  holes<std::uint64_t>(world, "u64", 7, false);
}

SLUICE_BEHAVIOUR(partial, holes_read_as_nan) {
  holes<double>(world, "f64", nan_value, true);
  holes<float>(world, "f32", nan_value, true);
  holes<double>(world, "fixed", nan_value, false);
}

/// As many elements as the variable has, but half of them twice.
SLUICE_BEHAVIOUR(partial, blocks_put_twice_hide_no_hole) {
  const std::string path = world.path("twice.h5");
  const Shape shape = {8, 3};
  const Box half{{2, 0}, {4, 3}};
  world.run([&](Rank& rank) {
    Options options = rank.options();
    options.check = Check::off;
    File out = rank.open(path, Mode::write, options);
    const Variable v = out.define<double>("v", shape, {.steps = true, .partial = true, .fill = -1});
    Giver<double> giver;
    Step step = out.begin_step();
    for (const int r : {0, 1}) {
      if (rank.is(r)) {
        giver.put(step, v, 0, shape, half);
      }
    }
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        double got[24];
        std::fill(std::begin(got), std::end(got), 777.0);
        in.get(in.find("v"), got, {}, 0);
        for (std::uint64_t i = 0; i < 24; ++i) {
          ASSERT_EQ(got[i], i / 3 >= 2 && i / 3 < 6 ? value_at<double>(0, i) : -1) << i;
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(partial, absent_in_a_whole_step) {
  const std::string path = world.path("absent.h5");
  const Shape shape = {6, 5};
  // Put in steps 1 and 3 of 5 only; and one that is never put.
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable v =
        out.of("v").define<float>("v", shape, {.steps = true, .partial = true, .fill = 2.5});
    out.of("never").define<float>("never", shape,
                                  {.steps = true, .partial = true, .fill = nan_value});
    out.of("never_fixed").define<std::int32_t>("never_fixed", shape, {.partial = true, .fill = -3});
    out.of("never_whole").define<std::int32_t>("never_whole", shape, {.fill = -4});
    Giver<float> giver;
    for (std::uint64_t s = 0; s < 5; ++s) {
      out.begin_step();
      if (s == 1 || s == 3) {
        out.into("v", [&](auto& step) {
          giver.put(step, v, s, shape, slab(shape, rank.rank(), rank.ranks()));
        });
      }
      out.end_step();
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        for (std::uint64_t s = 0; s < 5; ++s) {
          float got[30];
          File& in = files.of("v");
          in.get(in.find("v"), got, {}, s);
          float never[30];
          File& empty = files.of("never");
          empty.get(empty.find("never"), never, {}, s);
          for (std::uint64_t i = 0; i < 30; ++i) {
            ASSERT_EQ(got[i], s == 1 || s == 3 ? value_at<float>(s, i) : 2.5f) << s << " " << i;
            ASSERT_TRUE(std::isnan(never[i])) << s << " " << i;
          }
        }
        // An array of numpy has no fill value, but of what is partial its holes are filled.
        const int whole = world.cell().layout == "npy" ? 0 : -4;
        for (const auto& [name, fill] : {std::pair("never_fixed", -3), {"never_whole", whole}}) {
          std::int32_t fixed[30];
          File& in = files.of(name);
          in.get(in.find(name), fixed);
          EXPECT_EQ(std::count(fixed, fixed + 30, fill), 30) << name;
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(partial, rows_left_out) {
  const std::string path = world.path("rows.h5");
  const Shape shape = {50, 3};
  auto is_kept = [](std::uint64_t row) { return mixed(row) % 4 != 0; };
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v =
        out.define<double>("v", shape, {.steps = true, .partial = true, .fill = nan_value});
    std::vector<std::uint64_t> ids;
    for (std::uint64_t row = 0; row < shape[0]; ++row) {
      if (is_kept(row) && mixed(row + 99) % static_cast<std::uint64_t>(rank.ranks()) ==
                              static_cast<std::uint64_t>(rank.rank())) {
        ids.push_back(row);
      }
    }
    Array<double> values(ids.size() * 3);
    for (std::size_t i = 0; i < ids.size() * 3; ++i) {
      values[i] = value_at<double>(1, ids[i / 3] * 3 + i % 3);
    }
    Step step = out.begin_step();
    step.put_rows(v, ids.data(), ids.size(), values.data());
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        std::vector<double> got(150);
        in.get(in.find("v"), got.data());
        for (std::uint64_t i = 0; i < got.size(); ++i) {
          ASSERT_TRUE(is_kept(i / 3) ? got[i] == value_at<double>(1, i) : std::isnan(got[i])) << i;
        }
      },
      world.other_ranks());
}

/// A few short boxes far apart, of one rank each.
std::vector<Box> spots(const Shape& shape, const Rank& rank) {
  std::vector<Box> boxes;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::uint64_t row = i == 5 ? shape[0] - 1 : mixed(i) % (shape[0] - 1);
    if (rank.is(static_cast<int>(i))) {
      boxes.push_back({{row, shape[1] - 40 - 10 * i}, {1, 40}});
    }
  }
  return boxes;
}

/// The disk usage of `path`, its parts and its objects; 0 if they are not on a disk.
std::uint64_t bytes_on_disk(const std::string& path) {
  std::uint64_t bytes = 0;
  auto add = [&](const std::filesystem::path& file) {
    struct stat found {};
    if (::stat(file.c_str(), &found) == 0) {
      bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    }
  };
  for (const std::string& root : {path, commit::parts_folder(path, "")}) {
    add(root);
    if (std::filesystem::is_directory(root)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        add(entry.path());
      }
    }
  }
  return bytes;
}

SLUICE_BEHAVIOUR(partial, sparse_offsets_beyond_2_and_4_gib) {
  // More than 5 GiB of shape in two variables, a few KB of data: offsets, counts and sizes above
  // 2^31 and 2^32.
  const std::string path = world.path("sparse.h5");
  const Shape rows = {2700, 131072};  // 2.6 GiB of float64, contiguous
  const Shape tiled = {320, 1048576};
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable a = out.of("fixed").define<double>("fixed", rows, {.partial = true});
    const Variable b = out.of("moving").define<double>(
        "moving", tiled, {.steps = true, .partial = true, .chunk = world.chunk({1, 131072})});
    Giver<double> giver;
    out.begin_step();
    out.into("fixed", [&](auto& target) {
      for (const Box& box : spots(rows, rank)) {
        giver.put(target, a, 1, rows, box);
      }
    });
    out.into("moving", [&](auto& step) {
      for (const Box& box : spots(tiled, rank)) {
        giver.put(step, b, 2, tiled, box);
      }
    });
    out.end_step();
    out.close();
  });
  if (world.format().many && !world.has_parts() && !world.format().is_store()) {
    EXPECT_GT(world.storage().open(path, storage::Access::read)->size(), 5ULL << 30);
  }
  for (const char* name : {"fixed", "moving"}) {
    EXPECT_LT(bytes_on_disk(world.path_of(path, name)), 64U << 20) << name;
  }
  const int writers = world.ranks();
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        for (int r = 0; r < writers; ++r) {
          for (const auto& [name, shape, key] :
               {std::tuple{"fixed", rows, 1}, std::tuple{"moving", tiled, 2}}) {
            for (std::uint64_t i = static_cast<std::uint64_t>(r); i < 6;
                 i += static_cast<std::uint64_t>(writers)) {
              const std::uint64_t row = i == 5 ? shape[0] - 1 : mixed(i) % (shape[0] - 1);
              expect_values<double>(files.of(name), name, static_cast<std::uint64_t>(key), shape,
                                    {{row, shape[1] - 40 - 10 * i}, {1, 40}});
            }
          }
        }
        double got[3] = {1, 1, 1};
        File& in = files.of("fixed");
        in.get(in.find("fixed"), got, {.start = {2000, 0}, .count = {1, 3}});
        EXPECT_EQ(got[0] + got[1] + got[2], 0);
        EXPECT_EQ(rank.ranks(), world.other_ranks());
      },
      world.other_ranks());
}

}  // namespace
}  // namespace sluice::test::partial
