// What a rank does of a file in sessions as an owner of tiles: it has the file open, and writes or
// reads it. The other ranks have nothing of it.
//
// Invariant: all calls are made under the lock of the sessions, but for those that are collective.
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
  write,   ///< what was there is cut off
  create,  ///< Error exists where it is there
  append,  ///< what is there stays
};

class SessionOwner {
 public:
  /// Collective: the first owner makes the file, then the others find it. `tiles` must outlive the
  /// object.
  SessionOwner(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               SessionOpening opening, const Options& options, const plan::SessionTiles& tiles);

  /// Of a file that is written, on an owner.
  SessionWriter& writer() { return *writer_; }
  /// Of a file that is read, on an owner.
  SessionReader& reader() { return *reader_; }

  /// Moves on what can be moved without waiting, and tells homes and askers.
  bool move_on(SessionMessages& messages);
  /// Everything that came is written, and its homes are told.
  void drain(SessionMessages& messages);
  /// See SessionWriter::stray().
  std::exception_ptr stray() const { return writer_ ? writer_->stray() : nullptr; }
  void sync();
  void close() noexcept;

 private:
  void open(exec::Transport& transport, storage::Storage& storage, const std::string& path,
            SessionOpening opening, const plan::SessionTiles& tiles);

  std::unique_ptr<storage::File> file_;
  std::unique_ptr<SessionWriter> writer_;  ///< its thread uses file_
  std::unique_ptr<SessionReader> reader_;  ///< likewise
};

}  // namespace sluice::commit
