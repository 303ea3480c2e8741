#include "neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "cell_index.hpp"
#include "comm.hpp"

namespace vampire {
namespace {

/// Images of a periodic box on either side that are looked at.
constexpr double max_images = 64;

/// An atom of another rank, or a periodic image of any atom.
struct Candidate {
  std::uint64_t id = 0;
  Vec3 position;  ///< shifted to where the image lies
};

struct Candidates {
  std::vector<Candidate> atoms;
  std::vector<int> owner;
};

struct Bounds {
  Vec3 low{1, 1, 1};  ///< low > high: no atoms
  Vec3 high{-1, -1, -1};
  bool empty() const { return low.x > high.x; }
};

Bounds bounds_of(const std::vector<Vec3>& points) {
  Bounds bounds;
  if (!points.empty()) {
    bounds = {points.front(), points.front()};
  }
  for (const Vec3& point : points) {
    for (int axis = 0; axis < 3; ++axis) {
      bounds.low[axis] = std::min(bounds.low[axis], point[axis]);
      bounds.high[axis] = std::max(bounds.high[axis], point[axis]);
    }
  }
  return bounds;
}

/// Is a box shifted by `shift` within `reach` of `other` in every direction?
bool near(const Bounds& box, const Vec3& shift, const Bounds& other, double reach) {
  for (int axis = 0; axis < 3; ++axis) {
    if (box.low[axis] + shift[axis] > other.high[axis] + reach ||
        box.high[axis] + shift[axis] < other.low[axis] - reach) {
      return false;
    }
  }
  return true;
}

/// Every displacement by which a periodic image can come within `cutoff`, 0 included.
std::vector<Vec3> shifts_of(const Box& box, double cutoff) {
  std::array<int, 3> images{};
  for (int axis = 0; axis < 3; ++axis) {
    if (box.periodic[axis]) {
      const double reach = cutoff / box.length[axis];
      if (!(reach < max_images)) {
        throw Error(Code::invalid_argument, "the cutoff of " + std::to_string(cutoff) +
                                                " Angstrom reaches over more than 64 periodic "
                                                "boxes: use a smaller --cutoff or a larger box");
      }
      images[axis] = static_cast<int>(reach) + 1;
    }
  }
  std::vector<Vec3> shifts;
  for (int x = -images[0]; x <= images[0]; ++x) {
    for (int y = -images[1]; y <= images[1]; ++y) {
      for (int z = -images[2]; z <= images[2]; ++z) {
        shifts.push_back({x * box.length.x, y * box.length.y, z * box.length.z});
      }
    }
  }
  return shifts;
}

void add_candidates(const Atoms& atoms, const Vec3& shift, const Bounds& other, double reach,
                    std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const Candidate candidate{atoms.id[i], atoms.position[i] + shift};
    if (near({candidate.position, candidate.position}, {}, other, reach)) {
      const auto* begin = reinterpret_cast<const std::byte*>(&candidate);
      bytes.insert(bytes.end(), begin, begin + sizeof candidate);
    }
  }
}

/// Atoms of others, and images, within `cutoff` of this rank's atoms' bounds. Collective.
Candidates gather_candidates(MPI_Comm comm, const Atoms& atoms, const Box& box, double cutoff) {
  const int ranks = size_of(comm);
  const Bounds mine = bounds_of(atoms.position);
  std::vector<Bounds> bounds(ranks);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, bounds.data(), sizeof mine, MPI_BYTE, comm);
  std::vector<std::vector<std::byte>> out(ranks);
  agree(comm, [&] {
    const std::vector<Vec3> shifts = shifts_of(box, cutoff);
    const double reach = cutoff * (1 + 1e-9);  // rounding of shifted positions loses no pair
    for (int rank = 0; rank < ranks && !mine.empty(); ++rank) {
      for (const Vec3& shift : shifts) {
        const bool self = rank == rank_of(comm) && shift == Vec3{};
        if (!self && !bounds[rank].empty() && near(mine, shift, bounds[rank], reach)) {
          add_candidates(atoms, shift, bounds[rank], reach, out[rank]);
        }
      }
    }
  });
  Candidates result;
  const auto in = all_to_all(comm, out);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::size_t before = result.atoms.size();
    result.atoms.resize(before + in[rank].size() / sizeof(Candidate));
    if (!in[rank].empty()) {
      std::memcpy(result.atoms.data() + before, in[rank].data(), in[rank].size());
    }
    result.owner.resize(result.atoms.size(), rank);
  }
  return result;
}

/// Own atoms first, then the candidates: the points among which pairs are looked for.
std::vector<Vec3> all_points(const Atoms& atoms, const Candidates& candidates) {
  std::vector<Vec3> points = atoms.position;
  for (const Candidate& candidate : candidates.atoms) {
    points.push_back(candidate.position);
  }
  return points;
}

/// A neighbour found: its id decides the order.
struct Found {
  std::uint64_t id;
  std::uint32_t point;
};

/// Fills begin and index, the latter with points of all_points().
void search(const Atoms& atoms, const Candidates& candidates, double cutoff, Neighbours& result) {
  const CellIndex cells(all_points(atoms, candidates), cutoff);
  const std::size_t own = atoms.size();
  std::vector<Found> found;
  result.begin.assign(1, 0);
  for (std::size_t i = 0; i < own; ++i) {
    found.clear();
    cells.near(atoms.position[i], [&](std::uint32_t point, double) {
      if (point != i) {
        found.push_back({point < own ? atoms.id[point] : candidates.atoms[point - own].id, point});
      }
    });
    if (found.size() > max_neighbours) {
      throw Error(Code::invalid_argument, "atom " + std::to_string(atoms.id[i]) + " has " +
                                              std::to_string(found.size()) + " neighbours within " +
                                              std::to_string(cutoff) +
                                              " Angstrom, more than 512: use a smaller --cutoff");
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return a.id != b.id ? a.id < b.id : a.point < b.point;
    });
    for (const Found& neighbour : found) {
      result.index.push_back(neighbour.point);
    }
    result.begin.push_back(result.index.size());
  }
}

/// Turns points into own atoms and ghosts, each ghost once however many images of it are near.
void number_ghosts(const Atoms& atoms, const Candidates& candidates, int rank, Neighbours& result) {
  const std::size_t own = atoms.size();
  std::map<std::pair<int, std::uint64_t>, std::uint32_t> ghosts;
  for (const std::uint32_t point : result.index) {
    if (point >= own && candidates.owner[point - own] != rank) {
      ghosts.emplace(std::pair(candidates.owner[point - own], candidates.atoms[point - own].id), 0);
    }
  }
  auto next = static_cast<std::uint32_t>(own);
  for (auto& [ghost, place] : ghosts) {
    place = next++;
    result.ghost_owner.push_back(ghost.first);
    result.ghost_id.push_back(ghost.second);
  }
  for (std::uint32_t& point : result.index) {
    if (point < own) {
      continue;
    }
    const int owner = candidates.owner[point - own];
    const std::uint64_t id = candidates.atoms[point - own].id;
    point = owner == rank
                ? static_cast<std::uint32_t>(
                      std::lower_bound(atoms.id.begin(), atoms.id.end(), id) - atoms.id.begin())
                : ghosts.at({owner, id});
  }
}

/// The closest pair of this rank's atoms within `radius`, infinity where there is none.
double nearest_within(const Atoms& atoms, const Candidates& candidates, double radius) {
  const CellIndex cells(all_points(atoms, candidates), radius);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    cells.near(atoms.position[i], [&](std::uint32_t point, double square) {
      if (point != i) {
        least = std::min(least, square);
      }
    });
  }
  return std::sqrt(least);
}

}  // namespace

Neighbours find_neighbours(MPI_Comm comm, const Atoms& atoms, const Box& box, double cutoff) {
  // A cutoff at the distance of a shell is to have all of it, however its distances are rounded.
  const double radius = cutoff * (1 + 1e-9);
  const Candidates candidates = gather_candidates(comm, atoms, box, radius);
  Neighbours result;
  agree(comm, [&] {
    search(atoms, candidates, radius, result);
    number_ghosts(atoms, candidates, rank_of(comm), result);
  });
  return result;
}

double nearest_distance(MPI_Comm comm, const Atoms& atoms, const Box& box, std::uint64_t total) {
  double volume = 1;
  int directions = 0;
  double extent = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (box.length[axis] > 0) {
      volume *= box.length[axis];
      ++directions;
      extent = std::max(extent, box.length[axis]);
    }
  }
  if (directions == 0 || total < 2) {
    throw Error(Code::format, total < 2 ? "one atom alone has no neighbours: give --cutoff"
                                        : "all atoms are at the same place");
  }
  // From well below the mean distance upwards, so that dense clusters stay cheap to search.
  double radius = std::pow(volume / static_cast<double>(total), 1.0 / directions) / 8;
  radius = std::max(radius, extent / (1 << 20));
  for (;; radius *= 2) {
    Box open = box;
    open.periodic = {};  // images are no closer than the atoms themselves
    const Candidates candidates = gather_candidates(comm, atoms, open, radius);
    double mine = 0;
    agree(comm, [&] { mine = nearest_within(atoms, candidates, radius); });
    const double least = reduce(comm, mine, MPI_MIN);
    if (least <= 0) {
      throw Error(Code::format, "two atoms are at the same place");
    }
    if (std::isfinite(least)) {
      return least;
    }
    if (radius > 2 * extent) {
      throw Error(Code::internal, "no two atoms are near each other");
    }
  }
}

}  // namespace vampire
