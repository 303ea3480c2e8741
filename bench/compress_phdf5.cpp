// Parallel HDF5's collective writes through filters.
#include <filesystem>

#include "compressed_field.hpp"
#include "contestants.hpp"
#include "phdf5.hpp"

namespace sluice::bench {
namespace {

hid_t create_dataset(hid_t file, const CompressedField& field, unsigned level) {
  const std::array<hsize_t, 3> shape{field.all, field.rows, field.columns};
  const std::array<hsize_t, 3> chunk{field.chunk, field.rows, field.columns};
  const hid_t creation = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  checked(H5Pset_chunk(creation, 3, chunk.data()), "H5Pset_chunk");
  checked(H5Pset_shuffle(creation), "H5Pset_shuffle");
  checked(H5Pset_deflate(creation, level), "H5Pset_deflate");
  const hid_t space = checked(H5Screate_simple(3, shape.data(), nullptr), "H5Screate_simple");
  const hid_t dataset = checked(
      H5Dcreate2(file, "field", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      "H5Dcreate2");
  H5Sclose(space);
  H5Pclose(creation);
  return dataset;
}

void write_part(hid_t dataset, const CompressedField& field) {
  const std::array<hsize_t, 3> start{field.first, 0, 0};
  const std::array<hsize_t, 3> count{field.planes, field.rows, field.columns};
  write_box(dataset, H5T_NATIVE_FLOAT, start, count, H5FD_MPIO_COLLECTIVE, field.data().data());
}

Values write_filtered(World& world, const Job& job) {
  const std::string path = job.text("path");
  const CompressedField field(world, job);
  field.data();
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  const hid_t access = checked(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  checked(H5Pset_fapl_mpio(access, world.comm(), MPI_INFO_NULL), "H5Pset_fapl_mpio");
  checked(H5Pset_coll_metadata_write(access, true), "H5Pset_coll_metadata_write");
  checked(H5Pset_all_coll_metadata_ops(access, true), "H5Pset_all_coll_metadata_ops");
  const hid_t file =
      checked(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access), "H5Fcreate");
  H5Pclose(access);
  const hid_t dataset = create_dataset(file, field, static_cast<unsigned>(job.number("level")));
  write_part(dataset, field);
  H5Dclose(dataset);
  H5Fclose(file);
  watch.mark("close_s");
  sync_file(path);
  watch.mark("sync_s");
  Values values = watch.finish();
  if (job.number("verify")) field.verify(world, path);
  values.emplace_back("file_bytes", static_cast<double>(std::filesystem::file_size(path)));
  return values;
}

}  // namespace

void add_compress_phdf5(Contestants& contestants) {
  contestants["compress/phdf5"] = write_filtered;
}

}  // namespace sluice::bench
