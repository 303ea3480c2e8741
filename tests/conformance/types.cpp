// Every element type, put and read unchanged.
#include <complex>

#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::types {
namespace {

const Shape steps_shape = {11, 3};
const Shape fixed_shape = {4, 9};

template <class T>
void write_type(World& world, const std::string& path) {
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable moving = out.of("moving").define<T>("moving", steps_shape, {.steps = true});
    const Variable fixed = out.of("fixed").define<T>("fixed", fixed_shape);
    Giver<T> giver;
    giver.put(out.of("fixed"), fixed, 9, fixed_shape, slab(fixed_shape, rank.rank(), rank.ranks()));
    for (std::uint64_t s = 0; s < 2; ++s) {
      out.begin_step();
      out.into("moving", [&](auto& step) {
        giver.put(step, moving, s, steps_shape, slab(steps_shape, rank.rank(), rank.ranks()));
      });
      out.end_step();
    }
    out.close();
  });
}

template <class T>
void round_trip(World& world, const std::string& name, const Type& type = type_of<T>()) {
  const std::string path = world.path(name + ".h5");
  write_type<T>(world, path);
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        File& in = files.of("moving");
        File& fixed = files.of("fixed");
        EXPECT_EQ(in.steps(), 2u);
        EXPECT_EQ(type_name(in.info(in.find("moving")).type), type_name(type));
        EXPECT_EQ(type_name(fixed.info(fixed.find("fixed")).type), type_name(type));
        EXPECT_TRUE(in.info(in.find("moving")).steps);
        EXPECT_FALSE(fixed.info(fixed.find("fixed")).steps);
        EXPECT_EQ(in.info(in.find("moving")).shape, steps_shape);
        for (std::uint64_t s = 0; s < 2; ++s) {
          expect_values<T>(in, "moving", s, steps_shape,
                           slab(steps_shape, rank.rank(), rank.ranks()), s);
        }
        expect_values<T>(fixed, "fixed", 9, fixed_shape, whole_box(fixed_shape));
        files.close();
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(types, signed_integers) {
  round_trip<std::int8_t>(world, "i8");
  round_trip<std::int16_t>(world, "i16");
  round_trip<std::int32_t>(world, "i32");
  round_trip<std::int64_t>(world, "i64");
}

SLUICE_BEHAVIOUR(types, unsigned_integers) {
  round_trip<std::uint8_t>(world, "u8");
  round_trip<std::uint16_t>(world, "u16");
  round_trip<std::uint32_t>(world, "u32");
  round_trip<std::uint64_t>(world, "u64");
}

SLUICE_BEHAVIOUR(types, floats) {
  round_trip<float>(world, "f32");
  round_trip<double>(world, "f64");
}

SLUICE_BEHAVIOUR(types, half_precision) { round_trip<Float16>(world, "f16"); }

SLUICE_BEHAVIOUR(types, complex_numbers) {
  round_trip<std::complex<float>>(world, "c64");
  round_trip<std::complex<double>>(world, "c128");
}

SLUICE_BEHAVIOUR(types, booleans) { round_trip<bool>(world, "bool"); }

SLUICE_BEHAVIOUR(types, infinities_and_nans_keep_their_bits) {
  const std::string path = world.path("special.h5");
  const std::uint64_t bits[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001,
                                0xfff8dead0000beef, 0x8000000000000000, 1};
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", {6});
    if (rank.is(1)) {
      out.put_raw(v, bits, type_of<double>(), {});
    }
    out.close();
    File in = rank.open(path, Mode::read);
    std::uint64_t got[6] = {};
    in.get_raw(in.find("v"), got, type_of<double>(), {}, 0);
    EXPECT_TRUE(std::equal(std::begin(bits), std::end(bits), got));
  });
}

std::string text_at(std::uint64_t row) {
  const char* texts[] = {"", "a", "Grüße", "eight888", "日本"};
  return texts[row % 5];
}

SLUICE_BEHAVIOUR(types, strings) {
  const std::string path = world.path("strings.h5");
  constexpr std::uint32_t width = 8;
  const Shape shape = {10};
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable names = out.of("names").define_raw("names", string_type(width), shape, {});
    const Variable log =
        out.of("log").define_raw("log", string_type(width), shape, {.steps = true});
    const model::Box box = slab(shape, rank.rank(), rank.ranks());
    std::string memory(box.count[0] * width + 1, '\0');
    for (std::uint64_t i = 0; i < box.count[0]; ++i) {
      const std::string text = text_at(box.start[0] + i);
      text.copy(&memory[i * width], width);
    }
    out.of("names").put_raw(names, memory.data(), string_type(width), selection_of(box));
    out.begin_step();
    out.into("log", [&](auto& step) {
      step.put_raw(log, memory.data(), string_type(width), selection_of(box));
    });
    out.end_step();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        Files files(world, rank, path, Mode::read);
        for (const char* name : {"names", "log"}) {
          File& in = files.of(name);
          // Wider in memory: padded.
          std::string got(10 * 12, 'x');
          in.get_raw(in.find(name), got.data(), string_type(12), {}, 0);
          for (std::uint64_t i = 0; i < 10; ++i) {
            std::string expected = text_at(i);
            expected.resize(12, '\0');
            EXPECT_EQ(got.substr(i * 12, 12), expected) << name << " " << i;
          }
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(types, all_in_one_file_and_step) {
  const std::string path = world.path("all.h5");
  const Shape shape = {7, 2};
  const bool has_complex = world.format().complex;
  auto with_each = [=](auto&& visit) {
    visit(std::int8_t{}, "i8", 1);
    visit(std::uint16_t{}, "u16", 2);
    visit(std::int32_t{}, "i32", 3);
    visit(std::uint64_t{}, "u64", 4);
    visit(float{}, "f32", 5);
    visit(double{}, "f64", 6);
    if (has_complex) {
      visit(std::complex<double>{}, "c128", 7);
    }
    visit(bool{}, "bool", 8);
  };
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const model::Box box = slab(shape, rank.rank(), rank.ranks());
    std::vector<Variable> variables;
    with_each([&](auto zero, const char* name, std::uint64_t) {
      variables.push_back(out.define<decltype(zero)>(name, shape, {.steps = true}));
    });
    Step step = out.begin_step();
    std::vector<std::shared_ptr<void>> held;
    std::size_t next = 0;
    with_each([&](auto zero, const char*, std::uint64_t key) {
      auto giver = std::make_shared<Giver<decltype(zero)>>();
      giver->put(step, variables[next++], key, shape, box);
      held.push_back(giver);
    });
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        EXPECT_EQ(world.count_variables(in), has_complex ? 8u : 7u);
        with_each([&](auto zero, const char* name, std::uint64_t key) {
          expect_values<decltype(zero)>(in, name, key, shape, whole_box(shape));
        });
      },
      world.other_ranks());
}

}  // namespace
}  // namespace sluice::test::types
