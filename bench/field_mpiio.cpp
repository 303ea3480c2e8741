// MPI-IO as a peer of the strategies: a subarray as file view, one collective write, a sync.

#include "contestants.hpp"
#include "partition.hpp"

namespace sluice::bench {
namespace {

/// `hints`: "key=value,key=value"; what the implementation does not know, it ignores.
MPI_Info info_of(const std::string& hints) {
  if (hints.empty()) return MPI_INFO_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  for (std::size_t begin = 0; begin < hints.size();) {
    const std::size_t end = std::min(hints.find(',', begin), hints.size());
    const std::string hint = hints.substr(begin, end - begin);
    const std::size_t equals = hint.find('=');
    MPI_Info_set(info, hint.substr(0, equals).c_str(), hint.substr(equals + 1).c_str());
    begin = end + 1;
  }
  return info;
}

Values write_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::string pattern = job.text("pattern");
  const Part part = part_of(pattern, world.rank(), world.ranks(), job.number("mib"));
  const auto data = world.data(part.elements());
  MPI_Info info = info_of(job.text("hints", ""));
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  MPI_File file;
  check_mpi(
      MPI_File_open(world.comm(), path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file),
      "MPI_File_open", path);
  if (job.number("presize", 0)) {
    const std::uint64_t elements = part.shape[0] * part.shape[1] * part.shape[2];
    check_mpi(MPI_File_set_size(file, static_cast<MPI_Offset>(elements * sizeof(double))),
              "MPI_File_set_size", path);
  }
  std::array<int, 3> shape{};
  std::array<int, 3> start{};
  std::array<int, 3> count{};
  for (std::size_t d = 0; d < 3; ++d) {
    shape[d] = static_cast<int>(part.shape[d]);
    start[d] = static_cast<int>(part.start[d]);
    count[d] = static_cast<int>(part.count[d]);
  }
  MPI_Datatype box;
  MPI_Type_create_subarray(3, shape.data(), count.data(), start.data(), MPI_ORDER_C, MPI_DOUBLE,
                           &box);
  MPI_Type_commit(&box);
  check_mpi(MPI_File_set_view(file, 0, MPI_DOUBLE, box, "native", info), "MPI_File_set_view", path);
  watch.mark("create_s");
  check_mpi(MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(part.elements()),
                                  MPI_DOUBLE, MPI_STATUS_IGNORE),
            "MPI_File_write_at_all", path);
  watch.mark("write_s");
  check_mpi(MPI_File_sync(file), "MPI_File_sync", path);
  watch.mark("sync_s");
  check_mpi(MPI_File_close(&file), "MPI_File_close", path);
  watch.mark("close_s");
  Values values = watch.finish();

  MPI_Type_free(&box);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (job.number("verify")) {
    verify_field_posix(world, path, pattern, job.number("mib"), 0, false);
  }
  return values;
}

}  // namespace

void add_field_mpiio(Contestants& contestants) { contestants["strategies/mpiio"] = write_field; }

}  // namespace sluice::bench
