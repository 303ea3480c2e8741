// Strategy forward if the node has little shared memory, or none: fewer windows are shared, or
// bytes are sent by messages. Never a signal. The limit is set here; small_shm.sh runs it with a
// small /dev/shm too.
#include <cerrno>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/file/file_impl.hpp"
#include "codec/filter.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "storage/scratch.hpp"
#include "support/values.hpp"

namespace {

/// Of all shared memory that this process makes.
std::uint64_t room_bytes = std::numeric_limits<std::uint64_t>::max();
std::uint64_t granted_bytes = 0;

bool is_staging(int descriptor) {
  char target[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return ::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
         std::string(target).rfind("/memfd:sluice-staging", 0) == 0;
}

}  // namespace

/// Replaces the C library's function: memory is short.
extern "C" int posix_fallocate(int descriptor, off_t offset, off_t length) {
  if (is_staging(descriptor)) {
    if (granted_bytes + static_cast<std::uint64_t>(length) > room_bytes) {
      return ENOSPC;
    }
    granted_bytes += static_cast<std::uint64_t>(length);
  }
  using Call = int (*)(int, off_t, off_t);
  static const auto next = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "posix_fallocate"));
  return next(descriptor, offset, length);
}

/// Replaces the C library's function: an old kernel, which cannot reserve parts.
extern "C" int madvise(void* address, std::size_t length, int advice) noexcept {
#ifdef MADV_POPULATE_WRITE
  if (advice == MADV_POPULATE_WRITE) {
    errno = EINVAL;
    return -1;
  }
#endif
  using Call = int (*)(void*, std::size_t, int);
  static const auto next = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "madvise"));
  return next(address, length, advice);
}

namespace sluice::test {
namespace {

class SmallMemory : public testing::Test {
 protected:
  SmallMemory() {
    std::vector<std::byte> name;
    if (all_->rank() == 0) {
      scratch_ = std::make_unique<storage::Scratch>();
      name = storage::bytes_of(*scratch_ / "f.h5");
    }
    all_->broadcast(name, 0);
    path_ = storage::text_of(name);
    options_.strategy = "forward";
    options_.log = Log::off;
    options_.durability = Durability::none;
    options_.staging_idle_s = 0;     // each test makes memory anew
    options_.tile_bytes = 64 << 10;  // no writer has much more than its share
  }
  ~SmallMemory() override {
    room_bytes = std::numeric_limits<std::uint64_t>::max();
    all_->barrier();
  }

  File open(Mode mode) {
    return File(detail::open_on(*all_, storage::make_posix(), path_, mode, options_));
  }
  /// Writes steps with `room` bytes of shared memory, and reads them back.
  void write_and_read(std::uint64_t room, std::uint64_t steps, const Shape& shape) {
    room_bytes = room;
    granted_bytes = 0;
    {
      File out = open(Mode::write);
      const Variable v = out.define<double>("v", shape, {.steps = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        Giver<double> giver;
        Step step = out.begin_step();
        giver.put(step, v, s, shape, slab(shape, all_->rank(), all_->size()));
        step.end();
      }
      out.close();
    }
    all_->barrier();
    File in = open(Mode::read);
    ASSERT_EQ(in.steps(), steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      expect_values<double>(in, "v", s, shape, slab(shape, all_->rank(), all_->size()), s);
    }
  }
  /// That rank 0, which makes it, was given; 0 elsewhere.
  std::uint64_t granted() const { return all_->rank() == 0 ? granted_bytes : 0; }

  const std::unique_ptr<exec::Transport> all_ = exec::make_mpi(MPI_COMM_WORLD, 60);
  std::unique_ptr<storage::Scratch> scratch_;
  std::string path_;
  Options options_;
};

const Shape small = {64, 8000};  // 4 MB

TEST_F(SmallMemory, WithRoomWindowsAreShared) {
  write_and_read(std::numeric_limits<std::uint64_t>::max(), 2, small);
  if (all_->rank() == 0) {
    EXPECT_GT(granted(), 4u << 20);
  }
}

TEST_F(SmallMemory, WithLittleRoomFewerWindowsAre) {
  constexpr std::uint64_t room = 8 << 20;  // two steps would have more
  write_and_read(room, 4, small);
  EXPECT_LE(granted(), room);
  if (all_->rank() == 0) {
    EXPECT_GT(granted(), 1u << 20);
  }
}

TEST_F(SmallMemory, WithoutRoomBytesGoByMessages) {
  write_and_read(0, 3, small);
  EXPECT_EQ(granted(), 0u);
}

/// The same for steps that are encoded behind the call, with a plain variable beside them.
class SmallMemoryEncoded : public SmallMemory {
 protected:
  void SetUp() override {
    for (const char* name : {"deflate", "zstd"}) {
      if (codec::find_method(std::string(name))) {
        codec_ = std::string(name) + ":1";
      }
    }
    if (codec_.empty()) {
      GTEST_SKIP() << "built without codecs";
    }
  }

  void write_and_read(std::uint64_t room, std::uint64_t steps) {
    room_bytes = room;
    granted_bytes = 0;
    const model::Box mine = slab(small, all_->rank(), all_->size());
    {
      File out = open(Mode::write);
      const Variable packed = out.define<double>(
          "packed", small, {.steps = true, .chunk = {5, 900}, .compress = codec_});
      const Variable plain = out.define<double>("plain", small, {.steps = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        Giver<double> giver;
        Step step = out.begin_step();
        giver.put(step, packed, s, small, mine);
        giver.put(step, plain, s + 50, small, mine);
        step.end();
      }
      out.close();
    }
    all_->barrier();
    File in = open(Mode::read);
    ASSERT_EQ(in.steps(), steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      expect_values<double>(in, "packed", s, small, mine, s);
      expect_values<double>(in, "plain", s + 50, small, mine, s);
    }
  }

 private:
  std::string codec_;
};

TEST_F(SmallMemoryEncoded, WithLittleRoomFewerWindowsAreShared) {
  constexpr std::uint64_t room = 8 << 20;
  write_and_read(room, 3);
  EXPECT_LE(granted(), room);
  if (all_->rank() == 0) {
    EXPECT_GT(granted(), 1u << 20);
  }
}

TEST_F(SmallMemoryEncoded, WithoutRoomBytesGoByMessages) {
  write_and_read(0, 3);
  EXPECT_EQ(granted(), 0u);
}

TEST_F(SmallMemory, StepsAreLargerThanASmallShm) {
  write_and_read(std::numeric_limits<std::uint64_t>::max(), 1, {64, 160000});  // 82 MB
}

}  // namespace
}  // namespace sluice::test
