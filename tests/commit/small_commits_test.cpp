// On one node the data of small commits are written through the page cache, those of large ones in
// the storage's fastest way; also where a writer in the background comes to them late.
#include <gtest/gtest.h>
#include <mutex>
#include <vector>

#include "api/file/file_impl.hpp"
#include "storage/forwarding.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/observing_storage.hpp"

namespace sluice::test {
namespace {

constexpr int ranks = 2;
constexpr std::uint64_t small_bytes = 1000 * sizeof(double);     // of a rank
constexpr std::uint64_t large_bytes = 600'000 * sizeof(double);  // of a rank

struct Write {
  std::size_t bytes;
  bool is_cached;
};

/// Thread-safe.
class Seen {
 public:
  void add(Write write) {
    const std::lock_guard lock(mutex_);
    writes_.push_back(write);
  }
  /// Data of large commits come in pieces of at least 64 KiB; those of small ones as `small_bytes`
  /// of one rank, or of all of them.
  void expect_each_in_its_way() const {
    int small = 0;
    int large = 0;
    for (const Write& write : writes_) {
      if (write.bytes >= 64 << 10) {
        ++large;
        EXPECT_FALSE(write.is_cached) << write.bytes << " bytes";
      } else if (write.bytes == small_bytes || write.bytes == ranks * small_bytes) {
        ++small;
        EXPECT_TRUE(write.is_cached) << write.bytes << " bytes";
      }
    }
    EXPECT_GT(small, 0);
    EXPECT_GT(large, 0);
  }

 private:
  std::mutex mutex_;
  std::vector<Write> writes_;
};

class SeenFile final : public storage::ForwardingFile {
 public:
  SeenFile(std::unique_ptr<storage::File> file, Seen& seen)
      : ForwardingFile(std::move(file)), seen_(seen) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    seen_.add({bytes.size(), is_cached_});
    ForwardingFile::write(offset, bytes);
  }
  void keep_cached(bool is_wanted) override { is_cached_ = is_wanted; }

 private:
  Seen& seen_;
  bool is_cached_ = false;
};

class SeenStorage final : public storage::ObservingStorage {
 public:
  SeenStorage(std::shared_ptr<storage::Storage> disk, Seen& seen)
      : ObservingStorage(std::move(disk)), seen_(seen) {}
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    return std::make_unique<SeenFile>(inner().open(path, access), seen_);
  }

 private:
  Seen& seen_;
};

class SmallCommits : public testing::TestWithParam<std::tuple<const char*, Durability>> {};

TEST_P(SmallCommits, AreWrittenThroughThePageCache) {
  Seen seen;
  const auto disk = std::make_shared<SeenStorage>(storage::make_memory(), seen);
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    Options options;
    options.strategy = std::get<0>(GetParam());
    options.durability = std::get<1>(GetParam());
    options.log = Log::off;
    File out(detail::open_on(transport, disk, "out.h5", Mode::write, options));
    const Variable large = out.define<double>("large", {ranks * large_bytes / sizeof(double)},
                                              {.steps = true, .partial = true});
    const Variable small = out.define<double>("small", {ranks * small_bytes / sizeof(double)},
                                              {.steps = true, .partial = true});
    for (const bool is_large : {true, false, true, false, false, true}) {
      const std::uint64_t count = (is_large ? large_bytes : small_bytes) / sizeof(double);
      const std::vector<double> values(count, 1.5);
      Step step = out.begin_step();
      step.put(is_large ? large : small, values.data(),
               {.start = {rank * count}, .count = {count}});
      step.end();
    }
    out.close();
  });
  seen.expect_each_in_its_way();
}

INSTANTIATE_TEST_SUITE_P(All, SmallCommits,
                         testing::Combine(testing::Values("serial", "shared", "collective",
                                                          "forward"),
                                          testing::Values(Durability::none, Durability::step)));

}  // namespace
}  // namespace sluice::test
