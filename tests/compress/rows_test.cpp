// Rows by index from chunks that take more than a share of the budget: how often they are read.
#include <gtest/gtest.h>
#include <numeric>

#include "api/file/file_impl.hpp"
#include "layout/local_files.hpp"
#include "support/local_transport.hpp"
#include "support/recording_storage.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

/// 16 MiB: four windows of rows.
const Shape shape = {128, 16384};
constexpr std::uint64_t key = 3;

void write(LocalFiles& files, const std::string& path, const Shape& chunk) {
  files.run(4, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write, {.durability = Durability::none});
    const Variable v = out.define<double>("v", shape, {.chunk = chunk, .compress = "deflate:1"});
    const model::Box mine = slab(shape, transport.rank(), transport.size());
    const Array<double> values = values_of<double>(key, dims_of(shape), mine);
    out.put(v, values.data(), selection_of(mine));
    out.close();
  });
}

/// Reads `ids` by `ranks` ranks; returns how many bytes of files were read for them.
std::uint64_t bytes_read(LocalFiles& files, const std::string& path, int ranks,
                         const std::vector<std::uint64_t>& ids) {
  const auto log = std::make_shared<storage::Log>();
  const auto recording = std::make_shared<storage::RecordingStorage>(files.storage(), log);
  std::uint64_t read = 0;
  files.run(ranks, [&](exec::Transport& transport) {
    // A chunk may take half of it, and the rows that are one rank's a quarter.
    File in(detail::open_on(transport, recording, path, Mode::read, {.budget_bytes = 32U << 20}));
    transport.barrier();
    const std::uint64_t before = log->totals().bytes_read;
    transport.barrier();
    Array<double> got(ids.size() * shape[1]);
    in.get_rows<double>(in.find("v"), ids.data(), ids.size(), got.data());
    transport.barrier();
    read = log->totals().bytes_read - before;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Array<double> row =
          values_of<double>(key, dims_of(shape), {{ids[i], 0}, {1, shape[1]}});
      for (std::uint64_t k = 0; k < shape[1]; k += 127) {
        ASSERT_EQ(got[i * shape[1] + k], row[k]) << ids[i] << " " << k;
      }
    }
  });
  return read;
}

std::uint64_t stored_bytes(LocalFiles& files) {
  std::uint64_t sum = 0;
  for (const std::string& name : files.storage()->paths()) {
    sum += files.storage()->contents(name).size();
  }
  return sum;
}

std::vector<std::uint64_t> all_rows() {
  std::vector<std::uint64_t> ids(shape[0]);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(Rows, ALargeChunkIsDecodedOnce) {
  for (const std::string path : {"f.h5", "f.zarr"}) {
    LocalFiles files;
    write(files, path, shape);
    EXPECT_LT(bytes_read(files, path, 3, all_rows()), stored_bytes(files) * 3 / 2) << path;
    EXPECT_LT(bytes_read(files, path, 1, {127, 0, 64, 64, 31, 32}), stored_bytes(files) * 3 / 2);
  }
}

TEST(Rows, ChunksBesideEachOtherAreDecodedOnceByARank) {
  LocalFiles files;
  write(files, "f.h5", {128, 4000});
  EXPECT_LT(bytes_read(files, "f.h5", 1, all_rows()), stored_bytes(files) * 3 / 2);
  EXPECT_LT(bytes_read(files, "f.h5", 2, all_rows()), stored_bytes(files) * 5 / 2);
  EXPECT_LT(bytes_read(files, "f.h5", 1, {127, 0, 64, 64, 31, 32}), stored_bytes(files) * 3 / 2);
}

}  // namespace
}  // namespace sluice::test
