// Opening and closing: what happens to the old file, and the options of a file.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::files {
namespace {

const Shape shape = {8, 4};

Ticket put_step(File& out, Variable v, const Rank& rank, std::uint64_t key) {
  Giver<double> giver;
  Step step = out.begin_step();
  giver.put(step, v, key, shape, slab(shape, rank.rank(), rank.ranks()));
  return step.end();
}

void write_file(World& world, const std::string& path, Mode mode, std::uint64_t key,
                const std::function<void(Options&)>& change = {}) {
  world.run([&](Rank& rank) {
    Options options = rank.options();
    if (change) {
      change(options);
    }
    File out = rank.open(path, mode, options);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < 2; ++s) {
      put_step(out, v, rank, key + s);
    }
    out.close();
  });
}

void expect_file(World& world, const std::string& path, std::uint64_t key) {
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        for (std::uint64_t s = 0; s < 2; ++s) {
          expect_values<double>(in, "v", key + s, shape, whole_box(shape), s);
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(files, create_makes_new_ones_only) {
  const std::string path = world.path("create.h5");
  write_file(world, path, Mode::create, 1);
  expect_same_error(world.run_catching([&](Rank& rank) { rank.open(path, Mode::create); }),
                    Code::exists, {path});
  expect_file(world, path, 1);
}

SLUICE_BEHAVIOUR(files, write_replaces_the_old_one_at_the_first_commit) {
  const std::string path = world.path("write.h5");
  write_file(world, path, Mode::write, 1);
  const auto old = world.bytes_of(path);
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    rank.transport().barrier();
    EXPECT_TRUE(world.bytes_of(path) == old);
    put_step(out, v, rank, 50).wait();
    rank.transport().barrier();
    EXPECT_EQ(rank.open(path, Mode::read).steps(), 1u);
    put_step(out, v, rank, 51);
    out.close();
  });
  expect_file(world, path, 50);
  EXPECT_FALSE(world.exists(path + ".sluice-new"));
}

SLUICE_BEHAVIOUR(files, a_run_that_fails_before_its_first_commit_leaves_the_old_one) {
  const std::string path = world.path("old.h5");
  write_file(world, path, Mode::write, 1);
  const auto old = world.bytes_of(path);
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Step step = out.begin_step();
    const double value = 1;
    if (rank.is(0)) {
      step.put(v, &value, {.start = {0, 0}, .count = {1, 1}});
    }
    step.end();
  });
  expect_same_error(caught, Code::hole, {"v", path});
  EXPECT_TRUE(world.bytes_of(path) == old);
  EXPECT_FALSE(world.exists(path + ".sluice-new"));
}

SLUICE_BEHAVIOUR(files, a_stale_temporary_is_replaced) {
  const std::string path = world.path("stale.h5");
  world.put_bytes(path + ".sluice-new", std::vector<std::byte>(50000, std::byte{0x33}));
  write_file(world, path, Mode::write, 4);
  expect_file(world, path, 4);
  EXPECT_FALSE(world.exists(path + ".sluice-new"));
}

SLUICE_BEHAVIOUR(files, durability_changes_no_value) {
  for (const Durability durability : world.durabilities()) {
    const std::string path = world.path("d" + std::to_string(static_cast<int>(durability)));
    write_file(world, path, Mode::write, 3, [&](Options& o) { o.durability = durability; });
    expect_file(world, path, 3);
  }
}

SLUICE_BEHAVIOUR(files, without_checksums) {
  const std::string path = world.path("plain.h5");
  write_file(world, path, Mode::write, 3, [](Options& o) { o.checksum = false; });
  expect_file(world, path, 3);
}

struct Place {
  std::string file;
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;  ///< of the value
};

/// Where the value with index 17 of step 1 of a file with key 3 is, somewhere in its files.
Place place_of_a_value(World& world, const std::string& path) {
  const double value = value_at<double>(4, 17);
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  for (const std::string& file : world.data_files(path)) {
    const auto bytes = world.bytes_of(file);
    const auto at = std::search(bytes.begin(), bytes.end(), first, first + sizeof value);
    if (at != bytes.end()) {
      return {file, static_cast<std::uint64_t>(at - bytes.begin()), {first, first + sizeof value}};
    }
  }
  throw std::runtime_error("the value is in no file of " + path);
}

SLUICE_BEHAVIOUR(files, a_changed_byte_is_found) {
  const std::string path = world.path("damaged.h5");
  write_file(world, path, Mode::write, 3);
  world.once([&] {
    // The last byte of the value.
    const Place place = place_of_a_value(world, path);
    const auto file = world.storage().open(place.file, storage::Access::read_write);
    const std::int64_t modified_ns = file->modified_ns();
    const std::byte changed = place.bytes[7] ^ std::byte{1};
    file->write(place.offset + 7, {&changed, 1});
    file->set_modified_ns(modified_ns);
  });
  auto read_step = [&](std::uint64_t s, bool checks) {
    return world.run_catching([&, s, checks](Rank& rank) {
      Options options = rank.options();
      options.checksum = checks;
      File in = rank.open(path, Mode::read, options);
      double got[32];
      in.get(in.find("v"), got, {}, s);
    });
  };
  expect_same_error(read_step(0, true), Code::ok);
  expect_same_error(read_step(1, true), Code::damaged, {"v", "step 1", path});
  expect_same_error(read_step(1, false), Code::ok);
}

SLUICE_BEHAVIOUR(files, a_change_by_another_program_is_told_from_damage) {
  const std::string path = world.path("edited.h5");
  write_file(world, path, Mode::write, 3);
  world.once([&] {
    const Place place = place_of_a_value(world, path);
    const double other = 1;
    world.storage()
        .open(place.file, storage::Access::read_write)
        ->write(place.offset, std::as_bytes(std::span(&other, 1)));
  });
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    double got[32];
    in.get(in.find("v"), got, {}, 1);
  }),
                    Code::changed_outside, {"v", "step 1", path});
}

SLUICE_BEHAVIOUR(files, the_volume_check_and_none) {
  const std::string path = world.path("checks.h5");
  auto put_rows_of = [&](Check check, std::uint64_t rows) {
    return world.run_catching([&, check, rows](Rank& rank) {
      Options options = rank.options();
      options.check = check;
      File out = rank.open(path, Mode::write, options);
      const Variable v = out.define<double>("v", shape, {.steps = true});
      const Array<double> values(4 * rows);
      Step step = out.begin_step();
      if (rank.is(1)) {
        step.put(v, values.data(), {.start = {0, 0}, .count = {rows, 4}});
      }
      step.end();
      out.close();
    });
  };
  expect_same_error(put_rows_of(Check::volume, 7), Code::hole, {"v", "28", "32", path});
  expect_same_error(put_rows_of(Check::volume, 8), Code::ok);
  expect_same_error(put_rows_of(Check::off, 7), Code::ok);
}

SLUICE_BEHAVIOUR(files, aligned_to_stripes) {
  const std::string path = world.path("stripes.h5");
  constexpr std::uint64_t stripe = 1 << 20;
  // 240 KB a file: above the threshold.
  const Shape large = {world.has_parts() ? 300 * static_cast<std::uint64_t>(world.ranks()) : 300,
                       100};
  world.run([&](Rank& rank) {
    Options options = rank.options();
    options.stripe_bytes = stripe;
    File out = rank.open(path, Mode::write, options);
    const Variable v = out.define<double>("v", large, {.steps = true});
    for (std::uint64_t s = 0; s < 2; ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, s, large, slab(large, rank.rank(), rank.ranks()));
      step.end();
    }
    out.close();
    File in = rank.open(path, Mode::read);
    expect_values<double>(in, "v", 1, large, whole_box(large), 1);
  });
  // The first element of each step is in the file, or in the first part.
  const auto bytes = world.bytes_of(world.data_files(path).front());
  for (std::uint64_t s = 0; s < 2; ++s) {
    const double value = value_at<double>(s, 0);
    std::uint64_t at = 0;
    while (at < bytes.size() && std::memcmp(&bytes[at], &value, sizeof value) != 0) {
      at += stripe;
    }
    EXPECT_LT(at, bytes.size()) << "step " << s << " begins at no multiple of the stripe";
  }
}

SLUICE_BEHAVIOUR(files, two_at_once) {
  const std::string a = world.path("a.h5");
  const std::string b = world.path("b.h5");
  world.run([&](Rank& rank) {
    File first = rank.open(a, Mode::write);
    File second = rank.open(b, Mode::write);
    const Variable v = first.define<double>("v", shape, {.steps = true});
    const Variable w = second.define<double>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < 2; ++s) {
      put_step(second, w, rank, 20 + s);
      put_step(first, v, rank, 10 + s);
    }
    second.close();
    first.close();
  });
  expect_file(world, a, 10);
  expect_file(world, b, 20);
}

SLUICE_BEHAVIOUR(files, the_destructor_closes) {
  const std::string path = world.path("destructor.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    Giver<double> giver;
    giver.put(out, out.define<double>("fixed", shape), 1, shape,
              slab(shape, rank.rank(), rank.ranks()));
    File moved = std::move(out);
    moved = rank.open(world.path("other.h5"), Mode::write);  // closes the first
    File in = rank.open(path, Mode::read);
    expect_values<double>(in, "fixed", 1, shape, whole_box(shape));
  });
}

}  // namespace
}  // namespace sluice::test::files
