#include "layout/zarr/node_order.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/name.hpp"

namespace sluice::layout::zarr {

Json by_group(Json nodes) {
  struct Placed {
    std::ptrdiff_t depth;
    std::string group;
    Json::object_t::value_type* node;
  };
  std::vector<Placed> all;
  for (auto& node : nodes.get_ref<Json::object_t&>()) {
    const std::string& name = node.first;
    all.push_back({std::count(name.begin(), name.end(), '/'), model::group_of(name), &node});
  }
  std::stable_sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.depth, a.group) < std::tie(b.depth, b.group);
  });
  Json ordered = Json::object();
  auto& into = ordered.get_ref<Json::object_t&>();  // whose operator[] searches all names
  into.reserve(all.size());
  for (const Placed& placed : all) {
    into.emplace_back(placed.node->first, std::move(placed.node->second));
  }
  return ordered;
}

}  // namespace sluice::layout::zarr
