// A rank of a session file as an owner of tiles: it has the file open, and writes or reads it. The
// other ranks do not open it.
//
// Invariant: all calls are made with the lock of the sessions held, except the collective ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "commit/session/session_messages.hpp"
#include "commit/session/session_reader.hpp"
#include "commit/session/session_writer.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

enum class SessionOpening : std::uint8_t {
  read,
  write,   ///< existing content is truncated
  create,  ///< Error exists if it exists
  append,  ///< existing content is kept
};

class SessionOwner {
 public:
  /// Collective: the first owner creates the file, then the others open it. `tiles` must outlive
  /// the object.
  SessionOwner(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               SessionOpening opening, const Options& options, const plan::SessionTiles& tiles);

  /// Of a file that is written, on an owner.
  SessionWriter& writer() { return *writer_; }
  /// Of a file that is read, on an owner.
  SessionReader& reader() { return *reader_; }

  /// Makes progress without waiting, and notifies homes and askers.
  bool move_on(SessionMessages& messages);
  /// Writes everything that has arrived, and notifies the homes.
  void drain(SessionMessages& messages);
  /// See SessionWriter::stray().
  std::exception_ptr stray() const { return writer_ ? writer_->stray() : nullptr; }
  void sync();
  void close() noexcept;

 private:
  void open(exec::Transport& transport, storage::Storage& storage, const std::string& path,
            SessionOpening opening, const Options& options, const plan::SessionTiles& tiles);

  std::unique_ptr<storage::File> file_;
  std::unique_ptr<SessionWriter> writer_;  ///< its thread uses file_
  std::unique_ptr<SessionReader> reader_;  ///< likewise
};

}  // namespace sluice::commit
