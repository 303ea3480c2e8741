/// @file
/// Sessions: a file of plain bytes that any rank writes or reads at any time.
///
/// For programs that are driven by messages: no call waits for another rank, but those that say so.
/// A session is a range of the file. Whoever has the Session, a plain value that may be sent to any
/// rank, writes parts of it in any order. Some ranks (options `writers`, `first_writer`,
/// `writer_spacing`, `writer_map`) gather whole tiles and write them in the background. The rank
/// that started the session is told once, when every byte is on disk.
///
///     sluice::SessionFile out(MPI_COMM_WORLD, "forces.bin", sluice::Mode::write);
///     if (rank == 0) session = out.start(0, bytes, {.complete = [](const sluice::Error*) { ...
///     }});
///     ...                                                  // session travels in your own messages
///     out.write(session, data, n, offset);                 // copies; from any rank, any thread
///     out.poll();                                          // now and then
///     out.close();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/comm.hpp"
#include "sluice/error.hpp"
#include "sluice/options.hpp"
#include "sluice/sluice.hpp"

namespace sluice {

namespace detail {
class SessionImpl;
}

/// A session of one file. A plain value: the same bytes mean the same session on every rank.
struct Session {
  std::int32_t home = -1;    ///< The rank that started it.
  std::uint32_t number = 0;  ///< Its number on that rank.
  std::uint64_t offset = 0;  ///< Its first byte in the file.
  std::uint64_t bytes = 0;   ///< Its length in bytes.
};

/// What a session calls on its home, the rank that started it. The calls come inside poll(), wait()
/// and close() of the thread that opened the file; they may start, write and read.
struct SessionHandlers {
  /// When reading: the beginning of the session is in the readers' memory. When writing: called at
  /// once. Default: none.
  std::function<void()> ready = {};
  /// Called once: with nullptr when every byte, those of `after` too, is on disk as
  /// Options::durability says; else with the failure. Default: none.
  std::function<void(const Error* failure)> complete = {};
  /// Place in the file of the bytes in `after`.
  std::uint64_t after_offset = 0;
  /// Bytes that are written when all others of the session are on disk, such as a header. Default:
  /// none.
  std::vector<std::byte> after = {};
};

/// An open file of sessions. Several may be open at once, each with several sessions.
///
/// The thread that opened the file polls, waits and closes; any thread may call write(). Any call
/// may throw Error `wrong_state` (the file is closed, was opened for the other direction, or was
/// moved from).
class SessionFile {
 public:
  /// Opens a file of sessions. Collective.
  ///
  /// Tile t of the file always belongs to writer t modulo writers.
  /// @param comm     the ranks that use the file; it is duplicated
  /// @param path     the file, the same on every rank; copied
  /// @param mode     write cuts off what was there; create is Error `exists` where there is a file;
  ///                 append keeps what is there; read opens for reading only
  /// @param options  writers, first_writer, writer_spacing, writer_map, readers, tile_bytes,
  ///                 stripe_bytes, coalesce, storage (not mpiio), budget_bytes, durability
  ///                 (automatic: each session is synced before it is complete) and timeout_s;
  ///                 others are ignored
  /// @throws Error `not_found`, `exists`, `permission`, `locked`, `invalid_argument`, `unsupported`
  ///         (storage), `io`, `divergent`, `timeout`, `mpi`.
  SessionFile(const Comm& comm, const std::string& path, Mode mode, const Options& options = {});
  /// A SessionFile over an open implementation; for the library.
  explicit SessionFile(std::unique_ptr<detail::SessionImpl> impl);
  /// Takes the file over; every call on the other object is then Error `wrong_state`.
  SessionFile(SessionFile&&) noexcept;
  /// Drops this file and takes the other over.
  SessionFile& operator=(SessionFile&&) noexcept;
  /// Drops a file that was not closed: bytes that are not on disk are lost. Local. Where an
  /// exception is the reason, polls and waits of other ranks throw Error `wrong_state`.
  ~SessionFile();

  /// Starts a session. Local; this rank becomes its home.
  /// @param offset    first byte in the file
  /// @param bytes     length in bytes, 0 too
  /// @param handlers  what is called when the session is ready and complete; copied
  /// @return the session, to be sent to the ranks that write or read it
  /// @throws Error `out_of_bounds` (beyond the largest file).
  Session start(std::uint64_t offset, std::uint64_t bytes, SessionHandlers handlers = {});
  /// Writes bytes of a session. Local; it waits only where the budget is used up. Any thread may
  /// call it while the one that opened the file polls.
  ///
  /// Every byte of a session is written once. Bytes that are written twice or never make the
  /// session fail; the failure names the ranks.
  /// @param session  a session of this file
  /// @param data     `bytes` bytes; copied
  /// @param bytes    number of bytes, 0 too
  /// @param offset   place in the file, inside the session
  /// @throws Error `out_of_bounds` (not inside the session), `timeout` (no room in the budget).
  void write(const Session& session, const void* data, std::size_t bytes, std::uint64_t offset);
  /// Reads bytes of a session. Local.
  /// @param session  a session of this file
  /// @param data     room for `bytes` bytes; it must stay until `done` is called
  /// @param bytes    number of bytes, 0 too
  /// @param offset   place in the file, inside the session
  /// @param done     called with nullptr when the bytes are there, else with the failure
  ///                 (`truncated` where the file ends before); without it wait_for_reads() throws
  ///                 the failure
  /// @throws Error `out_of_bounds` (not inside the session).
  void read(const Session& session, void* data, std::size_t bytes, std::uint64_t offset,
            std::function<void(const Error* failure)> done = {});
  /// Frees the readers' memory of a session that is read. Local, on its home.
  /// @param session  a session that this rank started
  void end(const Session& session);

  /// Moves on what can be moved without waiting, and calls back. Local.
  ///
  /// Bytes of other ranks are received, and bytes for them are sent, only inside calls of the
  /// library: call it now and then.
  void poll();
  /// Waits until a session is complete (when reading: ready). Local, on its home. The other ranks
  /// must poll, or wait themselves, meanwhile.
  /// @param session  a session that this rank started
  /// @throws Error the session's failure; `timeout`; `wrong_state` (another rank is its home).
  void wait(const Session& session);
  /// Waits until every read() of this rank is answered. Local. The readers must poll meanwhile.
  /// @throws Error the first failure of a read() without `done`; `timeout`.
  void wait_for_reads();
  /// Waits until a session to which nobody writes any more is complete. Collective.
  /// @param session  a session of this file, the same on every rank
  /// @throws Error `hole` (bytes are missing), `overlap` (bytes were written twice), `no_space`,
  ///         `io`, `timeout`, the same on every rank.
  void close(const Session& session);
  /// Closes every session as above, and the file. Collective.
  /// @throws Error the failure of any session, the same on every rank.
  void close();

 private:
  detail::SessionImpl& impl() const;

  std::unique_ptr<detail::SessionImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
