// PnetCDF as a peer of the strategies: the 64-bit-data format of netCDF, one collective put.
#include <pnetcdf.h>
#include <stdexcept>

#include "contestants.hpp"
#include "partition.hpp"

namespace sluice::bench {
namespace {

void check(int status, const char* call) {
  if (status != NC_NOERR) {
    throw std::runtime_error(std::string(call) + ": " + ncmpi_strerror(status));
  }
}

Values write_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::string pattern = job.text("pattern");
  const Part part = part_of(pattern, world.rank(), world.ranks(), job.number("mib"));
  const auto data = world.data(part.elements());
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  int file = 0;
  check(ncmpi_create(world.comm(), path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
        "ncmpi_create");
  std::array<int, 3> dimensions{};
  for (std::size_t d = 0; d < 3; ++d) {
    check(ncmpi_def_dim(file, std::string(1, "zyx"[d]).c_str(),
                        static_cast<MPI_Offset>(part.shape[d]), &dimensions[d]),
          "ncmpi_def_dim");
  }
  int field = 0;
  check(ncmpi_def_var(file, "field", NC_DOUBLE, 3, dimensions.data(), &field), "ncmpi_def_var");
  check(ncmpi_enddef(file), "ncmpi_enddef");
  watch.mark("create_s");
  std::array<MPI_Offset, 3> start{};
  std::array<MPI_Offset, 3> count{};
  std::copy(part.start.begin(), part.start.end(), start.begin());
  std::copy(part.count.begin(), part.count.end(), count.begin());
  check(ncmpi_put_vara_double_all(file, field, start.data(), count.data(), data.data()),
        "ncmpi_put_vara_double_all");
  watch.mark("write_s");
  check(ncmpi_sync(file), "ncmpi_sync");
  watch.mark("sync_s");
  MPI_Offset offset = 0;
  check(ncmpi_inq_varoffset(file, field, &offset), "ncmpi_inq_varoffset");
  check(ncmpi_close(file), "ncmpi_close");
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) {
    verify_field_posix(world, path, pattern, job.number("mib"), static_cast<std::uint64_t>(offset),
                       true);
  }
  return values;
}

}  // namespace

void add_field_pnetcdf(Contestants& contestants) {
  contestants["strategies/pnetcdf"] = write_field;
}

}  // namespace sluice::bench
