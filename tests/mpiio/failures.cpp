// The same class of error on every rank, and no hang, whatever fails on one of them: the program
// replaces the C library's pwrite, pread and close and makes them fail on the last rank only.
// failures FILE; exits with 1 where a class is another one.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <mpi.h>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace {

int fails_with = 0;
int close_fails_with = 0;  ///< of the file
std::string file_name;
int rank = 0;
int ranks = 1;
int wrong = 0;

using Write = ssize_t (*)(int, const void*, size_t, off_t);
using Read = ssize_t (*)(int, void*, size_t, off_t);

ssize_t write_or_fail(const char* name, int fd, const void* from, size_t bytes, off_t at) {
  if (fails_with != 0) {
    errno = fails_with;
    return -1;
  }
  return reinterpret_cast<Write>(dlsym(RTLD_NEXT, name))(fd, from, bytes, at);
}
ssize_t read_or_fail(const char* name, int fd, void* into, size_t bytes, off_t at) {
  if (fails_with != 0) {
    errno = fails_with;
    return -1;
  }
  return reinterpret_cast<Read>(dlsym(RTLD_NEXT, name))(fd, into, bytes, at);
}

int class_of(int result) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(result, &error_class);
  return error_class;
}

/// On all ranks.
void expect(const char* what, int result, int right) {
  if (class_of(result) != right) {
    std::fprintf(stderr, "rank %d: %s: class %d, expected %d\n", rank, what, class_of(result),
                 right);
    ++wrong;
  }
}

/// `number` on the last rank, nothing on the others.
void fail_on_last(int number) { fails_with = rank == ranks - 1 ? number : 0; }

MPI_File open_for_all(const char* name) {
  MPI_File file = MPI_FILE_NULL;
  // All ranks write for others, also the one that fails.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", std::to_string(ranks).c_str());
  expect("open", MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
         MPI_SUCCESS);
  MPI_Info_free(&info);
  return file;
}

void check_writes(const char* name) {
  MPI_File file = open_for_all(name);
  std::vector<char> large(1 << 20, 'x');
  const auto own = static_cast<MPI_Offset>(rank) << 20;
  const int n = static_cast<int>(large.size());
  for (const auto& [number, right] :
       {std::pair{ENOSPC, MPI_ERR_NO_SPACE}, std::pair{EIO, MPI_ERR_IO}}) {
    fail_on_last(number);
    expect("write_at_all",
           MPI_File_write_at_all(file, own, large.data(), n, MPI_CHAR, MPI_STATUS_IGNORE), right);
    fails_with = 0;
  }
  // Interleaved: bytes are exchanged, and the rank that fails writes for the others too.
  MPI_Datatype rows = MPI_BYTE;
  MPI_Type_vector(2048, 512, 512 * ranks, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);
  expect("set_view", MPI_File_set_view(file, 512 * rank, MPI_BYTE, rows, "native", MPI_INFO_NULL),
         MPI_SUCCESS);
  for (const auto& [number, right] :
       {std::pair{ENOSPC, MPI_ERR_NO_SPACE}, std::pair{EIO, MPI_ERR_IO}}) {
    fail_on_last(number);
    expect("write_all",
           MPI_File_write_at_all(file, 0, large.data(), n, MPI_CHAR, MPI_STATUS_IGNORE), right);
    fails_with = 0;
    expect("write_all",
           MPI_File_write_at_all(file, 0, large.data(), n, MPI_CHAR, MPI_STATUS_IGNORE),
           MPI_SUCCESS);
    fail_on_last(number);
    expect("read_all", MPI_File_read_at_all(file, 0, large.data(), n, MPI_CHAR, MPI_STATUS_IGNORE),
           number == EIO ? MPI_ERR_IO : right);
    fails_with = 0;
  }
  // Independent: only the affected rank.
  fail_on_last(EIO);
  expect("write_at", MPI_File_write_at(file, 0, large.data(), 100, MPI_CHAR, MPI_STATUS_IGNORE),
         fails_with == 0 ? MPI_SUCCESS : MPI_ERR_IO);
  fails_with = 0;
  // Arguments that are wrong on one rank.
  const bool is_last = rank == ranks - 1;
  expect("count",
         MPI_File_write_all(file, large.data(), is_last ? -1 : 10, MPI_CHAR, MPI_STATUS_IGNORE),
         MPI_ERR_COUNT);
  expect("type",
         MPI_File_read_all(file, large.data(), 10, is_last ? MPI_DATATYPE_NULL : MPI_CHAR,
                           MPI_STATUS_IGNORE),
         MPI_ERR_TYPE);
  expect("view",
         MPI_File_set_view(file, is_last ? -1 : 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
         MPI_ERR_ARG);
  expect("representation",
         MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "unheard of", MPI_INFO_NULL),
         MPI_ERR_UNSUPPORTED_DATAREP);
  MPI_Type_free(&rows);
  expect("close", MPI_File_close(&file), MPI_SUCCESS);
}

/// A full disk: all ranks but the first fail, step after step. What is printed is counted by who
/// calls this program.
void check_full(const std::string& name) {
  MPI_File file = open_for_all((name + ".full").c_str());
  MPI_File alone = open_for_all((name + ".alone").c_str());
  const std::vector<char> bytes(1 << 10, 'x');
  const auto n = static_cast<int>(bytes.size());
  const bool fails = rank > 0 || ranks == 1;
  for (int step = 0; step < 3; ++step) {
    const MPI_Offset own = MPI_Offset{rank} * n;
    fails_with = fails ? ENOSPC : 0;
    expect("write_at_all",
           MPI_File_write_at_all(file, own, bytes.data(), n, MPI_CHAR, MPI_STATUS_IGNORE),
           MPI_ERR_NO_SPACE);
    expect("write_at", MPI_File_write_at(alone, own, bytes.data(), n, MPI_CHAR, MPI_STATUS_IGNORE),
           fails ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
    // Another code, later and on the last rank alone.
    fail_on_last(step == 2 ? EIO : 0);
    expect("write_at_all",
           MPI_File_write_at_all(file, own, bytes.data(), n, MPI_CHAR, MPI_STATUS_IGNORE),
           step == 2 ? MPI_ERR_IO : MPI_SUCCESS);
    fails_with = 0;
  }
  expect("close", MPI_File_close(&alone), MPI_SUCCESS);
  expect("close", MPI_File_close(&file), MPI_SUCCESS);
}

/// Some file systems say only at the close that there is no space.
void check_closes(const char* name) {
  for (const auto& [number, right] :
       {std::pair{EDQUOT, MPI_ERR_NO_SPACE}, std::pair{EIO, MPI_ERR_IO}}) {
    MPI_File file = open_for_all(name);
    close_fails_with = rank == ranks - 1 ? number : 0;
    expect("close", MPI_File_close(&file), right);
    close_fails_with = 0;
  }
}

void check_opens(const std::string& name) {
  MPI_File file = MPI_FILE_NULL;
  const auto open = [&](const char* path, int mode) {
    return MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
  };
  expect("no file", open((name + ".not-there").c_str(), MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  expect("no folder", open((name + ".not-there/file").c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR),
         MPI_ERR_NO_SUCH_FILE);
  expect("a file that is there",
         open(name.c_str(), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR), MPI_ERR_FILE_EXISTS);
  expect("mode", open(name.c_str(), MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
  if (ranks > 1) {
    expect("modes differ", open(name.c_str(), rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR),
           MPI_ERR_NOT_SAME);
  }
  expect("open", open(name.c_str(), MPI_MODE_RDONLY), MPI_SUCCESS);
  char byte = 0;
  expect("read only", MPI_File_write_all(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
         MPI_ERR_READ_ONLY);
  expect("close", MPI_File_close(&file), MPI_SUCCESS);
  expect("a handle that is none", MPI_File_write_all(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
         MPI_ERR_FILE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    expect("delete", MPI_File_delete(name.c_str(), MPI_INFO_NULL), MPI_SUCCESS);
    expect("delete", MPI_File_delete(name.c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  }
}

}  // namespace

extern "C" {
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return write_or_fail("pwrite", fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t at) {
  return write_or_fail("pwrite64", fd, from, bytes, at);
}
ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  return read_or_fail("pread", fd, into, bytes, at);
}
ssize_t pread64(int fd, void* into, size_t bytes, off_t at) {
  return read_or_fail("pread64", fd, into, bytes, at);
}
int close(int fd) {
  char place[64];
  char target[4096] = {};
  std::snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
  const bool is_meant = close_fails_with != 0 && readlink(place, target, sizeof target - 1) > 0 &&
                        file_name == target;
  const int result = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"))(fd);
  if (is_meant) {
    errno = close_fails_with;
    return -1;
  }
  return result;
}
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  file_name = argv[argc - 1];
  check_writes(argv[argc - 1]);
  check_full(argv[argc - 1]);
  check_closes(argv[argc - 1]);
  check_opens(argv[argc - 1]);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
