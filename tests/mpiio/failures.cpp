// The same class of error on every rank, and no hang, whatever fails on one of them: the program
// replaces the C library's pwrite, pread and close and makes them fail on the last rank only.
// failures [fatal-open|fatal-read|fatal-close] FILE; exits with 1 where a class is another one.
// With a word before the file a call fails whose error handler ends the program.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <string>
#include <string_view>
#include <sys/statvfs.h>
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

/// Files of this name are on a file system that is mounted for reading only.
bool is_read_only(const char* path) { return std::string_view(path).ends_with(".read-only"); }

int open_or_fail(const char* name, int folder, const char* path, int flags, mode_t mode) {
  if (is_read_only(path) && (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0) {
    errno = EROFS;
    return -1;
  }
  using Open = int (*)(int, const char*, int, ...);
  return reinterpret_cast<Open>(dlsym(RTLD_NEXT, name))(folder, path, flags, mode);
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

/// An end returns what its begin did; a program may also leave it out.
void check_splits(const std::string& name) {
  MPI_File file = open_for_all((name + ".split").c_str());
  const std::vector<char> bytes(1 << 10, 'x');
  const auto n = static_cast<int>(bytes.size());
  const MPI_Offset own = MPI_Offset{rank} * n;
  const auto begin = [&] {
    return MPI_File_write_at_all_begin(file, own, bytes.data(), n, MPI_CHAR);
  };
  const auto end = [&] { return MPI_File_write_at_all_end(file, bytes.data(), MPI_STATUS_IGNORE); };
  fail_on_last(ENOSPC);
  expect("begin", begin(), MPI_ERR_NO_SPACE);
  expect("end", end(), MPI_ERR_NO_SPACE);
  expect("a second end", end(), MPI_ERR_IO);
  expect("begin", begin(), MPI_ERR_NO_SPACE);
  fails_with = 0;
  expect("begin without the end of one that failed", begin(), MPI_SUCCESS);
  expect("a second begin", begin(), MPI_ERR_IO);
  expect("end", end(), MPI_SUCCESS);
  // Of a nonblocking call the call fails, and there is nothing to wait for.
  MPI_Request request = MPI_REQUEST_NULL;
  fails_with = ENOSPC;
  expect("iwrite_at", MPI_File_iwrite_at(file, own, bytes.data(), n, MPI_CHAR, &request),
         MPI_ERR_NO_SPACE);
  fails_with = 0;
  expect("request", request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_ERR_REQUEST, MPI_SUCCESS);
  expect("close", MPI_File_close(&file), MPI_SUCCESS);
}

int handled = 0;
MPI_File handled_file = MPI_FILE_NULL;
void count_failure(MPI_File* file, int*, ...) {
  ++handled;
  handled_file = *file;
}

/// Some file systems say only at the close that there is no space. The handler is the file's.
void check_closes(const char* name) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_File_create_errhandler(count_failure, &handler);
  for (const auto& [number, right] :
       {std::pair{EDQUOT, MPI_ERR_NO_SPACE}, std::pair{EIO, MPI_ERR_IO}}) {
    MPI_File file = open_for_all(name);
    const MPI_File opened = file;
    MPI_File_set_errhandler(file, handler);
    handled = 0;
    close_fails_with = rank == ranks - 1 ? number : 0;
    expect("close", MPI_File_close(&file), right);
    close_fails_with = 0;
    const bool is_told = handled == 1 && handled_file == opened && file == MPI_FILE_NULL;
    expect("the handler of a file that is closed", is_told ? MPI_SUCCESS : MPI_ERR_OTHER,
           MPI_SUCCESS);
  }
  MPI_Errhandler_free(&handler);
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
    const std::string other = name + ".other";
    const int create = MPI_MODE_CREATE | MPI_MODE_RDWR;
    expect("names differ", open(rank == 0 ? name.c_str() : other.c_str(), create),
           MPI_ERR_NOT_SAME);
    expect("open", open(other.c_str(), create), MPI_SUCCESS);
    expect("close", MPI_File_close(&file), MPI_SUCCESS);
    expect("files differ", open(rank == 0 ? name.c_str() : other.c_str(), create),
           MPI_ERR_NOT_SAME);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      unlink(other.c_str());
    }
  }
  expect("a folder", open(name.substr(0, name.rfind('/')).c_str(), MPI_MODE_RDWR),
         MPI_ERR_BAD_FILE);
  expect("read-only file system",
         open((name + ".read-only").c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR), MPI_ERR_READ_ONLY);
  expect("open", open(name.c_str(), MPI_MODE_RDONLY), MPI_SUCCESS);
  char byte = 0;
  expect("read only", MPI_File_write_all(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
         MPI_ERR_READ_ONLY);
  expect(
      "an argument of one rank",
      MPI_File_read_at_all(file, rank == ranks - 1 ? -1 : 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
      MPI_ERR_ARG);
  expect("close", MPI_File_close(&file), MPI_SUCCESS);
  expect("a handle that is none", MPI_File_write_all(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
         MPI_ERR_FILE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    expect("delete", MPI_File_delete(name.c_str(), MPI_INFO_NULL), MPI_SUCCESS);
    expect("delete", MPI_File_delete(name.c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  }
}

/// Ends the program.
void fail_fatally(std::string_view which, const std::string& name) {
  MPI_File file = MPI_FILE_NULL;
  if (which == "fatal-open") {
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    return;
  }
  MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                &file);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  if (which == "fatal-close") {
    close_fails_with = rank == ranks - 1 ? EDQUOT : 0;
    MPI_File_close(&file);
    return;
  }
  char byte = 0;
  MPI_File_read_at_all(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE);
}

}  // namespace

extern "C" {
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_or_fail("openat", folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_or_fail("openat64", folder, path, flags, mode);
}
int statvfs(const char* path, struct statvfs* facts) {
  using Stat = int (*)(const char*, struct statvfs*);
  if (is_read_only(path)) {
    *facts = {};
    facts->f_flag = ST_RDONLY;
    return 0;
  }
  return reinterpret_cast<Stat>(dlsym(RTLD_NEXT, "statvfs"))(path, facts);
}
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
  if (argc > 2) {
    fail_fatally(argv[1], file_name);
    MPI_Finalize();
    return 0;
  }
  check_writes(argv[argc - 1]);
  check_full(argv[argc - 1]);
  check_splits(argv[argc - 1]);
  check_closes(argv[argc - 1]);
  check_opens(argv[argc - 1]);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
