// Who has lost the writer lease is told; who was stopped in the middle of a step looks at it before
// it goes on.
#include "storage/lease_watch.hpp"

#include <gtest/gtest.h>

#include "storage/endings.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {
namespace {

double clock_s = 0;

TEST(LeaseWatch, LooksAtTheRecordAfterAPause) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = make_posix();
  const auto lost = storage->lease(path);
  clock_s = 1000;
  LeaseWatch watch(path, [] { return clock_s; });
  clock_s += 300;
  EXPECT_EQ(error_of([&] { watch.check(); }).code(), Code::ok) << "it has the lease";
  storage->remove(lease_path(path));
  const auto next = storage->lease(path);
  clock_s += LeaseWatch::longest_s - 1;
  EXPECT_EQ(error_of([&] { watch.check(); }).code(), Code::ok) << "without a pause nobody looks";
  clock_s += LeaseWatch::longest_s + 1;
  EXPECT_EQ(error_of([&] { watch.check(); }).code(), Code::locked);
  EXPECT_EQ(error_of([&] { watch.check(); }).code(), Code::locked) << "for good";
}

TEST(LeaseWatch, WhereThereIsNoRecordNothingFails) {
  const Scratch scratch;
  clock_s = 0;
  LeaseWatch watch(scratch / "out.h5", [] { return clock_s; });
  clock_s += 1000;
  EXPECT_EQ(error_of([&] { watch.check(); }).code(), Code::ok);
}

TEST(LostLease, WhoLostItIsTold) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = make_posix();
  const auto lease = storage->lease(path);
  EXPECT_EQ(error_of([&] { lease->check(); }).code(), Code::ok);
  storage->remove(lease_path(path));
  EXPECT_EQ(error_of([&] { lease->check(); }).code(), Code::locked);
}

// The lock was lost without a sign (a lease of NFS that expired, a mount without locks between
// nodes), and the next writer got it.
TEST(LostLease, WhoseLockWasLostIsToldOnceAnotherHasIt) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  SystemCalls calls = real_system_calls();
  calls.lock = [](int, short) { return 0; };  // everybody gets it
  const auto storage = make_posix(calls);
  const auto lost = storage->lease(path);
  const auto next = storage->lease(path);
  EXPECT_EQ(error_of([&] { lost->check(); }).code(), Code::locked);
  EXPECT_EQ(error_of([&] { next->check(); }).code(), Code::ok);
  EXPECT_FALSE(storage->exists(lease_path(path) + "-takeover"));
}

}  // namespace
}  // namespace sluice::storage
