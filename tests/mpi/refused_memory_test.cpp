// Strategy forward if memory is refused in the middle of a step: the same error on every rank, and
// committed data stays.
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/mman.h>

#include "api/file/file_impl.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "storage/scratch.hpp"
#include "storage/shared_memory.hpp"
#include "support/values.hpp"

namespace {

std::atomic<bool> refuses = false;

}  // namespace

/// Replaces the C library's function. Only the reservation of shared memory populates pages.
extern "C" int madvise(void* address, std::size_t length, int advice) noexcept {
#ifdef MADV_POPULATE_WRITE
  if (advice == MADV_POPULATE_WRITE && refuses) {
    errno = ENOMEM;
    return -1;
  }
#endif
  using Call = int (*)(void*, std::size_t, int);
  static const auto next = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "madvise"));
  return next(address, length, advice);
}

namespace sluice::test {
namespace {

/// Two steps, the second put again after rank `refused` got no memory for it.
void write_and_read(exec::Transport& all, const std::string& path, int refused) {
  Options options;
  options.strategy = "forward";
  options.writers = 1;  // rank 0
  options.log = Log::off;
  options.check = Check::off;
  options.staging_idle_s = 0;  // nothing is left of the file before
  const auto open = [&](Mode mode) {
    return File(detail::open_on(all, storage::make_posix(), path, mode, options));
  };
  const Shape shape = {64, 8000};
  const auto mine = slab(shape, all.rank(), all.size());
  // Of the first step only a few rows: the second needs windows that nobody has touched.
  const model::Box few{{0, 0}, {all.rank() == 0 ? 4u : 0u, shape[1]}};
  {
    File out = open(Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const auto put = [&](std::uint64_t s) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, s, shape, s == 0 ? few : mine);
      step.end().wait();
    };
    put(0);
    refuses = all.rank() == refused;
    try {
      put(1);
      ADD_FAILURE() << "memory was refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::no_space) << error.what();
      EXPECT_EQ(error.rank(), refused) << error.what();
    }
    all.barrier();
    refuses = false;
    put(1);
    out.close();
  }
  all.barrier();
  File in = open(Mode::read);
  ASSERT_EQ(in.steps(), 2u);
  for (std::uint64_t s = 0; s < 2; ++s) {
    expect_values<double>(in, "v", s, shape, s == 0 ? few : mine, s);
  }
}

TEST(refused_memory, is_an_error_of_the_step_on_every_rank) {
  if (!storage::SharedMemory::makes_room_in_parts()) {
    GTEST_SKIP() << "this kernel makes no room in parts";
  }
  const auto all = exec::make_mpi(MPI_COMM_WORLD, 60);
  std::unique_ptr<storage::Scratch> scratch;
  std::vector<std::byte> name;
  if (all->rank() == 0) {
    scratch = std::make_unique<storage::Scratch>();
    name = storage::bytes_of(*scratch / "f.h5");
  }
  all->broadcast(name, 0);
  for (const int refused : {0, all->size() - 1}) {
    write_and_read(*all, storage::text_of(name), refused);
    all->barrier();
  }
}

}  // namespace
}  // namespace sluice::test
