// Parallel HDF5 as a peer, tuned as its users are told to: early allocation, no fill values, large
// aligned chunks, collective metadata.
#include <array>
#include <hdf5.h>

#include "contestants.hpp"
#include "overlap.hpp"
#include "phdf5.hpp"

namespace sluice::bench {
namespace {

constexpr const char* dataset_name = "field";

// A stepped variable has an unlimited leading dimension and one chunk a rank and step; a fixed one
// is contiguous.
hid_t create_dataset(hid_t file, const std::string& name, bool stepped, hsize_t steps,
                     hsize_t elements, hsize_t total) {
  const hid_t creation = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  checked(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  hid_t space = H5I_INVALID_HID;
  if (stepped) {
    const std::array<hsize_t, 2> chunk{1, elements};
    const std::array<hsize_t, 2> extent{steps, total};
    const std::array<hsize_t, 2> limit{H5S_UNLIMITED, total};
    checked(H5Pset_chunk(creation, 2, chunk.data()), "H5Pset_chunk");
    space = H5Screate_simple(2, extent.data(), limit.data());
  } else {
    space = H5Screate_simple(1, &total, nullptr);
  }
  checked(space, "H5Screate_simple");
  const hid_t dataset = checked(
      H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      "H5Dcreate2");
  H5Sclose(space);
  H5Pclose(creation);
  return dataset;
}

// Writes this rank's part of a step; `step` is ignored for a fixed variable.
void write_part(hid_t dataset, bool stepped, hsize_t step, hsize_t start,
                std::span<const double> data, H5FD_mpio_xfer_t transfer_mode) {
  const hsize_t elements = data.size();
  const std::array<hsize_t, 2> first{step, start};
  const std::array<hsize_t, 2> count{1, elements};
  const std::size_t fixed = stepped ? 0 : 1;  // without the dimension of the steps
  write_box(dataset, H5T_NATIVE_DOUBLE, std::span(first).subspan(fixed),
            std::span(count).subspan(fixed), transfer_mode, data.data());
}

Values write_phdf5(World& world, const Job& job, H5FD_mpio_xfer_t transfer_mode) {
  const std::string path = job.text("path");
  const bool stepped = job.text("form", "stepped") == "stepped";
  const std::uint64_t elements = job.number("mib") * (1 << 20) / sizeof(double);
  const auto data = world.data(elements);
  const auto rank = static_cast<hsize_t>(world.rank());
  const auto ranks = static_cast<hsize_t>(world.ranks());
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  const hid_t file = create_parallel_file(world, path);
  const hid_t dataset = create_dataset(file, dataset_name, stepped, 1, elements, elements * ranks);
  watch.mark("create_s");
  write_part(dataset, stepped, 0, elements * rank, data, transfer_mode);
  watch.mark("write_s");
  flush_and_sync(file, path);
  watch.mark("sync_s");
  H5Dclose(dataset);
  checked(H5Fclose(file), "H5Fclose");
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_hdf5(world, path, dataset_name, elements);
  return values;
}

Values step_phdf5(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t variables = job.number("variables");
  const std::uint64_t steps = job.number("steps") + job.number("warm_up");
  const bool durable = job.text("durability", "none") == "step";
  const auto data = world.data(job.number("elements"));
  const auto rank = static_cast<hsize_t>(world.rank());
  const hsize_t total = data.size() * static_cast<hsize_t>(world.ranks());
  start_afresh(world, path);

  const hid_t file = create_parallel_file(world, path);
  std::vector<hid_t> datasets;
  for (std::uint64_t v = 0; v < variables; ++v) {
    datasets.push_back(
        create_dataset(file, "field" + std::to_string(v), true, 0, data.size(), total));
  }
  StepTimes times(world.comm(), job.number("warm_up"), job.number("pause_ms", 0));
  for (std::uint64_t s = 0; s < steps; ++s) {
    times.time([&] {
      const std::array<hsize_t, 2> extent{s + 1, total};
      for (const hid_t dataset : datasets) {
        checked(H5Dset_extent(dataset, extent.data()), "H5Dset_extent");
        write_part(dataset, true, s, data.size() * rank, data, H5FD_MPIO_COLLECTIVE);
      }
      // Without this the step is not in the file before the close, which Sluice's is.
      if (durable) flush_and_sync(file, path);
    });
  }
  for (const hid_t dataset : datasets) H5Dclose(dataset);
  checked(H5Fclose(file), "H5Fclose");
  if (job.number("verify", 0)) verify_hdf5(world, path, "field0", data.size());
  return times.finish();
}

/// Steps in one file, each written, and synced if it `flushes`, before the call returns.
class Phdf5Output final : public Background {
 public:
  Phdf5Output(World& world, const std::string& path, std::uint64_t elements, bool flushes)
      : world_(world),
        path_(path),
        total_(elements * static_cast<hsize_t>(world.ranks())),
        flushes_(flushes) {
    file_ = create_parallel_file(world, path);
    dataset_ = create_dataset(file_, dataset_name, true, 0, elements, total_);
  }
  void begin(std::span<const double> data) override {
    const std::array<hsize_t, 2> extent{steps_ + 1, total_};
    checked(H5Dset_extent(dataset_, extent.data()), "H5Dset_extent");
    write_part(dataset_, true, steps_++, data.size() * static_cast<hsize_t>(world_.rank()), data,
               H5FD_MPIO_COLLECTIVE);
    if (flushes_) flush_and_sync(file_, path_);
  }
  bool is_durable() override { return flushes_; }
  void finish() override {
    if (!flushes_) flush_and_sync(file_, path_);
  }
  void close() {
    H5Dclose(dataset_);
    checked(H5Fclose(file_), "H5Fclose");
  }

 private:
  World& world_;
  std::string path_;
  hsize_t total_;
  bool flushes_;
  hsize_t steps_ = 0;
  hid_t file_ = H5I_INVALID_HID;
  hid_t dataset_ = H5I_INVALID_HID;
};

Values overlap_phdf5(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t elements = job.number("mib") * (1 << 20) / sizeof(double);
  start_afresh(world, path);
  Phdf5Output output(world, path, elements, job.number("flush", 1) != 0);
  Values values = run_overlap(world, job, output);
  output.close();
  if (job.number("verify")) verify_hdf5(world, path, dataset_name, elements);
  return values;
}

}  // namespace

void add_overlap_phdf5(Contestants& contestants) {
  contestants["overlap/phdf5-collective"] = overlap_phdf5;
}

void add_phdf5(Contestants& contestants) {
  contestants["write/phdf5-collective"] = [](World& world, const Job& job) {
    return write_phdf5(world, job, H5FD_MPIO_COLLECTIVE);
  };
  contestants["write/phdf5-independent"] = [](World& world, const Job& job) {
    return write_phdf5(world, job, H5FD_MPIO_INDEPENDENT);
  };
  contestants["step/phdf5-collective"] = step_phdf5;
}

}  // namespace sluice::bench
