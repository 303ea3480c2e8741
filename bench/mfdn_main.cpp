// bench_mfdn: the wave-function phase of apps/mfdn, by its own stores, and the ways they replace.
//
// Jobs: mfdn/write and mfdn/read with path, backend, mode, strategy, hints, options, dimension,
// piece, states (apps/mfdn/iosim/phases.f90). A write answers with the marks create_s, write_s,
// close_s and join_s, after which the data is on the disk; a read with open_s, read_s and close_s,
// of a file that has left the page cache.
#include <filesystem>
#include <stdexcept>
#include <unistd.h>

#include "cold.hpp"

extern "C" {
void mfdn_phase_begin(int comm, const char* backend, const char* mode, const char* strategy,
                      const char* hints, const char* options, const char* path,
                      std::int64_t dimension, std::int64_t piece, int states);
void mfdn_phase_create();
void mfdn_phase_open();
void mfdn_phase_write();
void mfdn_phase_read();
void mfdn_phase_close();
void mfdn_phase_close_to_join();
void mfdn_phase_join();
void mfdn_phase_forget();
std::int64_t mfdn_phase_check();
}

namespace sluice::bench {
namespace {

void begin_phase(const World& world, const Job& job, const std::string& path) {
  mfdn_phase_begin(MPI_Comm_c2f(world.comm()), job.text("backend").c_str(),
                   job.text("mode", "independent").c_str(), job.text("strategy", "").c_str(),
                   job.text("hints", "").c_str(), job.text("options", "").c_str(), path.c_str(),
                   static_cast<std::int64_t>(job.number("dimension")),
                   static_cast<std::int64_t>(job.number("piece", 0)),
                   static_cast<int>(job.number("states")));
}

/// All elements of all ranks, by what each says of its place.
void check_vectors(const World& world) {
  std::int64_t wrong = mfdn_phase_check();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, world.comm());
  if (wrong != 0) {
    throw std::runtime_error("mfdn: " + std::to_string(wrong) + " elements are wrong");
  }
}

void read_back() {
  mfdn_phase_forget();
  mfdn_phase_open();
  mfdn_phase_read();
  mfdn_phase_close();
}

Values write_phase(World& world, const Job& job) {
  const std::string path = job.text("path");
  start_afresh(world, path);
  begin_phase(world, job, path);
  Stopwatch watch(world.comm());
  mfdn_phase_create();
  watch.mark("create_s");
  mfdn_phase_write();
  watch.mark("write_s");
  mfdn_phase_close_to_join();
  watch.mark("close_s");
  mfdn_phase_join();
  watch.mark("join_s");
  Values values = watch.finish();
  const bool can_read = job.text("backend") != "root" || job.number("piece", 0) == 0;
  if (job.number("verify") && can_read) {
    read_back();
    check_vectors(world);
  }
  return values;
}

/// The file that a backend reads, written where it is not there with this dimension. Each kind has
/// its own; those of another dimension go.
std::string file_to_read(World& world, const Job& job) {
  static std::map<std::string, std::string> there;
  const std::string backend = job.text("backend");
  const bool is_hdf5 = backend.starts_with("hdf5");
  const bool is_parts = backend == "processes";
  const std::string kind = is_hdf5 ? ".hdf5" : is_parts ? ".records" : ".flat";
  const std::string path = job.text("path") + kind;
  const std::string size = job.text("dimension") + "/" + job.text("states");
  if (there[kind] == size) return path;
  start_afresh(world, path);
  if (world.rank() == 0) std::filesystem::remove_all(path + ".parts");
  MPI_Barrier(world.comm());
  const std::string writer = is_hdf5 ? "hdf5" : is_parts ? "processes" : "raw";
  begin_phase(world,
              Job("write\tbackend=" + writer + "\tdimension=" + job.text("dimension") +
                  "\tstates=" + job.text("states")),
              path);
  mfdn_phase_create();
  mfdn_phase_write();
  mfdn_phase_close();
  there[kind] = size;
  return path;
}

Values read_phase(World& world, const Job& job) {
  const std::string path = file_to_read(world, job);
  begin_phase(world, job, path);
  mfdn_phase_forget();
  if (job.text("backend") == "processes") {
    for (const auto& part : std::filesystem::directory_iterator(path + ".parts")) {
      make_cold(world, part.path());
    }
  } else {
    make_cold(world, path);
  }
  Stopwatch watch(world.comm());
  mfdn_phase_open();
  watch.mark("open_s");
  mfdn_phase_read();
  watch.mark("read_s");
  mfdn_phase_close();
  watch.mark("close_s");
  const Values values = watch.finish();
  check_vectors(world);
  return values;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::serve(
      argc, argv,
      {{"mfdn/write", sluice::bench::write_phase}, {"mfdn/read", sluice::bench::read_phase}});
}
