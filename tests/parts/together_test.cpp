// A step that lies in one part of a set is read by all ranks as from an ordinary file: every byte
// once, whatever the selections, and with the same error on every rank.
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr const char* path = "set.h5";
constexpr std::uint64_t key = 13;
const Shape shape{600, 400};
constexpr std::uint64_t all_bytes = 600 * 400 * 8;

/// Values that no other step has at a place nearby.
std::uint64_t key_of(std::uint64_t step) { return key + 100 * step; }

/// Two steps, each in a part of its own, as slabs of two ranks.
std::shared_ptr<storage::MemoryStorage> written() {
  auto memory = storage::make_memory();
  Options options;
  options.keep_last = 2;
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, memory, path, Mode::write, options));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < 2; ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, key_of(s), shape, slab(shape, transport.rank(), 2));
      step.end();
    }
    out.close();
  });
  return memory;
}

/// Columns of a rank: runs of 1 KiB.
model::Box columns(int rank, int ranks) {
  model::Box box = whole_box(shape);
  const auto r = static_cast<std::uint64_t>(rank);
  const auto p = static_cast<std::uint64_t>(ranks);
  box.start[1] = shape[1] * r / p;
  box.count[1] = shape[1] * (r + 1) / p - box.start[1];
  return box;
}

/// The part that holds the values of a step.
std::string part_of(storage::MemoryStorage& memory, std::uint64_t step, std::size_t& at) {
  const double value = value_at<double>(key_of(step), 0);
  const auto wanted = std::as_bytes(std::span(&value, 1));
  for (const std::string& name : memory.list(std::string(path) + ".parts")) {
    const std::string part = std::string(path) + ".parts/" + name;
    const std::vector<std::byte> bytes = memory.contents(part);
    const auto found = std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end());
    if (found != bytes.end()) {
      at = static_cast<std::size_t>(found - bytes.begin());
      return part;
    }
  }
  ADD_FAILURE() << "no part holds step " << step;
  return {};
}

TEST(together, a_part_is_read_once_by_all) {
  const auto memory = written();
  const auto log = std::make_shared<storage::Log>();
  exec::run_local(3, 2, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<storage::RecordingStorage>(memory, log, transport.rank());
    File in(detail::open_on(transport, storage, path, Mode::read, {}));
    const model::Box box = columns(transport.rank(), 3);
    for (const std::uint64_t step : {0, 1, 0}) {
      expect_values<double>(in, "v", key_of(step), shape, box, step);  // reads the metadata
    }
    transport.barrier();
    const std::uint64_t before = log->totals().bytes_read;
    transport.barrier();
    expect_values<double>(in, "v", key, shape, box, 0);
    transport.barrier();
    EXPECT_EQ(log->totals().bytes_read - before, all_bytes);
    // A rank that wants nothing takes part.
    const model::Box none{{599, 399}, {0, 0}};
    expect_values<double>(in, "v", key_of(1), shape, transport.rank() == 1 ? none : box, 1);
  });
}

TEST(together, damage_is_found_by_all_with_one_text) {
  const auto memory = written();
  std::size_t at = 0;
  const std::string part = part_of(*memory, 1, at);
  const auto file = memory->open(part, storage::Access::read_write);
  const std::int64_t modified = file->modified_ns();
  const std::byte other{0x55};
  file->write(at + 3, {&other, 1});
  file->set_modified_ns(modified);
  std::vector<std::string> met(3);
  exec::run_local(3, 3, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, memory, path, Mode::read, {}));
    expect_values<double>(in, "v", key, shape, columns(transport.rank(), 3), 0);
    // The lower half is another record, so that two of the ranks want nothing that is damaged.
    const model::Box box = slab(shape, transport.rank(), 3);
    Array<double> got(box.volume());
    try {
      in.get<double>(in.find("v"), got.data(), selection_of(box), 1);
      ADD_FAILURE() << "no error on rank " << transport.rank();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::damaged);
      met[static_cast<std::size_t>(transport.rank())] = e.what();
    }
  });
  EXPECT_EQ(met, std::vector<std::string>(3, met[0]));
  for (const char* text : {"set.h5: v, step 1: ", "does not match its checksum"}) {
    EXPECT_NE(met[0].find(text), std::string::npos) << met[0];
  }
  EXPECT_EQ(met[0].rfind("rank ", 0), 0u) << met[0];
}

}  // namespace
}  // namespace sluice::test
