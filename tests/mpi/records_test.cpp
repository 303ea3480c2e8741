// Records on real ranks, by the public C++ and C interfaces: data written by one is read by the
// other, also by other ranks than wrote it.
#include <gtest/gtest.h>
#include <memory>
#include <mpi.h>
#include <sluice/records.h>
#include <sluice/records.hpp>
#include <string>

#include "support/shared_scratch.hpp"

namespace sluice::test {
namespace {

class MpiRecords : public testing::Test {
 protected:
  MpiRecords() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  /// Rank r writes r + 1 values a group: r, and then 100 r + group as often as there is room.
  void write_by_cpp(int groups) const {
    Records out(MPI_COMM_WORLD, path_, Mode::write);
    for (int group = 0; group < groups; ++group) {
      out.write(std::int32_t{rank_});
      for (int i = 0; i < rank_; ++i) {
        out.write(100.0 * rank_ + group);
      }
      out.commit();
    }
    out.close();
  }

  int rank_ = 0;
  int ranks_ = 1;
  SharedScratch scratch_;
  const std::string path_ = scratch_ / "ranks.rec";
};

TEST_F(MpiRecords, CReadsWhatCppWrote) {
  write_by_cpp(2);
  sluice_records* in = nullptr;
  ASSERT_EQ(sluice_records_open(MPI_COMM_WORLD, path_.c_str(), "r", nullptr, &in), SLUICE_OK)
      << sluice_last_error(nullptr);
  for (int group = 0; group < 2; ++group) {
    ASSERT_EQ(sluice_records_fetch(in, -1), SLUICE_OK);
    sluice_part* mine = sluice_records_part(in, 0);
    std::int32_t head = -1;
    EXPECT_EQ(sluice_part_read(mine, SLUICE_INT32, &head, 1), SLUICE_OK);
    EXPECT_EQ(head, rank_);
    for (int i = 0; i < rank_; ++i) {
      double value = -1;
      EXPECT_EQ(sluice_part_read(mine, SLUICE_FLOAT64, &value, 1), SLUICE_OK);
      EXPECT_EQ(value, 100.0 * rank_ + group);
    }
    std::int32_t is_at_end = 0;
    EXPECT_EQ(sluice_part_at_end(mine, &is_at_end), SLUICE_OK);
    EXPECT_EQ(is_at_end, 1);
  }
  EXPECT_EQ(sluice_records_close(in), SLUICE_OK);
  sluice_records_free(in);
}

/// An exception of the simulation, unknown to the library.
struct Diverged {};

TEST_F(MpiRecords, AnExceptionOnOneRankIsTheErrorOfTheOthers) {
  const int last = ranks_ - 1;
  Error met(Code::ok, "");
  try {
    Records out(MPI_COMM_WORLD, path_, Mode::write);
    out.write(std::int32_t{rank_});
    out.commit();
    if (rank_ == last) {
      throw Diverged();
    }
    out.write(std::int32_t{rank_});
    out.commit();
  } catch (const Error& e) {
    met = e;
  } catch (const Diverged&) {
  }
  if (rank_ != last) {
    EXPECT_EQ(met.code(), Code::wrong_state) << met.what();
    EXPECT_EQ(met.rank(), last);
    EXPECT_NE(std::string(met.what()).find("was abandoned before its close"), std::string::npos)
        << met.what();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Records in(MPI_COMM_SELF, path_, Mode::read);
  EXPECT_EQ(in.groups(), 1u);
  in.close();
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(MpiRecords, DrainWaitsForGroupsInTheBackground) {
  Records out(MPI_COMM_WORLD, path_, Mode::write, {.strategy = "forward"});
  Ticket last;
  for (int group = 0; group < 3; ++group) {
    out.write(std::int32_t{rank_});
    last = out.commit();
  }
  ASSERT_TRUE(out.drain(60));
  EXPECT_TRUE(last.durable());
  Records in(MPI_COMM_SELF, path_, Mode::read);
  EXPECT_EQ(in.groups(), 3u);
  EXPECT_THROW(in.drain(0), Error);
  in.close();
  out.close();
}

TEST_F(MpiRecords, OneRankReadsThePartsOfAll) {
  write_by_cpp(1);
  if (rank_ != 0) {
    return;
  }
  Records in(MPI_COMM_SELF, path_, Mode::read);
  ASSERT_TRUE(in.fetch());
  for (int writer = 0; writer < ranks_; ++writer) {
    std::int32_t head = -1;
    in.read(&head);
    EXPECT_EQ(head, writer);
    for (int i = 0; i < writer; ++i) {
      double value = -1;
      in.read(&value);
      EXPECT_EQ(value, 100.0 * writer);
    }
  }
  EXPECT_TRUE(in.at_end());
  in.close();
}

}  // namespace
}  // namespace sluice::test
