// What a set of parts costs with as many parts as ranks: nothing is searched for among all parts,
// or done by every rank, that one of them can do.
#include <atomic>
#include <cstdio>
#include <ctime>
#include <set>

#include "commit/parts/parts_drain.hpp"
#include "commit/parts/parts_index.hpp"
#include "layout/hdf5/index.hpp"
#include "parts/sets.hpp"
#include "support/observing_storage.hpp"

namespace sluice::test {
namespace {

constexpr const char* path = "out.h5";

// -- the index ------------------------------------------------------------------------------------

/// Processor time, in seconds, of a commit of a set of so many parts that are all in use already:
/// the least of three. They hold nothing, so that the index has little to write.
double seconds_of_commit(std::uint64_t parts) {
  const auto memory = storage::make_memory();
  commit::PartsIndex index(*memory, path, "file-per-process", commit::Opening::create);
  std::vector<commit::PartNews> news(parts);
  for (std::uint64_t p = 0; p < parts; ++p) {
    news[p].wrote = true;
    news[p].part.path = "out.h5.parts/" + std::to_string(p) + ".h5";
    news[p].part.id = mixed(p);
  }
  commit::FileCommit step;
  step.is_step = true;
  double least = 1e9;
  for (int round = 0; round < 4; ++round) {
    for (commit::PartNews& one : news) {
      one.part.commits = static_cast<std::uint64_t>(round) + 1;
    }
    const std::clock_t began = std::clock();
    index.commit({}, step, news);
    const double took_s = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    least = round == 0 ? least : std::min(least, took_s);
  }
  EXPECT_EQ(index.content().set().parts.size(), parts);
  for (const std::uint64_t p : {std::uint64_t{0}, parts / 2, parts - 1}) {
    EXPECT_EQ(index.content().set().parts[p].id, mixed(p));
    EXPECT_EQ(index.content().set().parts[p].commits, 4u);
  }
  return least;
}

TEST(Ranks, AStepOfTwentyTimesTheParts) {
  const double few_s = seconds_of_commit(4000);
  const double many_s = seconds_of_commit(80000);
  std::printf("4,000 parts: %.2f ms, 80,000 parts: %.2f ms\n", few_s * 1e3, many_s * 1e3);
  EXPECT_LT(many_s, 80 * few_s) << "a search among all parts for each of them: 150 times";
}

// -- bringing parts home --------------------------------------------------------------------------

constexpr int ranks = 6;
constexpr int ranks_of_node = 3;
const Steps steps{.shape = {12, 5}, .steps = 2, .slabs = true};

/// Part k was written by rank k.
int writer_of(const std::string& part) { return std::stoi(part.substr(part.rfind('-') + 1)); }

/// What a rank sees: of the parts on nodes those of its own one, unless the file system is one of
/// all nodes.
class OwnNode final : public storage::ObservingStorage {
 public:
  OwnNode(std::shared_ptr<storage::Storage> disk, int rank, bool hides)
      : ObservingStorage(std::move(disk)), node_(rank / ranks_of_node), hides_(hides) {}
  bool exists(const std::string& name) override {
    return (!is_part(name) || is_here(name)) && ObservingStorage::exists(name);
  }
  std::unique_ptr<storage::File> open(const std::string& name, storage::Access access) override {
    if (is_part(name) && access == storage::Access::read && !is_here(name)) {
      throw Error(Code::not_found, name + ": open: No such file or directory");
    }
    return ObservingStorage::open(name, access);
  }
  std::size_t looked_for() const { return looked_for_.size(); }

 private:
  static bool is_part(const std::string& name) {
    return name.rfind("node/", 0) == 0 && name.ends_with(".h5");
  }
  bool is_here(const std::string& name) {
    looked_for_.insert(name);
    return !hides_ || writer_of(name) / ranks_of_node == node_;
  }

  const int node_;
  const bool hides_;
  std::set<std::string> looked_for_;
};

struct Drained {
  std::vector<std::size_t> looked_for;  ///< by rank: how many parts
  std::vector<std::string> why;
  std::size_t lost = 0;
  std::size_t at_home = 0;
};

/// Brings home the parts of a set on two nodes. `hides`: a node does not see those of the other.
Drained drain(storage::MemoryOptions options, bool hides, int removed = -1) {
  const auto disk = storage::make_memory(options);
  Options kind = SetKind{}.options();
  kind.parts_dir = "node";
  write_set(ranks, disk, path, kind, steps);
  for (const std::string& name : disk->paths()) {
    if (name.rfind("node/", 0) == 0 && name.ends_with(".h5") && writer_of(name) == removed) {
      disk->remove(name);
    }
  }
  Drained result;
  result.looked_for.resize(ranks);
  result.why.resize(ranks);
  exec::run_local(
      ranks, 3,
      [&](exec::Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        OwnNode storage(disk, transport.rank(), hides);
        const auto set = layout::hdf5::read_set(*disk->open(path, storage::Access::read));
        ASSERT_TRUE(set);
        commit::PartsDrain drain(transport, storage, path, *set, false);
        result.looked_for[rank] = storage.looked_for();
        result.why[rank] = drain.why_lost();
        result.lost = drain.lost().size();
        EXPECT_TRUE(drain.wait(0));
        for (const std::string& place : drain.places()) {
          EXPECT_EQ(place.rfind("out.h5.parts/", 0) == 0, writer_of(place) != removed) << place;
        }
      },
      {.ranks_per_node = ranks_of_node});
  for (const std::string& name : disk->paths()) {
    result.at_home += name.rfind("out.h5.parts/", 0) == 0 && name.ends_with(".h5") ? 1 : 0;
  }
  return result;
}

constexpr storage::MemoryOptions parallel{.stripe_bytes = 1 << 20, .stripes = 4};

TEST(Ranks, OfEveryNodeLookForEachPartOnce) {
  const Drained drained = drain({}, true);
  EXPECT_EQ(drained.at_home, std::size_t{ranks});
  EXPECT_EQ(drained.lost, 0u);
  for (const std::size_t parts : drained.looked_for) {
    EXPECT_LE(parts, std::size_t{ranks / ranks_of_node});
  }
}

TEST(Ranks, OfAllNodesLookForEachPartOnceWhereAllSeeIt) {
  const Drained drained = drain(parallel, false);
  EXPECT_EQ(drained.at_home, std::size_t{ranks});
  for (const std::size_t parts : drained.looked_for) {
    EXPECT_EQ(parts, 1u);
  }
}

TEST(Ranks, FindAPartThatNotAllNodesSeeAlthoughTheyShould) {
  const Drained drained = drain(parallel, true);
  EXPECT_EQ(drained.at_home, std::size_t{ranks});
  EXPECT_EQ(drained.lost, 0u);
}

TEST(Ranks, AllSayWhichPartIsLost) {
  for (const bool hides : {true, false}) {
    const Drained drained = drain(hides ? storage::MemoryOptions{} : parallel, hides, 4);
    EXPECT_EQ(drained.at_home, std::size_t{ranks - 1});
    EXPECT_EQ(drained.lost, 1u);
    for (const std::string& why : drained.why) {
      EXPECT_NE(why.find("-000004.h5 is missing"), std::string::npos) << why;
    }
  }
}

// -- the folder of the parts ----------------------------------------------------------------------

/// Counts how often the folder of the parts is made, and its name synced.
class CountsFolders final : public storage::ObservingStorage {
 public:
  CountsFolders(std::shared_ptr<storage::Storage> disk, std::atomic<int>& made,
                std::atomic<int>& synced)
      : ObservingStorage(std::move(disk)), made_(made), synced_(synced) {}
  void make_folder(const std::string& name) override {
    ++made_;
    ObservingStorage::make_folder(name);
  }
  bool exists(const std::string& name) override {
    // Memory has no empty folders.
    return (name == "out.h5.parts" && made_ != 0) || ObservingStorage::exists(name);
  }
  void sync_directory(const std::string& name) override {
    synced_ += name == "out.h5.parts" ? 1 : 0;
    ObservingStorage::sync_directory(name);
  }

 private:
  std::atomic<int>& made_;
  std::atomic<int>& synced_;
};

/// How often it is made, which is how often its name is synced.
int folders_made(storage::MemoryOptions of_disk, int ranks_per_node) {
  const auto disk = storage::make_memory(of_disk);
  std::atomic<int> made = 0;
  std::atomic<int> synced = 0;
  Options options = SetKind{}.options();
  options.durability = Durability::step;
  exec::run_local(ranks, 5,
                  [&](exec::Transport& transport) {
                    File out =
                        open_file(transport, std::make_shared<CountsFolders>(disk, made, synced),
                                  path, Mode::write, options);
                    steps.write(out, transport);
                    out.close();
                  },
                  {.ranks_per_node = ranks_per_node});
  expect_set(2, disk, path, steps);
  EXPECT_EQ(synced, made);
  return made;
}

TEST(Ranks, LeaveTheFolderOfThePartsToTheFirstOneWhereAllSeeIt) {
  EXPECT_EQ(folders_made({}, 0), 2) << "one node: by the opening, and before the first part";
  EXPECT_EQ(folders_made(parallel, ranks_of_node), 2) << "two nodes, one file system";
  EXPECT_EQ(folders_made({}, ranks_of_node), ranks) << "it may be one on each node";
}

}  // namespace
}  // namespace sluice::test
