// Collecting parts.
#include "commit/tools/collect.hpp"

#include <filesystem>

#include "parts/sets.hpp"

namespace sluice::test {
namespace {

namespace files = std::filesystem;

class Collect : public testing::Test {
 protected:
  void write(const std::string& parts_dir, Mode mode, std::uint64_t first, int ranks = 3) {
    Options options = SetKind{}.options();
    options.parts_dir = parts_dir.empty() ? "" : scratch_ / parts_dir;
    on_ranks(ranks, [&](exec::Transport& transport) {
      File out = open_file(transport, storage_, index_, mode, options);
      Steps{.first = first, .steps = 2, .slabs = true}.write(out, transport);
      out.close();
    });
  }
  commit::Collected collect(int ranks, const commit::CollectOptions& options = {}) {
    commit::Collected answer;
    on_ranks(ranks, [&](exec::Transport& transport) {
      const auto mine = commit::collect(transport, *storage_, index_, options,
                                        [](auto done, auto total) { EXPECT_LE(done, total); });
      if (transport.rank() == 0) {
        answer = mine;
      }
    });
    return answer;
  }

  std::string part(std::size_t number) { return part_paths(*storage_, index_).at(number); }
  static std::string name_of(const std::string& path) { return files::path(path).filename(); }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make("posix");
  std::string index_ = scratch_ / "out.h5";
};

TEST_F(Collect, PartsComeHomeAndTheOldOnesGo) {
  write("fast", Mode::write, 0);
  const auto done = collect(2);
  EXPECT_EQ(done.parts, 3u);
  EXPECT_EQ(done.moved, 3u);
  EXPECT_GT(done.bytes, 0u);
  EXPECT_EQ(done.left, 0u);
  EXPECT_TRUE(part(2).starts_with(scratch_ / "out.h5.parts/")) << part(2);
  EXPECT_TRUE(files::is_empty(scratch_ / "fast/out.h5.parts"));
  expect_set(2, storage_, index_, {.steps = 2});
  EXPECT_EQ(collect(3).moved, 0u);
  // Now it moves as a whole.
  files::create_directory(scratch_ / "elsewhere");
  files::rename(index_, scratch_ / "elsewhere/out.h5");
  files::rename(scratch_ / "out.h5.parts", scratch_ / "elsewhere/out.h5.parts");
  expect_set(2, storage_, scratch_ / "elsewhere/out.h5", {.steps = 2});
}

TEST_F(Collect, PartsOfSeveralFoldersAllGetIn) {
  write("a", Mode::write, 0);
  write("b", Mode::append, 2);
  write("", Mode::append, 4, 2);
  const auto done = collect(4);
  EXPECT_EQ(done.parts, 8u);
  EXPECT_EQ(done.moved, 6u);
  expect_set(3, storage_, index_, {.steps = 6});
  write("", Mode::append, 6);
  expect_set(3, storage_, index_, {.steps = 8});
}

TEST_F(Collect, ToAFolderOfChoiceKeepingTheOldOnes) {
  write("fast", Mode::write, 0);
  const std::string old = part(1);
  collect(1, {scratch_ / "kept/here", true});
  EXPECT_EQ(part(1), scratch_ / "kept/here/" + name_of(old));
  EXPECT_TRUE(files::exists(old));
  files::remove_all(scratch_ / "fast");
  expect_set(2, storage_, index_, {.steps = 2});
}

TEST_F(Collect, AMissingPartIsNamedAndNothingIsMoved) {
  write("fast", Mode::write, 0);
  files::remove(part(1));
  const auto errors = errors_on_ranks(
      2, [&](exec::Transport& transport) { commit::collect(transport, *storage_, index_, {}); });
  expect_everywhere(errors, Code::not_found, {"000001.h5"});
  EXPECT_FALSE(files::exists(scratch_ / "out.h5.parts"));
}

TEST_F(Collect, AStrangerInTheFolderIsNotReplaced) {
  write("fast", Mode::write, 0);
  files::create_directory(scratch_ / "out.h5.parts");
  const std::string name = "out.h5.parts/" + name_of(part(1));
  storage_->open(scratch_ / name, storage::Access::create);
  const auto errors = errors_on_ranks(
      2, [&](exec::Transport& transport) { commit::collect(transport, *storage_, index_, {}); });
  expect_everywhere(errors, Code::exists, {name});
  expect_set(2, storage_, index_, {.steps = 2});
  files::remove(scratch_ / name);
  // The copies of the failed attempt, which are the set's own, are replaced.
  EXPECT_FALSE(files::is_empty(scratch_ / "out.h5.parts"));
  const auto done = collect(2);
  EXPECT_EQ(done.moved, 3u);
  EXPECT_EQ(done.left, 0u);
  expect_set(2, storage_, index_, {.steps = 2});
}

TEST_F(Collect, APartIsNotReplacedByItselfThroughALink) {
  write("fast", Mode::write, 0);
  files::create_directory_symlink(scratch_ / "fast", scratch_ / "link");
  const auto errors = errors_on_ranks(2, [&](exec::Transport& transport) {
    commit::collect(transport, *storage_, index_, {scratch_ / "link/out.h5.parts", false});
  });
  expect_everywhere(errors, Code::exists, {"is the part itself, by another path"});
  expect_set(2, storage_, index_, {.steps = 2});
}

}  // namespace
}  // namespace sluice::test
