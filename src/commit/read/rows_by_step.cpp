#include "commit/read/rows_by_step.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "commit/publish/parts_files.hpp"
#include "commit/read/parts_input.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/lengths.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

/// A variable of the set, as far as it is needed for reading it. Error damaged if there is none.
InputVariable variable_in_set(const layout::Catalog& catalog, const std::string& path,
                              const std::string& name) {
  const auto& stored = catalog.variables();
  const auto& in_set = catalog.set()->variables;
  const auto found = std::find_if(stored.begin(), stored.end(),
                                  [&](const auto& one) { return one.definition.name == name; });
  const auto number =
      std::find_if(in_set.begin(), in_set.end(), [&](const auto& one) { return one.name == name; });
  if (found == stored.end() || number == in_set.end()) {
    throw Error(Code::damaged, path + ": the rows of a variable vary, but there is no " + name);
  }
  InputVariable variable;
  variable.definition = found->definition;
  variable.number_in_set = static_cast<std::uint32_t>(number - in_set.begin());
  return variable;
}

}  // namespace

std::vector<std::vector<std::uint64_t>> rows_by_step(storage::Storage& storage,
                                                     const std::string& path,
                                                     layout::Catalog& catalog) {
  const auto& stored = catalog.variables();
  const layout::PartSet* const set = catalog.set();
  std::vector<std::vector<std::uint64_t>> rows(stored.size());
  std::optional<PartsInput> parts;
  for (std::uint32_t v = 0; v < rows.size(); ++v) {
    const model::Definition& d = stored[v].definition;
    if (set == nullptr || !d.varying || !set->has(d.name)) {
      rows[v] = catalog.rows_by_step(v);
      continue;
    }
    if (!parts) {
      check_parts(*exec::make_solo(), storage, path, *set, false);
      Options options;
      options.checksum = false;  // as for other files: whether they are intact, verify says
      parts.emplace(storage, path, *set, options, 1);
    }
    rows[v] =
        parts->rows(variable_in_set(catalog, path, layout::length_name(d.name)), catalog.steps());
  }
  return rows;
}

}  // namespace sluice::commit
