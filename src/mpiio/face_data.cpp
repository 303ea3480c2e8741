// The functions that move bytes, with counts that are ints, and the ends of split collectives.
#define SLUICE_COUNT int
#define SLUICE_NAME(name) name
#include "mpiio/face_data.hpp"

namespace {

int end(MPI_File fh, int operation, MPI_Status* status,
        const char* function = __builtin_FUNCTION()) {
  return on_file(
      fh, [&](File& file) { set_status(status, end_split(file, operation)); }, function);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): it makes declarations
#define SLUICE_END(name, operation, buffer_type)                                \
  SLUICE_FACE(int, name, (MPI_File fh, buffer_type buf, MPI_Status * status)) { \
    static_cast<void>(buf);                                                     \
    return end(fh, operation, status);                                          \
  }                                                                             \
  SLUICE_FACE_END
// NOLINTEND(bugprone-macro-parentheses)

SLUICE_END(File_read_at_all_end, split_read_at, void*)
SLUICE_END(File_read_all_end, split_read, void*)
SLUICE_END(File_read_ordered_end, split_read_ordered, void*)
SLUICE_END(File_write_at_all_end, split_write_at, const void*)
SLUICE_END(File_write_all_end, split_write, const void*)
SLUICE_END(File_write_ordered_end, split_write_ordered, const void*)
