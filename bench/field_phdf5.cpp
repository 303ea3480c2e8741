// Parallel HDF5 as a peer of the strategies: contiguous, or in chunks of one rank's box each.

#include "contestants.hpp"
#include "hdf5_field.hpp"
#include "phdf5.hpp"

namespace sluice::bench {
namespace {

using Extent = std::array<hsize_t, 3>;

Extent extent_of(const std::array<std::uint64_t, 3>& values) {
  return {values[0], values[1], values[2]};
}

hid_t create_field(hid_t file, const Part& part, bool chunked) {
  const hid_t creation = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  checked(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  if (chunked) {
    checked(H5Pset_chunk(creation, 3, extent_of(part.count).data()), "H5Pset_chunk");
  }
  const hid_t space =
      checked(H5Screate_simple(3, extent_of(part.shape).data(), nullptr), "H5Screate_simple");
  const hid_t field = checked(
      H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      "H5Dcreate2");
  H5Sclose(space);
  H5Pclose(creation);
  return field;
}

Values write_field(World& world, const Job& job, H5FD_mpio_xfer_t transfer_mode) {
  const std::string path = job.text("path");
  const std::string pattern = job.text("pattern");
  const bool chunked = job.text("form", "contiguous") == "chunked";
  const Part part = part_of(pattern, world.rank(), world.ranks(), job.number("mib"));
  const auto data = world.data(part.elements());
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  const hid_t file = create_parallel_file(world, path);
  const hid_t field = create_field(file, part, chunked);
  if (job.number("presize", 0)) checked(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
  watch.mark("create_s");
  write_box(field, H5T_NATIVE_DOUBLE, extent_of(part.start), extent_of(part.count), transfer_mode,
            data.data());
  watch.mark("write_s");
  flush_and_sync(file, path);
  watch.mark("sync_s");
  H5Dclose(field);
  checked(H5Fclose(file), "H5Fclose");
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_field_hdf5(world, path, "field", pattern, job.number("mib"));
  return values;
}

}  // namespace

void add_field_phdf5(Contestants& contestants) {
  contestants["strategies/phdf5-collective"] = [](World& world, const Job& job) {
    return write_field(world, job, H5FD_MPIO_COLLECTIVE);
  };
  contestants["strategies/phdf5-independent"] = [](World& world, const Job& job) {
    return write_field(world, job, H5FD_MPIO_INDEPENDENT);
  };
}

}  // namespace sluice::bench
