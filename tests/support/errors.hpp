// Checks of one Error.
#pragma once

#include <gtest/gtest.h>
#include <sluice/error.hpp>
#include <string>
#include <vector>

namespace sluice::test {

/// The Error that `work` throws; Code::ok if it throws none.
template <class Work>
Error thrown_by(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, ""};
}

/// Has the error `code`, and does its text contain each of `parts`?
inline void expect_error(const Error& error, Code code, const std::vector<std::string>& parts) {
  EXPECT_STREQ(code_name(error.code()), code_name(code)) << error.what();
  for (const std::string& part : parts) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << "no \"" << part << "\" in: " << error.what();
  }
}

}  // namespace sluice::test
