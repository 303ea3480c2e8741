// Between nodes: how many messages and collective calls an access takes, and to whom a rank sends.
// messages FILE, on an even number of ranks, with the interface linked in: the functions of MPI
// that it calls are replaced by ones that count. Exits with 1 where something is wrong.
#include "mpiio/messages.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include "mpiio/mpi.hpp"

namespace {

using sluice::mpiio::mpi;

constexpr int window_bytes = 256 << 10;
constexpr int row_bytes = 512;

int rank = 0;
int ranks = 1;
int wrong = 0;
std::string what;

struct Counts {
  int collectives = 0;
  int gathers = 0;
  std::map<int, int> sent;  ///< to each rank
  int data = 0;             ///< sent messages with bytes
};
Counts counts;
sluice::mpiio::Functions original;
/// Receives of bytes of rank 1 that rank 0 was about to post; in memory that they share.
int* expected = nullptr;
bool is_slow = false;  ///< is rank 0 late with them?

void expect(bool is_true, const std::string& claim) {
  if (!is_true) {
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, what.c_str(), claim.c_str());
    ++wrong;
  }
}
void expect_same(int counted, int right, const char* name) {
  expect(counted == right, std::to_string(counted) + " " + name + ", not " + std::to_string(right));
}

int count_sent(int to, int tag) {
  ++counts.sent[to];
  if (tag == sluice::mpiio::about_data) {
    ++counts.data;
    if (rank == 1 && is_slow) {
      expect(std::atomic_ref<int>(*expected).load() >= counts.data - 1,
             "bytes are sent before those of the round before are expected");
    }
  }
  return to;
}

void count_calls() {
  original = mpi;
  mpi.Allreduce = [](const void* from, void* into, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) {
    ++counts.collectives;
    return original.Allreduce(from, into, count, type, op, comm);
  };
  mpi.Allgather = [](const void* from, int count, MPI_Datatype type, void* into, int each,
                     MPI_Datatype into_type, MPI_Comm comm) {
    ++counts.collectives;
    ++counts.gathers;
    return original.Allgather(from, count, type, into, each, into_type, comm);
  };
  mpi.Barrier = [](MPI_Comm comm) {
    ++counts.collectives;
    return original.Barrier(comm);
  };
  mpi.Isend = [](const void* from, int bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                 MPI_Request* request) {
    return original.Isend(from, bytes, type, count_sent(to, tag), tag, comm, request);
  };
  mpi.Issend = [](const void* from, int bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    return original.Issend(from, bytes, type, count_sent(to, tag), tag, comm, request);
  };
  mpi.Irecv = [](void* into, int bytes, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Request* request) {
    if (rank == 0 && from == 1 && tag == sluice::mpiio::about_data && is_slow) {
      usleep(3'000);
      std::atomic_ref<int>(*expected).fetch_add(1);
    }
    return original.Irecv(into, bytes, type, from, tag, comm, request);
  };
}

char value(int whose, std::size_t at) {
  return static_cast<char>(whose * 37 + static_cast<int>(at * 7 + at / row_bytes));
}

/// Rows of two ranks alternate, in a part of the file of their own: one aggregator writes it.
struct Rows {
  int every = 0;  ///< bytes from one row of a rank to its next
  int rounds = 0;
  int messages = 0;           ///< of a rank in a round of a write
  bool is_scattered = false;  ///< in memory

  /// Sizes are told for 64 rounds at once.
  int announcements() const { return (rounds + 63) / 64; }
  int rows() const { return window_bytes / every * rounds; }
  MPI_Offset first() const {
    return MPI_Offset{rank / 2} * window_bytes * rounds + MPI_Offset{rank % 2} * row_bytes;
  }
};

/// The bytes of a rank in memory: rows, of which each may lie in four parts with holes between
/// them.
struct Buffer {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0;
  std::vector<char> bytes;

  explicit Buffer(const Rows& rows) : count(rows.rows()) {
    const int part = row_bytes / 4;
    stride = rows.is_scattered ? part + 32 : part;
    MPI_Type_vector(4, part, stride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    bytes.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(row_step()));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { MPI_Type_free(&type); }

  void fill() {
    for (int row = 0; row < count; ++row) {
      for (int i = 0; i < row_bytes; ++i) {
        const int part = row_bytes / 4;
        const int at = row * row_step() + i / part * stride + i % part;
        bytes[static_cast<std::size_t>(at)] =
            value(rank, static_cast<std::size_t>(row) * row_bytes + static_cast<std::size_t>(i));
      }
    }
  }

 private:
  int row_step() const { return 3 * stride + row_bytes / 4; }
  int stride = 0;
};

void check_rows(MPI_File file, const Rows& rows) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows.rows(), row_bytes, rows.every, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, rows.first(), MPI_BYTE, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  Buffer own(rows);
  own.fill();
  const int aggregator = rank / 2 * 2;
  *expected = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  counts = {};
  expect(MPI_File_write_at_all(file, 0, own.bytes.data(), own.count, own.type, MPI_STATUS_IGNORE) ==
             MPI_SUCCESS,
         "write_at_all");
  expect_same(counts.collectives, 3, "collective calls of a write");
  expect(counts.sent.size() == 1 && counts.sent.count(aggregator) == 1,
         "messages for a rank that does not write these rows");
  expect_same(counts.sent[aggregator], rows.announcements() + rows.messages * rows.rounds,
              "messages of a write");
  Buffer back(rows);
  counts = {};
  expect(MPI_File_read_at_all(file, 0, back.bytes.data(), back.count, back.type,
                              MPI_STATUS_IGNORE) == MPI_SUCCESS,
         "read_at_all");
  expect(back.bytes == own.bytes, "what was read is wrong");
  expect_same(counts.collectives, 3, "collective calls of a read");
  if (rank != aggregator) {
    expect_same(counts.sent[aggregator], rows.announcements() + rows.rounds, "messages of a read");
  } else {
    expect_same(counts.data, 2 * rows.rounds, "answers to a read");
  }
}

/// Blocks of `bytes` of each rank, `blocks` times; they follow each other in this order of ranks.
void check_blocks(MPI_File file, int bytes, int blocks, bool is_backward, int gathers) {
  const int place = is_backward ? ranks - 1 - rank : rank;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(blocks, bytes, bytes * ranks, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, MPI_Offset{place} * bytes, MPI_BYTE, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  const std::vector<char> own(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(blocks));
  counts = {};
  expect(MPI_File_write_at_all(file, 0, own.data(), static_cast<int>(own.size()), MPI_BYTE,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS,
         "write_at_all");
  expect_same(counts.gathers, gathers, "gatherings");
  expect_same(counts.collectives, 2 + gathers, "collective calls");
  expect(counts.sent.empty(), "messages, though each rank writes its own");
}

void check_all(const char* name) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", std::to_string(ranks / 2).c_str());
  MPI_Info_set(info, "cb_buffer_size", std::to_string(window_bytes).c_str());
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_File file = MPI_FILE_NULL;
  expect(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) ==
             MPI_SUCCESS,
         "open");
  MPI_Info_free(&info);
  for (const int rounds : {4, 64, 70}) {
    what = std::to_string(rounds) + " rounds of long rows";
    check_rows(file, {2 * row_bytes, rounds, 2, false});
    what = std::to_string(rounds) + " rounds of long rows of scattered memory";
    check_rows(file, {2 * row_bytes, rounds, 2, true});
    what = std::to_string(rounds) + " rounds of few rows";
    is_slow = rounds == 64;
    check_rows(file, {64 << 10, rounds, 1, false});
    is_slow = false;
    what = std::to_string(rounds) + " rounds of few rows of scattered memory";
    check_rows(file, {64 << 10, rounds, 1, true});
  }
  what = "blocks in the order of the ranks";
  check_blocks(file, 1000, 1, false, 0);
  what = "blocks against the order of the ranks";
  check_blocks(file, 1000, 1, true, 1);
  what = "no bytes on any rank";
  check_blocks(file, 1000, 0, false, 0);
  what = "long blocks";
  check_blocks(file, 128 << 10, 2, false, 0);
  MPI_File_close(&file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !sluice::mpiio::is_ours()) {
    std::fprintf(stderr, "usage: messages FILE, with the MPI that it was built for\n");
    return 2;
  }
  setenv("SLUICE_RANKS_PER_NODE", "1", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win window{};
  MPI_Win_allocate_shared(rank == 0 ? MPI_Aint{sizeof(int)} : 0, sizeof(int), MPI_INFO_NULL,
                          MPI_COMM_WORLD, &expected, &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &bytes, &unit, &expected);
  count_calls();
  check_all(argv[1]);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Win_free(&window);
  if (rank == 0) {
    unlink(argv[1]);
    std::puts(all == 0 ? "messages: right" : "messages: WRONG");
  }
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
