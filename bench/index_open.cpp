// Opening the index of a set of many parts, by h5py and by plain libhdf5. Rank 0 does everything.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "api/file/file_impl.hpp"
#include "contestants.hpp"
#include "hdf5_check.hpp"
#include "sluice/sluice.hpp"
#include "support/local_transport.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t row_elements = 16;

/// One part a virtual rank, one row a part; kept for the jobs that follow.
void make_set(const std::string& path, std::uint64_t parts) {
  static std::string made;
  if (made == path && std::filesystem::exists(path)) return;
  std::filesystem::remove_all(path + ".parts");
  std::filesystem::remove(path);
  const std::shared_ptr<storage::Storage> storage = storage::make("posix");
  exec::run_local(static_cast<int>(parts), 1, [&](exec::Transport& transport) {
    Options options;
    options.strategy = "file-per-process";
    options.durability = Durability::none;
    File file(detail::open_on(transport, storage, path, Mode::write, options));
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    const Variable field = file.define<double>("field", {parts, row_elements}, {.steps = true});
    const std::vector<double> row(row_elements, static_cast<double>(rank));
    Step step = file.begin_step({.time = 0});
    step.put(field, row.data(), {.start = {rank, 0}, .count = {1, row_elements}});
    step.end();
    file.close();
  });
  made = path;
}

Values open_by_libhdf5(const std::string& path, std::uint64_t parts) {
  const double begin_s = MPI_Wtime();
  const hid_t file = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
  const hid_t field = checked(H5Dopen2(file, "field", H5P_DEFAULT), "H5Dopen2");
  const hid_t space = checked(H5Dget_space(field), "H5Dget_space");
  const double opened_s = MPI_Wtime();
  const std::array<hsize_t, 3> start{0, parts / 2, 0};
  const std::array<hsize_t, 3> count{1, 1, row_elements};
  std::array<double, row_elements> row{};
  const hid_t memory = checked(H5Screate_simple(3, count.data(), nullptr), "H5Screate_simple");
  checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          "H5Sselect_hyperslab");
  checked(H5Dread(field, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, row.data()), "H5Dread");
  const double read_s = MPI_Wtime();
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(field);
  H5Fclose(file);
  if (row[0] != static_cast<double>(parts / 2)) throw std::runtime_error("index: wrong value");
  return {{"open_s", opened_s - begin_s}, {"read_s", read_s - opened_s}};
}

Values open_by_h5py(const std::string& path, std::uint64_t parts) {
  const char* python = std::getenv("SLUICE_PYTHON");
  const std::string command = std::string(python == nullptr ? "python3" : python) +
                              " " SLUICE_BENCH_DIR "/open_index.py '" + path + "' " +
                              std::to_string(parts);
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) fail("popen", command);
  double open_s = 0;
  double read_s = 0;
  const int found = std::fscanf(pipe, "%lf %lf", &open_s, &read_s);
  if (pclose(pipe) != 0 || found != 2) throw std::runtime_error("index: " + command + " failed");
  return {{"open_s", open_s}, {"read_s", read_s}};
}

template <class Open>
Run on_rank_0(Open open) {
  return [open](World& world, const Job& job) {
    if (world.rank() != 0) return Values{};
    make_set(job.text("path"), job.number("parts"));
    return open(job.text("path"), job.number("parts"));
  };
}

}  // namespace

void add_index(Contestants& contestants) {
  contestants["index/libhdf5"] = on_rank_0(open_by_libhdf5);
  contestants["index/h5py"] = on_rank_0(open_by_h5py);
}

}  // namespace sluice::bench
