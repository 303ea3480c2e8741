#include "layout/zarr/walk.hpp"

#include <algorithm>
#include <vector>

#include "layout/zarr/objects.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"
#include "storage/store.hpp"

namespace sluice::layout::zarr {

namespace {

constexpr std::size_t most_nodes = 1 << 16;
constexpr std::size_t most_group_levels = 64;

class NodeWalk {
 public:
  NodeWalk(storage::File& store, const std::function<Node(const std::string&)>& look)
      : store_(store), look_(look) {}

  void enter(const std::string& group, std::size_t level) {
    if (level == most_group_levels) {
      refuse("groups in more than " + std::to_string(most_group_levels) + " levels");
    }
    std::vector<std::string> names = store_.names_in(group);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string node = group.empty() ? name : group + "/" + name;
      if (!model::is_name(node)) {
        continue;  // nothing that a node may be called
      }
      const Node kind = look_(node);
      if (kind != Node::none && ++count_ > most_nodes) {
        refuse("more than " + std::to_string(most_nodes) + " nodes");
      }
      if (kind == Node::group) {
        enter(node, level + 1);
      }
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::unsupported, store_.path() +
                                       ": a Zarr group without consolidated metadata, of " + what +
                                       ": let zarr.consolidate_metadata() of zarr-python add them");
  }

  storage::File& store_;
  const std::function<Node(const std::string&)>& look_;
  std::size_t count_ = 0;
};

}  // namespace

void walk_nodes(storage::File& store, const std::function<Node(const std::string& node)>& look) {
  NodeWalk(store, look).enter("", 0);
}

std::vector<std::byte> read_document(storage::File& store, const std::string& name) {
  const std::uint64_t bytes = bytes_of_object(store, name).value_or(0);
  if (bytes > storage::most_manifest_bytes) {
    throw Error(Code::unsupported, store.path() + "/" + name + ": has " + std::to_string(bytes) +
                                       " bytes; up to " +
                                       std::to_string(storage::most_manifest_bytes) + " are read");
  }
  return bytes == 0 ? std::vector<std::byte>{} : read_whole(store, name, bytes);
}

}  // namespace sluice::layout::zarr
