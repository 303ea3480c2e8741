#include "exec/transport/node_share.hpp"

#include "model/bytes.hpp"

namespace sluice::exec {

Share share_of_node(Transport& transport) {
  const Share all = share_of_all(transport);
  if (transport.nodes() <= 1) {
    return all;
  }
  model::ByteWriter mine;
  mine.put(transport.node());
  const auto nodes = transport.allgather(mine.take());
  Share share{0, 0};
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (model::ByteReader(nodes[rank]).get<int>() == transport.node()) {
      share.place += rank < all.place ? 1 : 0;
      ++share.ranks;
    }
  }
  return share;
}

}  // namespace sluice::exec
