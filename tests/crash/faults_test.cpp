// T3: the storage calls of a run are made to fail, each in a trial of its own. All ranks get the
// same error, none hangs, no File stays open, the earlier steps have their values, and the next
// step works unless the error says that the file must be reopened. Then another run continues, and
// leaves nothing behind but the file.
//
// Three runs of each layout: one that appends to a file, one that replaces it, one that makes it.
// SLUICE_LONG=1: every errno at every call, with none, some or all of a write landed, and once more
// with all later calls failing too; else one call of five (one of twenty under the sanitizers,
// which are ten times slower), others in each run, and one errno a call. SLUICE_CRASH_ROWS: only
// rows whose title contains this word.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "commit/publish/recovery.hpp"
#include "crash/scenario.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/formats/stores.hpp"
#include "support/faulty_storage.hpp"
#include "support/local_transport.hpp"
#include "support/names.hpp"
#include "support/outcomes.hpp"
#include "support/values.hpp"
#include "support/watch.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

const Shape shape{13, 6};
const Shape small{4};
constexpr std::uint64_t first_key = 100;  // of the step that is there before
constexpr std::uint64_t last_key = 999;   // of the step that another run adds
constexpr std::uint64_t seed = 77;

enum class Opening { append, replace, make };

/// A layout, and how it is opened.
struct Ground {
  Row row;
  Opening opening;
  std::shared_ptr<storage::MemoryStorage> base = storage::make_memory();

  std::string path() const { return row.format == "npy" ? "density.npy" : crash_path; }
  bool has_others() const { return row.format != "npy"; }  ///< than one variable
  /// Of a set as many as the first drop of a step, or the second part, needs.
  std::uint64_t steps() const { return is_long() ? 4 : row.is_set() ? 3 : 2; }
  Mode mode() const { return opening == Opening::append ? Mode::append : Mode::write; }
  std::string title() const {
    const char* const how[] = {" append", " replace", " make"};
    return row.title() + how[static_cast<int>(opening)];
  }
};

struct Fault {
  std::uint64_t nth = 0;  ///< of all storage calls; 0: none
  int error_number = EIO;
  std::uint64_t landed_bytes = 0;  ///< of a write that fails
  bool persistent = false;         ///< all later calls fail too

  std::string text() const {
    return "call " + std::to_string(nth) + " fails with errno " + std::to_string(error_number) +
           ", " + std::to_string(landed_bytes) + " bytes landed" +
           (persistent ? ", and so all later ones" : "");
  }
};

struct Trial {
  std::shared_ptr<storage::MemoryStorage> disk;
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::shared_ptr<storage::Faults> faults = std::make_shared<storage::Faults>();
  Outcomes outcomes{crash_ranks};
};

bool says_reopen(const std::string& outcome) {
  return outcome.starts_with(code_name(Code::wrong_state)) &&
         outcome.find("reopen") != std::string::npos;
}

struct Variables {
  Variable density;
  Variable late;
};

Variables define(const Ground& ground, File& out) {
  Variables all;
  all.density =
      out.define<double>("density", shape, {.steps = true, .compress = ground.row.compress});
  if (ground.has_others()) {
    all.late = out.define<double>("late", small, {.steps = true});
  }
  return all;
}

void put_step(const Ground& ground, exec::Transport& transport, File& out, const Variables& all,
              std::uint64_t key) {
  Giver<double> giver;
  Step step =
      ground.has_others() ? out.begin_step({.time = static_cast<double>(key)}) : out.begin_step();
  giver.put(step, all.density, key, shape, slab(shape, transport.rank(), transport.size()));
  if (ground.has_others()) {
    giver.put(step, all.late, key + 1000, small, slab(small, transport.rank(), transport.size()));
  }
  step.end().wait();
}

/// The initial state: one step, closed.
Ground ground_of(const Row& row, Opening opening) {
  Ground ground{row, opening};
  if (opening == Opening::make) {
    return ground;
  }
  const auto alone = exec::make_solo();
  Options options = row.options();
  options.strategy = row.strategy.starts_with("file-per-") ? row.strategy : "serial";
  options.writers = 0;
  File out(detail::open_on(*alone, ground.base, ground.path(), Mode::write, options));
  put_step(ground, *alone, out, define(ground, out), first_key);
  out.close();
  return ground;
}

void write_steps(const Ground& ground, exec::Transport& transport,
                 const std::shared_ptr<storage::Storage>& storage,
                 std::vector<std::string>& outcomes) {
  std::optional<File> out;
  if (!attempt(outcomes, [&] {
        out.emplace(detail::open_on(transport, storage, ground.path(), ground.mode(),
                                    ground.row.options()));
      })) {
    return;
  }
  const Variables all = define(ground, *out);
  for (std::uint64_t k = 1; k <= ground.steps(); ++k) {
    attempt(outcomes, [&] { put_step(ground, transport, *out, all, first_key + k); });
  }
  attempt(outcomes, [&] { out->close(); });
}

Trial run(const Ground& ground, const Fault& fault) {
  Trial trial;
  trial.disk = ground.base->clone();
  if (fault.nth != 0) {
    storage::Rule rule;
    rule.nth = fault.nth;
    rule.error_number = fault.error_number;
    rule.landed_bytes = fault.landed_bytes;
    rule.persistent = fault.persistent;
    trial.faults->add(rule);
  }
  exec::run_local(crash_ranks, seed, [&](exec::Transport& transport) {
    const int rank = transport.rank();
    const auto recording = std::make_shared<storage::RecordingStorage>(trial.disk, trial.log, rank);
    const auto faulty = std::make_shared<storage::FaultyStorage>(recording, trial.faults);
    write_steps(ground, transport, faulty, trial.outcomes[static_cast<std::size_t>(rank)]);
  });
  return trial;
}

/// The steps that must be there (keys in order), and one that may be there besides.
struct Expected {
  std::vector<std::uint64_t> keys;
  std::optional<std::uint64_t> open_question;

  /// Only the last ones are kept.
  void keep(std::uint64_t steps) {
    if (steps != 0 && keys.size() > steps) {
      keys.erase(keys.begin(), keys.end() - static_cast<std::ptrdiff_t>(steps));
    }
  }
};

Expected expected_of(const Ground& ground, const std::vector<std::string>& outcomes) {
  Expected expected;
  for (std::uint64_t k = 1; k < outcomes.size() && k <= ground.steps(); ++k) {
    const bool next_says_reopen = k + 1 < outcomes.size() && says_reopen(outcomes[k + 1]);
    if (outcomes[k].empty()) {
      expected.keys.push_back(first_key + k);
    } else if (next_says_reopen && !says_reopen(outcomes[k])) {
      expected.open_question = first_key + k;  // whether it is in the file, the next opening
                                               // decides
    }
  }
  const bool is_replaced = ground.opening == Opening::replace && !expected.keys.empty();
  if (ground.opening != Opening::make && !is_replaced) {
    expected.keys.insert(expected.keys.begin(), first_key);
  }
  expected.keep(ground.row.keep);
  return expected;
}

void expect_steps(const Ground& ground, const Trial& trial, const std::vector<std::uint64_t>& keys,
                  const std::string& what) {
  SCOPED_TRACE(what);
  if (keys.empty()) {
    EXPECT_FALSE(is_there(*trial.disk, ground.path()));
    return;
  }
  const auto alone = exec::make_solo();
  File in(detail::open_on(*alone, trial.disk, ground.path(), Mode::read, {}));
  ASSERT_EQ(in.steps(), keys.size());
  for (std::uint64_t step = 0; step < keys.size(); ++step) {
    expect_values<double>(in, "density", keys[step], shape, whole_box(shape), step);
    if (ground.has_others()) {
      expect_values<double>(in, "late", keys[step] + 1000, small, whole_box(small), step);
      EXPECT_EQ(in.time(step), static_cast<double>(keys[step]));
    }
  }
}

/// The first step of a file that replaces another: the name may already be that of the new file,
/// but not synced. All other doubts are resolved before the error is reported.
bool may_be_open(const Ground& ground, const Expected& expected) {
  return !expected.open_question || (ground.opening == Opening::replace && !ground.row.is_store() &&
                                     expected.open_question == first_key + 1);
}

/// The step in question counts if it is in the file.
void settle(const Ground& ground, const Trial& trial, Expected& expected) {
  if (!expected.open_question || !is_there(*trial.disk, ground.path())) {
    return;
  }
  std::vector<std::uint64_t> with = expected.keys;
  const bool replaces = ground.opening == Opening::replace && with == std::vector{first_key};
  with = replaces ? std::vector<std::uint64_t>{} : with;
  with.push_back(*expected.open_question);
  bool is_with = false;
  {
    const auto alone = exec::make_solo();
    File in(detail::open_on(*alone, trial.disk, ground.path(), Mode::read, {}));
    const auto wanted = values_of<double>(with.back(), dims_of(shape), whole_box(shape));
    if (in.steps() == with.size()) {
      Array<double> got(wanted.size());
      in.get<double>(in.find("density"), got.data(), {}, in.steps() - 1);
      is_with = std::equal(got.data(), got.data() + got.size(), wanted.data());
    }
  }
  if (is_with) {
    expected.keys = with;
    expected.keep(ground.row.keep);
  }
}

/// Another run adds a step.
void append_one(const Ground& ground, const Trial& trial, Mode mode) {
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    Options options = ground.row.options();
    options.writers = 0;
    File out(detail::open_on(transport, trial.disk, ground.path(), mode, options));
    put_step(ground, transport, out, define(ground, out), last_key);
    out.close();
  });
}

/// Journals, files under temporary names, what was put aside.
std::vector<std::string> leavings(const Trial& trial) {
  std::vector<std::string> names;
  for (const std::string& path : trial.disk->paths()) {
    if (path.find(".sluice-") != std::string::npos) {
      names.push_back(path);
    }
  }
  return names;
}

/// As a user would after a permanent disk failure.
void recover_if_there(const Ground& ground, const Trial& trial) {
  if (layout::is_put_aside(*trial.disk, ground.path()) || is_there(*trial.disk, ground.path())) {
    commit::recover_unattended(*trial.disk, ground.path(), false);
  }
}

void check(const Ground& ground, const Trial& trial, const Fault& fault, const std::string& what) {
  for (const auto& outcomes : trial.outcomes) {
    EXPECT_EQ(outcomes, trial.outcomes[0]) << what << ": the ranks saw different things";
  }
  EXPECT_EQ(trial.log->totals().open_now, 0u) << what << ": a File stayed open";
  const auto& outcomes = trial.outcomes[0];
  int failures = 0;
  for (const std::string& outcome : outcomes) {
    EXPECT_FALSE(outcome.starts_with(code_name(Code::timeout))) << what << ": " << outcome;
    EXPECT_FALSE(outcome.starts_with(code_name(Code::internal))) << what << ": " << outcome;
    failures += outcome.empty() || says_reopen(outcome) ? 0 : 1;
  }
  trial.faults->clear();
  Expected expected = expected_of(ground, outcomes);
  if (!fault.persistent) {
    EXPECT_LE(failures, 1) << what << ": one fault, and more than one call failed";
    EXPECT_TRUE(may_be_open(ground, expected))
        << what << ": a step failed, and left the file in doubt";
  }
  try {
    if (fault.persistent) {
      recover_if_there(ground, trial);
    }
    settle(ground, trial, expected);
    expect_steps(ground, trial, expected.keys, what);
    append_one(ground, trial, expected.keys.empty() ? Mode::write : Mode::append);
    expected.keys.push_back(last_key);
    expected.keep(ground.row.keep);
    expect_steps(ground, trial, expected.keys, what + ", after another run");
  } catch (const Error& e) {
    ADD_FAILURE() << what << ": " << e.what();
  }
  // If nothing can be removed, the next file of that name replaces it.
  EXPECT_TRUE(fault.persistent || leavings(trial).empty()) << what << ": " << leavings(trial)[0];
}

/// What is tried for a call: in short runs one errno.
std::vector<Fault> faults_at(std::uint64_t nth) {
  if (!is_long()) {
    return {nth % 2 == 0 ? Fault{nth, ENOSPC, 0} : Fault{nth, EIO, nth % 3 * 10}};
  }
  std::vector<Fault> all;
  for (const int number : {EIO, ENOSPC, EDQUOT, ESTALE}) {
    for (const std::uint64_t landed : {0, 10, 100}) {
      all.push_back({nth, number, landed});
    }
  }
  all.push_back({nth, EIO, 0, true});
  all.push_back({nth, ENOSPC, 0, true});
  return all;
}

struct Counts {
  std::uint64_t calls = 0;
  std::uint64_t trials = 0;
  std::uint64_t told = 0;      ///< some call of the program failed
  std::uint64_t poisoned = 0;  ///< the file had to be reopened
  std::uint64_t wrong = 0;     ///< wrong result
};

/// A trial takes milliseconds, but a few seconds on a busy machine.
constexpr unsigned trial_seconds = 240;

/// So that a change that breaks much is reported in a few lines.
constexpr std::uint64_t most_wrong = 5;

int parts_so_far() {
  return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

/// The calls of one run; `shift`: of the calls that are left out.
Counts fail_each(const Ground& ground, std::uint64_t shift) {
  Counts counts;
  const Trial clean = run(ground, {});
  check(ground, clean, {}, ground.title() + " without a fault");
  EXPECT_EQ(clean.outcomes[0], std::vector<std::string>(ground.steps() + 2)) << ground.title();
  counts.calls = clean.faults->calls();
  const auto twentieths = static_cast<std::uint64_t>(case_count(4, 1, 20));
  for (std::uint64_t nth = 1; nth <= counts.calls && counts.wrong < most_wrong; ++nth) {
    if ((7 * nth + 3 * shift) % 20 >= twentieths) {
      continue;
    }
    for (const Fault& fault : faults_at(nth)) {
      const int parts_before = parts_so_far();
      const std::string what =
          ground.title() + ", of " + std::to_string(counts.calls) + " calls: " + fault.text();
      begin_watch(what, trial_seconds);
      const Trial trial = run(ground, fault);
      // The bytes of a time stamp may split a run of the journal: one write more, or fewer.
      EXPECT_TRUE(trial.faults->fired() != 0 || trial.faults->calls() < nth) << what;
      check(ground, trial, fault, what);
      end_watch();
      const auto& outcomes = trial.outcomes[0];
      ++counts.trials;
      counts.told += outcomes != clean.outcomes[0] ? 1 : 0;
      counts.poisoned += std::any_of(outcomes.begin(), outcomes.end(), says_reopen) ? 1 : 0;
      if (parts_so_far() != parts_before) {
        ++counts.wrong;
        for (const std::string& outcome : outcomes) {
          std::printf("  %s\n", outcome.c_str());
        }
      }
    }
  }
  return counts;
}

bool is_wanted(const Row& row) {
  const char* wanted = std::getenv("SLUICE_CRASH_ROWS");
  return wanted == nullptr || row.title().find(wanted) != std::string::npos;
}

class Faults : public testing::TestWithParam<const char*> {};

TEST_P(Faults, EveryStorageCallMayFail) {
  std::vector<Row> all = rows();
  all.insert(all.end(), set_rows().begin(), set_rows().end());
  for (const char* strategy : {"serial", "shared", "collective", "forward"}) {
    all.push_back({strategy, "npy"});
  }
  std::uint64_t shift = 0;
  for (const Row& row : all) {
    if (row.kind() != GetParam() || !is_wanted(row)) {
      continue;
    }
    for (const Opening opening : {Opening::append, Opening::replace, Opening::make}) {
      const auto began = std::chrono::steady_clock::now();
      const Ground ground = ground_of(row, opening);
      const Counts counts = fail_each(ground, shift++);
      const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
      std::printf(
          "T3 %s: %llu calls, %llu trials, %llu errors, %llu files to be reopened, "
          "%llu answered wrongly, %.1f s\n",
          ground.title().c_str(), number(counts.calls), number(counts.trials), number(counts.told),
          number(counts.poisoned), number(counts.wrong),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
      std::fflush(stdout);
    }
  }
}

// tests/crash/CMakeLists.txt has the same list.
INSTANTIATE_TEST_SUITE_P(Kinds, Faults,
                         testing::Values("hdf5", "netcdf4", "grouped", "records", "npy", "zarr",
                                         "file-per-process", "file-per-node", "keep", "split"),
                         [](const auto& named) { return test_name(named.param); });

}  // namespace
}  // namespace sluice::test
