// What writing behind promises, called by its cases: behind CASE FILE; exits with 1 where a promise
// is broken. The program stands before the C library's pwrite and pthread_create, to let them fail.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <mpi.h>
#include <pthread.h>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<int> fails_with{0};
std::atomic<bool> refuses_threads{false};
std::atomic<int> written_to{-1};       ///< the descriptor
std::atomic<int> close_fails_with{0};  ///< of that descriptor
std::atomic<int> writes_since_sync{0};
std::atomic<int> syncs{0};
int rank = 0;
int ranks = 1;
int wrong = 0;

using Write = ssize_t (*)(int, const void*, size_t, off_t);
using Sync = int (*)(int);

/// Files whose name says so.
bool is_full(int fd) {
  char place[64];
  char target[4096] = {};
  std::snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
  return readlink(place, target, sizeof target - 1) > 0 &&
         std::string(target).find(".full") != std::string::npos;
}

ssize_t write_or_fail(const char* name, int fd, const void* from, size_t bytes, off_t at) {
  ++writes_since_sync;
  written_to = fd;
  if (fails_with != 0 || is_full(fd)) {
    errno = fails_with != 0 ? fails_with.load() : ENOSPC;
    return -1;
  }
  return reinterpret_cast<Write>(dlsym(RTLD_NEXT, name))(fd, from, bytes, at);
}

void expect(bool is_right, const char* what) {
  if (!is_right) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    ++wrong;
  }
}
void expect_class(const char* what, int result, int right) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(result, &error_class);
  if (error_class != right) {
    std::fprintf(stderr, "rank %d: %s: class %d, expected %d\n", rank, what, error_class, right);
    ++wrong;
  }
}

MPI_File open_for(MPI_Comm comm, const char* name) {
  MPI_File file = MPI_FILE_NULL;
  expect_class("open",
               MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
               MPI_SUCCESS);
  return file;
}

constexpr int block = 300'000;  // not a whole number of pages
using Block = std::vector<char>;

Block filled(int value) { return Block(block, static_cast<char>(value)); }

void write_block(MPI_File file, int place, const Block& bytes) {
  expect_class("write_at_all",
               MPI_File_write_at_all(file, MPI_Offset{place} * block, bytes.data(), block, MPI_CHAR,
                                     MPI_STATUS_IGNORE),
               MPI_SUCCESS);
}
void expect_block(MPI_File file, int place, int value, const char* what) {
  Block bytes(block);
  MPI_Status status{};
  int count = 0;
  MPI_File_read_at(file, MPI_Offset{place} * block, bytes.data(), block, MPI_CHAR, &status);
  MPI_Get_count(&status, MPI_CHAR, &count);
  expect(count == block && bytes == filled(value), what);
}

/// What a barrier alone makes visible on POSIX: by any handle of the file.
void check_visibility(const char* name) {
  MPI_File file = open_for(MPI_COMM_WORLD, name);
  MPI_File own = open_for(MPI_COMM_SELF, name);
  const int other = (rank + 1) % ranks;
  for (int step = 0; step < 4; ++step) {
    const int first = step * ranks;
    write_block(file, first + rank, filled(step * 10 + rank));
    expect_block(file, first + rank, step * 10 + rank, "one's own bytes");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset size = 0;
    MPI_File_get_size(step % 2 == 0 ? own : file, &size);
    expect(size == MPI_Offset{first + ranks} * block, "the size");
    expect_block(own, first + other, step * 10 + other, "another rank's bytes, by another handle");
    MPI_Barrier(MPI_COMM_WORLD);

    // Written by another rank: collectively, then alone over a part of it.
    write_block(file, first + other, filled(step * 10 + 5));
    MPI_Barrier(MPI_COMM_WORLD);
    const char mark = 'm';
    MPI_File_write_at(own, MPI_Offset{first + rank} * block + 7, &mark, 1, MPI_CHAR,
                      MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    Block right = filled(step * 10 + 5);
    right[7] = mark;
    Block bytes(block);
    MPI_File_read_at_all(file, MPI_Offset{first + other} * block, bytes.data(), block, MPI_CHAR,
                         MPI_STATUS_IGNORE);
    expect(bytes == right, "two writers of one place");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  write_block(file, 4 * ranks + rank, filled(1));
  MPI_Offset at = 0;
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &at);
  expect(at == MPI_Offset{5 * ranks} * block, "the end");
  write_block(file, 5 * ranks + rank, filled(2));
  MPI_File_set_size(file, block);
  MPI_File_get_size(file, &at);
  expect(at == block, "the size that was set");
  MPI_File_close(&file);
  MPI_File_get_size(own, &at);
  expect(at == block, "the size after the close");
  MPI_File_close(&own);
}

/// Told once, on every rank, by the next collective call, a sync or the close.
void check_failures(const char* name) {
  MPI_File file = open_for(MPI_COMM_WORLD, name);
  const Block bytes = filled(3);
  const auto fail_behind = [&](int number) {
    fails_with = rank == ranks - 1 ? number : 0;
    write_block(file, rank, bytes);
    MPI_File own = open_for(MPI_COMM_SELF, name);
    MPI_Offset size = 0;
    MPI_File_get_size(own, &size);  // waits
    MPI_File_close(&own);
    MPI_Barrier(MPI_COMM_WORLD);
    fails_with = 0;
  };
  fail_behind(ENOSPC);
  expect_class("sync", MPI_File_sync(file), MPI_ERR_NO_SPACE);
  expect_class("the sync after it", MPI_File_sync(file), MPI_SUCCESS);
  fail_behind(EIO);
  expect_class("the next collective write",
               MPI_File_write_at_all(file, MPI_Offset{rank} * block, bytes.data(), block, MPI_CHAR,
                                     MPI_STATUS_IGNORE),
               MPI_ERR_IO);
  write_block(file, rank, bytes);
  fail_behind(EIO);
  Block read(block);
  expect_class("the next collective read",
               MPI_File_read_at_all(file, MPI_Offset{rank} * block, read.data(), block, MPI_CHAR,
                                    MPI_STATUS_IGNORE),
               MPI_ERR_IO);
  write_block(file, rank, bytes);
  expect_block(file, rank, 3, "what was written again");
  fail_behind(ENOSPC);
  expect_class("close", MPI_File_close(&file), MPI_ERR_NO_SPACE);
  // Some file systems say only at the close of the thread's descriptor that there is no space.
  file = open_for(MPI_COMM_WORLD, name);
  write_block(file, rank, bytes);
  expect_class("sync", MPI_File_sync(file), MPI_SUCCESS);
  close_fails_with = rank == ranks - 1 ? EDQUOT : 0;
  expect_class("close of the thread's", MPI_File_close(&file), MPI_ERR_NO_SPACE);
  expect(close_fails_with == 0, "what was written to is closed");
}

/// Every byte is written before the sync that follows, and the close syncs too.
void check_durability(const char* name) {
  MPI_File file = open_for(MPI_COMM_WORLD, name);
  write_block(file, rank, filled(4));
  expect_class("sync", MPI_File_sync(file), MPI_SUCCESS);
  int told[2] = {writes_since_sync, syncs};
  int all[2] = {};
  MPI_Allreduce(told, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(all[1] == 1 && told[0] == (rank == 0 ? 0 : told[0]), "one sync, after all writes");
  write_block(file, ranks + rank, filled(4));
  expect_class("close", MPI_File_close(&file), MPI_SUCCESS);
  told[0] = writes_since_sync;
  told[1] = syncs;
  MPI_Allreduce(told, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(all[1] == 2, "a close syncs");
}

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word == "VmHWM:") {
      std::int64_t kib = 0;
      file >> kib;
      return kib;
    }
  }
  return 0;
}

void expect_within_budget(std::int64_t kib_before) {
  const std::int64_t more = (resident_kib() - kib_before) / 1024;
  expect(more < std::atoi(std::getenv("SLUICE_MPIIO_BUDGET_MIB")) + 24, "the budget");
  std::fprintf(stderr, "rank %d: %d MiB more\n", rank, static_cast<int>(more));
}

/// What is staged takes more room for its places than for its bytes.
void check_budget_of_short_runs(const char* name) {
  constexpr int run = 4;
  MPI_Datatype runs = MPI_DATATYPE_NULL;
  const int bytes = 8 << 20;
  const std::vector<char> values(bytes, 's');
  MPI_File file = open_for(MPI_COMM_WORLD, name);
  MPI_Type_vector(1 << 10, run, 2 * run, MPI_BYTE, &runs);
  MPI_Type_commit(&runs);
  MPI_File_set_view(file, MPI_Offset{rank} * 3 * bytes, MPI_BYTE, runs, "native", MPI_INFO_NULL);
  MPI_Type_free(&runs);
  const std::int64_t before = resident_kib();
  fails_with = EIO;  // two million writes take seconds
  MPI_File_write_at_all(file, 0, values.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  expect_within_budget(before);
  expect_class("close", MPI_File_close(&file), MPI_ERR_IO);
}

/// SLUICE_MPIIO_BUDGET_MIB holds, whatever is staged at once.
void check_budget(const char* name) {
  const int mib = 128;
  std::vector<char> large(static_cast<std::size_t>(mib) << 20, 'l');
  MPI_File file = open_for(MPI_COMM_WORLD, name);
  const std::int64_t before = resident_kib();
  MPI_File_write_at_all(file, (MPI_Offset{rank} * mib << 20) + 100, large.data(), mib << 20,
                        MPI_CHAR, MPI_STATUS_IGNORE);
  expect_class("close", MPI_File_close(&file), MPI_SUCCESS);
  expect_within_budget(before);
}

constexpr int large_block = (4 << 20) - 8192;  // a job of it takes half the smallest budget

int write_large(MPI_File file) {
  const std::vector<char> bytes(large_block, 'l');
  return MPI_File_write_at_all(file, MPI_Offset{rank} * large_block, bytes.data(), large_block,
                               MPI_CHAR, MPI_STATUS_IGNORE);
}

/// What could not be written behind for want of a thread takes no memory of other files.
void check_refused_threads(const std::string& name) {
  MPI_File files[3];
  for (int i = 0; i < 3; ++i) {
    files[i] = open_for(MPI_COMM_WORLD, (name + std::to_string(i)).c_str());
  }
  refuses_threads = true;
  for (int i = 0; i < 2; ++i) {
    expect(write_large(files[i]) != MPI_SUCCESS, "a write without a thread");
  }
  refuses_threads = false;
  expect_class("a write of another file", write_large(files[2]), MPI_SUCCESS);
  for (MPI_File& file : files) {
    expect_class("close", MPI_File_close(&file), MPI_SUCCESS);
  }
}

/// Who waits for memory while nothing is written waits for SLUICE_TIMEOUT_S.
void check_slow_storage(const char* name) {
  MPI_File file = open_for(MPI_COMM_WORLD, name);
  int result = MPI_SUCCESS;
  for (int i = 0; i < 3 && result == MPI_SUCCESS; ++i) {
    result = write_large(file);
  }
  expect_class("a wait for memory", result, MPI_ERR_IO);
  expect_class("close", MPI_File_close(&file), MPI_SUCCESS);
}

/// A program that ends without closing its files, of which some cannot be written.
[[noreturn]] void end_without_close(const std::string& name) {
  // Which of several comes first at the end is not known: more than one of either kind.
  std::vector<std::string> names{name, name + ".full", name + ".2", name + ".full2"};
  std::vector<MPI_File> files;
  for (const std::string& one : names) {
    files.push_back(open_for(MPI_COMM_WORLD, one.c_str()));
  }
  for (int step = 0; step < 3; ++step) {
    write_block(files[0], step * ranks + rank, filled(step + 1));
    write_block(files[2], step * ranks + rank, filled(step + 1));
  }
  write_block(files[1], rank, filled(1));
  write_block(files[3], rank, filled(1));
  MPI_Finalize();
  std::exit(0);
}

}  // namespace

extern "C" {
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return write_or_fail("pwrite", fd, from, bytes, at);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return refuses_threads ? EAGAIN
                         : reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(
                               thread, attributes, run, argument);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t at) {
  return write_or_fail("pwrite64", fd, from, bytes, at);
}
int close(int fd) {
  const int result = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"))(fd);
  if (fd == written_to && close_fails_with != 0) {
    errno = close_fails_with.exchange(0);
    return -1;
  }
  return result;
}
int fdatasync(int fd) {
  ++syncs;
  writes_since_sync = 0;
  return reinterpret_cast<Sync>(dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string which = argc == 3 ? argv[1] : "";
  if (which == "visibility") {
    check_visibility(argv[2]);
  } else if (which == "failures") {
    check_failures(argv[2]);
  } else if (which == "durability") {
    check_durability(argv[2]);
  } else if (which == "budget") {
    check_budget(argv[2]);
  } else if (which == "short") {
    check_budget_of_short_runs(argv[2]);
  } else if (which == "threads") {
    check_refused_threads(argv[2]);
  } else if (which == "slow") {
    check_slow_storage(argv[2]);
  } else if (which == "exit") {
    end_without_close(argv[2]);
  } else {
    std::fprintf(stderr, "usage: behind CASE FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
