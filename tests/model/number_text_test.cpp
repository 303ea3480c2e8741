// Numbers are whole texts, and blanks are those that the caller names.
#include "model/number_text.hpp"

#include <cstdint>
#include <gtest/gtest.h>

#include "model/size_text.hpp"

namespace sluice::model {
namespace {

TEST(NumberText, WholeTexts) {
  EXPECT_EQ(number_in<std::uint32_t>("4294967295"), 4294967295U);
  EXPECT_EQ(number_in<std::int64_t>("-7"), -7);
  EXPECT_EQ(number_in<double>("1e3"), 1000.0);
  for (const char* const text : {"", " 7", "7 ", "+7", "-7", "7x", "4294967296"}) {
    EXPECT_EQ(number_in<std::uint32_t>(text), std::nullopt) << text;
  }
}

TEST(NumberText, Blanks) {
  EXPECT_EQ(trimmed(" \t a b\r"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \r"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed(" \ta ", " "), "\ta");
}

TEST(NumberText, SecondsAsPeopleWriteThem) {
  EXPECT_EQ(seconds_text(15), "15 s");
  EXPECT_EQ(seconds_text(0.25), "0.25 s");
  EXPECT_EQ(seconds_text(1800), "1800 s");
}

}  // namespace
}  // namespace sluice::model
