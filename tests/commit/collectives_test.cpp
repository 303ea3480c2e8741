// The number of collective calls of a step, by strategy: they determine the latency of a small
// step. The bounds are the present numbers, so an increase is a failure.
#include <algorithm>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

/// Counts the collective calls of one rank, including those of its groups.
class CountingTransport final : public exec::Transport {
 public:
  CountingTransport(exec::Transport& inner, int& calls) : inner_(inner), calls_(calls) {}
  CountingTransport(std::unique_ptr<exec::Transport> inner, int& calls)
      : own_(std::move(inner)), inner_(*own_), calls_(calls) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int node() const override { return inner_.node(); }
  int nodes() const override { return inner_.nodes(); }
  bool runs_at_once() const override { return inner_.runs_at_once(); }
  void let_others_run() override { inner_.let_others_run(); }

  void barrier() override {
    ++calls_;
    inner_.barrier();
  }
  void allreduce(std::span<std::int64_t> values, exec::Op op) override {
    ++calls_;
    inner_.allreduce(values, op);
  }
  void reduce(std::span<std::int64_t> values, exec::Op op, int root) override {
    ++calls_;
    inner_.reduce(values, op, root);
  }
  exec::PrefixSum prefix_sum(std::int64_t value) override {
    ++calls_;
    return inner_.prefix_sum(value);
  }
  void broadcast(std::vector<std::byte>& bytes, int root) override {
    ++calls_;
    inner_.broadcast(bytes, root);
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes, int root) override {
    ++calls_;
    return inner_.gather(bytes, root);
  }
  std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) override {
    ++calls_;
    return inner_.allgather(bytes);
  }
  std::vector<exec::Parcel> exchange(std::vector<exec::Parcel> parcels) override {
    ++calls_;
    return inner_.exchange(std::move(parcels));
  }
  std::unique_ptr<exec::Pending> start_send(int to, int tag,
                                            std::span<const std::byte> bytes) override {
    return inner_.start_send(to, tag, bytes);
  }
  std::unique_ptr<exec::Pending> start_receive(int from, int tag,
                                               std::span<std::byte> into) override {
    return inner_.start_receive(from, tag, into);
  }
  std::optional<exec::Arriving> start_receive_any(int tag) override {
    return inner_.start_receive_any(tag);
  }
  std::unique_ptr<exec::Transport> split(int color) override {
    ++calls_;
    auto part = inner_.split(color);
    return part ? std::make_unique<CountingTransport>(std::move(part), calls_) : nullptr;
  }

 private:
  std::unique_ptr<exec::Transport> own_;
  exec::Transport& inner_;
  int& calls_;
};

/// For a step: the maximum over the ranks.
struct Bounds {
  int file;               ///< opening, one step, closing
  int first;              ///< the first step
  int unchanged;          ///< blocks as in the step before
  int changed;            ///< the blocks are elsewhere
  int after = unchanged;  ///< blocks as in that one
};

struct Case {
  const char* name;
  const char* strategy;
  Bounds bounds;
  const char* check = "full";
  const char* compress = "";
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Collectives : public testing::TestWithParam<Case> {
 protected:
  static constexpr int ranks = 4;

  /// The calls of each step: the decomposition is `axes[step]`'s.
  std::vector<int> count(const std::vector<int>& axes, int* of_file = nullptr) {
    return count_steps(
        axes.size(), {.steps = true},
        [&](Step& step, Variable v, std::uint64_t s, int rank, Giver<double>& giver) {
          giver.put(step, v, s, shape, box_of(rank, axes[s]));
        },
        of_file);
  }
  /// The same where rank r has `rows[step]` + r rows, joined or placed by the program.
  std::vector<int> count_rows(const std::vector<std::uint64_t>& rows, bool joins) {
    static const std::vector<double> values(shape[0] * shape[1], 1);
    return count_steps(rows.size(), {.steps = true, .varying = true},
                       [&](Step& step, Variable v, std::uint64_t s, int rank, Giver<double>&) {
                         const auto r = static_cast<std::uint64_t>(rank);
                         if (joins) {
                           step.put_joined(v, values.data(), rows[s] + r);
                         } else {
                           step.resize(v, ranks * rows[s] + ranks * (ranks - 1) / 2);
                           step.put(v, values.data(),
                                    {.start = {r * rows[s] + r * (r - 1) / 2, 0},
                                     .count = {rows[s] + r, shape[1]}});
                         }
                       });
  }

 private:
  template <class Put>
  std::vector<int> count_steps(std::size_t steps, const VariableOptions& how, const Put& put,
                               int* of_file = nullptr) {
    std::vector<std::vector<int>> counts(ranks);
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      int calls = 0;
      CountingTransport counting(transport, calls);
      Options options;
      options.strategy = GetParam().strategy;
      options.compress = GetParam().compress;
      options.check = GetParam().check == std::string("full") ? Check::full : Check::off;
      options.log = Log::off;
      File out(detail::open_on(counting, storage_, "f.h5", Mode::write, options));
      const Variable v = out.define<double>("v", shape, how);
      const Variable n = out.define<std::int64_t>("n", {}, {.steps = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        Giver<double> giver;
        Step step = out.begin_step();
        put(step, v, s, transport.rank(), giver);
        const auto number = static_cast<std::int64_t>(s);
        if (transport.rank() == 0) {
          step.put(n, &number);
        }
        const int before = calls;
        step.end();
        counts[static_cast<std::size_t>(transport.rank())].push_back(calls - before);
      }
      out.close();
      if (of_file != nullptr && transport.rank() == 0) {
        *of_file = calls;
      }
    });
    std::vector<int> most(steps);
    for (const auto& of_rank : counts) {
      for (std::size_t s = 0; s < most.size(); ++s) {
        most[s] = std::max(most[s], of_rank[s]);
      }
    }
    return most;
  }

  static inline const Shape shape = {64, 48};

  static model::Box box_of(int rank, int axis) {
    model::Box box = whole_box(shape);
    box.count[axis] = shape[static_cast<std::size_t>(axis)] / ranks;
    box.start[axis] = static_cast<std::uint64_t>(rank) * box.count[axis];
    return box;
  }

  std::shared_ptr<storage::MemoryStorage> storage_ = storage::make_memory();
};

TEST_P(Collectives, OfAStepWithJoinedRowsAreNoMoreThanWhereTheProgramKnowsTheOffsets) {
  // Offsets travel with the reduction that is made where blocks change, and with none where they do
  // not.
  const std::vector<std::uint64_t> rows{5, 5, 5, 7, 7, 7};
  const std::vector<int> joined = count_rows(rows, true);
  const std::vector<int> placed = count_rows(rows, false);
  for (std::size_t step = 0; step < rows.size(); ++step) {
    EXPECT_LE(joined[step], placed[step]) << "step " << step;
  }
  const Bounds& bounds = GetParam().bounds;
  EXPECT_LE(joined[1], bounds.unchanged);
  EXPECT_LE(joined[2], bounds.unchanged);
  EXPECT_LE(joined[4], bounds.after);
  EXPECT_LE(joined[5], bounds.after);
}

TEST_P(Collectives, OfAStepAreNoMoreThanBefore) {
  const std::vector<int> calls = count({0, 0, 0, 1, 1, 1});
  const Bounds& bounds = GetParam().bounds;
  EXPECT_LE(calls[0], bounds.first);
  EXPECT_LE(calls[1], bounds.unchanged);
  EXPECT_LE(calls[2], bounds.unchanged);
  EXPECT_LE(calls[3], bounds.changed);
  EXPECT_LE(calls[4], bounds.after);
  EXPECT_LE(calls[5], bounds.after);
  EXPECT_GE(calls[1], 3);  // places, outcome of writing, outcome of publishing: they are counted
}

TEST_P(Collectives, OfAFileWithOneStepAreNoMoreThanBefore) {
  int calls = 0;
  const std::vector<int> of_step = count({0}, &calls);
  EXPECT_LE(calls, GetParam().bounds.file);
  EXPECT_GE(calls, of_step[0] + 3);  // options, the planner, the end of the file
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Collectives,
    testing::Values(
        Case{"serial", "serial", {16, 10, 4, 8}}, Case{"shared", "shared", {17, 10, 4, 8}},
        // its rounds announce what comes: two calls for the data, two for its records
        Case{"collective", "collective", {21, 14, 8, 12}},
        // the same in one process; between processes of a node there are no rounds
        Case{"forward", "forward", {22, 13, 7, 11}},
        // `shared` until the blocks change, then `collective`
        Case{"auto", "auto", {18, 11, 4, 13, 8}},
        // the group's and those of all
        Case{"per_process", "file-per-process", {29, 18, 7, 16}},
        Case{"per_node", "file-per-node", {30, 19, 7, 14}},
        Case{"unchecked", "shared", {14, 7, 4, 5}, "off"},
        // in place of the places: who has what of the tiles, its outcome, sizes, places
        Case{"compressed", "shared", {20, 13, 7, 11}, "full", "deflate:1"},
        Case{"compressed_serial", "serial", {19, 13, 7, 11}, "full", "deflate:1"},
        Case{"compressed_collective", "collective", {24, 17, 11, 15}, "full", "deflate:1"},
        Case{"compressed_forward", "forward", {23, 14, 8, 12}, "full", "deflate:1"}),
    [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace sluice::test
