// The grammar of docs/formats/records.md, byte by byte, and the errors of files that violate it.
#include <cstring>

#include "codec/checksum.hpp"
#include "layout/records/catalog.hpp"
#include "layout/records/entry_text.hpp"
#include "layout/records/log.hpp"
#include "layout/records/planner.hpp"
#include "model/clock.hpp"
#include "records/local_records.hpp"

namespace sluice::test {
namespace {

namespace records = layout::records;

std::uint64_t word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void write_example(LocalRecords& files) {
  files.run(2, [&](exec::Transport& transport) {
    Records out = files.open(transport, "traj", Mode::write);
    if (transport.rank() == 0) {
      for (int i = 0; i < 3; ++i) {
        const double x[3] = {0.5, 1.5, 2.5};
        out.write(std::int32_t{i});
        out.write(x, 3);
      }
    }
    out.commit();
    out.close();
  });
}

TEST(RecordsFormat, IsWhatItsPageSays) {
  LocalRecords files;
  write_example(files);
  const auto bytes = files.storage()->contents("traj");
  const std::span<const std::byte> all(bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), "\x89SLUICE\r\nRECS\x1a\n\0\1\0\0\0", 20), 0);
  EXPECT_EQ(word(all, 512), 1U);  // entries
  const std::uint64_t entry = word(all, 520);
  const std::uint64_t entry_bytes = word(all, 528);
  EXPECT_EQ(word(all, 536), codec::checksum(all.subspan(512, 24)));
  EXPECT_EQ(entry + entry_bytes, bytes.size());
  EXPECT_EQ(word(all, entry + entry_bytes - 8),
            codec::checksum(all.subspan(entry, entry_bytes - 8)));
  const records::Entry told = records::entry_of(all.subspan(entry, entry_bytes), "traj");
  EXPECT_EQ(told.steps, 1U);
  EXPECT_EQ(told.definitions.at(0).name, "data");
  EXPECT_EQ(told.definitions.at(1).name, "parts");
  // Two int32 and three float64, and that twice more: the signature and the values of part 0.
  const std::uint64_t data = told.sections.at(0).address;
  const std::uint8_t signature[] = {0, 3, 1, 0, 10, 3, 2, 4};
  EXPECT_EQ(std::memcmp(bytes.data() + data, signature, sizeof signature), 0);
  const std::uint64_t table = told.sections.at(1).address;
  EXPECT_EQ(word(all, table), 0U);
  EXPECT_EQ(word(all, table + 8), sizeof signature);
  EXPECT_EQ(word(all, table + 16), 3 * (4 + 24U));
  EXPECT_EQ(word(all, table + 24), sizeof signature + 3 * (4 + 24U));
  EXPECT_EQ(word(all, table + 32), 0U);
  EXPECT_EQ(word(all, table + 40), 0U);
}

TEST(RecordsFormat, CutAnywhereIsRefused) {
  LocalRecords files;
  write_example(files);
  const auto good = files.storage()->contents("traj");
  for (std::size_t length = 0; length < good.size(); length += length < 4096 ? 97 : 1) {
    files.storage()->put("traj",
                         {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)});
    const Error error = files.caught(
        1, [&](exec::Transport& transport) { files.open(transport, "traj", Mode::read); });
    EXPECT_TRUE(error.code() == Code::truncated || error.code() == Code::format)
        << length << ": " << error.what();
  }
}

/// A file whose header and entries have correct checksums, but wrong contents.
TEST(RecordsFormat, ThatLiesIsRefusedWithoutMemory) {
  const auto refused = [](const records::Root& root, const std::vector<records::Entry>& entries) {
    LocalRecords files;
    std::vector<std::byte> bytes = records::header_text(root);
    for (const records::Entry& entry : entries) {
      const auto text = records::entry_text(entry);
      bytes.insert(bytes.end(), text.begin(), text.end());
    }
    files.storage()->put("x.rec", bytes);
    return files.caught(1, [&](exec::Transport& transport) {
      File in = files.LocalFiles::open(transport, "x.rec", Mode::read);
      for (std::uint32_t v = 0; v < in.variables().size(); ++v) {
        std::vector<double> values(1000);
        in.get(Variable(v), values.data(), {.start = {0}, .count = {1}});
      }
    });
  };
  model::Definition definition;
  definition.name = "x";
  definition.type = type_of<double>();
  definition.shape = {3};
  definition.stepped = true;
  records::Entry entry;
  entry.steps = 1;
  entry.row.step = 0;
  entry.definitions = {definition};
  const auto root_of = [](const records::Entry& one) {
    return records::Root{1, records::header_bytes, records::entry_text(one).size()};
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_EQ(refused({1, 4096, huge}, {entry}).code(), Code::damaged);
  EXPECT_EQ(refused({1, huge, 64}, {entry}).code(), Code::damaged);
  EXPECT_EQ(refused({2, 4096, root_of(entry).bytes}, {entry}).code(), Code::damaged);
  EXPECT_EQ(refused({1, 100, 50}, {entry}).code(), Code::damaged);
  records::Entry wrong = entry;
  wrong.sections = {{0, {3}, 8}};  // in the header
  EXPECT_EQ(refused(root_of(wrong), {wrong}).code(), Code::damaged);
  wrong.sections = {{0, {4}, 4096}};  // another shape
  EXPECT_EQ(refused(root_of(wrong), {wrong}).code(), Code::damaged);
  wrong.sections = {{7, {3}, 4096}};  // no such variable
  EXPECT_EQ(refused(root_of(wrong), {wrong}).code(), Code::damaged);
  wrong = entry;
  wrong.row.first_word = 4096;
  wrong.row.word_count = huge;
  EXPECT_EQ(refused(root_of(wrong), {wrong}).code(), Code::damaged);
  wrong = entry;
  wrong.steps = 9;
  EXPECT_EQ(refused(root_of(wrong), {wrong}).code(), Code::damaged);
  wrong = entry;
  wrong.previous = {1, 4096, 64};  // itself
  records::Root root = root_of(wrong);
  root.entries = 2;
  EXPECT_EQ(refused(root, {wrong}).code(), Code::damaged);
}

TEST(RecordsFormat, StepsThatWereDroppedStayDropped) {
  LocalRecords files;
  const auto write = [&](Mode mode, int first, int last, std::int64_t after) {
    files.run(2, [&](exec::Transport& transport) {
      Options options;
      options.restart_after = after;
      Records out = files.open(transport, "traj", mode, options);
      for (int value = first; value < last; ++value) {
        out.write(value);
        out.commit();
      }
    });
  };
  write(Mode::write, 0, 5, -1);
  write(Mode::append, 100, 102, 1);
  files.run(1, [&](exec::Transport& transport) {
    Records in = files.open(transport, "traj", Mode::read);
    for (const int expected : {0, 1, 100, 101}) {
      EXPECT_TRUE(in.fetch());
      int got[2] = {};
      in.read(got, 2);
      EXPECT_EQ(got[0], expected);
      EXPECT_EQ(got[1], expected);
    }
    EXPECT_FALSE(in.fetch());
  });
}

/// The shortest of three times that a file of so many steps takes to open.
double opening_s(std::uint64_t steps) {
  const auto memory = storage::make_memory();
  const auto file = memory->open("f.rec", storage::Access::create);
  const auto planner = records::RecordsPlanner::create(*file, {});
  model::Definition definition;
  definition.name = "v";
  definition.type = type_of<double>();
  definition.stepped = true;
  planner->define(definition);
  layout::CommitRequest request;
  request.is_step = true;
  request.touched = {{0, {}}};
  for (std::uint64_t s = 0; s < steps; ++s) {
    planner->plan_commit(request);
    const layout::MetadataUpdate update = planner->seal();
    for (const auto* runs : {&update.fresh, &update.root}) {
      for (const layout::MetadataRun& run : *runs) {
        file->write(run.offset, run.bytes);
      }
    }
  }
  double shortest_s = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double began_s = model::now_s();
    EXPECT_EQ(records::RecordsCatalog::open(*file)->steps(), steps);
    shortest_s = std::min(shortest_s, model::now_s() - began_s);
  }
  return shortest_s;
}

TEST(RecordsFormat, TheTimeToOpenGrowsWithTheSteps) {
  EXPECT_LT(opening_s(40'000), 10 * opening_s(10'000));  // 30 times, where each step visits all
}

}  // namespace
}  // namespace sluice::test
