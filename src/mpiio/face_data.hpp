// The functions of MPI-IO that move bytes, in a header because they are there twice: with counts
// that are ints, and with large ones (_c). The file that includes this defines
//   SLUICE_COUNT      the type of a count
//   SLUICE_NAME(name) the function's name behind MPI_
#pragma once

#include "mpiio/face.hpp"

#ifndef SLUICE_COUNT
#error "the file that includes this defines SLUICE_COUNT and SLUICE_NAME"
#endif

using namespace sluice::mpiio;  // NOLINT(google-build-using-namespace): they are its face

namespace {

/// A write only reads the buffer; reads and writes share the code.
Call call_of(bool is_write, Where where, MPI_Offset offset, const void* buffer, MPI_Count count,
             MPI_Datatype type) {
  return {is_write, where, offset, const_cast<void*>(buffer), count, type};
}

int alone(MPI_File fh, const Call& call, MPI_Status* status,
          const char* function = __builtin_FUNCTION()) {
  return on_file(
      fh, [&](File& file) { set_status(status, access_alone(file, call)); }, function);
}
int all_together(MPI_File fh, const Call& call, MPI_Status* status,
                 const char* function = __builtin_FUNCTION()) {
  return on_file(
      fh, [&](File& file) { set_status(status, access_together(file, call)); }, function);
}
/// The collective ones too: a rank that waited for the others here might wait for ever.
int at_once(MPI_File fh, const Call& call, MPI_Request* request,
            const char* function = __builtin_FUNCTION()) {
  *request = MPI_REQUEST_NULL;  // programs wait for one whose call has failed, too
  return on_file(
      fh, [&](File& file) { make_request(request, access_alone(file, call)); }, function);
}
int begin(MPI_File fh, const Call& call, int operation,
          const char* function = __builtin_FUNCTION()) {
  return on_file(
      fh, [&](File& file) { begin_split(file, call, operation); }, function);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): they make declarations
#define SLUICE_EXPAND(...) SLUICE_FACE(__VA_ARGS__)
#define SLUICE_AT(name, action, is_write, buffer_type, last)                                   \
  SLUICE_EXPAND(int, SLUICE_NAME(name),                                                        \
                (MPI_File fh, MPI_Offset offset, buffer_type buf, SLUICE_COUNT count,          \
                 MPI_Datatype datatype, last * result)) {                                      \
    return action(fh, call_of(is_write, Where::offset, offset, buf, count, datatype), result); \
  }                                                                                            \
  SLUICE_FACE_END
#define SLUICE_BY_POINTER(name, action, is_write, where, buffer_type, last)                       \
  SLUICE_EXPAND(                                                                                  \
      int, SLUICE_NAME(name),                                                                     \
      (MPI_File fh, buffer_type buf, SLUICE_COUNT count, MPI_Datatype datatype, last * result)) { \
    return action(fh, call_of(is_write, where, 0, buf, count, datatype), result);                 \
  }                                                                                               \
  SLUICE_FACE_END
#define SLUICE_BEGIN_AT(name, operation, is_write, buffer_type)                                  \
  SLUICE_EXPAND(int, SLUICE_NAME(name),                                                          \
                (MPI_File fh, MPI_Offset offset, buffer_type buf, SLUICE_COUNT count,            \
                 MPI_Datatype datatype)) {                                                       \
    return begin(fh, call_of(is_write, Where::offset, offset, buf, count, datatype), operation); \
  }                                                                                              \
  SLUICE_FACE_END
#define SLUICE_BEGIN(name, operation, is_write, where, buffer_type)                          \
  SLUICE_EXPAND(int, SLUICE_NAME(name),                                                      \
                (MPI_File fh, buffer_type buf, SLUICE_COUNT count, MPI_Datatype datatype)) { \
    return begin(fh, call_of(is_write, where, 0, buf, count, datatype), operation);          \
  }                                                                                          \
  SLUICE_FACE_END
// NOLINTEND(bugprone-macro-parentheses)

SLUICE_AT(File_read_at, alone, false, void*, MPI_Status)
SLUICE_AT(File_read_at_all, all_together, false, void*, MPI_Status)
SLUICE_AT(File_iread_at, at_once, false, void*, MPI_Request)
SLUICE_AT(File_iread_at_all, at_once, false, void*, MPI_Request)
SLUICE_BY_POINTER(File_read, alone, false, Where::individual, void*, MPI_Status)
SLUICE_BY_POINTER(File_read_all, all_together, false, Where::individual, void*, MPI_Status)
SLUICE_BY_POINTER(File_iread, at_once, false, Where::individual, void*, MPI_Request)
SLUICE_BY_POINTER(File_iread_all, at_once, false, Where::individual, void*, MPI_Request)
SLUICE_BY_POINTER(File_read_shared, alone, false, Where::shared, void*, MPI_Status)
SLUICE_BY_POINTER(File_iread_shared, at_once, false, Where::shared, void*, MPI_Request)
SLUICE_BY_POINTER(File_read_ordered, all_together, false, Where::shared, void*, MPI_Status)
SLUICE_BEGIN_AT(File_read_at_all_begin, split_read_at, false, void*)
SLUICE_BEGIN(File_read_all_begin, split_read, false, Where::individual, void*)
SLUICE_BEGIN(File_read_ordered_begin, split_read_ordered, false, Where::shared, void*)

SLUICE_AT(File_write_at, alone, true, const void*, MPI_Status)
SLUICE_AT(File_write_at_all, all_together, true, const void*, MPI_Status)
SLUICE_AT(File_iwrite_at, at_once, true, const void*, MPI_Request)
SLUICE_AT(File_iwrite_at_all, at_once, true, const void*, MPI_Request)
SLUICE_BY_POINTER(File_write, alone, true, Where::individual, const void*, MPI_Status)
SLUICE_BY_POINTER(File_write_all, all_together, true, Where::individual, const void*, MPI_Status)
SLUICE_BY_POINTER(File_iwrite, at_once, true, Where::individual, const void*, MPI_Request)
SLUICE_BY_POINTER(File_iwrite_all, at_once, true, Where::individual, const void*, MPI_Request)
SLUICE_BY_POINTER(File_write_shared, alone, true, Where::shared, const void*, MPI_Status)
SLUICE_BY_POINTER(File_iwrite_shared, at_once, true, Where::shared, const void*, MPI_Request)
SLUICE_BY_POINTER(File_write_ordered, all_together, true, Where::shared, const void*, MPI_Status)
SLUICE_BEGIN_AT(File_write_at_all_begin, split_write_at, true, const void*)
SLUICE_BEGIN(File_write_all_begin, split_write, true, Where::individual, const void*)
SLUICE_BEGIN(File_write_ordered_begin, split_write_ordered, true, Where::shared, const void*)
