// What ranks agree on though they come with different things, or at different times; and what
// threads of one rank share. agreements CASE FILE; exits with 1 where something is wrong.
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <limits>
#include <mpi.h>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int rank = 0;
int ranks = 1;
int wrong = 0;
bool is_slow = false;  ///< ftruncate
int links_read = 0;    ///< of which the name ends with "link"
std::string name;

void expect(bool is_true, const char* what) {
  if (!is_true) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    ++wrong;
  }
}

MPI_File open(MPI_Comm comm, const std::string& path, int mode, MPI_Info info = MPI_INFO_NULL) {
  MPI_File file = MPI_FILE_NULL;
  expect(MPI_File_open(comm, path.c_str(), mode, info, &file) == MPI_SUCCESS, "open");
  return file;
}

void be_late() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

constexpr int piece = 512;
constexpr int pieces = 2048;

/// A view in which the ranks' pieces alternate.
MPI_Datatype alternating(int among) {
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_vector(pieces, piece, piece * among, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);
  return rows;
}

/// What rank `whose` of a group writes; the groups and the times differ.
char value(int group, int whose, int time) {
  return static_cast<char>(1 + group * 64 + time * 8 + whose);
}

/// Writes together, and reads the whole file alone.
void write_and_check(MPI_File file, MPI_Comm comm, int group, int time, const char* what) {
  int own = 0;
  int all = 1;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &all);
  const std::vector<char> bytes(std::size_t{piece} * pieces, value(group, own, time));
  expect(MPI_File_write_at_all(file, 0, bytes.data(), piece * pieces, MPI_BYTE,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS,
         what);
  MPI_File_sync(file);
  MPI_Barrier(comm);
  std::vector<char> back(std::size_t{piece} * pieces);
  expect(MPI_File_read_at_all(file, 0, back.data(), piece * pieces, MPI_BYTE, MPI_STATUS_IGNORE) ==
             MPI_SUCCESS,
         what);
  expect(back == bytes, what);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  std::vector<char> whole(std::size_t{piece} * pieces * static_cast<std::size_t>(all));
  MPI_File_read_at(file, 0, whole.data(), piece * pieces * all, MPI_BYTE, MPI_STATUS_IGNORE);
  for (std::size_t at = 0; at < whole.size(); at += piece) {
    const int whose = static_cast<int>(at / piece) % all;
    if (whole[at] != value(group, whose, time) || whole[at + piece - 1] != whole[at]) {
      expect(false, what);
      break;
    }
  }
}

void write_in_view(MPI_Comm comm, const std::string& path, int group, int time, const char* what) {
  int own = 0;
  int all = 1;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &all);
  MPI_Datatype rows = alternating(all);
  MPI_File file = open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_view(file, MPI_Offset{piece} * own, MPI_BYTE, rows, "native", MPI_INFO_NULL);
  write_and_check(file, comm, group, time, what);
  MPI_File_close(&file);
  MPI_Type_free(&rows);
}

/// Files of all ranks, then of groups at the same time, whose members change: what one group
/// exchanges stays its own.
void check_groups() {
  for (int time = 0; time < 6; ++time) {
    write_in_view(MPI_COMM_WORLD, name, 0, time, "a file of all ranks");
    for (const int group : {2 * rank / ranks, rank % 2, 2 * rank / ranks}) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, group, rank, &comm);
      MPI_Barrier(MPI_COMM_WORLD);
      write_in_view(comm, name + std::to_string(group), group, time, "a file of a group");
      MPI_Comm_free(&comm);
    }
  }
}

enum class From : int { open, view, info };

/// Hints of which the first rank has others than the rest.
void check_hints(From from, const char* key, const char* of_first, const char* of_others) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  const char* const own = rank == 0 ? of_first : of_others;
  if (*own != 0) {
    MPI_Info_set(info, key, own);
  }
  MPI_File file = open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                       from == From::open ? info : MPI_INFO_NULL);
  MPI_Datatype rows = alternating(ranks);
  MPI_File_set_view(file, MPI_Offset{piece} * rank, MPI_BYTE, rows, "native",
                    from == From::view ? info : MPI_INFO_NULL);
  if (from == From::info) {
    expect(MPI_File_set_info(file, info) == MPI_SUCCESS, "set_info");
  }
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  char told[64] = {};
  int is_there = 0;
  MPI_Info_get(info, key, 63, told, &is_there);
  expect(std::string(told) == own, "the rank's own hint");
  MPI_Info_free(&info);
  write_and_check(file, MPI_COMM_WORLD, static_cast<int>(from), 0, key);
  MPI_Type_free(&rows);
  MPI_File_close(&file);
}

void check_all_hints() {
  for (const From from : {From::open, From::view, From::info}) {
    check_hints(from, "romio_cb_write", "enable", "disable");
    check_hints(from, "romio_cb_write", "disable", "");
    check_hints(from, "romio_cb_read", "", "disable");
    check_hints(from, "cb_buffer_size", "262144", "67108864");
    check_hints(from, "cb_buffer_size", "67108864", "262144");
    check_hints(from, "cb_nodes", "1", "3");
    check_hints(from, "striping_unit", "", "1048576");
  }
}

/// The last rank still writes by the shared pointer when the others seek from where it is.
void check_shared_pointer() {
  const char text[] = "ten bytes.";
  MPI_File file = open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_Offset at = -1;
  for (const int whence : {MPI_SEEK_CUR, MPI_SEEK_END}) {
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    if (rank == ranks - 1) {
      be_late();
      MPI_File_write_shared(file, text, 10, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    expect(MPI_File_seek_shared(file, 5, whence) == MPI_SUCCESS, "seek_shared");
    MPI_File_get_position_shared(file, &at);
    expect(at == 15, "a seek from where the shared pointer is, or the file ends");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  expect(MPI_File_seek_shared(file, 0, rank == ranks - 1 ? -17 : MPI_SEEK_SET) == MPI_ERR_ARG,
         "a whence that is none");
  expect(MPI_File_seek_shared(file, -100, MPI_SEEK_CUR) == MPI_ERR_ARG, "a seek before the start");
  MPI_File_get_position_shared(file, &at);
  expect(at == 15, "a seek that failed");
  MPI_Barrier(MPI_COMM_WORLD);
  const int of_last = rank == ranks - 1 ? -1 : 10;
  expect(MPI_File_write_ordered(file, text, of_last, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_ERR_COUNT,
         "a count of one rank");
  MPI_File_get_position_shared(file, &at);
  expect(at == 15, "the shared pointer after an ordered call that was refused");
  const MPI_Offset last = std::numeric_limits<MPI_Offset>::max() - 5;
  MPI_File_seek_shared(file, last, MPI_SEEK_SET);
  expect(MPI_File_write_ordered(file, text, 10, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_ERR_ARG,
         "an ordered call beyond the largest file");
  expect(MPI_File_write_shared(file, text, 10, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_ERR_ARG,
         "a call beyond the largest file");
  MPI_File_get_position_shared(file, &at);
  expect(at == last, "the shared pointer of calls beyond the largest file");
  MPI_File_close(&file);
  file = open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  if (rank == ranks - 1) {
    be_late();
    MPI_File_write_shared(file, text, 10, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  expect(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native",
                           MPI_INFO_NULL) == MPI_SUCCESS,
         "a view from where the shared pointer is");
  MPI_File_get_byte_offset(file, 0, &at);
  expect(at == 10, "where that view begins");
  MPI_File_close(&file);
}

/// The file never becomes shorter, also where the file system cannot reserve.
void check_reserving() {
  const std::vector<char> bytes(100, 'b');
  MPI_File file = open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  is_slow = rank != ranks - 1;
  if (rank == ranks - 1) {
    be_late();
    MPI_File_write_at(file, 1900, bytes.data(), 100, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  expect(MPI_File_preallocate(file, 1000) == MPI_SUCCESS, "preallocate");
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  expect(size == 2000, "the size after a late write");
  std::vector<char> back(100);
  MPI_File_read_at(file, 1900, back.data(), 100, MPI_CHAR, MPI_STATUS_IGNORE);
  expect(back == bytes, "what a late rank wrote");
  expect(MPI_File_preallocate(file, 3000) == MPI_SUCCESS, "preallocate");
  MPI_File_get_size(file, &size);
  expect(size == 3000, "the size that was reserved");
  MPI_File_close(&file);
}

/// Each rank writes a byte into the file that it was given by a name of its own; rank 0 reads all.
void write_bytes_of_ranks(const std::string& own_name, const char* what) {
  MPI_File file = open(MPI_COMM_WORLD, own_name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  const char byte = value(0, rank, 0);
  expect(MPI_File_write_at_all(file, rank, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS,
         what);
  MPI_File_close(&file);
  std::vector<char> all(static_cast<std::size_t>(ranks));
  file = open(MPI_COMM_SELF, name, MPI_MODE_RDONLY);
  MPI_File_read_at(file, 0, all.data(), ranks, MPI_CHAR, MPI_STATUS_IGNORE);
  for (int other = 0; other < ranks; ++other) {
    expect(all[static_cast<std::size_t>(other)] == value(0, other, 0), what);
  }
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_File_delete(name.c_str(), MPI_INFO_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Names that lead to one file on all ranks: rank 0 follows the links of its name for all.
void check_paths() {
  const std::string link = name + ".link";
  if (rank == 0) {
    expect(symlink(name.c_str(), link.c_str()) == 0, "symlink");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  write_bytes_of_ranks(link, "a link");
  expect(rank == 0 || links_read == 0, "a link that a rank has followed itself");
  write_bytes_of_ranks(rank == 0 ? name : link, "a link on other ranks");
  write_bytes_of_ranks(rank == 0 ? link : name, "a link on rank 0");
  const std::string::size_type slash = name.rfind('/');
  expect(chdir(rank == 0 ? name.substr(0, slash).c_str() : "/") == 0, "chdir");
  write_bytes_of_ranks(name.substr(slash + 1), "a relative name");
  // A name that is removed at the close is the link, also if the current folder is another then.
  MPI_File file = open(MPI_COMM_WORLD, rank == 0 ? link.substr(slash + 1) : link,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  expect(chdir("/") == 0, "chdir");
  expect(MPI_File_close(&file) == MPI_SUCCESS, "the close of a link");
  if (rank == 0) {
    expect(access(name.c_str(), F_OK) == 0, "what a link led to that was removed at the close");
    expect(unlink(link.c_str()) != 0, "a link that was to be removed at the close");
  }
  // Beside where a link leads: FOLDER/../NAME is not NAME.
  const std::string around = name + ".folder";
  const std::string beside = around + "/beside";
  const std::string foreign = name + ".beside";
  if (rank == 0) {
    expect(mkdir(around.c_str(), 0700) == 0 && mkdir(beside.c_str(), 0700) == 0, "mkdir");
    expect(symlink(beside.c_str(), link.c_str()) == 0, "symlink");
    expect(rename(name.c_str(), foreign.c_str()) == 0, "rename");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  file = open(MPI_COMM_WORLD, link + "/.." + foreign.substr(slash),
              MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  expect(MPI_File_close(&file) == MPI_SUCCESS, "the close beside where a link leads");
  if (rank == 0) {
    expect(access(foreign.c_str(), F_OK) == 0, "a file of that name that was not opened");
    expect(rmdir(beside.c_str()) == 0 && rmdir(around.c_str()) == 0, "the file that was opened");
    unlink(link.c_str());
  }
}

/// Threads that meet a datatype for the first time.
void check_threads() {
  MPI_File file = open(MPI_COMM_SELF, name + std::to_string(rank),
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  constexpr int times = 4000;
  constexpr int threads = 3;
  std::vector<MPI_Datatype> types(times);
  for (MPI_Datatype& type : types) {
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
  }
  std::barrier together(threads);
  std::atomic<int> right{0};
  const auto ask = [&] {
    for (const MPI_Datatype type : types) {
      MPI_Aint extent = 0;
      together.arrive_and_wait();
      MPI_File_get_type_extent(file, type, &extent);
      right += extent == 40 ? 1 : 0;
    }
  };
  std::vector<std::thread> asking;
  for (int i = 0; i < threads; ++i) {
    asking.emplace_back(ask);
  }
  for (std::thread& thread : asking) {
    thread.join();
  }
  expect(right == threads * times, "an extent that a thread got");
  for (MPI_Datatype& type : types) {
    MPI_Type_free(&type);
  }
  MPI_File_close(&file);
}

/// What this process has read so far.
std::int64_t read_bytes() {
  std::ifstream file("/proc/self/io");
  std::string word;
  std::int64_t bytes = 0;
  file >> word >> bytes;
  return word == "rchar:" ? bytes : 0;
}

/// A few bytes far from each other, exchanged because a hint says so: nobody reads what is between.
void check_sparse() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_File file = open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info);
  MPI_Info_free(&info);
  const MPI_Offset own = MPI_Offset{rank} << 30;
  for (char value = 'a'; value < 'e'; ++value) {
    expect(MPI_File_write_at_all(file, own, &value, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS,
           "a write of few bytes");
    const std::int64_t before = read_bytes();
    char back = 0;
    expect(MPI_File_read_at_all(file, own, &back, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               back == value,
           "a read of few bytes");
    expect(read_bytes() - before < (std::int64_t{100} << 20), "what is between was read");
  }
  MPI_File_close(&file);
}

}  // namespace

// In front of the C library's: a file system that cannot reserve, and is slow at the other call.
extern "C" {
ssize_t readlink(const char* path, char* into, size_t bytes) noexcept {
  links_read += std::string(path).ends_with(".link") ? 1 : 0;
  return reinterpret_cast<ssize_t (*)(const char*, char*, size_t)>(dlsym(RTLD_NEXT, "readlink"))(
      path, into, bytes);
}
int fallocate(int, int, off_t, off_t) {
  errno = EOPNOTSUPP;
  return -1;
}
int ftruncate(int fd, off_t bytes) noexcept {
  if (is_slow) {
    be_late();
    be_late();
  }
  return reinterpret_cast<int (*)(int, off_t)>(dlsym(RTLD_NEXT, "ftruncate"))(fd, bytes);
}
}

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  name = argv[argc - 1];
  const std::string which = argc == 3 ? argv[1] : "";
  if (which == "groups") {
    check_groups();
  } else if (which == "hints") {
    check_all_hints();
  } else if (which == "pointer") {
    check_shared_pointer();
  } else if (which == "reserving") {
    check_reserving();
  } else if (which == "sparse") {
    check_sparse();
  } else if (which == "paths") {
    check_paths();
  } else if (which == "threads" && threads == MPI_THREAD_MULTIPLE) {
    check_threads();
  } else if (which != "threads") {
    std::fprintf(stderr, "usage: agreements CASE FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
