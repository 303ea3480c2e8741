// Memory of the library that messages pass through stays after one was given up: MPI may go on
// with it, and nothing else may use it.
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <sluice/sluice.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/c/c_api_handle.hpp"
#include "api/records/records_impl.hpp"
#include "commit/output/earlier_puts.hpp"
#include "commit/output/small_puts.hpp"
#include "exec/rows/row_scatter.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

constexpr std::int64_t values = 4 << 20;  // so many that the system takes freed memory back

/// Is the memory at `at` still the process's? (That of the sanitizers always is.)
bool is_mapped(const void* at) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) / page * page);
  return msync(begin, page, MS_ASYNC) == 0;
}

/// A strided put of `data`, which the handle copies. Returns the copy.
const void* put_strided(sluice_file* file, sluice_variable v, const std::vector<double>& data) {
  const std::int64_t start[] = {0};
  const std::int64_t count[] = {values};
  const std::int64_t stride_bytes[] = {8};
  sluice_selection part = SLUICE_SELECTION_INIT;
  part.start = start;
  part.count = count;
  part.stride_bytes = stride_bytes;
  EXPECT_EQ(sluice_put_selection(file, v, SLUICE_FLOAT64, data.data(), 1, &part), SLUICE_OK);
  return file->copies.empty() ? nullptr : file->copies.back().get();
}

TEST(GivenUp, CopiesOfStridedPuts) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("sluice-given-up-" + std::to_string(getpid()) + ".h5");
  const std::int64_t shape[] = {values};
  const std::vector<double> data(values, 1.5);
  sluice_file* out = nullptr;
  sluice_variable v = -1;
  sluice_variable w = -1;
  ASSERT_EQ(sluice_open_serial(path.c_str(), "w", "durability = \"none\"", &out), SLUICE_OK);
  ASSERT_EQ(sluice_define(out, "v", SLUICE_FLOAT64, 1, shape, nullptr, &v), SLUICE_OK);
  ASSERT_EQ(sluice_define(out, "w", SLUICE_FLOAT64, 1, shape, nullptr, &w), SLUICE_OK);
  const void* const kept = put_strided(out, v, data);
  ASSERT_NE(kept, nullptr);
  exec::note_message_given_up();
  ASSERT_EQ(sluice_flush(out, nullptr), SLUICE_OK);
  EXPECT_TRUE(out->copies.empty());
  ASSERT_TRUE(is_mapped(kept));
  EXPECT_EQ(std::memcmp(kept, data.data(), data.size() * sizeof(double)), 0);
  EXPECT_EQ(sluice_holds_memory(out), 2);
  // What is put afterwards is kept no longer than ever.
  EXPECT_NE(put_strided(out, w, data), kept);
  EXPECT_EQ(sluice_holds_memory(out), 1);
  ASSERT_EQ(sluice_close(out), SLUICE_OK);
  EXPECT_EQ(sluice_holds_memory(out), 0);
  sluice_free(out);
  std::filesystem::remove(path);
}

TEST(GivenUp, StreamsOfRecords) {
  LocalFiles files;
  const std::vector<double> data(values, 1.5);
  files.run(1, [&](exec::Transport& transport) {
    const std::byte* kept = nullptr;
    {
      detail::RecordsImpl out(
          [&](const Options& options) {
            return detail::open_on(transport, files.storage(), "r.rec", Mode::write, options);
          },
          Mode::write, 1, Options{});
      layout::records::Place& place = out.stream(0).writer.place();
      const auto write = [&](std::int64_t count) {
        out.write(0, SLUICE_FLOAT64, data.data(), count);
      };
      write(values);
      kept = out.stream(0).writer.payload().data();
      exec::note_message_given_up();
      out.refuse(Error(Code::wrong_state, "refused"));
      expect_error(thrown_by([&] { out.commit(); }), Code::wrong_state, {"refused"});
      // The program's streams are where they were, and write to other memory.
      EXPECT_EQ(&out.stream(0).writer.place(), &place);
      EXPECT_EQ(place.at, nullptr);
      EXPECT_NE(place.repeat, nullptr);
      write(1);
      EXPECT_NE(out.stream(0).writer.payload().data(), kept);
      out.commit();
      EXPECT_EQ(out.groups(), 1u);
      out.close();
    }
    ASSERT_TRUE(is_mapped(kept));
    EXPECT_EQ(std::memcmp(kept, data.data(), data.size() * sizeof(double)), 0);
  });
}

/// The first elements of a variable.
model::Block block_of(const std::vector<double>& data, std::uint64_t count) {
  model::Block block;
  block.box = {{0}, {count}};
  block.memory = {reinterpret_cast<const std::byte*>(data.data()), {Kind::f64, 8}, {count}, {0}};
  return block;
}

model::Definition definition_of(std::uint64_t count) {
  model::Definition definition;
  definition.name = "v";
  definition.type = {Kind::f64, 8};
  definition.shape = {count};
  return definition;
}

TEST(GivenUp, SmallPuts) {
  constexpr std::uint64_t count = 512;
  const std::vector<double> data(2 * count, 1.5);
  const std::vector<double> other(2 * count, 2.5);
  const std::byte* kept = nullptr;
  {
    commit::SmallPuts puts(1 << 20);
    const auto put = [&](const std::vector<double>& from) {
      std::vector<model::Block> blocks;
      EXPECT_TRUE(puts.add(block_of(from, count), {2 * count}, blocks));
      puts.finish(blocks);
      return blocks.empty() ? nullptr : blocks.front().memory.data;
    };
    kept = put(data);
    ASSERT_NE(kept, nullptr);
    exec::note_message_given_up();
    puts.forget();
    const std::byte* const next = put(other);
    EXPECT_NE(next, kept);
    puts.forget();
    EXPECT_EQ(put(other), next);  // what no message may use is used again
    exec::note_message_given_up();
  }
  EXPECT_EQ(std::memcmp(kept, data.data(), count * sizeof(double)), 0);
}

TEST(GivenUp, PutsBeforeAStep) {
  const std::vector<double> data(values, 1.5);
  const std::byte* kept = nullptr;
  {
    commit::EarlierPuts puts(1 << 30);
    std::vector<model::Block> blocks = {block_of(data, values)};
    puts.add(blocks, {}, {definition_of(values)});
    kept = blocks.front().memory.data;
    ASSERT_NE(kept, reinterpret_cast<const std::byte*>(data.data()));
    exec::note_message_given_up();
  }
  ASSERT_TRUE(is_mapped(kept));
  EXPECT_EQ(std::memcmp(kept, data.data(), data.size() * sizeof(double)), 0);
}

TEST(GivenUp, OwnedRows) {
  const std::vector<double> data(values, 1.5);
  std::vector<std::uint64_t> ids(values);
  std::iota(ids.begin(), ids.end(), 0);
  exec::Rows rows;
  rows.ids = ids;
  rows.data = reinterpret_cast<const std::byte*>(data.data());
  rows.type = {Kind::f64, 8};
  const std::byte* kept = nullptr;
  {
    const auto transport = exec::make_solo();
    exec::RowScatter scatter(*transport);
    kept = scatter.scatter(definition_of(values), {&rows, 1}, 1 << 30).bytes.data();
    exec::note_message_given_up();
    scatter.done(false);
  }
  ASSERT_TRUE(is_mapped(kept));
  EXPECT_EQ(std::memcmp(kept, data.data(), data.size() * sizeof(double)), 0);
}

}  // namespace
}  // namespace sluice::test
