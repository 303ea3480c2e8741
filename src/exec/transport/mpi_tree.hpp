// The tree along which collectives with a root send.
#pragma once

#include <bit>
#include <vector>

namespace sluice::exec {

/// The parent and the children of a rank in a binomial tree whose root is rank `root`.
struct RankTree {
  int parent = -1;
  std::vector<int> children;  ///< the deepest subtree first

  RankTree(int rank, int size, int root) {
    const int place = (rank - root + size) % size;
    const int lowest =
        place == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(size))) : place & -place;
    if (place != 0) {
      parent = (place - lowest + root) % size;
    }
    for (int bit = lowest / 2; bit > 0; bit /= 2) {
      if (place + bit < size) {
        children.push_back((place + bit + root) % size);
      }
    }
  }

  /// The root is the parent of all others.
  static RankTree flat(int rank, int size, int root) {
    RankTree tree(0, 1, 0);
    if (rank != root) {
      tree.parent = root;
      return tree;
    }
    for (int child = 0; child < size; ++child) {
      if (child != root) {
        tree.children.push_back(child);
      }
    }
    return tree;
  }
};

}  // namespace sluice::exec
