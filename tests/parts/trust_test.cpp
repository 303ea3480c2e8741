// A set is read only if every part exists and is the one that the index refers to.
#include <filesystem>

#include "parts/sets.hpp"

namespace sluice::test {
namespace {

namespace files = std::filesystem;

class Trust : public testing::Test {
 protected:
  void SetUp() override { write("out.h5"); }
  void write(const std::string& name) {
    write_set(3, storage_, scratch_ / name, SetKind{}.options(), steps_);
  }
  std::string part(int number, const std::string& name = "out.h5") const {
    return part_paths(*storage_, scratch_ / name).at(static_cast<std::size_t>(number));
  }
  std::vector<Error> open(const std::string& name = "out.h5", Mode mode = Mode::read) {
    return errors_on_ranks(2, [&](exec::Transport& transport) {
      Options options = mode == Mode::read ? Options{} : SetKind{}.options();
      File file = open_file(transport, storage_, scratch_ / name, mode, options);
    });
  }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make("posix");
  Steps steps_{.shape = {30, 5}, .slabs = true};
};

TEST_F(Trust, AWholeSetIsFine) {
  expect_everywhere(open(), Code::ok, {});
  expect_set(2, storage_, scratch_ / "out.h5", steps_);
}

TEST_F(Trust, AMissingPartIsNamed) {
  files::remove(part(1));
  expect_everywhere(open(), Code::not_found, {"out.h5", "000001.h5", "missing", "collect"});
  expect_everywhere(open("out.h5", Mode::append), Code::not_found, {"000001.h5"});
}

TEST_F(Trust, APartOfAnotherRunIsNamed) {
  write("other.h5");
  files::copy_file(part(2, "other.h5"), part(2), files::copy_options::overwrite_existing);
  expect_everywhere(open(), Code::format, {"000002.h5", "another set"});
}

TEST_F(Trust, AnotherPartOfTheSameSetIsNamed) {
  files::copy_file(part(0), part(2), files::copy_options::overwrite_existing);
  expect_everywhere(open(), Code::format, {"000002.h5", "another part"});
}

TEST_F(Trust, AShorterPartIsNamed) {
  files::resize_file(part(1), files::file_size(part(1)) - 1);
  expect_everywhere(open(), Code::truncated, {"000001.h5", "an older or a truncated copy"});
}

TEST_F(Trust, AnOlderCopyIsNamed) {
  on_ranks(2, [&](exec::Transport& transport) {
    File out =
        open_file(transport, storage_, scratch_ / "more.h5", Mode::write, SetKind{}.options());
    for (const std::uint64_t first : {0, 1}) {
      if (first == 1 && transport.rank() == 1) {
        files::copy_file(part(1, "more.h5"), scratch_ / "old.h5");
      }
      Steps{.shape = {4}, .first = first, .steps = 1, .slabs = true}.write(out, transport);
    }
    out.close();
  });
  files::copy_file(scratch_ / "old.h5", part(1, "more.h5"),
                   files::copy_options::overwrite_existing);
  const auto errors = open("more.h5");
  EXPECT_TRUE(errors[0].code() == Code::truncated || errors[0].code() == Code::format)
      << errors[0].what();
  EXPECT_NE(std::string(errors[0].what()).find("000001.h5"), std::string::npos);
  // Extended to the length in the index, it still lacks the commit.
  files::resize_file(part(1, "more.h5"), 1 << 20);
  expect_everywhere(open("more.h5"), Code::format, {"000001.h5", "does not have the steps"});
}

TEST_F(Trust, APlainFileInThePlaceOfAPartIsNamed) {
  Options plain;
  plain.strategy = "serial";
  plain.durability = Durability::none;
  write_set(1, storage_, scratch_ / "plain.h5", plain, {.shape = {900, 50}, .slabs = true});
  files::copy_file(scratch_ / "plain.h5", part(1), files::copy_options::overwrite_existing);
  expect_everywhere(open(), Code::format, {"000001.h5", "not a part"});
  storage_->open(scratch_ / "text", storage::Access::create)
      ->write(0, std::vector<std::byte>(files::file_size(part(0)) + 1, std::byte{'x'}));
  files::copy_file(scratch_ / "text", part(0), files::copy_options::overwrite_existing);
  expect_everywhere(open(), Code::format, {"000000.h5"});
}

TEST_F(Trust, AFolderThatMovesWithItsPartsIsFine) {
  files::create_directory(scratch_ / "elsewhere");
  files::rename(scratch_ / "out.h5", scratch_ / "elsewhere/new name.h5");
  files::rename(scratch_ / "out.h5.parts", scratch_ / "elsewhere/out.h5.parts");
  expect_set(2, storage_, scratch_ / "elsewhere/new name.h5", steps_);
}

TEST_F(Trust, AnIndexThatLeavesItsPartsBehindIsNamed) {
  files::create_directory(scratch_ / "elsewhere");
  files::rename(scratch_ / "out.h5", scratch_ / "elsewhere/out.h5");
  expect_everywhere(open("elsewhere/out.h5"), Code::not_found,
                    {"elsewhere/out.h5.parts/", "000000.h5"});
}

TEST_F(Trust, AChangedByteInAPartIsFoundWhereItIsRead) {
  // Step 2, row 15 (in part 1: row 5), column 3.
  flip_bit_of(*storage_, part(1), value_at<double>(102, 15 * 5 + 3));
  on_ranks(2, [&](exec::Transport& transport) {
    File in = open_file(transport, storage_, scratch_ / "out.h5", Mode::read, {});
    expect_values<double>(in, "v", 101, steps_.shape, whole_box(steps_.shape), 1);
    expect_values<double>(in, "v", 102, steps_.shape, {{0, 0}, {10, 5}}, 2);
  });
  expect_everywhere(
      errors_on_ranks(2,
                      [&](exec::Transport& transport) {
                        File in =
                            open_file(transport, storage_, scratch_ / "out.h5", Mode::read, {});
                        double got = 0;
                        in.get(in.find("v"), &got, {.start = {15, 0}, .count = {1, 1}}, 2);
                      }),
      Code::damaged, {"out.h5: v, step 2", "000001.h5", "checksum"});
}

TEST_F(Trust, AnIndexWhoseListIsDamagedIsRefused) {
  const auto file = storage_->open(scratch_ / "out.h5", storage::Access::read_write);
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(0, bytes));
  const std::string name = "out.h5.parts/" + files::path(part(1)).filename().string();
  const auto pattern = std::as_bytes(std::span(name.data(), name.size()));
  int changed = 0;
  for (auto at = bytes.begin();; ++at) {  // in libhdf5's own list, and in ours
    at = std::search(at, bytes.end(), pattern.begin(), pattern.end());
    if (at == bytes.end()) {
      break;
    }
    const std::byte digit{'7'};
    file->write(static_cast<std::uint64_t>(at - bytes.begin()) + name.size() - 4, {&digit, 1});
    ++changed;
  }
  EXPECT_GE(changed, 2);
  expect_everywhere(open(), Code::damaged, {"out.h5", "list of parts"});
}

}  // namespace
}  // namespace sluice::test
