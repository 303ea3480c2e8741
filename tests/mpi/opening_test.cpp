// What the ranks of a real MPI agree on when they open a file.
#include <cstdlib>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sluice/sluice.hpp>
#include <string>

#include "storage/scratch.hpp"

namespace sluice::test {
namespace {

/// A path in a folder of rank 0, which exists until every rank has released it. Collective.
class SharedPath {
 public:
  SharedPath() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    std::string name(4096, '\0');
    if (rank_ == 0) {
      scratch_ = std::make_unique<storage::Scratch>();
      name.replace(0, scratch_->folder().size(), scratch_->folder());
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name.c_str() + std::string("/f.h5");
  }
  ~SharedPath() { MPI_Barrier(MPI_COMM_WORLD); }
  SharedPath(const SharedPath&) = delete;
  SharedPath& operator=(const SharedPath&) = delete;
  const std::string& path() const { return path_; }
  int rank() const { return rank_; }

 private:
  int rank_ = 0;
  std::string path_;
  std::unique_ptr<storage::Scratch> scratch_;
};

TEST(Opening, WithOptionsThatTheEnvironmentMakesTheSame) {
  const SharedPath at;
  setenv("SLUICE_TIMEOUT_S", "20", 1);
  Options options;
  options.timeout_s = at.rank() == 0 ? 20 : 30;  // one rank alone has what all get
  File out(MPI_COMM_WORLD, at.path(), Mode::write, options);
  unsetenv("SLUICE_TIMEOUT_S");
  const double value = 7;
  const Variable v = out.define<double>("v", {1});
  if (at.rank() == 0) {
    out.put(v, &value);
  }
  out.close();
  File in(MPI_COMM_WORLD, at.path(), Mode::read);
  double got = 0;
  in.get(in.find("v"), &got);
  EXPECT_EQ(got, 7);
  in.close();
}

}  // namespace
}  // namespace sluice::test
