#include "commit/tools/drop_names.hpp"

#include <algorithm>
#include <cstddef>

#include "layout/formats/formats.hpp"

namespace sluice::commit {

void drop_names(const layout::Format& format, std::vector<model::Definition>& definitions,
                std::vector<std::string>& unnamed) {
  std::vector<model::Definition*> stepped_first;
  stepped_first.reserve(definitions.size());
  for (model::Definition& d : definitions) {
    stepped_first.push_back(&d);
  }
  std::stable_partition(stepped_first.begin(), stepped_first.end(),
                        [](const model::Definition* d) { return d->stepped; });
  layout::Definitions taken(format);
  std::size_t count = 0;
  for (model::Definition* const d : stepped_first) {
    if (!d->dimensions.empty() && !taken.accept(*d)) {
      d->dimensions.clear();
      unnamed.push_back(d->name);
    }
    if (d->dimensions.empty() && !taken.accept(*d)) {
      break;
    }
    taken.add(*d);
    ++count;
  }
  for (std::size_t i = 0; i < definitions.size() && count < definitions.size(); ++i) {
    model::Definition& d = definitions[i];
    if (!d.dimensions.empty()) {
      d.dimensions.clear();
      unnamed.push_back(d.name);
    }
  }
}

}  // namespace sluice::commit
