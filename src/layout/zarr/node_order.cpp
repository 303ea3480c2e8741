#include "layout/zarr/node_order.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::layout::zarr {

Json by_group(Json nodes) {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes.items()) {
    names.push_back(name);
  }
  const auto place = [](const std::string& name) {
    const std::size_t slash = name.rfind('/');
    return std::pair(std::count(name.begin(), name.end(), '/'),
                     name.substr(0, slash == std::string::npos ? 0 : slash));
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  Json ordered = Json::object();
  for (const std::string& name : names) {
    ordered[name] = std::move(nodes[name]);
  }
  return ordered;
}

}  // namespace sluice::layout::zarr
