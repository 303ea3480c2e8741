// Storage mpiio where MPI opens a file on some ranks and fails on others: the same error on all of
// them, and nobody waits.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "api/file/file_impl.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "storage/mpiio.hpp"
#include "storage/scratch.hpp"
#include "support/values.hpp"

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

  /// `open` fails on every rank: with the code of `bad`, which is named.
  template <class Open>
  void expect_error_of(int bad, Code code, Open open) {
    try {
      exec::together(*all_, open);
      ADD_FAILURE() << "rank " << bad << " could not open it";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.code(), code) << text;
      EXPECT_EQ(error.rank(), bad) << text;
      EXPECT_TRUE(text.starts_with("rank " + std::to_string(bad) + ": " + path_)) << text;
    }
  }

  std::unique_ptr<exec::Transport> all_;
  std::unique_ptr<Scratch> scratch_;
  std::string path_;
  std::shared_ptr<Storage> storage_;
};

TEST_F(MpiioOpen, a_failure_on_one_rank_is_that_error_on_all) {
  const int bad = all_->size() / 2;
  fails = all_->rank() == bad;
  expect_error_of(bad, Code::permission,
                  [&] { storage_->open_together(path_, Access::read_write, true); });
  fails = false;
  // The communicator is as good as before.
  const auto file = storage_->open_together(path_, Access::read_write, true);
  ASSERT_NE(file, nullptr);
  std::vector<std::byte> bytes(7);
  const ReadPiece piece{0, bytes};
  file->read_collective({&piece, 1});
  EXPECT_EQ(text_of(bytes), "content");
}

TEST_F(MpiioOpen, a_file_that_one_rank_does_not_find_is_that_error_on_all) {
  const int bad = all_->size() / 2;
  const std::string path = all_->rank() == bad ? path_ + ".none" : path_;
  expect_error_of(bad, Code::not_found, [&] { storage_->open_together(path, Access::read, true); });
  EXPECT_NE(storage_->open_together(path_, Access::read, true), nullptr);
}

/// The number is that among all ranks, not among those that open the file.
TEST_F(MpiioOpen, the_lowest_of_the_ranks_that_open_it_is_named) {
  const int last = all_->size() - 1;
  fails = all_->rank() == last;
  const bool takes_part = all_->rank() >= last - 1;
  expect_error_of(last, Code::permission,
                  [&] { storage_->open_together(path_, Access::read, takes_part); });
}

TEST_F(MpiioOpen, a_failure_on_all_ranks_is_one) {
  fails = true;
  EXPECT_THROW(storage_->open_together(path_, Access::read_write, true), Error);
  EXPECT_THROW(storage_->open(path_, Access::read), Error);
}

/// A file that was not opened is opened by the next read.
TEST_F(MpiioOpen, reading_goes_on_after_an_open_that_failed) {
  if (all_->size() < 2) {
    return;
  }
  const Shape shape{64, 100};
  const model::Box mine = test::slab(shape, all_->rank(), all_->size());
  const std::string path = path_ + ".h5";
  {
    sluice::File out(detail::open_on(*all_, storage_, path, Mode::write));
    const Variable v = out.define<double>("density", shape);
    test::Giver<double> giver;
    giver.put(out, v, 1, shape, mine);
    out.close();
  }
  sluice::File in(detail::open_on(*all_, storage_, path, Mode::read, {.readers = 2}));
  std::vector<double> values(mine.volume());
  const Variable v = in.find("density");
  fails = all_->rank() == 0;  // a reader
  const Error error = error_of([&] { in.get(v, values.data(), test::selection_of(mine)); });
  fails = false;
  EXPECT_EQ(error.code(), Code::permission) << error.what();
  test::expect_values<double>(in, "density", 1, shape, mine);
}

}  // namespace
}  // namespace sluice::storage
