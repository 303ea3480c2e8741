#include "api/checkpoint/own_values.hpp"

#include "api/checkpoint/names.hpp"

namespace sluice::detail {

void OwnValues::define(File& file) {
  number_ = file.define<std::uint64_t>(checkpoint_number_name, {}, {.steps = true});
  ranks_ = file.define<std::int32_t>(checkpoint_ranks_name, {}, {.steps = true});
  saved_ = file.define<double>(
      checkpoint_saved_name, {},
      {.steps = true, .unit = "s", .description = "when it was saved, since 1970"});
}

void OwnValues::put(Step& step, const std::uint64_t& number, const std::int32_t& ranks,
                    const double& saved_s) const {
  step.put(number_, &number);
  step.put(ranks_, &ranks);
  step.put(saved_, &saved_s);
}

}  // namespace sluice::detail
