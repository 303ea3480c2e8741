// The ranks that are named when a wait exceeds its time limit.
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <vector>

#include "exec/transport/waiting.hpp"

namespace sluice::exec {
namespace {

using Ranks = std::vector<int>;

Place at(Verb verb, std::int64_t call, Ranks peers) { return {verb, call, 0, std::move(peers)}; }

TEST(Judge, names_a_silent_peer) {
  const Verdict verdict = diagnose_missing_ranks(2, at(Verb::broadcast, 7, {1}), {}, 5);
  EXPECT_EQ(verdict.code, Code::timeout);
  EXPECT_EQ(verdict.missing, Ranks{1});
  EXPECT_EQ(verdict.text(),
            "sluice: rank 2 waited 5 s in broadcast for rank(s) 1: find out what stopped them, or "
            "raise timeout_s if they are only slow");
}

TEST(Judge, follows_ranks_that_came_to_the_one_behind_them) {
  const std::map<int, Place> reports = {{1, at(Verb::barrier, 7, {3})},
                                        {3, at(Verb::barrier, 7, {4, 0})}};
  const Verdict verdict = diagnose_missing_ranks(0, at(Verb::barrier, 7, {1}), reports, 1);
  EXPECT_EQ(verdict.missing, Ranks{4});
  EXPECT_EQ(reachable(0, at(Verb::barrier, 7, {1}), reports), (Ranks{0, 1, 3, 4}));
}

TEST(Judge, names_ranks_in_an_earlier_call_and_whom_they_lack) {
  const std::map<int, Place> reports = {{1, at(Verb::receive, 6, {5})}};
  const Verdict verdict =
      diagnose_missing_ranks(0, at(Verb::barrier, 7, {1}), reports, 1, {{5, "left"}});
  EXPECT_EQ(verdict.missing, (Ranks{1, 5}));
  EXPECT_NE(verdict.text().find("rank 1 waits in receive (tag 0) for rank(s) 5; rank 5 left"),
            std::string::npos)
      << verdict.text();
}

TEST(Judge, a_part_of_the_ranks_is_no_other_collective) {
  Place in_part = at(Verb::gather, 7, {3});
  in_part.part = 5;
  in_part.outer_calls = 7;
  const std::map<int, Place> reports = {{1, in_part}};
  const Verdict came = diagnose_missing_ranks(0, at(Verb::barrier, 7, {1}), reports, 1);
  EXPECT_EQ(came.code, Code::timeout);
  EXPECT_EQ(came.missing, Ranks{});
  const Verdict not_yet = diagnose_missing_ranks(0, at(Verb::barrier, 8, {1}), reports, 1);
  EXPECT_EQ(not_yet.missing, (Ranks{1, 3}));
  Place in_other_part = at(Verb::gather, 1, {1});
  in_other_part.part = 6;
  EXPECT_EQ(diagnose_missing_ranks(0, in_other_part, reports, 1).missing, (Ranks{1, 3}));
  EXPECT_NE(not_yet.text().find("rank 1 waits in gather of some ranks for rank(s) 3"),
            std::string::npos)
      << not_yet.text();
}

TEST(Judge, does_not_name_ranks_behind_one_that_is_past_the_call) {
  const std::map<int, Place> reports = {{1, at(Verb::barrier, 8, {5})}};
  EXPECT_EQ(diagnose_missing_ranks(0, at(Verb::barrier, 7, {1}), reports, 1).missing, Ranks{});
}

TEST(Judge, ends_on_circles) {
  const std::map<int, Place> reports = {{1, at(Verb::receive, 3, {2})},
                                        {2, at(Verb::receive, 3, {0})}};
  EXPECT_EQ(diagnose_missing_ranks(0, at(Verb::receive, 3, {1}), reports, 1).missing, Ranks{1});
  EXPECT_EQ(diagnose_missing_ranks(0, at(Verb::receive, 3, {0}), {}, 1).missing, Ranks{0});
}

TEST(Judge, a_receive_does_not_blame_victims) {
  // Rank 1 is in a barrier with rank 2, which arrived, and rank 4, which did not.
  const std::map<int, Place> reports = {{1, at(Verb::barrier, 7, {2})},
                                        {2, at(Verb::barrier, 7, {4})}};
  EXPECT_EQ(diagnose_missing_ranks(0, at(Verb::receive, 6, {1}), reports, 1).missing,
            (Ranks{1, 4}));
}

TEST(Judge, different_collectives_under_one_number_are_divergent) {
  const std::map<int, Place> reports = {{1, at(Verb::barrier, 7, {3})},
                                        {3, at(Verb::gather, 7, {0})}};
  const Verdict verdict = diagnose_missing_ranks(0, at(Verb::barrier, 7, {1}), reports, 1);
  EXPECT_EQ(verdict.code, Code::divergent);
  EXPECT_EQ(verdict.missing, Ranks{3});
}

TEST(Judge, everybody_came) {
  const std::map<int, Place> reports = {{1, at(Verb::exchange, 7, {0})}};
  const Verdict verdict = diagnose_missing_ranks(0, at(Verb::exchange, 7, {1}), reports, 0.25);
  EXPECT_EQ(verdict.missing, Ranks{});
  EXPECT_NE(verdict.text().find("waited 0.25 s in exchange: every rank made the call"),
            std::string::npos);
}

TEST(Judge, lists_sixteen_ranks) {
  Ranks many(20);
  std::iota(many.begin(), many.end(), 100);
  EXPECT_EQ(list_ranks(many),
            "100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115 and 4 "
            "more");
  EXPECT_EQ(list_ranks({3}), "3");
}

}  // namespace
}  // namespace sluice::exec
