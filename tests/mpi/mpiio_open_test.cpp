// Storage mpiio where MPI opens a file on some ranks and fails on others: an error on all of them,
// and nobody waits.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "exec/transport/mpi_transport.hpp"
#include "storage/mpiio.hpp"
#include "storage/scratch.hpp"

namespace {

bool fails = false;

}  // namespace

/// Replaces MPI's function: the ranks that fail have opened the file, but their caller gets none.
extern "C" int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info,
                             MPI_File* file) {
  using Call = int (*)(MPI_Comm, const char*, int, MPI_Info, MPI_File*);
  static const auto next = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "MPI_File_open"));
  const int status = next(comm, path, mode, info, file);
  if (!fails) {
    return status;
  }
  *file = MPI_FILE_NULL;
  return MPI_ERR_ACCESS;
}

namespace sluice::storage {
namespace {

class MpiioOpen : public testing::Test {
 protected:
  MpiioOpen() : all_(exec::make_mpi(MPI_COMM_WORLD, 60)) {
    std::vector<std::byte> name;
    if (all_->rank() == 0) {
      scratch_ = std::make_unique<Scratch>();
      name = bytes_of(*scratch_ / "f");
    }
    all_->broadcast(name, 0);
    path_ = text_of(name);
    if (all_->rank() == 0) {
      make_posix()->open(path_, Access::create)->write(0, bytes_of("content"));
    }
    all_->barrier();
    storage_ = make_mpiio(MPI_COMM_WORLD, "");
  }
  ~MpiioOpen() override {
    fails = false;
    all_->barrier();
  }

  std::unique_ptr<exec::Transport> all_;
  std::unique_ptr<Scratch> scratch_;
  std::string path_;
  std::shared_ptr<Storage> storage_;
};

TEST_F(MpiioOpen, a_failure_on_one_rank_is_an_error_on_all) {
  const int bad = all_->size() / 2;
  fails = all_->rank() == bad;
  try {
    const auto file = storage_->open_together(path_, Access::read_write, true);
    ADD_FAILURE() << "MPI_File_open failed on rank " << bad;
  } catch (const Error& error) {
    const Code expected = all_->rank() == bad ? Code::permission : Code::io;
    EXPECT_EQ(error.code(), expected) << error.what();
    EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
  }
  fails = false;
  // The communicator is as good as before.
  const auto file = storage_->open_together(path_, Access::read_write, true);
  ASSERT_NE(file, nullptr);
  std::vector<std::byte> bytes(7);
  const ReadPiece piece{0, bytes};
  file->read_collective({&piece, 1});
  EXPECT_EQ(text_of(bytes), "content");
}

TEST_F(MpiioOpen, a_failure_on_all_ranks_is_one) {
  fails = true;
  EXPECT_THROW(storage_->open_together(path_, Access::read_write, true), Error);
  EXPECT_THROW(storage_->open(path_, Access::read), Error);
}

}  // namespace
}  // namespace sluice::storage
