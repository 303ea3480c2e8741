// Two programs commit to one Icechunk repository, of which the other knows no lease: whichever
// comes second is refused, and what the first committed stays. The checks can fail: they notice a
// library that does not compare the ref, or does not create it exclusively.
#include <gtest/gtest.h>
#include <optional>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

const std::string repository = "out.icechunk";
const std::string ref = repository + "/refs/branch.main/ref.json";
const std::string rivals_ref = R"({"snapshot":"1CECHNKREP0F1RSTCMT0"})";
const Shape shape{12};

/// When the rival commits.
enum class Moment : std::uint8_t {
  before_comparing,  ///< while the new ref is written under its other name
  before_naming,     ///< after the comparison: only where there was no ref can it be noticed
};
enum class Fault : std::uint8_t { none, does_not_compare, is_not_exclusive };

class WithRival final : public storage::MemoryStorage {
 public:
  WithRival(Moment moment, Fault fault) : moment_(moment), fault_(fault) {}

  void arm() { is_armed_ = true; }
  bool has_committed() const { return has_committed_; }

  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    if (moment_ == Moment::before_comparing && path == ref + storage::new_ending &&
        access != storage::Access::read) {
      commit();
    }
    if (fault_ == Fault::does_not_compare && has_committed_ && path == ref) {
      return MemoryStorage::open(ref + ".before", access);
    }
    return MemoryStorage::open(path, access);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (moment_ == Moment::before_naming && to == ref) {
      commit();
    }
    MemoryStorage::rename(from, to);
  }
  void rename_new(const std::string& from, const std::string& to) override {
    if (moment_ == Moment::before_naming && to == ref) {
      commit();
    }
    if (fault_ == Fault::is_not_exclusive) {
      MemoryStorage::rename(from, to);
      return;
    }
    MemoryStorage::rename_new(from, to);
  }

 private:
  void commit() {
    if (!std::exchange(is_armed_, false)) {
      return;
    }
    if (MemoryStorage::exists(ref)) {
      put(ref + ".before", contents(ref));
    }
    put(ref, std::as_bytes(std::span(rivals_ref)));
    has_committed_ = true;
  }

  const Moment moment_;
  const Fault fault_;
  bool is_armed_ = false;
  bool has_committed_ = false;
};

/// Commits `steps` steps; the rival commits during the last one. What is wrong afterwards; "" if
/// nothing is.
std::string violation(Moment moment, Fault fault, std::uint64_t steps) {
  const auto storage = std::make_shared<WithRival>(moment, fault);
  std::optional<Code> refused;
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    try {
      File out(detail::open_on(transport, storage, repository, Mode::write,
                               {.strategy = "shared", .log = Log::off}));
      const Variable v = out.define<double>("v", shape, {.steps = true});
      for (std::uint64_t k = 0; k < steps; ++k) {
        if (k + 1 == steps) {
          storage->arm();
        }
        const std::vector<double> values(shape[0], static_cast<double>(k));
        Step step = out.begin_step();
        step.put<double>(v, values.data(), {.start = {0}, .count = {shape[0]}});
        step.end().wait();
      }
    } catch (const Error& e) {
      refused = e.code();
    }
  });
  if (!storage->has_committed()) {
    return "the rival never committed";
  }
  const auto there = storage->contents(ref);
  if (std::string(reinterpret_cast<const char*>(there.data()), there.size()) != rivals_ref) {
    return "the rival's commit is lost";
  }
  return refused == Code::locked ? "" : "the second commit was not refused";
}

TEST(Rivals, TheSecondCommitIsRefused) {
  EXPECT_EQ(violation(Moment::before_comparing, Fault::none, 1), "");
  EXPECT_EQ(violation(Moment::before_comparing, Fault::none, 3), "");
}

TEST(Rivals, ARefIsCreatedExclusively) {
  EXPECT_EQ(violation(Moment::before_naming, Fault::none, 1), "");
}

TEST(Rivals, PlantedBugsAreNoticed) {
  EXPECT_NE(violation(Moment::before_comparing, Fault::does_not_compare, 3), "");
  EXPECT_NE(violation(Moment::before_naming, Fault::is_not_exclusive, 1), "");
}

}  // namespace
}  // namespace sluice::test
