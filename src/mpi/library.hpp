// The MPI calls that the library makes, declared without mpi.h: three interfaces, which
// src/mpi/part*.cpp implement once for each ABI.
//
// Invariants: a handle is the word that the process's MPI uses (a pointer, or an int in its low
// half), and means nothing to another MPI; results are MPI's own numbers, 0 for success; nothing
// here throws, waits longer than the call of MPI that it names, or keeps state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/comm.h"

namespace sluice::mpi {

/// One kind of handle; `Tag` keeps the kinds apart.
template <class Tag>
struct Handle {
  std::uintptr_t word = 0;
  bool operator==(const Handle&) const = default;
};
using Comm = Handle<struct CommTag>;
using Request = Handle<struct RequestTag>;
using Message = Handle<struct MessageTag>;
using FileHandle = Handle<struct FileTag>;

inline constexpr int success = 0;

/// The results that the library distinguishes.
enum class Fault : std::uint8_t {
  none,
  other,
  truncate,
  pending,
  in_status,
  no_such_file,
  file_exists,
  no_access,
  no_space,
};

/// The status of one message that was received.
struct Status {
  int source = 0;
  int error = 0;   ///< a result; meaningful where the call returned Fault::in_status
  int bytes = -1;  ///< -1: MPI could not say
};

/// Initialisation, finalisation and communicators.
class Comms {
 public:
  virtual ~Comms() = default;
  virtual bool is_initialized() = 0;
  virtual bool is_finalized() = 0;
  /// MPI_Init_thread with MPI_THREAD_FUNNELED. Both may be null.
  virtual int init(int* argc, char*** argv) = 0;
  virtual int finalize() = 0;
  virtual void abort(int code) = 0;
  /// `work` is called once when MPI_Finalize begins. To be set once in a process.
  virtual int at_finalize(void (*work)()) = 0;
  /// What keep() left with `comm`; null: nothing.
  virtual void* kept(Comm comm) = 0;
  /// Leaves `what` with `comm`, not with duplicates of it; when it is freed, `release(what)` is
  /// called, the same function in all calls of a process.
  virtual int keep(Comm comm, void* what, void (*release)(void* what)) = 0;

  virtual Comm null_comm() = 0;
  virtual Comm self() = 0;
  virtual Comm world() = 0;
  /// The handle in this ABI of `any`, which is of this ABI, a Fortran integer, or one of the
  /// predefined ones.
  virtual Comm comm_of(const sluice_comm& any) = 0;
  virtual int test_inter(Comm comm, bool& is_inter) = 0;
  virtual int rank(Comm comm) = 0;
  virtual int size(Comm comm) = 0;
  /// The highest tag.
  virtual int tag_limit() = 0;
  /// Errors of calls on it are returned as results.
  virtual void return_errors(Comm comm) = 0;
  virtual int duplicate(Comm comm, Comm& made) = 0;
  /// `made` and `request` must stay where they are until the request is done.
  virtual int start_duplicate(Comm comm, Comm& made, Request& request) = 0;
  /// `color` < 0: this rank is in no group, and `made` is null_comm().
  virtual int split(Comm comm, int color, int key, Comm& made) = 0;
  /// Collective: the lowest rank of `comm` on this rank's node.
  virtual int node_leader(Comm comm, int& leader) = 0;
  virtual int free(Comm& comm) = 0;
  virtual int all_max(std::span<const int> mine, std::span<int> all, Comm comm) = 0;
  virtual int start_all_max(std::span<const int> mine, std::span<int> all, Comm comm,
                            Request& request) = 0;
};

/// Messages of bytes, and requests.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual Request null_request() = 0;
  /// `synchronous`: complete only when the message is being received.
  virtual int start_send(std::span<const std::byte> bytes, int to, int tag, Comm comm,
                         bool synchronous, Request& request) = 0;
  virtual int start_receive(std::span<std::byte> into, int from, int tag, Comm comm,
                            Request& request) = 0;
  /// Matches a message of `tag` from any rank, to be received by start_taken().
  virtual int take(int tag, Comm comm, bool& is_there, Message& message, Status& status) = 0;
  virtual int start_taken(std::span<std::byte> into, Message& message, Request& request) = 0;
  /// Probes without matching it.
  virtual int probe(int tag, Comm comm, bool& is_there, Status& status) = 0;
  virtual int receive(std::span<std::byte> into, int from, int tag, Comm comm) = 0;

  /// `statuses`: as many as `requests`, or none.
  virtual int test_all(std::span<Request> requests, bool& is_done, std::span<Status> statuses) = 0;
  virtual int test(Request& request, bool& is_done) = 0;
  /// Tests without completing the request.
  virtual int look(Request request, bool& is_done) = 0;
  virtual int cancel(Request& request) = 0;

  virtual Fault fault(int result) = 0;
  virtual std::string error_text(int result) = 0;
};

/// A range of a file, and its address in memory.
struct FilePiece {
  std::uint64_t offset = 0;
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// MPI-IO. A call moves at most 2^31 - 1 bytes a piece; `moved` is the number of bytes moved.
class Files {
 public:
  virtual ~Files() = default;
  virtual std::size_t hint_key_limit() = 0;
  virtual std::size_t hint_value_limit() = 0;
  virtual int open(Comm comm, const std::string& path, bool reads_only,
                   const std::vector<std::pair<std::string, std::string>>& hints,
                   FileHandle& file) = 0;
  virtual int close(FileHandle& file) = 0;
  virtual int write(FileHandle file, const FilePiece& piece, std::int64_t& moved) = 0;
  virtual int read(FileHandle file, const FilePiece& piece, std::int64_t& moved) = 0;
  /// Collective: every rank at most one piece.
  virtual int write_collective(FileHandle file, const FilePiece& piece, std::int64_t& moved) = 0;
  virtual int read_collective(FileHandle file, const FilePiece& piece, std::int64_t& moved) = 0;
  /// Collective: any number of pieces, by a temporary file view.
  virtual int move_scattered(FileHandle file, std::span<const FilePiece> pieces, bool is_write,
                             std::int64_t& moved) = 0;
};

/// One MPI, called by its own ABI. Lives as long as the process.
struct Library {
  Comms* comms = nullptr;
  Messages* messages = nullptr;
  Files* files = nullptr;
};

/// The part of one ABI. `find(name)` returns the address of a symbol of the MPI, or null. If one is
/// missing, `missing` is its name and the library is empty.
using Bind = Library (*)(void* (*find)(const char* name, void* context), void* context,
                         std::string& missing);

}  // namespace sluice::mpi
