// The cells on virtual ranks: every strategy of plan::strategies(), on memory, posix and direct, on
// 1, 3, 4 and 8 ranks, in every layout of layout::formats(); those that carry the most in full, the
// others with one number of ranks. Short runs have some under the sanitizers and others without.
// After the run a table of them is printed.
//
// A program that has a format or a strategy of its own defines register_additions(), which is
// called before the cells are counted.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "layout/formats/formats.hpp"
#include "plan/plan.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/matrix.hpp"
#include "support/memory_storage.hpp"
#include "support/unsupported.hpp"
#include "support/world.hpp"

namespace sluice::test {

namespace {

/// On a real disk if there is one: a memory file system may refuse direct writes.
std::string scratch_folder() {
  const char* build = std::getenv("SLUICE_BUILD_DIR");
  return build != nullptr && std::filesystem::is_directory(build)
             ? build
             : std::filesystem::temp_directory_path().string();
}

class LocalWorld final : public World {
 public:
  explicit LocalWorld(const Cell& cell) : cell_(cell) {
    if (cell.storage == "memory") {
      storage_ = storage::make_memory();
    } else {
      storage_ = storage::make(cell.storage);
      scratch_ = std::make_unique<storage::Scratch>(scratch_folder());
    }
  }

  void run(const Body& body, int ranks) override {
    exec::run_local(ranks == 0 ? cell_.ranks : ranks, ++seed_, [&](exec::Transport& transport) {
      Rank rank(transport, cell_.strategy,
                [&](const std::string& path, Mode mode, const Options& options) {
                  return File(detail::open_on(transport, storage_, path, mode,
                                              cell_.in_layout(mode, options)));
                });
      try {
        body(rank);
      } catch (const Error& error) {
        note(error);
        throw;
      }
    });
  }

  std::vector<Caught> run_catching(const Body& body, int ranks) override {
    std::vector<Caught> all(static_cast<std::size_t>(ranks == 0 ? cell_.ranks : ranks));
    run(
        [&](Rank& rank) {
          try {
            body(rank);
          } catch (const Error& error) {
            note(error);
            all[static_cast<std::size_t>(rank.rank())] = {error.code(), error.what(), error.rank()};
          }
        },
        ranks);
    return all;
  }

  void once(const std::function<void()>& work) override { work(); }
  const Cell& cell() const override { return cell_; }
  storage::Storage& storage() override { return *storage_; }
  std::string path(const std::string& name) const override {
    return scratch_ ? *scratch_ / name : name;
  }

 private:
  Cell cell_;
  std::uint64_t seed_ = 0;
  std::shared_ptr<storage::Storage> storage_;
  std::unique_ptr<storage::Scratch> scratch_;
};

/// The strategy that does the same on every storage and number of ranks.
constexpr const char* plainest = "shared";

/// For formats that hold variables of any type; layout/trajectories runs every strategy on the
/// others.
std::vector<const layout::Format*> layouts() {
  std::vector<const layout::Format*> all = layout::formats();
  std::erase_if(all, [](const layout::Format* format) { return format->has_grammar; });
  return all;
}

const std::vector<Cell>& cells() {
  static const std::vector<Cell> all = [] {
    if (register_additions != nullptr) {
      register_additions();
    }
    std::vector<Cell> made;
    // Whatever the storage, a strategy does the same on it: all of them run on the one that uses
    // every feature of a storage.
    for (const char* storage : {"memory", "posix", "direct"}) {
      for (const int ranks : {1, 3, 4, 8}) {
        made.push_back({plainest, storage, ranks});
      }
    }
    // All numbers of ranks in memory, one on a disk. On virtual ranks the windows of `forward` and
    // its commits go by messages; the node's memory is tested under mpirun. Sets of parts add
    // files only.
    for (const plan::Strategy* strategy : plan::strategies()) {
      if (strategy->name == std::string(plainest)) {
        continue;
      }
      if (strategy->chooses) {
        made.push_back({strategy->name, "memory", 4});
        continue;  // does the same as the others
      }
      for (const int ranks : {1, 3, 4, 8}) {
        made.push_back({strategy->name, "memory", ranks});
      }
      made.push_back({strategy->name, "posix", 4});
      if (strategy->group == nullptr) {
        made.push_back({strategy->name, "direct", 4});
      }
    }
    // A layout is planned on one rank and written like any other: every strategy on memory, and
    // more ranks and a disk for one of them.
    for (const layout::Format* layout : layouts()) {
      if (layout->name == Cell{}.layout) {
        continue;
      }
      for (const plan::Strategy* strategy : plan::strategies()) {
        if (find_unsupported_cell(layout->name, strategy->name) == nullptr) {
          made.push_back({strategy->name, "memory", 4, layout->name});
        }
      }
      for (const int ranks : {1, 3, 8}) {
        made.push_back({plainest, "memory", ranks, layout->name});
      }
      made.push_back({plainest, "direct", 4, layout->name});
    }
    // Every strategy that writes differently.
    for (const char* strategy : {"serial", "shared", "collective", "forward"}) {
      made.push_back({strategy, "memory", 4, "zarr", true});
    }
    made.push_back({plainest, "direct", 3, "zarr", true});
    return made;
  }();
  return all;
}

/// Prints how many behaviours passed in each cell.
class Matrix : public testing::Environment {
  void TearDown() override {
    std::vector<std::string> names;
    for (const Cell& cell : cells()) {
      names.push_back(cell.name());
    }
    print_matrix(names);
  }
};

TEST(cells, an_unknown_strategy_is_told_the_names_of_all) {
  LocalWorld local({plainest, "memory", 1});
  World& world = local;
  const auto caught = world.run_catching([](Rank& rank) {
    Options options = rank.options();
    options.strategy = "no such";
    rank.open("x.h5", Mode::write, options);
  });
  for (const plan::Strategy* strategy : plan::strategies()) {
    EXPECT_NE(caught[0].text.find(strategy->name), std::string::npos)
        << strategy->name << " is not in " << caught[0].text;
  }
}

TEST(cells, every_strategy_and_layout_is_there_or_declared) {
  for (const plan::Strategy* strategy : plan::strategies()) {
    for (const layout::Format* format : layouts()) {
      const bool is_there = std::any_of(cells().begin(), cells().end(), [&](const Cell& cell) {
        return cell.strategy == strategy->name && cell.layout == format->name;
      });
      EXPECT_NE(is_there, find_unsupported_cell(format->name, strategy->name) != nullptr)
          << strategy->name << " x " << format->name
          << " needs a cell, or a reason why there is none";
    }
  }
}

TEST(cells, what_is_declared_unsupported_is_refused) {
  for (const UnsupportedCell& cell : unsupported_cells()) {
    LocalWorld local({cell.strategy, "memory", 3, cell.layout});
    World& world = local;
    expect_same_error(world.run_catching([](Rank& rank) { rank.open("refused.h5", Mode::write); }),
                      Code::unsupported, {"refused.h5", cell.strategy, cell.layout, "use "});
    EXPECT_FALSE(world.exists("refused.h5"));
  }
}

/// The sanitizers make everything many times slower and examine the code: every strategy once,
/// every layout once; one more number of ranks and one disk in the usual layout.
bool runs_under_sanitizers(const Cell& cell) {
  const bool in_memory = cell.storage == "memory" && cell.ranks == 4;
  if (cell.layout != Cell{}.layout) {
    return in_memory && cell.strategy == plainest;
  }
  return in_memory || (cell.strategy == plainest &&
                       (cell.storage == "memory" ? cell.ranks == 3
                                                 : cell.storage == "direct" && cell.ranks == 4));
}

/// What the sanitizers leave out, unless real ranks run it: every strategy in every layout, and in
/// the usual layout the largest number of ranks. The sanitizers leave out additions.
bool runs_in_short_release(const Cell& cell) {
  if (register_additions == nullptr && runs_under_sanitizers(cell)) {
    return false;
  }
  const bool is_common = register_additions == nullptr && cell.layout == Cell{}.layout;
  return cell.storage == "memory" && cell.ranks == (is_common ? 8 : 4);
}

const std::vector<Cell>& cells_to_run() {
  static const std::vector<Cell> chosen = [] {
    std::vector<Cell> some = cells();
    if (is_long()) {
      return some;
    }
    const bool is_sanitized = case_count(1, 0, 1) == 0;
    const auto runs = is_sanitized ? runs_under_sanitizers : runs_in_short_release;
    std::erase_if(some, [&](const Cell& cell) { return !runs(cell); });
    return some;
  }();
  return chosen;
}

}  // namespace

bool register_behaviour(const char* group, const char* name, const char* file, int line,
                        BehaviourBody body) {
  static const auto* matrix = testing::AddGlobalTestEnvironment(new Matrix);
  register_in_cells(group, name, file, line, body, cells_to_run(),
                    [](const Cell& cell) { return std::make_unique<LocalWorld>(cell); });
  return matrix != nullptr;
}

}  // namespace sluice::test
