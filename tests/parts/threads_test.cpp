// Ranks that write and read parts share the cores of their node, whatever groups they are in: a
// rank starts no thread where every core has a rank. The program stands before pthread_create.
#include <gtest/gtest.h>
#include <string>

#include "api/file/file_impl.hpp"
#include "exec/cores.hpp"
#include "storage/scratch.hpp"
#include "support/few_threads.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t chunk_rows = 8;
constexpr std::uint64_t rows = 64;  // of a rank

void write_and_read(const std::string& strategy) {
  const storage::Scratch scratch;
  const std::string path = scratch / "f.h5";
  const int ranks = static_cast<int>(exec::node_cores());
  const Shape shape = {rows * static_cast<std::uint64_t>(ranks), 512};
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    Options options;
    options.strategy = strategy;
    options.durability = Durability::none;
    File out(detail::open_on(transport, storage::make_posix(), path, Mode::write, options));
    const Variable v = out.define<double>(
        "v", shape, {.steps = true, .chunk = {chunk_rows, 512}, .compress = "deflate:1"});
    Giver<double> giver;
    const auto put_step = [&] {
      Step step = out.begin_step();
      giver.put(step, v, 7, shape, slab(shape, transport.rank(), transport.size()));
      step.end();
    };
    put_step();  // starts the threads that write
    transport.barrier();
    const int before = threads_left;
    transport.barrier();
    put_step();
    EXPECT_EQ(threads_left, before) << "writing";
    out.close();
    transport.barrier();
    File in(detail::open_on(transport, storage::make_posix(), path, Mode::read, {}));
    const int unread = threads_left;
    transport.barrier();
    Array<double> all(shape[0] * shape[1]);
    in.get<double>(in.find("v"), all.data(), {}, 1);  // part by part, by each rank alone
    EXPECT_EQ(threads_left, unread) << "reading";
    expect_box(all, 7, shape, whole_box(shape), strategy);
  });
}

TEST(Threads, RanksOfAllGroupsShareTheCores) {
  write_and_read("file-per-process");
  write_and_read("file-per-node");
}

}  // namespace
}  // namespace sluice::test
