#include "halo.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "comm.hpp"

namespace vampire {

Halo::Halo(MPI_Comm comm, const Atoms& atoms, const Neighbours& neighbours)
    : comm_(comm), own_(atoms.size()), ghosts_(neighbours.ghost_id.size()) {
  const int ranks = size_of(comm);
  std::vector<std::vector<std::byte>> wanted(ranks);
  for (std::size_t i = 0; i < ghosts_; ++i) {
    const int owner = neighbours.ghost_owner[i];
    if (from_.empty() || from_.back().rank != owner) {
      from_.push_back({owner, i, 0});
    }
    ++from_.back().count;
    const auto* id = reinterpret_cast<const std::byte*>(&neighbours.ghost_id[i]);
    wanted[owner].insert(wanted[owner].end(), id, id + sizeof(std::uint64_t));
  }
  const auto wishes = all_to_all(comm, wanted);
  for (int rank = 0; rank < ranks; ++rank) {
    if (wishes[rank].empty()) {
      continue;
    }
    std::vector<std::uint64_t> ids(wishes[rank].size() / sizeof(std::uint64_t));
    std::memcpy(ids.data(), wishes[rank].data(), wishes[rank].size());
    to_.push_back({rank, send_index_.size(), ids.size()});
    for (const std::uint64_t id : ids) {
      const auto place = std::lower_bound(atoms.id.begin(), atoms.id.end(), id);
      send_index_.push_back(static_cast<std::uint32_t>(place - atoms.id.begin()));
    }
  }
  send_.resize(send_index_.size());
  agree(comm, [&] {
    for (const Peer& peer : to_) {
      doubles(peer);
    }
  });
}

int Halo::doubles(const Peer& peer) {
  if (peer.count > std::numeric_limits<int>::max() / 3) {
    throw Error(Code::over_budget, "a boundary of more than 2^31 numbers: use more ranks");
  }
  return static_cast<int>(3 * peer.count);
}

void Halo::update(std::span<Vec3> spins) {
  requests_.clear();
  for (const Peer& peer : from_) {
    MPI_Irecv(&spins[own_ + peer.first].x, doubles(peer), MPI_DOUBLE, peer.rank, 2, comm_,
              &requests_.emplace_back());
  }
  for (std::size_t i = 0; i < send_index_.size(); ++i) {
    send_[i] = spins[send_index_[i]];
  }
  for (const Peer& peer : to_) {
    MPI_Isend(&send_[peer.first].x, doubles(peer), MPI_DOUBLE, peer.rank, 2, comm_,
              &requests_.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace vampire
