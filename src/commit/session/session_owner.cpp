#include "commit/session/session_owner.hpp"

#include "exec/transport/agree.hpp"

namespace sluice::commit {

SessionOwner::SessionOwner(exec::Transport& transport, storage::Storage& storage,
                           const std::string& path, SessionOpening opening, const Options& options,
                           const plan::SessionTiles& tiles) {
  open(transport, storage, path, opening, options, tiles);
  if (!file_) {
    return;
  }
  const bool has_thread = storage.in_background() && transport.runs_at_once();
  const exec::Pace pace = has_thread ? exec::Pace::in_thread : exec::Pace::when_asked;
  if (opening == SessionOpening::read) {
    reader_ = std::make_unique<SessionReader>(
        SessionReader::Config{*file_, tiles, transport.rank(), options.budget_bytes, pace});
    return;
  }
  // Tiles so large that only a few fit are written as they arrive.
  const bool gathers = options.coalesce && tiles.tile_bytes() <= options.budget_bytes / 8;
  const bool syncs =
      options.durability == Durability::step || options.durability == Durability::automatic;
  writer_ = std::make_unique<SessionWriter>(SessionWriter::Config{
      *file_, tiles, transport.rank(), gathers, syncs, options.budget_bytes, pace});
}

void SessionOwner::open(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path, SessionOpening opening, const Options& options,
                        const plan::SessionTiles& tiles) {
  const bool is_first = transport.rank() == tiles.owners()[0];
  const auto access =
      opening == SessionOpening::read ? storage::Access::read : storage::Access::read_write;
  exec::together(transport, [&] {
    if (!is_first) {
      return;
    }
    const bool is_new = opening == SessionOpening::create ||
                        (opening == SessionOpening::write && !storage.exists(path));
    file_ = storage.open(path, is_new ? storage::Access::create : access);
    if (opening == SessionOpening::write && !is_new) {
      file_->resize(0);
    }
    if (opening != SessionOpening::read && options.durability != Durability::none) {
      storage.sync_directory(path);  // before a session is told to be durable
    }
  });
  exec::together(transport, [&] {
    if (!is_first && tiles.is_owner(transport.rank())) {
      file_ = storage.open(path, access);
    }
  });
}

bool SessionOwner::move_on(SessionMessages& messages) {
  bool moved = false;
  if (writer_) {
    moved = writer_->pump();
    for (const SessionWriter::Outcome& outcome : writer_->outcomes()) {
      messages.send_outcome(outcome.key, outcome.failure);
      moved = true;
    }
  }
  if (reader_) {
    moved = reader_->pump() || moved;
    const SessionReader::News news = reader_->news();
    for (const SessionReader::Answer& answer : news.answers) {
      messages.send_answer(answer);
      moved = true;
    }
    for (const SessionKey& key : news.ready) {
      messages.send_outcome(key, nullptr);
      moved = true;
    }
  }
  return moved;
}

void SessionOwner::drain(SessionMessages& messages) {
  if (writer_) {
    writer_->drain();
    move_on(messages);
  }
}

void SessionOwner::sync() {
  if (file_) {
    file_->sync();
  }
}

void SessionOwner::close() noexcept {
  writer_.reset();
  reader_.reset();
  file_.reset();
}

}  // namespace sluice::commit
