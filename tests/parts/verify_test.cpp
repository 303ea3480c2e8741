// Verifying a set: every part, and the index itself.
#include "commit/tools/verify.hpp"

#include <cstring>

#include "commit/tools/findings.hpp"
#include "layout/formats/formats.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

using commit::State;
using commit::Verdict;

class Verify : public testing::Test {
 protected:
  void SetUp() override {
    on_ranks(3, [&](exec::Transport& transport) {
      File out = open_file(transport, storage_, "out.h5", Mode::write, SetKind{}.options());
      const double pi = 3.14159;
      const Variable scalar = out.define<double>("pi", {});
      if (transport.rank() == 0) {
        out.put(scalar, &pi);
      }
      steps_.write(out, transport);
      out.close();
    });
  }

  /// On so many ranks; the verdict of each must be the same.
  Verdict verify(int ranks) {
    std::vector<Verdict> verdicts(static_cast<std::size_t>(ranks));
    on_ranks(ranks, [&](exec::Transport& transport) {
      std::uint64_t last = 0;
      verdicts[static_cast<std::size_t>(transport.rank())] =
          commit::verify(transport, *storage_, "out.h5", [&](auto done, auto total) {
            EXPECT_LE(done, total);
            EXPECT_GE(done, last);
            last = done;
          });
    });
    for (const Verdict& verdict : verdicts) {
      EXPECT_EQ(verdict.finding_count, verdicts[0].finding_count);
      EXPECT_EQ(verdict.state, verdicts[0].state);
      EXPECT_EQ(verdict.bytes, verdicts[0].bytes);
    }
    return verdicts[0];
  }

  /// Flips a bit of each copy of a value in a file, and keeps the time of modification.
  int flip(const std::string& path, double value) {
    const auto file = storage_->open(path, storage::Access::read_write);
    std::vector<std::byte> bytes(file->size());
    bytes.resize(file->read(0, bytes));
    const std::int64_t stamp = file->modified_ns();
    int found = 0;
    for (std::size_t at = 0; at + sizeof value <= bytes.size(); ++at) {
      if (std::memcmp(&bytes[at], &value, sizeof value) == 0) {
        const std::byte flipped = bytes[at] ^ std::byte{4};
        file->write(at, {&flipped, 1});
        ++found;
      }
    }
    file->set_modified_ns(stamp);
    return found;
  }

  std::shared_ptr<storage::MemoryStorage> storage_ = storage::make_memory();
  Steps steps_{.shape = {30, 5}, .steps = 3, .slabs = true};
};

TEST_F(Verify, AWholeSetIsProven) {
  for (const int ranks : {1, 2, 5}) {
    const Verdict verdict = verify(ranks);
    EXPECT_EQ(verdict.state, State::ok) << ranks;
    EXPECT_EQ(verdict.bytes, 30 * 5 * 8 * 3 + 8) << ranks;
    EXPECT_EQ(verdict.commits, 3u);
    EXPECT_TRUE(verdict.uncovered.empty()) << verdict.uncovered[0];
    EXPECT_FALSE(verdict.modified);
  }
}

TEST_F(Verify, ADamagedPartIsNamedWithTheStepOfTheWhole) {
  ASSERT_EQ(flip(part_paths(*storage_, "out.h5")[1], value_at<double>(102, 15 * 5 + 3)), 1);
  for (const int ranks : {1, 2, 5}) {
    const Verdict verdict = verify(ranks);
    EXPECT_EQ(verdict.state, State::damaged);
    ASSERT_EQ(verdict.finding_count, 1u);
    EXPECT_EQ(verdict.findings[0].variable, "v");
    EXPECT_EQ(verdict.findings[0].step, 2u);
    EXPECT_NE(verdict.findings[0].what.find("000001.h5"), std::string::npos);
  }
}

TEST_F(Verify, TimesAndScalarsOfTheIndexAreCompared) {
  ASSERT_GE(flip("out.h5", 3.14159), 1);
  Verdict verdict = verify(2);
  EXPECT_EQ(verdict.state, State::damaged);
  ASSERT_EQ(verdict.finding_count, 1u);
  EXPECT_EQ(verdict.findings[0].variable, "pi");
  // The times are stored twice; damage the dataset that other programs read.
  const auto file = storage_->open("out.h5", storage::Access::read_write);
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(0, bytes));
  const double times[] = {0, 0.5, 1};
  const auto pattern = std::as_bytes(std::span(times));
  const auto at = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
  ASSERT_NE(at, bytes.end());
  const std::byte other{9};
  file->write(static_cast<std::uint64_t>(at - bytes.begin()) + 12, {&other, 1});
  verdict = verify(2);
  ASSERT_EQ(verdict.finding_count, 2u);
  EXPECT_EQ(verdict.findings[0].variable, "time");
  EXPECT_EQ(verdict.findings[0].step, 1u);
}

/// Bounded as the findings of a part are, and counted.
TEST_F(Verify, ManyWrongTimesAreCounted) {
  constexpr std::uint64_t many = commit::most_findings + 50;
  on_ranks(2, [&](exec::Transport& transport) {
    File out = open_file(transport, storage_, "out.h5", Mode::write, SetKind{}.options());
    const Variable v = out.define<double>("v", {2}, {.steps = true});
    for (std::uint64_t s = 0; s < many; ++s) {
      const auto rank = static_cast<std::uint64_t>(transport.rank());
      Step step = out.begin_step({.time = 1000.0 + static_cast<double>(s)});
      const double value = 1;
      step.put(v, &value, {.start = {rank}, .count = {1}});
      step.end();
    }
    out.close();
  });
  const auto file = storage_->open("out.h5", storage::Access::read_write);
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(0, bytes));
  std::vector<double> times(many);
  for (std::uint64_t s = 0; s < many; ++s) {
    times[s] = 1000.0 + static_cast<double>(s);
  }
  const auto pattern = std::as_bytes(std::span(times));
  const auto at = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
  ASSERT_NE(at, bytes.end()) << "the dataset that other programs read";
  const std::vector<double> wrong(many, 7);
  const std::int64_t stamp = file->modified_ns();
  file->write(static_cast<std::uint64_t>(at - bytes.begin()), std::as_bytes(std::span(wrong)));
  file->set_modified_ns(stamp);
  for (const int ranks : {1, 3}) {
    const Verdict verdict = verify(ranks);
    EXPECT_EQ(verdict.state, State::damaged);
    EXPECT_EQ(verdict.finding_count, many);
    ASSERT_EQ(verdict.findings.size(), commit::most_findings);
    for (std::uint64_t s = 0; s < commit::most_findings; ++s) {
      ASSERT_EQ(verdict.findings[s].step, s);
    }
  }
}

TEST(Findings, AreMergedInTheOrderOfTheFile) {
  commit::Findings first;
  commit::Findings second;
  for (std::uint64_t k = 0; k < 120; ++k) {
    first.add({2 * k, "even", k, "", ""});
    second.add({2 * k + 1, "odd", k, "", ""});
  }
  EXPECT_EQ(first.list().size(), commit::most_findings);
  model::ByteWriter out;
  second.write_to(out);
  const std::vector<std::byte> bytes = out.take();
  model::ByteReader in(bytes);
  first.merge(commit::Findings::read_from(in));
  EXPECT_EQ(first.count(), 240u);
  ASSERT_EQ(first.list().size(), commit::most_findings);
  for (std::uint64_t k = 0; k < commit::most_findings; ++k) {
    ASSERT_EQ(first.list()[k].order, k);
  }
}

TEST_F(Verify, APlaceForStepsThatAreNotThereIsDamage) {
  const auto file = storage_->open("out.h5", storage::Access::read_write);
  layout::PartSet set = *layout::open_catalog(layout::format_in(*file, "auto"), *file)->set();
  const auto before = set.words();
  for (layout::Mapping& mapping : set.mappings) {
    mapping.steps = set.variables[mapping.variable].stepped ? 1ULL << 60 : mapping.steps;
  }
  const auto after = set.words();
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(0, bytes));
  const auto pattern = std::as_bytes(std::span(before));
  const auto at = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
  ASSERT_NE(at, bytes.end());
  const std::int64_t stamp = file->modified_ns();
  file->write(static_cast<std::uint64_t>(at - bytes.begin()), std::as_bytes(std::span(after)));
  file->set_modified_ns(stamp);
  const Verdict verdict = verify(2);
  EXPECT_EQ(verdict.state, State::damaged);
  ASSERT_EQ(verdict.finding_count, set.mappings.size() - 1);  // all but that of `pi`
  EXPECT_EQ(verdict.findings[0].variable, "v");
  EXPECT_NE(verdict.findings[0].what.find("the set has 3"), std::string::npos);
}

TEST_F(Verify, RowsOfWhichTheirRanksHadLessAreInOrder) {
  for (const char* strategy : {"file-per-process", "file-per-node"}) {
    on_ranks(2, [&](exec::Transport& transport) {
      const SetKind kind{strategy, 0, 1};
      File out = open_file(transport, storage_, "out.h5", Mode::write, kind.options());
      const Variable v = out.define<double>("v", {10}, {.steps = true});
      for (const std::uint64_t cut : {5, 3, 7}) {
        const std::uint64_t first = transport.rank() == 0 ? 0 : cut;
        const std::uint64_t count = transport.rank() == 0 ? cut : 10 - cut;
        const std::vector<double> values(count, static_cast<double>(100 + cut));
        Step step = out.begin_step();
        step.put(v, values.data(), {{first}, {count}});
        step.end();
      }
      out.close();
    });
    const Verdict verdict = verify(2);
    EXPECT_EQ(verdict.state, State::ok) << strategy;
    EXPECT_EQ(verdict.bytes, 3u * 10 * 8) << strategy;
  }
}

TEST_F(Verify, AMissingPartIsAnErrorThatNamesIt) {
  storage_->remove(part_paths(*storage_, "out.h5")[2]);
  expect_everywhere(
      errors_on_ranks(
          2, [&](exec::Transport& transport) { commit::verify(transport, *storage_, "out.h5"); }),
      Code::not_found, {"000002.h5"});
}

}  // namespace
}  // namespace sluice::test
