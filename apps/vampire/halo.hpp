// Spins of foreign neighbours: which to send where, and the sending.
//
// Invariant: exactly the spins that another rank's atoms need travel, once a sub-step.
#pragma once

#include <cstdint>
#include <mpi.h>
#include <span>
#include <vector>

#include "atoms.hpp"
#include "neighbours.hpp"

namespace vampire {

class Halo {
 public:
  /// Tells every owner which of its atoms are wanted. Collective.
  Halo(MPI_Comm comm, const Atoms& atoms, const Neighbours& neighbours);

  std::size_t ghosts() const noexcept { return ghosts_; }
  std::size_t boundary() const noexcept { return send_index_.size(); }
  /// `spins`: own atoms first, then the ghosts, which are replaced by what their owners have.
  /// Collective.
  void update(std::span<Vec3> spins);

 private:
  struct Peer {
    int rank = 0;
    std::size_t first = 0;  ///< into send_index_, or into the ghosts
    std::size_t count = 0;
  };
  static int doubles(const Peer& peer);

  MPI_Comm comm_;
  std::size_t own_;
  std::size_t ghosts_;
  std::vector<Peer> to_;
  std::vector<Peer> from_;
  std::vector<std::uint32_t> send_index_;
  std::vector<Vec3> send_;
  std::vector<MPI_Request> requests_;
};

}  // namespace vampire
