// A normalised path is what std::filesystem makes of it, for every path of a few characters.
#include <filesystem>
#include <gtest/gtest.h>

#include "storage/calls.hpp"

namespace sluice::test {
namespace {

TEST(Paths, AreNormalisedAsTheStandardSays) {
  const std::string alphabet = "/.ab";
  std::vector<std::string> paths{""};
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const std::string path = paths[k];
    ASSERT_EQ(storage::normal_path(path), std::filesystem::path(path).lexically_normal().string())
        << path;
    if (path.size() < 7) {
      for (const char c : alphabet) {
        paths.push_back(path + c);
      }
    }
  }
  EXPECT_EQ(paths.size(), 21845u);
}

}  // namespace
}  // namespace sluice::test
