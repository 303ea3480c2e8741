// What the registration of a format or a strategy refuses.
#include <gtest/gtest.h>

#include "layout/formats/formats.hpp"
#include "support/errors.hpp"
#include "toys/toys.hpp"

namespace sluice::test {
namespace {

template <class Row, class Register, class Change>
void expect_refused(const Row& good, Register&& add, Change&& change, const std::string& why) {
  Row row = good;
  change(row);
  expect_error(thrown_by([&] { add(row); }), Code::invalid_argument, {why});
}

TEST(Registration, RefusesFormatsThatClashOrLackFunctions) {
  const auto refused = [](auto&& change, const std::string& why) {
    expect_refused(toys::toy_format, layout::register_format, change, why);
  };
  using layout::Format;
  const std::size_t before = layout::formats().size();
  refused([](Format& f) { f.name = "npy"; }, "there is a format of that name");
  refused([](Format& f) { f.option = "zarr"; }, "there is a format of that name");
  refused([](Format& f) { f.name = "Two Words"; }, "must be a word");
  refused([](Format& f) { f.option = "auto"; }, "not auto");
  refused([](Format& f) { f.endings = ".toy .nc"; }, "the ending .nc means netcdf4");
  refused([](Format& f) { f.manifest = "zarr.json"; }, "the manifest zarr.json means zarr");
  refused([](Format& f) { f.create = nullptr; }, "must be there");
  refused([](Format& f) { f.match = nullptr; }, "must be there");
  EXPECT_EQ(layout::formats().size(), before);
}

TEST(Registration, RefusesStrategiesThatClashOrLackFunctions) {
  const auto refused = [](auto&& change, const std::string& why) {
    expect_refused(toys::toy_strategy, plan::register_strategy, change, why);
  };
  using plan::Strategy;
  const std::size_t before = plan::strategies().size();
  refused([](Strategy& s) { s.name = "serial"; }, "there is a strategy of that name");
  refused([](Strategy& s) { s.name = "-"; }, "must be a word");
  refused([](Strategy& s) { s.plan = nullptr; }, "openers and plan");
  refused([](Strategy& s) { s.openers = nullptr; }, "openers and plan");
  refused([](Strategy& s) { s.seconds = [](auto&, auto&) { return 0.0; }; }, "belong together");
  EXPECT_EQ(plan::strategies().size(), before);
}

TEST(Registration, AddsRowsThatAreThenFoundByName) {
  layout::register_format(toys::toy_format);
  plan::register_strategy(toys::toy_strategy);
  const char* name = toys::toy_format.name;
  EXPECT_EQ(&layout::format_named(name), &toys::toy_format);
  EXPECT_NE(layout::format_options(", ").find(name), std::string::npos);
  EXPECT_EQ(&plan::strategy(toys::toy_strategy.name), &toys::toy_strategy);
  EXPECT_NE(plan::strategy_names(", ").find(toys::toy_strategy.name), std::string::npos);
  expect_error(thrown_by([] { layout::register_format(toys::toy_format); }), Code::invalid_argument,
               {"there is a format of that name"});
}

}  // namespace
}  // namespace sluice::test
