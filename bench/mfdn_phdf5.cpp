// Parallel HDF5 as a peer of apps/mfdn: the same tree of contiguous vectors, every rank its part.
#include <vector>

#include "cold.hpp"
#include "contestants.hpp"
#include "phdf5.hpp"

namespace sluice::bench {
namespace {

/// Of one rank: contiguous, or every ranks-th piece.
struct Wanted {
  std::vector<hsize_t> shape;
  std::vector<hsize_t> start;
  std::vector<hsize_t> count;
  std::uint64_t elements = 0;
};

Wanted wanted_part(const World& world, const Job& job) {
  const std::uint64_t dimension = job.number("dimension");
  const std::uint64_t piece = job.number("piece", 0);
  const auto ranks = static_cast<std::uint64_t>(world.ranks());
  const auto rank = static_cast<std::uint64_t>(world.rank());
  if (piece > 0) {
    const std::uint64_t pieces = dimension / ranks / piece;
    return {{pieces, ranks, piece}, {0, rank, 0}, {pieces, 1, piece}, pieces * piece};
  }
  const std::uint64_t first = dimension / ranks * rank + std::min(rank, dimension % ranks);
  const std::uint64_t elements = dimension / ranks + (rank < dimension % ranks ? 1 : 0);
  return {{dimension}, {first}, {elements}, elements};
}

float value_at(std::uint64_t state, std::uint64_t index, int rank) {
  const std::uint64_t mixed = 8191 * index + 524287 * state + 131 * static_cast<unsigned>(rank);
  return static_cast<float>(mixed & 0xffffff);
}

/// One vector a state, kept from job to job.
std::vector<std::vector<float>>& vectors(const World& world, const Job& job) {
  static std::vector<std::vector<float>> kept;
  kept.resize(job.number("states"));
  const std::uint64_t elements = wanted_part(world, job).elements;
  for (std::uint64_t s = 0; s < kept.size(); ++s) {
    kept[s].resize(elements);
    for (std::uint64_t i = 0; i < elements; ++i) kept[s][i] = value_at(s, i, world.rank());
  }
  return kept;
}

std::string two_digits(std::uint64_t state) {
  const std::string number = std::to_string(state + 1);
  return number.size() < 2 ? "0" + number : number;
}

hid_t create_vector(hid_t file, const Wanted& part, std::uint64_t state) {
  const std::string number = two_digits(state);
  const hid_t creation = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  checked(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  const hid_t links = checked(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
  checked(H5Pset_create_intermediate_group(links, 1), "H5Pset_create_intermediate_group");
  const hid_t space =
      checked(H5Screate_simple(static_cast<int>(part.shape.size()), part.shape.data(), nullptr),
              "H5Screate_simple");
  const std::string name = "GRP" + number + "/EigenVector" + number;
  const hid_t made =
      checked(H5Dcreate2(file, name.c_str(), H5T_NATIVE_FLOAT, space, links, creation, H5P_DEFAULT),
              "H5Dcreate2");
  H5Sclose(space);
  H5Pclose(links);
  H5Pclose(creation);
  return made;
}

H5FD_mpio_xfer_t mode_of(const Job& job) {
  return job.text("mode") == "collective" ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT;
}

Values write_file(World& world, const Job& job, const std::string& path) {
  const Wanted part = wanted_part(world, job);
  const auto& data = vectors(world, job);
  start_afresh(world, path);
  Stopwatch watch(world.comm());
  const hid_t file = create_parallel_file(world, path);
  std::vector<hid_t> made;
  for (std::uint64_t s = 0; s < data.size(); ++s) made.push_back(create_vector(file, part, s));
  watch.mark("create_s");
  for (std::uint64_t s = 0; s < data.size(); ++s) {
    write_box(made[s], H5T_NATIVE_FLOAT, part.start, part.count, mode_of(job), data[s].data());
  }
  watch.mark("write_s");
  flush_and_sync(file, path);
  watch.mark("sync_s");
  for (const hid_t vector : made) H5Dclose(vector);
  checked(H5Fclose(file), "H5Fclose");
  watch.mark("close_s");
  return watch.finish();
}

void check_vectors(const World& world, const std::vector<std::vector<float>>& data) {
  for (std::uint64_t s = 0; s < data.size(); ++s) {
    for (std::uint64_t i = 0; i < data[s].size(); ++i) {
      if (data[s][i] != value_at(s, i, world.rank())) {
        throw std::runtime_error("mfdn/phdf5: element " + std::to_string(i) + " of rank " +
                                 std::to_string(world.rank()) + " is wrong");
      }
    }
  }
}

Values read_file(World& world, const Job& job, const std::string& path) {
  const Wanted part = wanted_part(world, job);
  auto& data = vectors(world, job);
  for (auto& vector : data) std::fill(vector.begin(), vector.end(), -1.0F);
  make_cold(world, path);
  Stopwatch watch(world.comm());
  const hid_t access = checked(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  checked(H5Pset_fapl_mpio(access, world.comm(), MPI_INFO_NULL), "H5Pset_fapl_mpio");
  checked(H5Pset_all_coll_metadata_ops(access, true), "H5Pset_all_coll_metadata_ops");
  const hid_t file = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "H5Fopen");
  watch.mark("open_s");
  for (std::uint64_t s = 0; s < data.size(); ++s) {
    const std::string number = two_digits(s);
    const std::string name = "GRP" + number + "/EigenVector" + number;
    const hid_t vector = checked(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "H5Dopen2");
    move_box(vector, part.start, part.count, mode_of(job),
             [&](hid_t memory, hid_t space, hid_t transfer) {
               checked(H5Dread(vector, H5T_NATIVE_FLOAT, memory, space, transfer, data[s].data()),
                       "H5Dread");
             });
    H5Dclose(vector);
  }
  watch.mark("read_s");
  H5Fclose(file);
  H5Pclose(access);
  watch.mark("close_s");
  const Values values = watch.finish();
  check_vectors(world, data);
  return values;
}

Values write_phase(World& world, const Job& job) {
  const std::string path = job.text("path");
  const Values values = write_file(world, job, path);
  if (job.number("verify")) read_file(world, job, path);
  return values;
}

Values read_phase(World& world, const Job& job) {
  static std::string there;
  const std::string path = job.text("path") + ".phdf5";
  const std::string size = job.text("dimension") + "/" + job.text("states");
  if (there != size) write_file(world, job, path);
  there = size;
  return read_file(world, job, path);
}

}  // namespace

void add_mfdn_phdf5(Contestants& contestants) {
  contestants["mfdn/phdf5-write"] = write_phase;
  contestants["mfdn/phdf5-read"] = read_phase;
}

}  // namespace sluice::bench
