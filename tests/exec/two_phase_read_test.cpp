// Two-phase reading: the right values for any selections, every byte read from disk once, every
// record checked, inside the budget.
#include "exec/read/two_phase_read.hpp"

#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr const char* path = "in.h5";
constexpr std::uint64_t key = 5;

using Boxes = std::vector<std::vector<model::Box>>;  // by rank

Options quick_options() {
  Options options;
  options.durability = Durability::none;
  return options;
}

/// One step of one variable in one chunk, by as many ranks as there are lists of boxes.
std::shared_ptr<storage::MemoryStorage> written(const Shape& shape, const Boxes& dealt,
                                                bool checksum, const Shape& chunk) {
  auto memory = storage::make_memory();
  Options options = quick_options();
  options.strategy = "serial";
  options.checksum = checksum;
  exec::run_local(static_cast<int>(dealt.size()), 1, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, memory, path, Mode::write, options));
    const Variable v = out.define<double>("v", shape, {.steps = true, .chunk = chunk});
    Giver<double> giver;
    Step step = out.begin_step();
    for (const model::Box& box : dealt[static_cast<std::size_t>(transport.rank())]) {
      giver.put(step, v, key, shape, box);
    }
    step.end();
    out.close();
  });
  return memory;
}

/// Columns [N*r/P, N*(r+1)/P): interleaved in a row-major chunk.
Boxes columns_of(const Shape& shape, std::uint64_t ranks) {
  Boxes dealt;
  for (std::uint64_t r = 0; r < ranks; ++r) {
    model::Box box = whole_box(shape);
    box.start[1] = shape[1] * r / ranks;
    box.count[1] = shape[1] * (r + 1) / ranks - box.start[1];
    dealt.push_back({box});
  }
  return dealt;
}

TEST(two_phase_read, random_selections) {
  const int cases = case_count(60, 15, 1000);
  for (int seed = 0; seed < cases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Shape shape = shape_of(random_shape(random, static_cast<int>(pick(random, 0, 3)), 30));
    const int writers = static_cast<int>(pick(random, 1, 6));
    const Boxes dealt = deal(shape, writers, random());
    const bool checksum = pick(random, 0, 1) != 0;
    const auto memory = written(shape, dealt, checksum, pick(random, 0, 1) != 0 ? shape : Shape{});
    const int ranks = static_cast<int>(pick(random, 2, 8));
    Options options = quick_options();
    options.readers = static_cast<int>(pick(random, 1, static_cast<std::uint64_t>(ranks) - 1));
    options.budget_bytes = pick(random, 0, 1) != 0 ? 256 << 20 : 1 << 15;
    Boxes wanted(static_cast<std::size_t>(ranks));
    for (auto& boxes : wanted) {
      boxes.push_back(random_box(random, whole_box(shape), true));
    }
    exec::run_local(ranks, static_cast<std::uint64_t>(seed), [&](exec::Transport& transport) {
      File in(detail::open_on(transport, memory, path, Mode::read, options));
      expect_values<double>(in, "v", key, shape,
                            wanted[static_cast<std::size_t>(transport.rank())][0]);
    });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// Bytes that one get of `boxes` takes from the disk, metadata not counted.
std::uint64_t bytes_read(std::shared_ptr<storage::Storage> inner, const Shape& shape,
                         const Boxes& boxes, const Options& options,
                         std::map<int, std::uint64_t>* opens = nullptr) {
  const auto log = std::make_shared<storage::Log>();
  std::uint64_t bytes = 0;
  exec::run_local(static_cast<int>(boxes.size()), 3, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<storage::RecordingStorage>(inner, log, transport.rank());
    File in(detail::open_on(transport, storage, path, Mode::read, options));
    const model::Box& box = boxes[static_cast<std::size_t>(transport.rank())][0];
    expect_values<double>(in, "v", key, shape, box);  // reads the metadata
    transport.barrier();
    const std::uint64_t before = log->totals().bytes_read;
    transport.barrier();
    expect_values<double>(in, "v", key, shape, box);
    transport.barrier();
    bytes = log->totals().bytes_read - before;
    transport.barrier();
  });
  if (opens != nullptr) {
    *opens = log->totals().opens_by_rank;
  }
  return bytes;
}

TEST(two_phase_read, a_partition_is_read_once) {
  const Shape shape{600, 400};  // 1.9 MB
  const std::uint64_t all = 600 * 400 * 8;
  for (const bool checksum : {true, false}) {
    const auto memory = written(shape, columns_of(shape, 4), checksum, shape);
    for (const int readers : {0, 1, 2}) {
      Options options = quick_options();
      options.readers = readers;
      // Interleaved records read as slabs, and as columns of another number of ranks.
      Boxes slabs;
      for (int r = 0; r < 3; ++r) {
        slabs.push_back({slab(shape, r, 3)});
      }
      EXPECT_EQ(bytes_read(memory, shape, slabs, options), all) << readers << " " << checksum;
      EXPECT_EQ(bytes_read(memory, shape, columns_of(shape, 3), options), all);
    }
  }
}

TEST(two_phase_read, what_all_want_is_read_once) {
  const Shape shape{600, 400};
  const auto memory = written(shape, columns_of(shape, 4), true, shape);
  const Boxes all(5, {whole_box(shape)});
  EXPECT_EQ(bytes_read(memory, shape, all, quick_options()), 600u * 400 * 8);
}

TEST(two_phase_read, slabs_as_they_were_written_are_read_directly_and_once) {
  const Shape shape{600, 400};
  Boxes slabs;
  for (int r = 0; r < 3; ++r) {
    slabs.push_back({slab(shape, r, 3)});
  }
  const auto memory = written(shape, slabs, true, Shape{});
  std::map<int, std::uint64_t> opens;
  EXPECT_EQ(bytes_read(memory, shape, slabs, quick_options(), &opens), 600u * 400 * 8);
  EXPECT_EQ(opens.size(), 3u);
}

TEST(two_phase_read, only_readers_open_the_file) {
  const Shape shape{600, 400};
  const auto memory = written(shape, columns_of(shape, 4), true, shape);
  Options options = quick_options();
  options.readers = 2;
  std::map<int, std::uint64_t> opens;
  EXPECT_EQ(bytes_read(memory, shape, columns_of(shape, 6), options, &opens), 600u * 400 * 8);
  EXPECT_EQ(opens.size(), 2u);
  EXPECT_TRUE(opens.contains(0) && opens.contains(3));
}

TEST(two_phase_read, damage_is_found_by_all) {
  const Shape shape{100, 60};
  const Boxes dealt = columns_of(shape, 4);
  for (const std::uint64_t row : {0, 57, 99}) {
    const auto memory = written(shape, dealt, true, shape);
    // Find the element in the file by its value, and damage it.
    std::vector<std::byte> bytes = memory->contents(path);
    const double value = value_at<double>(key, row * 60 + 20);  // a column of rank 1
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    const auto at = std::search(bytes.begin(), bytes.end(), from, from + sizeof value);
    ASSERT_NE(at, bytes.end());
    *at ^= std::byte{1};
    const auto file = memory->open(path, storage::Access::read_write);
    const std::int64_t modified = file->modified_ns();
    file->write(static_cast<std::uint64_t>(at - bytes.begin()), {&*at, 1});
    file->set_modified_ns(modified);
    Options options = quick_options();
    options.readers = 2;
    options.budget_bytes = 1 << 15;
    std::vector<std::string> met(3);
    exec::run_local(3, row, [&](exec::Transport& transport) {
      File in(detail::open_on(transport, memory, path, Mode::read, options));
      // Rank 2 requests a neighbour in the same record, the others undamaged data.
      const auto r = static_cast<std::uint64_t>(transport.rank());
      const model::Box box{{0, r == 2 ? 15u : 0u}, {100, r == 2 ? 2u : 10u}};
      Array<double> got(box.volume());
      try {
        in.get<double>(in.find("v"), got.data(), selection_of(box));
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::damaged);
        met[r] = e.what();
      }
    });
    for (const std::string& text : met) {
      EXPECT_EQ(text, met[0]);
      EXPECT_NE(text.find("start (0, 15) count (100, 15)"), std::string::npos) << text;
    }
  }
}

TEST(two_phase_read, a_file_that_ends_too_early_fails_all_alike) {
  const Shape shape{100, 60};
  const auto memory = written(shape, columns_of(shape, 4), false, shape);
  Options options = quick_options();
  options.readers = 1;
  std::vector<Code> met(3, Code::ok);
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, memory, path, Mode::read, options));
    transport.barrier();
    if (transport.rank() == 0) {
      Array<double> one(1);
    }
    expect_values<double>(in, "v", key, shape, slab(shape, transport.rank(), 3));
    transport.barrier();
    if (transport.rank() == 0) {
      memory->open(path, storage::Access::read_write)->resize(20'000);
    }
    transport.barrier();
    Array<double> got(6000);
    try {
      in.get<double>(in.find("v"), got.data());
    } catch (const Error& e) {
      met[static_cast<std::size_t>(transport.rank())] = e.code();
    }
  });
  EXPECT_EQ(met, std::vector<Code>(3, Code::truncated));
}

TEST(two_phase_read, memory_stays_inside_the_windows) {
  // 1 MiB in rows of 64 bytes of 16 ranks, by 2 readers in windows of 16 KiB.
  const model::Dims shape{1024, 128};
  const std::uint64_t address = 777;
  const layout::Placement placement(0, 8, shape, shape, std::span(&address, 1));
  std::vector<std::byte> content(address + 1024 * 128 * 8);
  for (std::size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  const auto memory = storage::make_memory();
  memory->put("f", content);
  constexpr std::uint64_t window = 16 << 10;
  exec::run_local(16, 4, [&](exec::Transport& transport) {
    const exec::ReadMap map =
        exec::read_map(placement, {address, 1024 * 128 * 8}, {}, {3, 9}, window);
    const bool reads = transport.rank() == 3 || transport.rank() == 9;
    const auto file = reads ? memory->open("f", storage::Access::read) : nullptr;
    const model::Box mine{{0, static_cast<std::uint64_t>(transport.rank()) * 8}, {1024, 8}};
    std::vector<layout::Piece> parts;
    for (const model::Box& part : layout::split(mine, 8, 4096)) {
      parts.push_back({part, 0});
    }
    std::vector<int> times(parts.size());
    exec::ReadBuffers buffers;
    exec::ReadSink sink;
    sink.place = [](std::size_t) { return std::span<std::byte>{}; };
    sink.whole = [&](std::size_t part, std::span<std::byte> bytes) {
      ++times[part];
      layout::for_each_run(
          placement, parts[part], parts[part].box,
          [&](std::uint64_t at, std::uint64_t packed, std::uint64_t length) {
            EXPECT_TRUE(std::equal(&content[at], &content[at] + length, &bytes[packed]));
          });
    };
    sink.finish = [](std::span<const std::size_t> mismatches) { EXPECT_TRUE(mismatches.empty()); };
    exec::read_in_rounds(transport, file.get(), placement, map, parts, {}, buffers, sink);
    EXPECT_EQ(times, std::vector<int>(parts.size(), 1));
    // A window, as much to send, two windows' share of what comes, two parts not complete.
    EXPECT_LE(buffers.bytes(), (reads ? 2 * window : 0) + 2 * window / 16 + 3 * 4096);
  });
}

TEST(two_phase_read, ranges_never_cut_a_record) {
  Random random(9);
  const model::Dims shape{64, 64};
  const std::uint64_t address = 1000;
  const layout::Placement placement(0, 4, shape, shape, std::span(&address, 1));
  for (int i = 0; i < 200; ++i) {
    std::vector<exec::CheckedPiece> records;
    for (std::uint64_t k = pick(random, 0, 12); k-- > 0;) {
      records.push_back({{random_box(random, model::whole(shape)), 0}, 0});
    }
    const exec::ReadMap map =
        exec::read_map(placement, {address, 64 * 64 * 4}, records, {0, 1, 2, 3, 4}, 100);
    ASSERT_EQ(map.bounds.size(), 6u);
    ASSERT_TRUE(std::is_sorted(map.bounds.begin(), map.bounds.end()));
    ASSERT_EQ(map.bounds.front(), address);
    ASSERT_EQ(map.bounds.back(), address + 64 * 64 * 4);
    for (const exec::CheckedPiece& record : records) {
      const model::Box& box = record.piece.box;
      const std::uint64_t begin = address + (box.start[0] * 64 + box.start[1]) * 4;
      const std::uint64_t end = address + ((box.end(0) - 1) * 64 + box.end(1)) * 4;
      for (const std::uint64_t bound : map.bounds) {
        ASSERT_FALSE(bound > begin && bound < end) << box.text();
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
