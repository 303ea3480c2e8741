// Records that are read in parts, each hashed as it comes: right values for any selection and any
// memory, and damage anywhere in a record is found by whoever reads a part of it.
#include <cstring>
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
constexpr std::uint64_t key = 11;
/// 1.6 MB in one record, which is read in seven parts.
const Shape shape{400, 500};

std::shared_ptr<storage::MemoryStorage> written() {
  auto memory = storage::make_memory();
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, memory, path, Mode::write, {}));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, key, shape, whole_box(shape));
    step.end();
    out.close();
  });
  return memory;
}

/// Replaces an element in the file, as a bad disk would.
void replace(storage::MemoryStorage& memory, std::uint64_t element, double by) {
  const std::vector<std::byte> bytes = memory.contents(path);
  const double value = value_at<double>(key, element);
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  const auto at = std::search(bytes.begin(), bytes.end(), from, from + sizeof value);
  ASSERT_NE(at, bytes.end());
  const auto file = memory.open(path, storage::Access::read_write);
  const std::int64_t modified = file->modified_ns();
  file->write(static_cast<std::uint64_t>(at - bytes.begin()), std::as_bytes(std::span(&by, 1)));
  file->set_modified_ns(modified);
}

/// Calls work with the file, opened by one rank.
template <class Work>
void with_file(const std::shared_ptr<storage::Storage>& storage, const Work& work) {
  exec::run_local(1, 2, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, storage, path, Mode::read, {}));
    work(in);
  });
}

TEST(streamed_read, any_selection_and_memory) {
  const auto memory = written();
  with_file(memory, [](File& in) {
    Random random(3);
    for (int i = 0; i < 40; ++i) {
      const model::Box box = i == 0 ? whole_box(shape) : random_box(random, whole_box(shape), true);
      expect_values<double>(in, "v", key, shape, box);
      // In a larger array, whose rows are longer, and which keeps what is beside the box.
      Selection selection = selection_of(box);
      selection.memory_shape = {box.count[0] + 2, box.count[1] + 3};
      selection.memory_start = {1, 2};
      const std::uint64_t width = box.count[1] + 3;
      std::vector<double> got((box.count[0] + 2) * width, -1);
      in.get<double>(in.find("v"), got.data(), selection, 0);
      std::uint64_t wrong = 0;
      for (std::uint64_t at = 0; at < got.size(); ++at) {
        const std::uint64_t row = at / width - 1;  // huge before the first one
        const std::uint64_t column = at % width - 2;
        const bool is_inside = row < box.count[0] && column < box.count[1];
        const double wanted =
            is_inside
                ? value_at<double>(key, (box.start[0] + row) * shape[1] + box.start[1] + column)
                : -1;
        wrong += std::memcmp(&got[at], &wanted, sizeof wanted) != 0 ? 1 : 0;
      }
      ASSERT_EQ(wrong, 0u) << box.text();
    }
  });
}

TEST(streamed_read, every_byte_is_read_once_in_small_calls) {
  const auto log = std::make_shared<storage::Log>();
  const auto storage = std::make_shared<storage::RecordingStorage>(written(), log, 0);
  with_file(storage, [&](File& in) {
    expect_values<double>(in, "v", key, shape, whole_box(shape));  // reads the metadata
    const storage::Counters before = log->totals();
    expect_values<double>(in, "v", key, shape, whole_box(shape));
    const storage::Counters after = log->totals();
    EXPECT_EQ(after.bytes_read - before.bytes_read, 400u * 500 * 8);
    EXPECT_EQ(after.reads - before.reads, 7u);
  });
}

TEST(streamed_read, damage_in_any_part_is_found_by_any_reader_of_the_record) {
  const std::uint64_t last = shape[0] * shape[1] - 1;
  for (const std::uint64_t element : {std::uint64_t{0}, std::uint64_t{70'001}, last}) {
    const auto memory = written();
    replace(*memory, element, value_at<double>(key, element) + 1);
    with_file(memory, [&](File& in) {
      for (const model::Box& box :
           {whole_box(shape), model::Box{{0, 0}, {10, 500}}, model::Box{{390, 3}, {10, 7}},
            model::Box{{139, 0}, {2, 500}}}) {
        Array<double> got(box.volume());
        try {
          in.get<double>(in.find("v"), got.data(), selection_of(box));
          ADD_FAILURE() << "element " << element << ", " << box.text();
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), Code::damaged);
          EXPECT_NE(std::string(e.what()).find("v, step 0, start (0, 0) count (400, 500)"),
                    std::string::npos)
              << e.what();
        }
      }
    });
  }
}

TEST(streamed_read, damage_that_does_not_fit_the_callers_type_is_damage) {
  const auto memory = written();
  const std::uint64_t element = 5;  // the parts after it are still hashed
  replace(*memory, element, 1e300);
  for (const bool is_checked : {true, false}) {
    exec::run_local(1, 2, [&](exec::Transport& transport) {
      Options options;
      options.checksum = is_checked;
      File in(detail::open_on(transport, memory, path, Mode::read, options));
      std::vector<float> got(shape[0] * shape[1]);
      try {
        in.get<float>(in.find("v"), got.data(), {}, 0);
        ADD_FAILURE() << is_checked;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), is_checked ? Code::damaged : Code::overflow) << e.what();
      }
    });
  }
}

}  // namespace
}  // namespace sluice::test
