// MPI-IO in the case overlap: the nonblocking collective write of MPI.
#include <string>

#include "overlap.hpp"
#include "posix_check.hpp"

namespace sluice::bench {
namespace {

class MpiOutput final : public Background {
 public:
  MpiOutput(World& world, const std::string& path) : world_(world), path_(path) {
    check_mpi(MPI_File_open(world.comm(), path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                            MPI_INFO_NULL, &file_),
              "MPI_File_open", path_);
  }

  void begin(std::span<const double> data) override {
    const auto bytes = static_cast<MPI_Offset>(data.size_bytes());
    const MPI_Offset offset = (steps_++ * world_.ranks() + world_.rank()) * bytes;
    check_mpi(MPI_File_iwrite_at_all(file_, offset, data.data(), static_cast<int>(data.size()),
                                     MPI_DOUBLE, &request_),
              "MPI_File_iwrite_at_all", path_);
  }
  void progress() override {
    int is_done = 0;
    if (request_ != MPI_REQUEST_NULL)
      check_mpi(MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE), "MPI_Test", path_);
  }
  void finish() override {
    check_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait", path_);
    check_mpi(MPI_File_sync(file_), "MPI_File_sync", path_);
  }
  void close() { check_mpi(MPI_File_close(&file_), "MPI_File_close", path_); }

 private:
  World& world_;
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Offset steps_ = 0;
};

Values overlap_mpiio(World& world, const Job& job) {
  const std::string path = job.text("path");
  start_afresh(world, path);
  MpiOutput output(world, path);
  Values values = run_overlap(world, job, output);
  output.close();
  if (job.number("verify")) {
    verify_posix(world, path, job.number("mib") * (1 << 20) / sizeof(double));
  }
  return values;
}

}  // namespace

void add_overlap_mpiio(Contestants& contestants) {
  contestants["overlap/mpiio-iwrite"] = overlap_mpiio;
}

}  // namespace sluice::bench
