// The index of a set that is moved or replaced, or whose lease is lost, while the set is written:
// nothing is put in the place of the other file, and no part of the moved index goes.
#include <filesystem>
#include <fstream>

#include "commit/tools/collect.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

namespace files = std::filesystem;

class MovedIndex : public testing::Test {
 protected:
  static constexpr int ranks = 2;

  static Options options() {
    Options options = SetKind{}.options();
    options.keep_last = 2;
    options.durability = Durability::step;
    return options;
  }
  /// Steps 0 to 3, then `disturb` on rank 0, then steps 4 and 5, whose errors are returned.
  std::vector<Error> write(const std::function<void()>& disturb) {
    std::vector<Error> errors(ranks, Error(Code::ok, ""));
    on_ranks(ranks, [&](exec::Transport& transport) {
      File out = open_file(transport, storage_, index_, Mode::write, options());
      Steps{.steps = 4, .slabs = true}.write(out, transport);
      transport.barrier();
      if (transport.rank() == 0) {
        disturb();
      }
      transport.barrier();
      try {
        Steps{.first = 4, .steps = 2, .slabs = true}.write(out, transport);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(transport.rank())] = error;
      }
    });
    return errors;
  }
  static std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make("posix");
  std::string index_ = scratch_ / "out.h5";
};

TEST_F(MovedIndex, KeepsItsParts) {
  const std::string moved = scratch_ / "old.h5";
  expect_everywhere(write([&] { files::rename(index_, moved); }), Code::changed_outside,
                    {"moved or removed"});
  EXPECT_FALSE(files::exists(index_));
  for (const std::string& part : part_paths(*storage_, moved)) {
    EXPECT_TRUE(files::exists(part)) << part;
  }
  on_ranks(ranks, [&](exec::Transport& transport) {
    File in = open_file(transport, storage_, moved, Mode::read, {});
    ASSERT_EQ(in.steps(), 2u);
    expect_values<double>(in, "v", 102, Steps{}.shape, whole_box(Steps{}.shape), 0);
  });
}

TEST_F(MovedIndex, AnotherFileInItsPlaceStaysAsItIs) {
  std::string there;
  expect_everywhere(write([&] {
                      files::copy_file(index_, index_ + ".copy");
                      files::rename(index_ + ".copy", index_);
                      there = content_of(index_);
                    }),
                    Code::changed_outside, {"moved or removed"});
  EXPECT_EQ(content_of(index_), there);
}

TEST_F(MovedIndex, WhenItIsReplacedByANewSetKeepsItsParts) {
  const std::string moved = scratch_ / "old.h5";
  write_set(ranks, storage_, index_, SetKind{}.options(), Steps{.steps = 2, .slabs = true});
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, storage_, index_, Mode::write, SetKind{}.options());
    transport.barrier();
    if (transport.rank() == 0) {
      files::rename(index_, moved);
    }
    transport.barrier();
    Steps{.steps = 1, .slabs = true}.write(out, transport);
    out.close();
  });
  for (const std::string& part : part_paths(*storage_, moved)) {
    EXPECT_TRUE(files::exists(part)) << part;
  }
}

TEST_F(MovedIndex, ALeaseThatIsLostWhilePartsAreCollectedEndsIt) {
  Options away = SetKind{}.options();
  away.parts_dir = scratch_ / "fast";
  write_set(1, storage_, index_, away, Steps{.steps = 2, .slabs = true});
  const auto sources = part_paths(*storage_, index_);
  const std::string there = content_of(index_);
  const auto errors = errors_on_ranks(1, [&](exec::Transport& transport) {
    commit::collect(transport, *storage_, index_, {},
                    [&](std::uint64_t, std::uint64_t) { files::remove(index_ + ".sluice-lease"); });
  });
  expect_everywhere(errors, Code::locked, {"lease"});
  EXPECT_EQ(content_of(index_), there);
  for (const std::string& part : sources) {
    EXPECT_TRUE(files::exists(part)) << part;
  }
}

}  // namespace
}  // namespace sluice::test
