// On NFS and several nodes every access locks what it touches: here another process holds a lock of
// the whole file, changes the file after a while, and ends. What waits for it is seen by that.
// locks FILE, on two ranks; exits with 1 where something is wrong.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mpi.h>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int piece = 512;
constexpr int pieces = 64;
constexpr int own_bytes = piece * pieces;
constexpr int all_bytes = 2 * own_bytes;

int rank = 0;
int wrong = 0;
std::string name;

void expect(bool is_true, const char* what) {
  if (!is_true) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    ++wrong;
  }
}

/// Fills the file with `value` while it has the lock. Returns when the lock is there.
pid_t start_other(char value, int bytes) {
  int ready[2] = {};
  if (pipe(ready) != 0) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(name.c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    bool is_done = fcntl(fd, F_SETLKW, &lock) == 0 && write(ready[1], "x", 1) == 1;
    usleep(300'000);
    const std::vector<char> filled(static_cast<std::size_t>(bytes), value);
    is_done = is_done && pwrite(fd, filled.data(), filled.size(), 0) == bytes;
    _exit(is_done ? 0 : 1);
  }
  char one = 0;
  expect(read(ready[0], &one, 1) == 1, "the other process");
  close(ready[0]);
  close(ready[1]);
  return child;
}

/// Runs `access` on both ranks, or on rank 0 alone, while the other process has the lock.
template <class Access>
void beside_other(char value, int bytes, bool is_collective, Access&& access) {
  MPI_Barrier(MPI_COMM_WORLD);
  pid_t child = 0;
  if (rank == 0) {
    child = start_other(value, bytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_collective || rank == 0) {
    access();
  }
  if (rank == 0) {
    int status = -1;
    waitpid(child, &status, 0);
    expect(status == 0, "the end of the other process");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// What the file has, by a descriptor of its own.
std::vector<char> content() {
  std::vector<char> found(all_bytes);
  const int fd = open(name.c_str(), O_RDONLY);
  expect(pread(fd, found.data(), found.size(), 0) == all_bytes, "the file's bytes");
  close(fd);
  return found;
}

std::vector<char> filled(int bytes, char value) {
  return std::vector<char>(static_cast<std::size_t>(bytes), value);
}

void check_alone(MPI_File file) {
  const std::vector<char> mine = filled(all_bytes, 'm');
  beside_other('o', all_bytes, false, [&] {
    MPI_File_write_at(file, 0, mine.data(), all_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  });
  expect(rank != 0 || content() == mine, "a write did not wait for the lock");
  std::vector<char> back(all_bytes);
  beside_other('r', all_bytes, false, [&] {
    MPI_File_read_at(file, 0, back.data(), all_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  });
  expect(rank != 0 || back == filled(all_bytes, 'r'), "a read did not wait for the lock");
  MPI_Offset size = 0;
  beside_other('s', all_bytes + 1000, false, [&] { MPI_File_get_size(file, &size); });
  expect(rank != 0 || size == all_bytes + 1000, "a size did not wait for the lock");
}

/// Signals that do not restart calls, as of a profiler, at each 100 us.
void check_interrupted(MPI_File file) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  const std::vector<char> mine = filled(all_bytes, 'i');
  int result = MPI_SUCCESS;
  beside_other('o', all_bytes, false, [&] {
    const itimerval often{{0, 100}, {0, 100}};
    const itimerval never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    result = MPI_File_write_at(file, 0, mine.data(), all_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
    setitimer(ITIMER_REAL, &never, nullptr);
  });
  expect(result == MPI_SUCCESS, "signals ended a wait for the lock");
  expect(rank != 0 || content() == mine, "a write with signals did not wait for the lock");
}

/// By rank 0, for both.
void check_exchanged(MPI_File file) {
  const std::vector<char> mine = filled(own_bytes, static_cast<char>('0' + rank));
  beside_other('o', all_bytes, true, [&] {
    MPI_File_write_at_all(file, 0, mine.data(), own_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  });
  const std::vector<char> found = content();
  for (int at = 0; at < all_bytes; at += piece) {
    const char right = static_cast<char>('0' + at / piece % 2);
    expect(std::count(found.begin() + at, found.begin() + at + piece, right) == piece,
           "an exchanged write did not wait for the lock");
  }
  std::vector<char> back(own_bytes);
  beside_other('r', all_bytes, true, [&] {
    MPI_File_read_at_all(file, 0, back.data(), own_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  });
  expect(back == filled(own_bytes, 'r'), "an exchanged read did not wait for the lock");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  name = argv[argc - 1];
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_Info_free(&info);
  check_alone(file);
  check_interrupted(file);
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_vector(pieces, piece, 2 * piece, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);
  MPI_File_set_view(file, MPI_Offset{piece} * rank, MPI_BYTE, rows, "native", MPI_INFO_NULL);
  check_exchanged(file);
  MPI_Type_free(&rows);
  MPI_File_close(&file);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
