// Parallel netCDF-4 as a peer of the strategies: one fixed variable, collective access, no fill.
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdexcept>

#include "contestants.hpp"
#include "hdf5_field.hpp"

namespace sluice::bench {
namespace {

void check(int status, const char* call) {
  if (status != NC_NOERR) {
    throw std::runtime_error(std::string(call) + ": " + nc_strerror(status));
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
  check(nc_create_par(path.c_str(), NC_CLOBBER | NC_NETCDF4, world.comm(), MPI_INFO_NULL, &file),
        "nc_create_par");
  std::array<int, 3> dimensions{};
  for (std::size_t d = 0; d < 3; ++d) {
    check(nc_def_dim(file, std::string(1, "zyx"[d]).c_str(), part.shape[d], &dimensions[d]),
          "nc_def_dim");
  }
  int field = 0;
  check(nc_def_var(file, "field", NC_DOUBLE, 3, dimensions.data(), &field), "nc_def_var");
  check(nc_def_var_fill(file, field, NC_NOFILL, nullptr), "nc_def_var_fill");
  check(nc_enddef(file), "nc_enddef");
  check(nc_var_par_access(file, field, NC_COLLECTIVE), "nc_var_par_access");
  watch.mark("create_s");
  const std::array<std::size_t, 3> start{part.start[0], part.start[1], part.start[2]};
  const std::array<std::size_t, 3> count{part.count[0], part.count[1], part.count[2]};
  check(nc_put_vara_double(file, field, start.data(), count.data(), data.data()),
        "nc_put_vara_double");
  watch.mark("write_s");
  check(nc_close(file), "nc_close");
  watch.mark("close_s");
  sync_file(path);
  watch.mark("sync_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_field_hdf5(world, path, "field", pattern, job.number("mib"));
  return values;
}

}  // namespace

void add_field_netcdf4(Contestants& contestants) {
  contestants["strategies/netcdf4"] = write_field;
}

}  // namespace sluice::bench
