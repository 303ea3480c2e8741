// Valid and invalid names, and the errors for invalid ones.
#include <gtest/gtest.h>
#include <string>

#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::model {
namespace {

std::string refusal(std::string_view name) {
  try {
    check_name(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::bad_name);
    return error.what();
  }
  return "";
}

TEST(Names, OrdinaryOnesAreTaken) {
  for (const std::string name :
       {"spins", "a", "fields/density", "a/b/c d", "...", "..a", "a..b/.c", "größe", "密度/x",
        "\xf0\x9f\x8c\x8a", "back\\slash", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(refusal(name), "") << name;
  }
  EXPECT_EQ(refusal(std::string(255, 'x') + "/" + std::string(255, 'y')), "");
}

TEST(Names, OthersAreRefusedWithTheReason) {
  const std::pair<std::string, const char*> refused[] = {
      {"", "empty"},
      {"/spins", "absolute"},
      {"/", "absolute"},
      {"spins/", "ends in a slash"},
      {"a//b", "empty path component"},
      {".", ". or .."},
      {"..", ". or .."},
      {"a/../b", ". or .."},
      {"a/.", ". or .."},
      {"../b", ". or .."},
      {std::string("a\0b", 3), "NUL"},
      {std::string(256, 'x'), "255"},
      {"a/" + std::string(256, 'x') + "/b", "255"},
      {"\xff", "UTF-8"},
      {"a\x80", "UTF-8"},             // a continuation alone
      {"a\xc3", "UTF-8"},             // cut off
      {"\xc0\xaf", "UTF-8"},          // overlong slash
      {"\xe0\x80\xaf", "UTF-8"},      // overlong
      {"\xf0\x80\x80\xaf", "UTF-8"},  // overlong
      {"\xed\xa0\x80", "UTF-8"},      // surrogate
      {"\xf4\x90\x80\x80", "UTF-8"},  // above U+10FFFF
      {"\xe2\x28\xa1", "UTF-8"},
  };
  for (const auto& [name, reason] : refused) {
    EXPECT_NE(refusal(name).find(reason), std::string::npos) << quoted(name) << refusal(name);
  }
}

TEST(Names, MessagesAreOneShortPrintableLine) {
  EXPECT_EQ(quoted("a\nb\x01\xff"), "\"a\\x0ab\\x01\\xff\"");
  EXPECT_EQ(quoted("größe"), "\"größe\"");
  EXPECT_EQ(quoted("abcdef", 3), "\"abc...\"");
  EXPECT_LT(refusal(std::string(100000, '\n')).size(), 400U);
}

}  // namespace
}  // namespace sluice::model
