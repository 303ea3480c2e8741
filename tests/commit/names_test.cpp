// The names of an output: found, and refused if one is a group on the path of another.
#include "commit/output/names.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

std::string refusal(const commit::Names& names, const std::string& name) {
  try {
    names.check_path(name);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::bad_name);
    return e.what();
  }
  return "";
}

TEST(Names, AreFound) {
  commit::Names names;
  names.add("a/b", 0);
  names.add("c", 7);
  EXPECT_EQ(names.find("a/b"), 0u);
  EXPECT_EQ(names.find("c"), 7u);
  EXPECT_EQ(names.find("a"), std::nullopt);
  EXPECT_EQ(names.find("a/b/c"), std::nullopt);
}

TEST(Names, NoneIsOnTheWayToAnother) {
  commit::Names names;
  names.add("x/y/z", 0);
  names.add("x/yy", 1);
  names.add("x-", 2);  // in order between x and x/
  for (const char* below : {"x/y/z/w", "x/y/z/w/v", "x/yy/a", "x-/a"}) {
    EXPECT_NE(refusal(names, below), "") << below;
  }
  EXPECT_NE(refusal(names, "x").find("clashes with the variable x/y/z"), std::string::npos);
  EXPECT_NE(refusal(names, "x/y").find("clashes with the variable x/y/z"), std::string::npos);
  for (const char* beside : {"x/z", "x/yyy", "x/y/zz", "x/y/z0", "y", "x0", "x/yy-"}) {
    EXPECT_EQ(refusal(names, beside), "") << beside;
  }
}

}  // namespace
}  // namespace sluice::test
