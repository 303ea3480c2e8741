// T13: arrays larger than one system call can write (0x7ffff000 bytes), and than signed and
// unsigned 32-bit numbers. The files are sparse: only elements around these sizes are put.
#include <array>
#include <gtest/gtest.h>
#include <map>

#include "api/file/file_impl.hpp"
#include "commit/tools/verify.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"

namespace sluice::test {
namespace {

constexpr std::array<std::uint64_t, 3> edges{0x7ffff000, 1ULL << 31, 1ULL << 32};
constexpr std::uint64_t reach = 3;  // elements put on either side
constexpr std::uint64_t extent = (1ULL << 32) + reach;

std::uint8_t value_of(std::uint64_t at) { return static_cast<std::uint8_t>(1 + at * 7 % 251); }

struct Cell {
  const char* path;
  const char* strategy;
};

class Wide : public testing::TestWithParam<Cell> {
 protected:
  bool has_one_variable() const { return std::string(GetParam().path) == "out.npy"; }

  void write(exec::Transport& transport) {
    Options options{.strategy = GetParam().strategy};
    File out(detail::open_on(transport, storage_, GetParam().path, Mode::write, options));
    const Variable wide = out.define<std::uint8_t>("wide", {extent}, {.partial = true});
    std::vector<std::vector<std::uint8_t>> held;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (static_cast<int>(i) % transport.size() != transport.rank()) {
        continue;
      }
      held.emplace_back();
      for (std::uint64_t at = edges[i] - reach; at < edges[i] + reach; ++at) {
        held.back().push_back(value_of(at));
      }
      out.put<std::uint8_t>(wide, held.back().data(),
                            {.start = {edges[i] - reach}, .count = {2 * reach}});
    }
    const double later = 0.5;  // is after all of them
    if (!has_one_variable()) {
      const Variable behind = out.define<double>("behind", {});
      if (transport.rank() == 0) {
        out.put(behind, &later);
      }
    }
    out.close();
  }

  void read(exec::Transport& transport) {
    File in(detail::open_on(transport, storage_, GetParam().path, Mode::read, {}));
    const Variable wide = in.find("wide");
    for (const std::uint64_t edge : edges) {
      const std::uint64_t first = edge - 2 * reach;
      std::vector<std::uint8_t> found(std::min(extent, edge + 2 * reach) - first, 99);
      in.get<std::uint8_t>(wide, found.data(), {.start = {first}, .count = {found.size()}});
      for (std::uint64_t i = 0; i < found.size(); ++i) {
        const std::uint64_t at = first + i;
        const bool is_put = at >= edge - reach && at < edge + reach;
        EXPECT_EQ(found[i], is_put ? value_of(at) : 0) << at;
      }
    }
    if (!has_one_variable()) {
      double later = 0;
      in.get<double>(in.find("behind"), &later);
      EXPECT_EQ(later, 0.5);
    }
  }

  std::shared_ptr<storage::MemoryStorage> storage_ = storage::make_memory();
};

TEST_P(Wide, IsWrittenAndRead) {
  exec::run_local(3, 1, [&](exec::Transport& transport) { write(transport); });
  const auto file = storage_->open(GetParam().path, storage::Access::read);
  EXPECT_GT(file->size(), extent);
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    read(transport);
    if (!has_one_variable()) {
      const auto verdict = commit::verify(transport, *storage_, GetParam().path);
      EXPECT_EQ(verdict.state, commit::State::ok);
      EXPECT_EQ(verdict.bytes, edges.size() * 2 * reach + sizeof(double));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Wide,
                         testing::Values(Cell{"out.h5", "serial"}, Cell{"out.h5", "shared"},
                                         Cell{"out.h5", "collective"}, Cell{"out.h5", "forward"},
                                         Cell{"out.nc", "shared"}, Cell{"out.npy", "serial"},
                                         Cell{"out.npy", "shared"}, Cell{"out.npy", "collective"}));

}  // namespace
}  // namespace sluice::test
