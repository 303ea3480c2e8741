// A new folder that all ranks of MPI_COMM_WORLD use.
#pragma once

#include <memory>
#include <mpi.h>
#include <string>

#include "storage/scratch.hpp"

namespace sluice::test {

/// Made by rank 0, and removed when every rank has released it. Collective, both.
class SharedScratch {
 public:
  SharedScratch() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string name(4096, '\0');
    if (rank == 0) {
      scratch_ = std::make_unique<storage::Scratch>();
      name.replace(0, scratch_->folder().size(), scratch_->folder());
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    folder_ = name.c_str();
  }
  ~SharedScratch() { MPI_Barrier(MPI_COMM_WORLD); }
  SharedScratch(const SharedScratch&) = delete;
  SharedScratch& operator=(const SharedScratch&) = delete;

  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
  std::unique_ptr<storage::Scratch> scratch_;
};

}  // namespace sluice::test
