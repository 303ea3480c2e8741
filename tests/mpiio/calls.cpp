// The calls of MPI-IO that random accesses do not reach: representations, error handlers, hints,
// groups, Fortran's handles, modes, large counts, short reads.
// calls FILE; exits with 1 where something is wrong.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mpi.h>
#include <numeric>
#include <string>
#include <vector>

namespace {

int rank = 0;
int ranks = 1;
int wrong = 0;
std::string name;

void expect(bool is_true, const char* what) {
  if (!is_true) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    ++wrong;
  }
}

MPI_File open(MPI_Comm comm, int mode, MPI_Info info = MPI_INFO_NULL) {
  MPI_File file = MPI_FILE_NULL;
  expect(MPI_File_open(comm, name.c_str(), mode, info, &file) == MPI_SUCCESS, "open");
  return file;
}

int elements_of(MPI_Status& status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_elements(&status, type, &count);
  return count;
}

void check_external32() {
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);
  expect(MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL) == MPI_SUCCESS,
         "external32");
  const std::vector<int> values{0x01020304 + rank, 7, -1};
  MPI_Status status{};
  MPI_File_write_at_all(file, 3 * rank, values.data(), 3, MPI_INT, &status);
  expect(elements_of(status, MPI_INT) == 3, "count of external32");
  std::vector<int> back(4, 99);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 3 * rank, back.data(), rank == ranks - 1 ? 4 : 3, MPI_INT, &status);
  expect(std::memcmp(back.data(), values.data(), 12) == 0 && back[3] == 99, "external32 read");
  expect(elements_of(status, MPI_INT) == 3, "short count of external32");
  MPI_Aint extent = 0;
  MPI_File_get_type_extent(file, MPI_DOUBLE, &extent);
  expect(extent == 8, "extent in external32");
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  unsigned char bytes[8] = {};
  MPI_File_read_at(file, 4, bytes, 8, MPI_BYTE, &status);
  const unsigned char right[8] = {1, 2, 3, 4, 0, 0, 0, 7};
  expect(std::memcmp(bytes, right, 8) == 0, "bytes of external32");
  expect(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "internal", MPI_INFO_NULL) == MPI_SUCCESS,
         "internal");
  char representation[MPI_MAX_DATAREP_STRING] = {};
  MPI_Offset disp = -1;
  MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
  MPI_File_get_view(file, &disp, &types[0], &types[1], representation);
  expect(std::strcmp(representation, "internal") == 0, "name of the representation");
  MPI_File_close(&file);
  expect(file == MPI_FILE_NULL, "a closed handle");
}

/// What ends early in "external32" counts whole elements, and leaves all others as they were. A
/// long has four bytes there.
void check_external32_ends() {
  MPI_File_delete((name + std::to_string(rank)).c_str(), MPI_INFO_NULL);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, (name + std::to_string(rank)).c_str(),
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
  MPI_Aint extent = 0;
  MPI_File_get_type_extent(file, MPI_LONG, &extent);
  expect(extent == 4, "the extent of a long in external32");
  MPI_Status status{};
  std::vector<int> ints(200);
  for (int n = 2; n < 200; ++n) {
    for (int k = n > 60 ? 1 : n - 1; k > 0; k = k > n / 2 ? n / 2 : k / 3) {
      MPI_File_set_size(file, MPI_Offset{4} * k);
      MPI_File_read_at(file, 0, ints.data(), n, MPI_INT, &status);
      int count = -1;
      MPI_Get_count(&status, MPI_INT, &count);
      expect(count == k, "the count of a short read of external32");
    }
  }
  MPI_File_set_size(file, 0);
  const std::vector<long> written{5, -7, 9};
  expect(MPI_File_write_at(file, 0, written.data(), 3, MPI_LONG, &status) == MPI_SUCCESS &&
             elements_of(status, MPI_LONG) == 3,
         "a write of longs in external32");
  const long old = (1L << 40) + 1;
  MPI_Datatype pairs = MPI_DATATYPE_NULL;  // of each four longs the first and the third
  MPI_Type_vector(2, 1, 2, MPI_LONG, &pairs);
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(pairs, 0, 4 * sizeof(long), &spread);
  MPI_Type_commit(&spread);
  for (const int bytes : {12, 10, 8, 7, 3, 0}) {
    MPI_File_set_size(file, bytes);
    std::vector<long> right(8, old);
    std::copy_n(written.begin(), bytes / 4, right.begin());
    std::vector<long> read(8, old);
    MPI_File_read_at(file, 0, read.data(), 8, MPI_LONG, &status);
    expect(read == right && elements_of(status, MPI_LONG) == bytes / 4, "a short read of longs");
    read.assign(8, old);
    right.assign(8, old);
    for (int i = 0; i < bytes / 4; ++i) {
      right[static_cast<std::size_t>(2 * i)] = written[static_cast<std::size_t>(i)];
    }
    MPI_File_read_at(file, 0, read.data(), 2, spread, &status);
    expect(read == right && elements_of(status, spread) == bytes / 4,
           "a short read of longs that are spread");
  }
  MPI_Type_free(&pairs);
  MPI_Type_free(&spread);
  MPI_File_close(&file);
}

/// The size of the file after four values, and where the values are.
std::vector<MPI_Offset> places_of(MPI_Datatype type, const char* representation) {
  MPI_File_delete((name + std::to_string(rank)).c_str(), MPI_INFO_NULL);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, (name + std::to_string(rank)).c_str(),
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  expect(
      MPI_File_set_view(file, 16, MPI_DOUBLE, type, representation, MPI_INFO_NULL) == MPI_SUCCESS,
      "a view of arrays");
  const double values[4] = {1, 1, 1, 1};
  MPI_File_write(file, values, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  std::vector<MPI_Offset> places(10);
  MPI_File_get_size(file, &places[0]);
  for (int i = 1; i < 10; ++i) {
    MPI_File_get_byte_offset(file, i - 1, &places[i]);
  }
  MPI_Aint extent = 0;
  MPI_Aint lower = 0;
  MPI_Aint right = 0;
  MPI_File_get_type_extent(file, type, &extent);
  MPI_Type_get_extent(type, &lower, &right);
  expect(extent == right, "the extent of what is made of arrays");
  std::vector<unsigned char> bytes(static_cast<std::size_t>(places[0]));
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                   MPI_STATUS_IGNORE);
  const int first = std::strcmp(representation, "native") == 0 ? 7 : 0;
  for (int i = 1; i < 5; ++i) {
    expect(bytes.at(static_cast<std::size_t>(places[i] + first)) == 0x3f, "a value of arrays");
  }
  MPI_File_close(&file);
  return places;
}

/// What is made of an array, or of what was resized, keeps its bounds in external32 too.
void check_external32_bounds() {
  const int size = 4;
  const int one[3] = {1, 1, 1};
  const int at[2] = {0, 2};
  const MPI_Aint at_bytes[3] = {0, 40, 96};
  for (const int first : {0, 2}) {
    std::vector<MPI_Datatype> made(3);
    MPI_Type_create_subarray(1, &size, one, &first, MPI_ORDER_C, MPI_DOUBLE, &made[0]);
    MPI_Type_create_resized(MPI_DOUBLE, -8, 24, &made[1]);
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &made[2]);
    for (int i = 0; i < 3; ++i) {
      MPI_Datatype part = made[i];
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(1, part, &type);
      made.push_back(type);
      MPI_Type_vector(2, 1, 2, part, &type);
      made.push_back(type);
      MPI_Type_create_hvector(2, 1, 80, part, &type);
      made.push_back(type);
      MPI_Type_indexed(2, one, at, part, &type);
      made.push_back(type);
      MPI_Type_create_indexed_block(2, 1, at, part, &type);
      made.push_back(type);
      MPI_Type_create_hindexed(2, one, at_bytes, part, &type);
      made.push_back(type);
      MPI_Type_create_hindexed_block(2, 1, at_bytes, part, &type);
      made.push_back(type);
      MPI_Type_dup(made.back(), &type);
      made.push_back(type);
      MPI_Type_contiguous(2, made.back(), &type);
      made.push_back(type);
      for (MPI_Datatype other : {part, MPI_DOUBLE}) {
        MPI_Datatype parts[2] = {part, other};
        MPI_Type_create_struct(2, one, at_bytes, parts, &type);
        made.push_back(type);
      }
    }
    for (MPI_Datatype& type : made) {
      MPI_Type_commit(&type);
      expect(places_of(type, "external32") == places_of(type, "native"), "places in external32");
      MPI_Type_free(&type);
    }
  }
}

int handled = 0;
MPI_File handled_file = MPI_FILE_NULL;
void handle(MPI_File* file, int* code, ...) {
  ++handled;
  handled_file = *file;
  MPI_Error_class(*code, code);
}

void check_handlers() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Errhandler told = MPI_ERRHANDLER_NULL;
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_get_errhandler(MPI_FILE_NULL, &told);
  expect(told == MPI_ERRORS_RETURN, "the default handler");
  MPI_File file = open(MPI_COMM_SELF, MPI_MODE_RDONLY);
  MPI_File_set_errhandler(file, handler);
  MPI_File_get_errhandler(file, &told);
  expect(told == handler, "the handler that was set");
  MPI_Errhandler_free(&told);
  MPI_Errhandler_free(&handler);
  char byte = 0;
  expect(MPI_File_write(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_ERR_READ_ONLY,
         "what a handler leaves");
  expect(handled == 1 && handled_file == file, "the handler was called with the file");
  MPI_File_call_errhandler(file, MPI_ERR_IO);
  expect(handled == 2, "call_errhandler");
  // Of MPI_FILE_NULL: files that are opened later have it, and opening itself.
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_Errhandler_free(&handler);
  MPI_File none = MPI_FILE_NULL;
  expect(MPI_File_open(MPI_COMM_SELF, (name + ".none").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL,
                       &none) == MPI_ERR_NO_SUCH_FILE,
         "a file that is not there");
  expect(handled == 3, "the handler of MPI_FILE_NULL");
  MPI_File later = open(MPI_COMM_SELF, MPI_MODE_RDONLY);
  MPI_File_seek(later, -1, MPI_SEEK_SET);
  expect(handled == 4 && handled_file == later, "the handler of a later file");
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_File_close(&later);
  MPI_File_close(&file);
}

void check_hints() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "something_else", "kept");
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_RDWR, info);
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  char value[64] = {};
  int is_there = 0;
  MPI_Info_get(info, "something_else", 63, value, &is_there);
  expect(is_there != 0 && std::strcmp(value, "kept") == 0, "a hint that is kept");
  MPI_Info_free(&info);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_File_get_group(file, &group);
  int size = 0;
  MPI_Group_size(group, &size);
  expect(size == ranks, "the group");
  MPI_Group_free(&group);
  int mode = 0;
  MPI_File_get_amode(file, &mode);
  expect(mode == MPI_MODE_RDWR, "the mode");
  const MPI_Fint number = MPI_File_c2f(file);
  expect(number != 0 && MPI_File_f2c(number) == file, "Fortran's handle");
  expect(MPI_File_f2c(0) == MPI_FILE_NULL && MPI_File_c2f(MPI_FILE_NULL) == 0, "no handle");
  MPI_File_close(&file);
}

void check_modes() {
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_WRONLY | MPI_MODE_CREATE);
  MPI_File_set_size(file, 1000);
  char byte = 0;
  expect(MPI_File_read_at_all(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_ERR_ACCESS,
         "reading a file that is open for writing");
  MPI_File_close(&file);
  file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_APPEND);
  MPI_Offset at = 0;
  MPI_File_get_position(file, &at);
  expect(at == 1000, "where appending begins");
  MPI_File_get_position_shared(file, &at);
  expect(at == 1000, "where appending by the shared pointer begins");
  MPI_File_seek(file, -10, MPI_SEEK_END);
  std::vector<char> room(100, 'x');
  MPI_Status status{};
  MPI_File_read_all(file, room.data(), 100, MPI_CHAR, &status);
  expect(elements_of(status, MPI_CHAR) == 10 && room[9] == 0 && room[10] == 'x', "a short read");
  // "Positioning" of the MPI standard: by what is asked for, in whole elements of the view.
  MPI_File_get_position(file, &at);
  expect(at == 990 + 100, "the pointer after a short read");
  MPI_File_seek(file, -10, MPI_SEEK_END);
  MPI_File_read(file, room.data(), 100, MPI_CHAR, &status);
  MPI_File_get_position(file, &at);
  expect(at == 990 + 100, "the pointer after a short read of one rank");
  MPI_File_close(&file);
  file = open(MPI_COMM_WORLD, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  expect(MPI_File_write_at_all(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) ==
             MPI_ERR_UNSUPPORTED_OPERATION,
         "offsets in a sequential file");
  expect(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS,
         "ordered writes of a sequential file");
  MPI_File_close(&file);
  file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  int flag = -1;
  MPI_File_set_atomicity(file, 1);
  MPI_File_get_atomicity(file, &flag);
  expect(flag == 1, "atomic mode");
  expect(MPI_File_set_atomicity(file, rank == ranks - 1 ? 0 : 1) ==
             (ranks == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME),
         "atomic mode on some ranks");
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file) ==
             MPI_ERR_NO_SUCH_FILE,
         "a file that was deleted on close");
}

/// Of a nonblocking call that fails, programs wait for the request all the same.
void check_failed_requests() {
  MPI_File file = open(MPI_COMM_SELF, MPI_MODE_RDWR | MPI_MODE_CREATE);
  char byte = 0;
  for (int which = 0; which < 4; ++which) {
    MPI_Request request;
    std::memset(static_cast<void*>(&request), 0x5a, sizeof request);
    const int result = which == 0   ? MPI_File_iwrite_at(file, -1, &byte, 1, MPI_CHAR, &request)
                       : which == 1 ? MPI_File_iread(file, &byte, -1, MPI_CHAR, &request)
                       : which == 2
                           ? MPI_File_iread_at_all(file, -1, &byte, 1, MPI_CHAR, &request)
                           : MPI_File_iwrite_shared(MPI_FILE_NULL, &byte, 1, MPI_CHAR, &request);
    expect(result != MPI_SUCCESS && request == MPI_REQUEST_NULL, "the request of a failed call");
  }
  MPI_File_close(&file);
}

/// In atomic mode a read sees all of another rank's write, or nothing of it.
void check_atomic() {
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_CREATE);
  constexpr int bytes = 300'000;
  MPI_File_set_size(file, bytes);
  MPI_File_set_atomicity(file, 1);
  std::vector<char> room(bytes, static_cast<char>('a' + rank));
  for (int times = 0; times < 30; ++times) {
    if (rank % 2 == 0) {
      MPI_File_write_at(file, 0, room.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE);
    } else {
      MPI_File_read_at(file, 0, room.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE);
      expect(room == std::vector<char>(bytes, room[0]), "a torn read");
    }
  }
  MPI_File_close(&file);
}

/// Blocks of all ranks beside one another, twice, with a hole between that takes minutes to go
/// over.
void check_far_apart() {
  constexpr int bytes = 4096;
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_File_set_size(file, 0);
  const MPI_Aint near = static_cast<MPI_Aint>(rank) * bytes;
  const MPI_Aint places[2] = {near, near + (MPI_Aint{1} << 38)};
  MPI_Datatype blocks = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed_block(2, bytes, places, MPI_BYTE, &blocks);
  MPI_Type_commit(&blocks);
  MPI_File_set_view(file, 0, MPI_BYTE, blocks, "native", MPI_INFO_NULL);
  std::vector<char> values(2 * bytes);
  std::iota(values.begin(), values.end(), static_cast<char>(rank));
  MPI_Status status{};
  MPI_File_write_all(file, values.data(), 2 * bytes, MPI_BYTE, &status);
  expect(elements_of(status, MPI_BYTE) == 2 * bytes, "the count of blocks far apart");
  std::vector<char> back(2 * bytes);
  MPI_File_read_at_all(file, 0, back.data(), 2 * bytes, MPI_BYTE, &status);
  expect(back == values, "blocks far apart");
  MPI_Type_free(&blocks);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_set_size(file, 0);
  MPI_File_close(&file);
}

/// Bytes at the last place of all files are written, or refused: on all ranks alike.
void check_last_place() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_CREATE, info);
  MPI_Info_free(&info);
  MPI_File_set_size(file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr MPI_Offset last = std::numeric_limits<MPI_Offset>::max() - 4095;
  const char byte = 'x';
  const int result = MPI_File_write_at_all(file, rank == ranks - 1 ? last : rank, &byte, 1,
                                           MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  expect(result != MPI_SUCCESS || size == last + 1, "a byte at the last place was lost");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_size(file, 0);
  MPI_File_close(&file);
}

/// Offsets and counts whose bytes no offset of a file can express are refused, not wrapped.
void check_beyond_all_files() {
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_CREATE);
  const MPI_Offset wrapping = MPI_Offset{1} << 61;  // of eight bytes each
  const MPI_Offset own = rank == ranks - 1 ? wrapping : 0;
  const double before = 4;
  MPI_File_write_at_all(file, 0, &before, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  double value = 5;
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &rows);
  MPI_Type_commit(&rows);
  for (MPI_Datatype type : {MPI_DOUBLE, rows}) {
    MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    const auto refused = [&](int result) { expect(result == MPI_ERR_ARG, "an offset that wraps"); };
    refused(MPI_File_write_at(file, wrapping, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    refused(MPI_File_read_at(file, wrapping / 2 - 1, &value, 1, type, MPI_STATUS_IGNORE));
    refused(MPI_File_write_at_all(file, own, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    refused(MPI_File_seek(file, wrapping, MPI_SEEK_SET));
    refused(MPI_File_seek_shared(file, wrapping, MPI_SEEK_SET));
    MPI_File_seek(file, wrapping / 2, MPI_SEEK_SET);
    refused(MPI_File_seek(file, wrapping / 2, MPI_SEEK_CUR));
    MPI_Offset place = 0;
    refused(MPI_File_get_byte_offset(file, wrapping, &place));
    refused(MPI_File_get_byte_offset(file, wrapping / 2 - 1 + (type == rows ? 0 : wrapping / 2),
                                     &place));
#if MPI_VERSION >= 4
    refused(MPI_File_write_at_c(file, 0, &value, wrapping, MPI_DOUBLE, MPI_STATUS_IGNORE));
    refused(MPI_File_write_at_c(file, 0, &value, wrapping, rows, MPI_STATUS_IGNORE));
#endif
  }
  MPI_File_set_view(file, std::numeric_limits<MPI_Offset>::max() - 4, MPI_DOUBLE, MPI_DOUBLE,
                    "native", MPI_INFO_NULL);
  expect(MPI_File_write_all(file, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_ERR_ARG,
         "a view that wraps");
  MPI_Type_free(&rows);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, &value, 8, MPI_BYTE, MPI_STATUS_IGNORE);
  expect(value == before, "nothing was written at the start");
  MPI_File_close(&file);
}

#if MPI_VERSION >= 4
void check_large_counts() {
  MPI_File file = open(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Datatype rows = MPI_BYTE;
  MPI_Type_vector_c(4, 2, 2 * ranks, MPI_INT, &rows);
  MPI_Type_commit(&rows);
  MPI_File_set_view(file, 8 * rank, MPI_INT, rows, "native", MPI_INFO_NULL);
  std::vector<int> values(8);
  std::iota(values.begin(), values.end(), 100 * rank);
  MPI_Status status{};
  MPI_File_write_all_c(file, values.data(), 8, MPI_INT, &status);
  expect(elements_of(status, MPI_INT) == 8, "a write with a large count");
  std::vector<int> back(8);
  MPI_File_read_at_c(file, 0, back.data(), 8, MPI_INT, &status);
  expect(back == values, "a read with a large count");
  MPI_Type_free(&rows);
  MPI_File_close(&file);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  name = argv[argc - 1];
  if (rank == 0) {
    MPI_File_delete(name.c_str(), MPI_INFO_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  check_external32();
  check_external32_bounds();
  check_external32_ends();
  check_handlers();
  MPI_Barrier(MPI_COMM_WORLD);
  check_hints();
  check_modes();
  MPI_Barrier(MPI_COMM_WORLD);
  check_failed_requests();
  check_atomic();
  check_far_apart();
  check_last_place();
  check_beyond_all_files();
#if MPI_VERSION >= 4
  check_large_counts();
#endif
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
