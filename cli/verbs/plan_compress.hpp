// plan --compress: what each way of compressing would cost and gain, measured on a sample.
#pragma once

#include <string>

#include "verb.hpp"

namespace sluice::cli {

/// On rank 0. Prints a table, or JSON, for `variable` of the file `sample`; for every variable that
/// is worth it where that is empty. `picture`: also draws it as that PNG file, unless empty.
int plan_compress(const Context& context, const std::string& sample, const std::string& variable,
                  bool as_json, const std::string& picture);

}  // namespace sluice::cli
