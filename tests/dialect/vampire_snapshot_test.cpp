// VAMPIRE snapshots of every mode, with every pitfall of the format, on any number of ranks.
#include <gtest/gtest.h>

#include "dialect/vampire/snapshot.hpp"
#include "dialect/vampire_folder.hpp"
#include "support/local_transport.hpp"

namespace sluice::dialect::vampire {
namespace {

/// Reads the folder on `ranks` ranks, each its share and then some other range.
void expect_read(const Folder& folder, int ranks, std::size_t notes = 0) {
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    Snapshot snapshot = open(transport, folder.storage(), "run");
    EXPECT_EQ(snapshot.notes().size(), notes);
    ASSERT_EQ(snapshot.atoms(), folder.atoms);
    ASSERT_EQ(snapshot.frames().size(), folder.spins.size());
    ASSERT_EQ(snapshot.materials().size(), 2U);
    EXPECT_EQ(snapshot.materials()[0].element, "Ag ");  // the blank is VAMPIRE's
    EXPECT_EQ(snapshot.materials()[0].name, "Co");
    EXPECT_EQ(snapshot.materials()[1].moment_mub, 2.5);
    const auto [first, end] = share(folder.atoms, transport.rank(), ranks);
    const std::uint64_t other = folder.atoms * (transport.rank() % 3) / 3;
    const std::pair<std::uint64_t, std::uint64_t> ranges[] = {
        {first, end - first}, {other, folder.atoms - other}, {folder.atoms, 0}};
    for (const auto& range : ranges) {
      const std::uint64_t from = range.first;
      const std::uint64_t count = range.second;
      const Coordinates atoms = snapshot.read_coordinates(from, count);
      const auto part = [&](const auto& all, std::uint64_t width) {
        return std::decay_t<decltype(all)>(all.begin() + from * width,
                                           all.begin() + (from + count) * width);
      };
      EXPECT_EQ(atoms.material, part(folder.type, 1));
      EXPECT_EQ(atoms.category, part(folder.category, 1));
      EXPECT_EQ(atoms.xyz, part(folder.xyz, 3));
      for (std::uint32_t k = 0; k < snapshot.frames().size(); ++k) {
        const Frame frame = snapshot.frame(k);
        EXPECT_EQ(frame.meta.time_s, std::stod(std::to_string(k + 1) + "e-14"));
        EXPECT_EQ(frame.meta.field_t, (std::array{1.0, -2.5, 0.0}));
        EXPECT_EQ(frame.meta.magnetisation[1], "-0.0010324");
        EXPECT_EQ(snapshot.read_spins(frame, from, count), part(folder.spins[k], 3));
      }
    }
  });
}

TEST(VampireSnapshot, FilePerProcessBinary) {
  const Folder folder({.rows = {7, 1, 0, 5, 12}});
  for (const int ranks : {1, 2, 3, 4, 30}) {
    expect_read(folder, ranks);
  }
}

TEST(VampireSnapshot, FilePerNodeText) {
  const Folder folder({.text = true, .rows = {20, 0, 13}});
  for (const int ranks : {1, 2, 3, 4, 40}) {
    expect_read(folder, ranks);
  }
}

TEST(VampireSnapshot, MpiIoOneFile) {
  const Folder folder({.rows = {31}, .numbered = false});
  for (const int ranks : {1, 3}) {
    expect_read(folder, ranks);
  }
}

TEST(VampireSnapshot, LargeTextFilesCrossEveryBuffer) {
  const Folder folder({.text = true, .rows = {90'000, 11}, .frames = 1});
  expect_read(folder, 1);
  expect_read(folder, 3);
}

TEST(VampireSnapshot, TextWithBlankLinesAndCarriageReturns) {
  Folder folder({.text = true, .rows = {6}, .frames = 1});
  std::string text = folder.text_of("spins-00000000-000000.data");
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "\r\n \n");
  }
  folder.put("spins-00000000-000000.data", text);
  expect_read(folder, 1);
  expect_read(folder, 4);
}

TEST(VampireSnapshot, TrapMpiIoSaysTextAndIsBinary) {
  const Folder folder({.meta_says_text = true, .rows = {31}, .numbered = false});
  expect_read(folder, 2, 1);
}

TEST(VampireSnapshot, TrapFiveRanksInFourGroupsMakeThreeFiles) {
  const Folder folder({.rows = {4, 4, 2},
                       .listed = {"-000000.data", "-000001.data", "-000002.data", "-000003.data"}});
  expect_read(folder, 3, 1);
}

TEST(VampireSnapshot, TrapMpiIoListsNumberedFilesThatNeverExist) {
  const Folder folder({.meta_says_text = true,
                       .rows = {10},
                       .numbered = false,
                       .listed = {"-000000.data", "-000001.data"}});
  expect_read(folder, 3, 2);
}

TEST(VampireSnapshot, TrapAnOldLongerFileIsNotTruncated) {
  Folder folder({.rows = {9}, .numbered = false});
  for (const char* name : {"atoms-coords.data", "spins-00000000.data", "spins-00000001.data"}) {
    folder.put(name, folder.text_of(name) + std::string(1000, '\x55'));
  }
  expect_read(folder, 2);
}

TEST(VampireSnapshot, TheSnapshotsThatAreThereAreReadAndTheOthersAreNamed) {
  Folder folder({.rows = {5, 4}, .frames = 6});
  for (const char* name : {"spins-00000000.meta", "spins-00000002.meta", "spins-00000003.meta"}) {
    folder.remove(name);
  }
  folder.put("spins-7.meta", "of somebody else");
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    Snapshot snapshot = open(transport, folder.storage(), "run");
    EXPECT_EQ(snapshot.frames(), (std::vector<std::uint32_t>{1, 4, 5}));
    ASSERT_EQ(snapshot.notes().size(), 1U);
    EXPECT_EQ(snapshot.notes()[0],
              "run: no snapshot 0, 2 to 3 (spins-00000000.meta, ... are not there): read are 1, 4 "
              "to 5");
    for (const std::uint32_t number : snapshot.frames()) {
      const Frame frame = snapshot.frame(number);
      EXPECT_EQ(snapshot.read_spins(frame, 0, folder.atoms), folder.spins[number]);
    }
    try {
      snapshot.frame(2);
      ADD_FAILURE() << "snapshot 2 is not there";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::not_found);
      EXPECT_NE(std::string(error.what()).find("there are the numbers 1, 4 to 5"),
                std::string::npos);
    }
  });
}

TEST(VampireSnapshot, SharesCoverAllRows) {
  EXPECT_EQ(share(10, 0, 3), (std::array<std::uint64_t, 2>{0, 3}));
  EXPECT_EQ(share(10, 2, 3), (std::array<std::uint64_t, 2>{6, 10}));
  const std::uint64_t many = ~std::uint64_t{0};
  EXPECT_EQ(share(many, 6, 7)[1], many);
}

}  // namespace
}  // namespace sluice::dialect::vampire
