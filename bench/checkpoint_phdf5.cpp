// Parallel HDF5 in the case checkpoint: a new file, which takes its name when it is synced.
#include <cstdio>
#include <filesystem>

#include "checkpoint.hpp"
#include "phdf5.hpp"

namespace sluice::bench {
namespace {

constexpr const char* field_name = "field";

class Phdf5File final : public Background {
 public:
  Phdf5File(World& world, std::string path, H5FD_mpio_xfer_t transfer_mode)
      : world_(world), path_(std::move(path)), transfer_mode_(transfer_mode) {}
  void begin(std::span<const double> data) override {
    const std::string building = path_ + ".new";
    const hid_t file = create_parallel_file(world_, building);
    write_field(file, data);
    flush_and_sync(file, building);
    checked(H5Fclose(file), "H5Fclose");
    if (world_.rank() == 0) {
      sync_file(building);  // what closing wrote
      if (rename(building.c_str(), path_.c_str()) != 0) fail("rename", building);
      sync_file(std::filesystem::path(path_).parent_path().string());
    }
    MPI_Barrier(world_.comm());
  }
  bool is_durable() override { return true; }
  void finish() override {}

 private:
  void write_field(hid_t file, std::span<const double> data) const {
    const hsize_t elements = data.size();
    const hsize_t total = elements * static_cast<hsize_t>(world_.ranks());
    const hsize_t start = elements * static_cast<hsize_t>(world_.rank());
    const hid_t creation = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    checked(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
    const hid_t space = checked(H5Screate_simple(1, &total, nullptr), "H5Screate_simple");
    const hid_t field = checked(
        H5Dcreate2(file, field_name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
        "H5Dcreate2");
    write_box(field, H5T_NATIVE_DOUBLE, {&start, 1}, {&elements, 1}, transfer_mode_, data.data());
    H5Dclose(field);
    H5Sclose(space);
    H5Pclose(creation);
  }

  World& world_;
  std::string path_;
  H5FD_mpio_xfer_t transfer_mode_;
};

Values save_phdf5(World& world, const Job& job, H5FD_mpio_xfer_t transfer_mode) {
  const std::string path = job.text("path");
  start_afresh(world, path);
  Phdf5File output(world, path, transfer_mode);
  Values values = run_saves(world, job, output);
  if (job.number("verify")) verify_hdf5(world, path, field_name, elements_of(job));
  return values;
}

}  // namespace

void add_checkpoint_phdf5(Contestants& contestants) {
  contestants["checkpoint/phdf5-collective"] = [](World& world, const Job& job) {
    return save_phdf5(world, job, H5FD_MPIO_COLLECTIVE);
  };
  contestants["checkpoint/phdf5-independent"] = [](World& world, const Job& job) {
    return save_phdf5(world, job, H5FD_MPIO_INDEPENDENT);
  };
}

}  // namespace sluice::bench
