// The former way of many codes: a file a rank, which takes its name when it is synced.
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "checkpoint.hpp"
#include "posix_check.hpp"

namespace sluice::bench {
namespace {

class FilePerRank final : public Background {
 public:
  FilePerRank(World& world, std::string folder)
      : world_(world),
        folder_(std::move(folder)),
        name_(folder_ + "/rank" + std::to_string(world.rank())) {
    if (world_.rank() == 0) std::filesystem::create_directory(folder_);
    MPI_Barrier(world_.comm());
  }
  void begin(std::span<const double> data) override {
    const std::string building = name_ + ".new";
    const int descriptor = open(building.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) fail("open", building);
    const auto bytes = std::as_bytes(data);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = write(descriptor, bytes.data() + done, bytes.size() - done);
      if (count <= 0) fail("write", building);
      done += static_cast<std::size_t>(count);
    }
    if (fsync(descriptor) != 0) fail("fsync", building);
    close(descriptor);
    MPI_Barrier(world_.comm());  // none replaces its own before all are there
    if (rename(building.c_str(), name_.c_str()) != 0) fail("rename", building);
    sync_file(folder_);
    MPI_Barrier(world_.comm());
  }
  bool is_durable() override { return true; }
  void finish() override {}
  std::string name_of(int rank) const { return folder_ + "/rank" + std::to_string(rank); }

 private:
  World& world_;
  std::string folder_;
  std::string name_;
};

Values save_posix(World& world, const Job& job) {
  const std::string path = job.text("path");
  start_afresh(world, path);
  FilePerRank output(world, path);
  Values values = run_saves(world, job, output);
  if (job.number("verify")) {
    verify(world, elements_of(job),
           [&](int writer, std::uint64_t first, std::uint64_t count, double* out) {
             const std::string name = output.name_of(writer);
             const int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
             if (descriptor < 0) fail("open", name);
             const auto bytes = static_cast<ssize_t>(count * sizeof(double));
             const auto offset = static_cast<off_t>(first * sizeof(double));
             if (pread(descriptor, out, count * sizeof(double), offset) != bytes) {
               fail("pread", name);
             }
             close(descriptor);
           });
  }
  return values;
}

}  // namespace

void add_checkpoint_posix(Contestants& contestants) {
  contestants["checkpoint/posix"] = save_posix;
}

}  // namespace sluice::bench
