// Sessions: a file of plain bytes that any rank writes, or reads, whenever it likes.
//
// For programs that are driven by messages: no call waits for another rank, but those that say so.
// A session is a range of the file. Whoever has the Session, a value that may be sent to any rank,
// writes parts of it in any order; some ranks (the options writers, first_writer, writer_spacing,
// writer_map) gather whole tiles and write them in the background; the rank that started the
// session hears once when every byte is on disk.
//
//     sluice::SessionFile out(MPI_COMM_WORLD, "forces.bin", sluice::Mode::write);
//     if (rank == 0) session = out.start(0, bytes, {.complete = [](const sluice::Error*) { ... }});
//     ...                                                  // session travels in your own messages
//     out.write(session, data, n, offset);                 // copies; from any rank, any thread
//     out.poll();                                          // now and then
//     out.close();
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
  std::int32_t home = -1;  ///< the rank that started it
  std::uint32_t number = 0;
  std::uint64_t offset = 0;  ///< of its first byte in the file
  std::uint64_t bytes = 0;
};

/// What a session's home hears, within poll(), wait() and close() of the thread that opened the
/// file; callbacks may start, write and read.
struct SessionHandlers {
  /// Reading: the beginning of the session is in the readers' memory. Writing: at once.
  std::function<void()> ready = {};
  /// Once: every byte, those of `after` too, is on disk as Options::durability says; or the
  /// session's failure.
  std::function<void(const Error* failure)> complete = {};
  /// Bytes that are written when all others of the session are on disk, and where.
  std::uint64_t after_offset = 0;
  std::vector<std::byte> after = {};
};

/// An open file of sessions. Several may be open at once, each with several sessions.
class SessionFile {
 public:
  /// Collective over `comm`, which is duplicated. Mode::write cuts off what was there,
  /// Mode::create is Error exists where something was, Mode::append leaves it. Mode::read opens for
  /// reading only. Of the options count writers, first_writer, writer_spacing, writer_map, readers
  /// (of those who read), tile_bytes, stripe_bytes, coalesce, storage (not mpiio), budget_bytes,
  /// durability (automatic: each session is synced before it is complete) and timeout_s; tile t of
  /// the file belongs to writer t mod writers, always.
  SessionFile(const Comm& comm, const std::string& path, Mode mode, const Options& options = {});
  explicit SessionFile(std::unique_ptr<detail::SessionImpl> impl);
  SessionFile(SessionFile&&) noexcept;
  SessionFile& operator=(SessionFile&&) noexcept;
  /// Of a file that was not closed: what was not written by then is lost. Nothing is sent.
  ~SessionFile();

  /// A session of `bytes` (0 too) from `offset` on. Local.
  Session start(std::uint64_t offset, std::uint64_t bytes, SessionHandlers handlers = {});
  /// Copies `bytes` of `data` to `offset` of the file, inside the session: Error out_of_bounds
  /// otherwise. Local; waits only where the budget is used up. Every byte of a session is written
  /// once: what is written twice, or never, is the session's failure, which names who did it.
  /// Any thread may write, as long as the one that opened the file polls.
  void write(const Session& session, const void* data, std::size_t bytes, std::uint64_t offset);
  /// Reads `bytes` from `offset` of the file on, inside the session, into `data`, which must stay
  /// until `done` is called. Local. Failure: Error truncated where the file ends before.
  void read(const Session& session, void* data, std::size_t bytes, std::uint64_t offset,
            std::function<void(const Error* failure)> done = {});
  /// Of a session that reads, on its home: its memory may be given back. Local.
  void end(const Session& session);

  /// Moves on what can be moved without waiting, and calls back. Local. Bytes of other ranks are
  /// received, and theirs here sent, in calls of the library only.
  void poll();
  /// On the session's home: until it is complete (reading: ready); throws its failure. The other
  /// ranks must poll meanwhile, or wait themselves.
  void wait(const Session& session);
  /// Until every read() of this rank was answered. The readers must poll meanwhile.
  void wait_for_reads();
  /// Nobody writes to the session any more: waits until it is complete. Collective. Error hole, on
  /// every rank, where bytes of it are missing.
  void close(const Session& session);
  /// The same of every session, and closes the file. Collective. The failure of any session is
  /// thrown on every rank.
  void close();

 private:
  detail::SessionImpl& impl() const;

  std::unique_ptr<detail::SessionImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
