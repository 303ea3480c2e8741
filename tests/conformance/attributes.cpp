// Attributes of every kind on the file, on groups and on variables; groups; many variables.
#include <cmath>

#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::attributes {
namespace {

/// A function, for the compiler takes minutes to compute this text as a constant.
std::string long_text() { return std::string(5000, 'x'); }

const std::vector<std::pair<std::string, Value>>& all_kinds() {
  static const std::vector<std::pair<std::string, Value>> all = {
      {"yes", true},
      {"no", false},
      {"int32", std::int32_t{-7}},
      {"int64", std::int64_t{1} << 60},
      {"float32", 0.1f},
      {"float64", 0.1},
      {"text", std::string("Grüße, 日本")},
      {"empty text", std::string()},
      {"long text", long_text()},
      {"int32s", std::vector<std::int32_t>{1, -2, 3}},
      {"int64s", std::vector<std::int64_t>{1LL << 50}},
      {"float32s", std::vector<float>{0.5f, -1e30f}},
      {"float64s", std::vector<double>{1e-300, 2, 3, 4}},
      {"texts", std::vector<std::string>{"a", "", "größer"}},
      {"nothing", std::vector<double>{}},
      {"int8", std::int8_t{1}},
      {"int16", std::int16_t{-32767}},
      {"uint8", std::uint8_t{0}},
      {"uint16", std::uint16_t{65535}},
      {"int8s", std::vector<std::int8_t>{0, -1}},
      {"int16s", std::vector<std::int16_t>{-100, 100}},
      {"uint8s", std::vector<std::uint8_t>{255}},
      {"uint16s", std::vector<std::uint16_t>{40000, 1, 2}},
  };
  return all;
}

SLUICE_BEHAVIOUR(attributes, of_every_kind_on_every_owner) {
  const std::string path = world.path("kinds.h5");
  const std::vector<std::string> owners = {"", "group", "group/inner", "alone/deep", "group/v"};
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("group/v", {2}, {.steps = true});
    out.define<float>("group/inner/w", {2});
    for (const std::string& owner : owners) {
      for (const auto& [name, value] : all_kinds()) {
        out.set_attribute(owner, name, value);
      }
    }
    const float values[2] = {1, 2};
    Step step = out.begin_step();
    if (rank.is(0)) {
      step.put(v, values);
    }
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        for (const std::string& owner : owners) {
          for (const auto& [name, value] : all_kinds()) {
            ASSERT_TRUE(in.has_attribute(owner, name)) << owner << " " << name;
            EXPECT_TRUE(in.attribute(owner, name) == value) << owner << " " << name;
          }
          EXPECT_FALSE(in.has_attribute(owner, "absent"));
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(attributes, unit_and_description_of_a_variable) {
  const std::string path = world.path("units.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<float>("v", {2}, {.unit = "nm", .description = "a length"});
    out.close();
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(std::get<std::string>(in.attribute("v", "units")), "nm");
    EXPECT_EQ(std::get<std::string>(in.attribute("v", "long_name")), "a length");
  });
}

SLUICE_BEHAVIOUR(attributes, may_be_replaced_and_come_late) {
  const std::string path = world.path("late.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", {}, {.steps = true});
    out.set_attribute("", "state", std::string("begun"));
    const double value = 1;
    for (int s = 0; s < 3; ++s) {
      Step step = out.begin_step();
      if (rank.is(0)) {
        step.put(v, &value);
      }
      step.end();
      out.set_attribute("v", "last", std::int64_t{s});
      out.set_attribute("", "state", std::string(s == 2 ? "done" : "under way"));
      out.set_attribute("notes", "of step " + std::to_string(s), 0.5 * s);
    }
    out.close();
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(std::get<std::string>(in.attribute("", "state")), "done");
    EXPECT_EQ(std::get<std::int64_t>(in.attribute("v", "last")), 2);
    EXPECT_EQ(std::get<double>(in.attribute("notes", "of step 1")), 0.5);
  });
}

SLUICE_BEHAVIOUR(attributes, of_a_failed_step_come_with_the_next) {
  const std::string path = world.path("failed.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", {2}, {.steps = true});
    const double values[2] = {1, 2};
    for (int s = 0; s < 2; ++s) {
      out.set_attribute("v", "a" + std::to_string(s), std::int32_t{s});
      Step step = out.begin_step();
      if (rank.is(0)) {
        step.put(v, values, {.start = {0}, .count = {s == 0 ? 1U : 2U}});
      }
      if (s == 0) {
        EXPECT_THROW(step.end(), Error);  // a hole
      } else {
        step.end();
      }
    }
    out.close();
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(in.steps(), 1u);
    EXPECT_TRUE(in.has_attribute("v", "a0"));
    EXPECT_TRUE(in.has_attribute("v", "a1"));
  });
}

SLUICE_BEHAVIOUR(attributes, names_of_groups_and_variables) {
  const std::string path = world.path("names.h5");
  const std::vector<std::string> names = {"a",          "g/a",        "g/h/a",        "g/h/b",
                                          "with space", "Grüße/日本", "dots.in.name", "-"};
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Variable v = out.define<std::int64_t>(names[i], {});
      EXPECT_EQ(out.find(names[i]).index(), v.index());
      const auto value = static_cast<std::int64_t>(i);
      if (rank.is(static_cast<int>(i))) {
        out.put(v, &value);
      }
      out.flush();  // `value` dies here
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        EXPECT_EQ(in.variables().size(), names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
          std::int64_t got = -1;
          in.get(in.find(names[i]), &got);
          EXPECT_EQ(got, static_cast<std::int64_t>(i)) << names[i];
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(attributes, two_hundred_variables) {
  const std::string path = world.path("many.h5");
  const Shape shape = {16, 2};
  constexpr std::uint64_t count = 200;
  auto name_of = [](std::uint64_t i) {
    return "g" + std::to_string(i % 7) + "/v" + std::to_string(i);
  };
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    std::vector<Variable> variables;
    for (std::uint64_t i = 0; i < count; ++i) {
      variables.push_back(out.define<float>(name_of(i), shape, {.steps = i % 4 != 0}));
    }
    Giver<float> giver;
    for (std::uint64_t s = 0; s < 2; ++s) {
      Step step = out.begin_step();
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i % 4 != 0 || s == 0) {
          giver.put(step, variables[i], i + 1000 * s, shape,
                    slab(shape, rank.rank(), rank.ranks()));
        }
      }
      step.end();
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        for (std::uint64_t i = 0; i < count; i += 3) {
          const std::uint64_t s = i % 4 == 0 ? 0 : 1;
          expect_values<float>(in, name_of(i), i + 1000 * s, shape, whole_box(shape), s);
        }
      },
      world.other_ranks());
}

}  // namespace
}  // namespace sluice::test::attributes
