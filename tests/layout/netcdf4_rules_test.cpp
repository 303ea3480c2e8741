// Names of dimensions, and what cannot be in one netCDF file together.
#include <gtest/gtest.h>

#include "layout/netcdf4/rules.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::netcdf4 {
namespace {

using model::Definition;

Definition variable(const std::string& name, const model::Dims& shape, bool stepped = false,
                    const std::vector<std::string>& dimensions = {}) {
  Definition definition;
  definition.name = name;
  definition.shape = shape;
  definition.stepped = stepped;
  definition.dimensions = dimensions;
  return definition;
}

std::string names_of(const Definition& definition) {
  std::string names;
  for (const Use& use : uses_of(definition)) {
    names += (names.empty() ? "" : " ") + use.name;
  }
  return names;
}

Code code_of(const Definition& definition, const std::vector<Definition>& others = {}) {
  try {
    NameRules rules;
    for (const Definition& other : others) {
      rules.add(other);
    }
    rules.check(definition);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("format netcdf4"), std::string::npos) << error.what();
    return error.code();
  }
  return Code::ok;
}

TEST(Dimensions, HaveNamesOfTheirSizes) {
  EXPECT_EQ(names_of(variable("a", {100, 3})), "dim_100 dim_3");
  EXPECT_EQ(names_of(variable("a", {3, 3, 3}, true)), "time dim_3 dim_3_2 dim_3_3");
  EXPECT_EQ(names_of(variable("a", {}, true)), "time");
  EXPECT_EQ(names_of(variable("a", {})), "");
  EXPECT_EQ(names_of(variable("a", {4, 5}, true, {"y", "x"})), "time y x");
}

TEST(Dimensions, OfTheSameNameAreCoordinates) {
  EXPECT_TRUE(is_coordinate(variable("x", {5}, false, {"x"})));
  EXPECT_TRUE(is_coordinate(variable("time", {}, true)));
  EXPECT_FALSE(is_coordinate(variable("x", {5})));
  EXPECT_FALSE(is_coordinate(variable("group/x", {5}, false, {"x"})));
  EXPECT_FALSE(is_coordinate(variable("x", {5, 4}, false, {"x", "y"})));
  EXPECT_FALSE(is_coordinate(variable("time", {5}, true)));
}

TEST(Dimensions, HaveOneSize) {
  const std::vector<Definition> others{variable("a", {5}, false, {"x"})};
  EXPECT_EQ(code_of(variable("b", {5}, true, {"x"}), others), Code::ok);
  EXPECT_EQ(code_of(variable("b", {6}, true, {"x"}), others), Code::invalid_argument);
  EXPECT_EQ(code_of(variable("b", {5, 5}, true, {"x", "x"}), others), Code::ok);
  EXPECT_EQ(code_of(variable("b", {5, 6}, true, {"x", "x"})), Code::invalid_argument);
}

TEST(Dimensions, AreNotVariablesOfAnotherShape) {
  EXPECT_EQ(code_of(variable("x", {5, 4}, false, {"x", "y"})), Code::bad_name);
  EXPECT_EQ(code_of(variable("time", {5}, true)), Code::bad_name);
  EXPECT_EQ(code_of(variable("time", {}, true)), Code::ok);
  EXPECT_EQ(code_of(variable("time/of/day", {3}, true)), Code::bad_name);
  EXPECT_EQ(code_of(variable("x", {5}), {variable("a", {5}, false, {"x"})}), Code::bad_name);
  EXPECT_EQ(code_of(variable("a", {5}, false, {"x"}), {variable("x", {5})}), Code::bad_name);
  EXPECT_EQ(code_of(variable("x/inner", {5}), {variable("a", {5}, false, {"x"})}), Code::bad_name);
  EXPECT_EQ(code_of(variable("x", {5}, false, {"x"}), {variable("a", {5}, false, {"x"})}),
            Code::ok);
  EXPECT_EQ(code_of(variable("dim_5", {7}), {variable("a", {5})}), Code::bad_name);
}

TEST(Dimensions, HaveProperNames) {
  EXPECT_EQ(code_of(variable("a", {5}, false, {"x/y"})), Code::bad_name);
  EXPECT_EQ(code_of(variable("a", {5}, false, {""})), Code::bad_name);
}

TEST(Names, AreThoseOfNetcdf) {
  for (const char* name : {" lead", "trail ", "a\nb", "x\t", "group/ x", "\x7f"}) {
    EXPECT_EQ(code_of(variable(name, {5})), Code::unsupported) << name;
    EXPECT_THROW(check_attribute({"v", name, 1.0}), Error) << name;
  }
  for (const char* name : {" lead", "trail ", "a\nb"}) {
    EXPECT_EQ(code_of(variable("a", {5}, false, {name})), Code::bad_name) << name;
  }
  for (const char* name : {"a b", "_x", "7", ".x", "x-y", "x(1)", "\u00e9t\u00e9", "group/x+"}) {
    EXPECT_EQ(code_of(variable(name, {5})), Code::ok) << name;
  }
}

TEST(Dimensions, TimeIsThatOfTheStepsOnlyBesideSteps) {
  const Definition fixed = variable("a", {5}, false, {"time"});
  const Definition stepped = variable("b", {5}, true);
  EXPECT_EQ(code_of(fixed), Code::ok);
  EXPECT_EQ(code_of(variable("time", {5}, false, {"time"}), {fixed}), Code::ok);
  EXPECT_EQ(code_of(variable("c", {6}, false, {"time"}), {fixed}), Code::invalid_argument);
  EXPECT_EQ(code_of(fixed, {stepped}), Code::bad_name);
  EXPECT_EQ(code_of(stepped, {fixed}), Code::bad_name);
  EXPECT_EQ(code_of(variable("a", {5}, true, {"time"})), Code::bad_name);
  Definition grows = fixed;  // of an existing file
  grows.along_steps = true;
  EXPECT_EQ(code_of(stepped, {grows}), Code::ok);
  EXPECT_EQ(code_of(variable("c", {5}, false, {"time"}), {grows}), Code::bad_name);
}

TEST(Attributes, SomeAreNetcdfsOwn) {
  for (const char* name : {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid",
                           "_Netcdf4Coordinates", "_NCProperties", "_FillValue"}) {
    EXPECT_THROW(check_attribute({"v", name, 1.0}), Error) << name;
  }
  EXPECT_NO_THROW(check_attribute({"v", "units", std::string("m")}));
  EXPECT_TRUE(is_bookkeeping("CLASS"));
  EXPECT_FALSE(is_bookkeeping("_FillValue"));
}

}  // namespace
}  // namespace sluice::layout::netcdf4
