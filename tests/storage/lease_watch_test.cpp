// Who was stopped in the middle of a step looks at the writer lease before it goes on.
#include "storage/lease_watch.hpp"

#include <gtest/gtest.h>

#include "storage/endings.hpp"
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
  watch.begin();
  EXPECT_EQ(error_of([&] { watch.check(); }).code(), Code::ok) << "its holder has just looked";
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

}  // namespace
}  // namespace sluice::storage
