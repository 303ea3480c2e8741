// An open file of MPI-IO: the object behind an MPI_File of the program.
//
// Invariants: collective functions complete their communication even if one rank has failed, and
// fail alike on all. Pointers count bytes of the view's stream; offsets of callers count elementary
// datatypes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "mpiio/behind.hpp"
#include "mpiio/datatype.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/node_exchange.hpp"
#include "mpiio/report.hpp"
#include "mpiio/shared_pointer.hpp"
#include "mpiio/straight.hpp"
#include "mpiio/view.hpp"
#include "storage/storage.hpp"

namespace sluice::mpiio {

/// How bytes of a datatype are written in the file.
enum class Representation : std::uint8_t { native, internal, external32 };

/// Of a split collective: executed when it began, reported when it ends.
struct Split {
  int operation = 0;  ///< number of the function that may end it
  std::int64_t bytes = 0;
  int error_class = MPI_SUCCESS;  ///< of the begin; its end returns the same
};

/// What a view was made of, for get_view.
struct ViewTypes {
  KeptType element;
  KeptType file;
  Representation representation = Representation::native;
};

/// Where the ranks of a file are.
struct Node {
  bool is_only = false;            ///< all are on one
  std::optional<bool> leads;       ///< is it the lowest rank of its node? Asked when it is needed
  bool locks_each_access = false;  ///< are they on several, and the file on NFS?
  SharedWindows windows;
};

struct Atomicity {
  bool is_on = false;
  std::mutex mutex;  ///< locks of the system do not part threads that share a File
};

struct File {
  /// Owns a duplicate of the program's communicator, and frees it.
  explicit File(MPI_Comm duplicate);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  MPI_Comm comm;
  int rank = 0;
  int ranks = 1;
  std::string path;        ///< where links lead from the name
  std::string given_path;  ///< the name itself
  int mode = 0;
  std::shared_ptr<storage::Storage> files;
  std::unique_ptr<storage::File> storage;
  storage::FileIdentity identity;
  std::unique_ptr<Behind> behind;  ///< null: writes go through

  View view;
  ViewTypes types;

  std::int64_t position = 0;
  SharedPointer shared_position;
  Atomicity atomicity;
  Hints hints;
  ErrorHandler handler;
  std::optional<Split> split;
  Node node;
  Report report;

  bool may_read() const { return (mode & MPI_MODE_WRONLY) == 0; }
  bool may_write() const { return (mode & MPI_MODE_RDONLY) == 0; }
  /// What all reads and writes go through that are not behind.
  Straight straight() const {
    const auto locks = may_read() ? Straight::Locks::each : Straight::Locks::exclusive;
    return Straight(*storage, node.locks_each_access ? locks : Straight::Locks::none);
  }
  bool is_sequential() const { return (mode & MPI_MODE_SEQUENTIAL) != 0; }
};

/// The file of a handle, or null if it is not an open one.
File* file_of(MPI_File handle);
MPI_File handle_of(File* file);
/// Fortran's integer, and back; 0 and null for none.
int fortran_of(File* file);
File* file_of_fortran(int index);

/// The maximum over the ranks: for classes, the one that all return. Collective.
int agree(const File& file, int error_class);
/// The same on rank 0 alone, when all ranks have called; others go on with their own.
int gather_worst(const File& file, int error_class);
/// What rank 0 has: `bytes` of them.
void hear_from_first(const File& file, void* value, std::size_t bytes);
/// What `action` throws.
template <class Action>
Failure failure_after(const File& file, Action&& action) {
  try {
    action();
    return {};
  } catch (...) {
    return failure_of_current(file.path);
  }
}
/// Throws the class on which all ranks have agreed. Of those that have failed with a code the
/// lowest prints why. `own`: what has failed on this rank, if anything. Collective.
[[noreturn]] void fail_together(File& file, int error_class, std::span<const Failure> own);
/// Runs `action` on every rank, and agrees. Collective; throws the same class on all.
template <class Action>
void together(File& file, Action&& action) {
  const Failure own = failure_after(file, action);
  const int error_class = agree(file, own.error_class);
  if (error_class != MPI_SUCCESS) {
    fail_together(file, error_class, {&own, 1});
  }
}
/// Runs `each` on every rank, then `first` on rank 0 when all have come that far, and agrees: half
/// the messages of a barrier and an agreement. `first` runs whatever failed; what it returns is
/// returned on all ranks. Collective; throws the same class on all.
template <class Each, class First>
auto each_then_hear(File& file, Each&& each, First&& first) {
  struct {
    int error_class = MPI_SUCCESS;
    decltype(first()) value{};
  } told;
  static_assert(std::is_trivially_copyable_v<decltype(told)>);
  std::array<Failure, 2> own{failure_after(file, each)};
  told.error_class = gather_worst(file, own[0].error_class);
  if (file.rank == 0) {
    own[1] = failure_after(file, [&] { told.value = first(); });
    told.error_class = std::max(told.error_class, own[1].error_class);
  }
  hear_from_first(file, &told, sizeof told);
  if (told.error_class != MPI_SUCCESS) {
    fail_together(file, told.error_class, own);
  }
  return told.value;
}
/// The same without a value.
template <class Each, class First>
void each_then_first(File& file, Each&& each, First&& first) {
  each_then_hear(file, each, [&] {
    first();
    return true;
  });
}

/// MPI_File_open; the file is the caller's. Collective over `comm`.
File* open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info);
/// MPI_File_close: the object is gone, even if it throws. Collective.
void close_file(File* file);
void delete_file(const char* name);

void set_size(File& file, std::int64_t bytes);
void preallocate(File& file, std::int64_t bytes);
void sync(File& file);
void set_atomicity(File& file, bool is_atomic);
void set_view(File& file, std::int64_t displacement, MPI_Datatype element, MPI_Datatype type,
              const char* representation, MPI_Info info);
void set_info(File& file, MPI_Info info);
void seek_shared(File& file, std::int64_t offset, int whence);
/// The new position of a pointer after MPI_File_seek, in bytes of the stream.
std::int64_t sought(File& file, std::int64_t offset, int whence, std::int64_t current);

}  // namespace sluice::mpiio
