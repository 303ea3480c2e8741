// The access patterns of IOR: blocks of each rank in segments, written and read in transfers,
// independent and collective, by explicit offsets and by file views, in order and in random order,
// into one file and a file a rank. Each rank reads what its neighbour wrote; rank 0 then reads the
// file by stdio. "shapes FILE" prints the number of shapes that were right.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

struct Shape {
  const char* name;
  int transfer_bytes, transfers, segments;
  bool is_collective, has_view, is_random, is_own_file;
};

constexpr Shape shapes[] = {
    {"contiguous, independent", 1 << 18, 4, 1, false, false, false, false},
    {"contiguous, collective", 1 << 18, 4, 1, true, false, false, false},
    {"segmented, independent", 4096, 4, 16, false, false, false, false},
    {"segmented, collective", 4096, 4, 16, true, false, false, false},
    {"strided by a view, independent", 512, 1, 64, false, true, false, false},
    {"strided by a view, collective", 47'001, 1, 16, true, true, false, false},
    {"random order, independent", 2048, 64, 1, false, false, true, false},
    {"a file a rank", 65'536, 8, 2, false, false, false, true},
};

int world_rank = 0;
int world_size = 0;

[[noreturn]] void fail(const Shape& shape, const char* what) {
  std::fprintf(stderr, "rank %d: %s: %s\n", world_rank, shape.name, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void check(int result, const Shape& shape, const char* what) {
  if (result != MPI_SUCCESS) {
    fail(shape, what);
  }
}

std::int64_t block_bytes(const Shape& shape) {
  return std::int64_t{shape.transfer_bytes} * shape.transfers;
}

/// The place in the file of transfer `index` of all that `rank` writes.
std::int64_t place(const Shape& shape, int rank, int index) {
  const int segment = index / shape.transfers;
  const int within = index % shape.transfers;
  const std::int64_t blocks =
      shape.is_own_file ? segment : std::int64_t{segment} * world_size + rank;
  return blocks * block_bytes(shape) + std::int64_t{within} * shape.transfer_bytes;
}

char value(std::int64_t at) { return static_cast<char>(at * 31 + at / 4096); }

std::string name_of(const Shape& shape, const std::string& file, int rank) {
  return shape.is_own_file ? file + "." + std::to_string(rank) : file;
}

std::vector<int> order(const Shape& shape, int rank) {
  std::vector<int> indices(static_cast<std::size_t>(shape.transfers) *
                           static_cast<std::size_t>(shape.segments));
  std::iota(indices.begin(), indices.end(), 0);
  if (shape.is_random) {
    std::shuffle(indices.begin(), indices.end(), std::mt19937(static_cast<unsigned>(rank)));
  }
  return indices;
}

MPI_File open(const Shape& shape, const std::string& file, int rank, int mode) {
  MPI_File handle = MPI_FILE_NULL;
  check(MPI_File_open(shape.is_own_file ? MPI_COMM_SELF : MPI_COMM_WORLD,
                      name_of(shape, file, rank).c_str(), mode, MPI_INFO_NULL, &handle),
        shape, "open");
  if (shape.has_view) {
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    MPI_Datatype tiled = MPI_DATATYPE_NULL;
    const auto bytes = static_cast<int>(block_bytes(shape));
    MPI_Type_contiguous(bytes, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, MPI_Aint{bytes} * world_size, &tiled);
    MPI_Type_commit(&tiled);
    check(MPI_File_set_view(handle, MPI_Offset{bytes} * rank, MPI_BYTE, tiled, "native",
                            MPI_INFO_NULL),
          shape, "view");
    MPI_Type_free(&tiled);
    MPI_Type_free(&blocks);
  }
  return handle;
}

void write(const Shape& shape, const std::string& file) {
  MPI_File handle = open(shape, file, world_rank, MPI_MODE_CREATE | MPI_MODE_RDWR);
  std::vector<char> bytes(static_cast<std::size_t>(shape.transfer_bytes));
  for (const int index : order(shape, world_rank)) {
    const std::int64_t at = place(shape, world_rank, index);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = value(at + static_cast<std::int64_t>(i));
    }
    const int count = shape.transfer_bytes;
    MPI_Status* const none = MPI_STATUS_IGNORE;
    const int result =
        shape.has_view
            ? (shape.is_collective ? MPI_File_write_all(handle, bytes.data(), count, MPI_BYTE, none)
                                   : MPI_File_write(handle, bytes.data(), count, MPI_BYTE, none))
            : (shape.is_collective
                   ? MPI_File_write_at_all(handle, at, bytes.data(), count, MPI_BYTE, none)
                   : MPI_File_write_at(handle, at, bytes.data(), count, MPI_BYTE, none));
    check(result, shape, "write");
  }
  check(MPI_File_sync(handle), shape, "sync");
  check(MPI_File_close(&handle), shape, "close");
}

/// What the next rank wrote.
void read(const Shape& shape, const std::string& file) {
  const int whose = (world_rank + 1) % world_size;
  MPI_File handle = open(shape, file, whose, MPI_MODE_RDONLY);
  std::vector<char> bytes(static_cast<std::size_t>(shape.transfer_bytes));
  for (const int index : order(shape, whose)) {
    const std::int64_t at = place(shape, whose, index);
    const int count = shape.transfer_bytes;
    MPI_Status status;
    const int result =
        shape.has_view
            ? (shape.is_collective
                   ? MPI_File_read_all(handle, bytes.data(), count, MPI_BYTE, &status)
                   : MPI_File_read(handle, bytes.data(), count, MPI_BYTE, &status))
            : (shape.is_collective
                   ? MPI_File_read_at_all(handle, at, bytes.data(), count, MPI_BYTE, &status)
                   : MPI_File_read_at(handle, at, bytes.data(), count, MPI_BYTE, &status));
    check(result, shape, "read");
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    for (int i = 0; i < count; ++i) {
      if (got != count || bytes[static_cast<std::size_t>(i)] != value(at + i)) {
        fail(shape, "read other bytes than were written");
      }
    }
  }
  check(MPI_File_close(&handle), shape, "close");
}

/// Every byte of the file, without MPI; removes it.
void read_plainly(const Shape& shape, const std::string& name) {
  const std::int64_t bytes =
      block_bytes(shape) * shape.segments * (shape.is_own_file ? 1 : world_size);
  std::vector<char> content(static_cast<std::size_t>(bytes) + 1);
  std::FILE* const file = std::fopen(name.c_str(), "rb");
  if (file == nullptr ||
      std::fread(content.data(), 1, content.size(), file) != static_cast<std::size_t>(bytes)) {
    fail(shape, "the file has another size");
  }
  std::fclose(file);
  for (std::int64_t at = 0; at < bytes; ++at) {
    if (content[static_cast<std::size_t>(at)] != value(at)) {
      fail(shape, "the file has other bytes");
    }
  }
  std::remove(name.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (argc != 2) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (const Shape& shape : shapes) {
    write(shape, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    read(shape, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
      for (int rank = 0; rank < (shape.is_own_file ? world_size : 1); ++rank) {
        read_plainly(shape, name_of(shape, argv[1], rank));
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (world_rank == 0) {
    std::printf("%zu shapes are right\n", std::size(shapes));
  }
  MPI_Finalize();
  return 0;
}
