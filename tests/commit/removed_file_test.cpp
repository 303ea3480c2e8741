// A file that is moved, removed, cut or replaced while it is written: the next step fails on every
// rank, instead of going into a file that nobody finds, or into one that another program writes.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>
#include <tuple>

#include "api/file/file_impl.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using storage::error_of;

struct Case {
  const char* name;
  const char* file;
  const char* strategy;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class RemovedFile : public testing::TestWithParam<Case> {
 protected:
  static constexpr int ranks = 2;
  static inline const Shape shape{4, 6};

  std::string path() const { return scratch_ / GetParam().file; }

  void put_step(File& out, int rank, std::uint64_t key) {
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, key, shape, slab(shape, rank, ranks));
    step.end();
  }

  static std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// As h5repack and mv do: a copy takes the name.
  std::string put_copy_in_its_place() const {
    fs::copy_file(path(), path() + ".copy");
    fs::rename(path() + ".copy", path());
    return content_of(path());
  }

  /// Writes step 0, then `disturb` on rank 0, then step 1, whose errors are returned. The next call
  /// says the same.
  template <class Disturb>
  std::vector<Error> write(const Disturb& disturb) {
    std::vector<Error> errors(ranks, Error(Code::internal, "no error"));
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      Options options;
      options.strategy = GetParam().strategy;
      options.log = Log::off;
      File out(detail::open_on(transport, storage_, path(), Mode::write, options));
      put_step(out, transport.rank(), 0);
      out.drain(60);
      transport.barrier();
      if (transport.rank() == 0) {
        disturb();
      }
      transport.barrier();
      errors[static_cast<std::size_t>(transport.rank())] = error_of([&] {
        put_step(out, transport.rank(), 1);
        out.close();
      });
      const Error& error = errors[static_cast<std::size_t>(transport.rank())];
      const Error next = error_of([&] { std::ignore = out.begin_step(); });
      EXPECT_EQ(next.code(), error.code()) << next.what();
      EXPECT_STREQ(next.what(), error.what());
    });
    return errors;
  }

  static void expect_refused(const std::vector<Error>& errors, Code code = Code::changed_outside,
                             const std::string& text = "moved or removed") {
    for (const Error& error : errors) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make("posix");
};

TEST_P(RemovedFile, MakesTheNextStepFail) {
  expect_refused(write([&] { fs::remove(path()); }));
  EXPECT_FALSE(fs::exists(path()));
}

TEST_P(RemovedFile, KeepsItsStepsWhereItWasMoved) {
  const std::string moved = scratch_ / (std::string("moved-") + GetParam().file);
  expect_refused(write([&] { fs::rename(path(), moved); }));
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, storage_, moved, Mode::read, {}));
    ASSERT_EQ(in.steps(), 1u);
    expect_values<double>(in, "v", 0, shape, whole_box(shape));
  });
}

TEST_P(RemovedFile, AnotherFileInItsPlaceStaysAsItIs) {
  std::string foreign;
  expect_refused(write([&] { foreign = put_copy_in_its_place(); }));
  EXPECT_EQ(content_of(path()), foreign);
}

// As mode "w" of plain HDF5 does before it is refused.
TEST_P(RemovedFile, OnceCutMakesTheNextStepFail) {
  expect_refused(write([&] { fs::resize_file(path(), 0); }), Code::changed_outside, "has cut it");
  EXPECT_EQ(fs::file_size(path()), 0u);
}

TEST_P(RemovedFile, OnceCutInTheMiddleMakesTheNextStepFail) {
  std::uintmax_t left = 0;
  expect_refused(write([&] {
                   left = fs::file_size(path()) / 2;
                   fs::resize_file(path(), left);
                 }),
                 Code::changed_outside, "has cut it");
  EXPECT_EQ(fs::file_size(path()), left);
}

TEST_P(RemovedFile, WithAllBesideItIsNotTakenForALostLease) {
  expect_refused(write([&] {
    for (const auto& entry : fs::directory_iterator(fs::path(path()).parent_path())) {
      fs::remove(entry.path());
    }
  }));
}

TEST_P(RemovedFile, WithItsFolderIsNotTakenForALostLease) {
  const fs::path folder = fs::path(path()).parent_path();
  const fs::path moved = folder.string() + "-moved";
  expect_refused(write([&] { fs::rename(folder, moved); }));
  fs::rename(moved, folder);
}

TEST_P(RemovedFile, WhoseLeaseAloneIsRemovedIsNamed) {
  expect_refused(write([&] { fs::remove(path() + ".sluice-lease"); }), Code::locked,
                 path() + ".sluice-lease: the record of the writer lease was removed");
}

// Between the opening and the first step.
TEST_P(RemovedFile, OnceCutIsNotAppendedTo) {
  Error error(Code::internal, "no error");
  for (const Mode mode : {Mode::write, Mode::append}) {
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      Options options;
      options.strategy = GetParam().strategy;
      options.log = Log::off;
      File out(detail::open_on(transport, storage_, path(), mode, options));
      const Variable v = out.define<double>("v", shape, {.steps = true});
      if (mode == Mode::append) {
        fs::resize_file(path(), 0);
      }
      Giver<double> giver;
      error = error_of([&] {
        Step step = out.begin_step();
        giver.put(step, v, 0, shape, whole_box(shape));
        step.end();
        out.close();
      });
    });
  }
  EXPECT_EQ(error.code(), Code::changed_outside) << error.what();
  EXPECT_EQ(fs::file_size(path()), 0u);
}

// What another writer, which has the lease of the new name, adds to the file.
TEST_P(RemovedFile, OnceMovedIsNotChangedByItsFormerWriter) {
  const std::string moved = scratch_ / (std::string("moved-") + GetParam().file);
  std::string there;
  expect_refused(write([&] {
    fs::rename(path(), moved);
    std::ofstream(moved, std::ios::binary | std::ios::app) << std::string(8192, '\xab');
    there = content_of(moved);
  }));
  EXPECT_EQ(content_of(moved), there);
}

// The thread that puts commits in place opens the file by its path.
TEST_P(RemovedFile, CommitsThatWaitAreNotPutIntoAnotherFile) {
  std::string foreign;
  Error error(Code::internal, "no error");
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    Options options;
    options.strategy = GetParam().strategy;
    options.log = Log::off;
    options.apply_every_s = 0.4;
    File out(detail::open_on(transport, storage_, path(), Mode::write, options));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const auto put = [&](std::uint64_t key) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, key, shape, whole_box(shape));
      step.end().wait();
    };
    for (const std::uint64_t key : {0, 1, 2}) {
      put(key);
    }
    foreign = put_copy_in_its_place();
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    EXPECT_EQ(content_of(path()), foreign);
    error = error_of([&] {
      put(3);
      out.close();
    });
  });
  EXPECT_EQ(error.code(), Code::changed_outside) << error.what();
  EXPECT_EQ(content_of(path()), foreign);
}

INSTANTIATE_TEST_SUITE_P(Formats, RemovedFile,
                         testing::Values(Case{"hdf5_serial", "f.h5", "serial"},
                                         Case{"hdf5_shared", "f.h5", "shared"},
                                         Case{"hdf5_forward", "f.h5", "forward"},
                                         Case{"netcdf4", "f.nc", "shared"},
                                         Case{"records", "f.rec", "shared"}),
                         [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace sluice::test
