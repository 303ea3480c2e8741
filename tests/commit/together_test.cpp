// A storage whose files need all writers in one call gets them: every window of a collective write
// is one such call, with every writer in each of them.
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "storage/forwarding.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/observing_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr int ranks = 4;

class TogetherFile final : public storage::ForwardingFile {
 public:
  TogetherFile(std::unique_ptr<storage::File> file, int& calls)
      : ForwardingFile(std::move(file)), calls_(calls) {}
  bool is_collective() const override { return true; }
  void write_collective(std::span<const storage::WritePiece> pieces) override {
    ++calls_;
    File::write_collective(pieces);
  }

 private:
  int& calls_;
};

/// MPI-IO as the library sees it, on one rank.
class TogetherStorage final : public storage::ObservingStorage {
 public:
  TogetherStorage(std::shared_ptr<storage::MemoryStorage> disk, int& calls)
      : ObservingStorage(std::move(disk)), calls_(calls) {}
  std::unique_ptr<storage::File> open_together(const std::string& path, storage::Access access,
                                               bool takes_part) override {
    return takes_part ? std::make_unique<TogetherFile>(inner().open(path, access), calls_)
                      : nullptr;
  }
  int ranks_together() const override { return ranks; }

 private:
  int& calls_;
};

TEST(Together, EveryWriterIsInEveryCall) {
  const Shape shape{64, 100};
  const auto disk = storage::make_memory();
  std::vector<int> calls(ranks, 0);
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    const int rank = transport.rank();
    const auto storage =
        std::make_shared<TogetherStorage>(disk, calls[static_cast<std::size_t>(rank)]);
    Options options{.strategy = "collective", .writers = 2};
    File out(detail::open_on(transport, storage, "out.h5", Mode::write, options));
    const Variable v = out.define<double>("density", shape, {.steps = true});
    for (std::uint64_t k = 0; k < 2; ++k) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, k, shape, slab(shape, rank, ranks));
      step.end();
    }
    out.close();
    File in(detail::open_on(transport, storage, "out.h5", Mode::read, {}));
    for (std::uint64_t k = 0; k < 2; ++k) {
      expect_values<double>(in, "density", k, shape, slab(shape, rank, ranks), k);
    }
  });
  std::sort(calls.begin(), calls.end());
  EXPECT_EQ(calls[0], 0) << "a rank that does not write";
  EXPECT_EQ(calls[1], 0) << "a rank that does not write";
  EXPECT_GE(calls[2], 2);
  EXPECT_EQ(calls[2], calls[3]);
}

}  // namespace
}  // namespace sluice::test
