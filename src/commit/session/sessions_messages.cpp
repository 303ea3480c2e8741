// What the ranks of a file in sessions tell each other.
#include <algorithm>
#include <cstring>
#include <utility>

#include "commit/session/sessions.hpp"
#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

enum class Message : std::uint8_t {
  pieces,    ///< any rank to an owner: bytes of sessions
  outcome,   ///< owner to home: its share is there, or what went wrong
  finalize,  ///< home to owner: no more will come
  ahead,     ///< home to owner: read ahead
  ready,     ///< owner to home: it is in memory
  forget,    ///< home to owner
  ask,       ///< any rank to an owner
  answer,    ///< and back
  arrived,   ///< to rank 0: this rank has come to a barrier
  released,  ///< from rank 0: all have
};

/// Before the bytes of each piece.
struct PieceHead {
  SessionPart part;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Small pieces travel together up to so much.
constexpr std::uint64_t message_bytes = 64 << 10;

void put_failure(model::ByteWriter& out, const std::exception_ptr& failure) {
  try {
    if (failure) {
      std::rethrow_exception(failure);
    }
    out.put(Code::ok);
  } catch (const Error& e) {
    out.put(e.code());
    out.put(std::string(e.what()));
  } catch (const std::exception& e) {
    out.put(Code::internal);
    out.put(std::string(e.what()));
  }
}

std::exception_ptr get_failure(model::ByteReader& in, int rank) {
  const auto code = in.get<Code>();
  return code == Code::ok ? nullptr : std::make_exception_ptr(Error(code, in.get_string(), rank));
}

model::ByteWriter message(Message kind) {
  model::ByteWriter out;
  out.put(kind);
  return out;
}

template <class Value>
std::vector<std::byte> message_with(Message kind, const Value& value) {
  model::ByteWriter out = message(kind);
  out.put(value);
  return out.take();
}

}  // namespace

void Sessions::draft_piece(int to, const SessionPart& part, std::uint64_t offset,
                           std::span<const std::byte> bytes) {
  std::vector<std::byte>& draft = drafts_[to];
  const std::uint64_t added = sizeof(PieceHead) + bytes.size();
  if (!draft.empty() && draft.size() + added > message_bytes) {
    draft_bytes_ -= draft.size();
    messages_.send(to, std::exchange(draft, {}));
  }
  const std::size_t before = draft.size();
  if (draft.empty()) {
    draft.push_back(static_cast<std::byte>(Message::pieces));
  }
  const PieceHead head{part, offset, bytes.size()};
  const auto* first = reinterpret_cast<const std::byte*>(&head);
  draft.insert(draft.end(), first, first + sizeof head);
  draft.insert(draft.end(), bytes.begin(), bytes.end());
  draft_bytes_ += draft.size() - before;
}

void Sessions::send_drafts() {
  for (auto& [to, draft] : drafts_) {
    messages_.send(to, std::move(draft));
  }
  drafts_.clear();
  draft_bytes_ = 0;
}

bool Sessions::move_on() {
  send_drafts();
  bool moved =
      messages_.poll([this](int from, std::span<const std::byte> text) { handle(from, text); });
  moved = move_writer() || moved;
  moved = move_reader() || moved;
  if (moved) {
    moved_.notify_all();
  }
  return moved;
}

bool Sessions::move_writer() {
  if (!writer_) {
    return false;
  }
  bool moved = writer_->pump();
  for (const SessionWriter::Outcome& outcome : writer_->outcomes()) {
    model::ByteWriter out = message(Message::outcome);
    out.put(outcome.key);
    put_failure(out, outcome.failure);
    messages_.send(outcome.key.home, out.take());
    moved = true;
  }
  return moved;
}

bool Sessions::move_reader() {
  if (!reader_) {
    return false;
  }
  bool moved = reader_->pump();
  const SessionReader::News news = reader_->news();
  for (const SessionReader::Answer& answer : news.answers) {
    model::ByteWriter out = message(Message::answer);
    out.put(answer.question.number);
    out.put(answer.question.range);
    put_failure(out, answer.failure);
    if (!answer.failure) {
      out.put(answer.bytes);
    }
    messages_.send(answer.question.from, out.take());
    moved = true;
  }
  for (const SessionKey& key : news.ready) {
    messages_.send(key.home, message_with(Message::ready, key));
    moved = true;
  }
  return moved;
}

void Sessions::handle(int from, std::span<const std::byte> text) {
  model::ByteReader in(text);
  switch (in.get<Message>()) {
    case Message::pieces:
      handle_pieces(from, text.subspan(1));
      break;
    case Message::outcome: {
      const auto key = in.get<SessionKey>();
      note_outcome(key, from, get_failure(in, from));
      break;
    }
    case Message::ready: {
      const auto key = in.get<SessionKey>();
      note_outcome(key, from, nullptr);
      break;
    }
    case Message::finalize:
      writer_->finalize(in.get<SessionPart>());
      break;
    case Message::ahead:
      reader_->read_ahead(in.get<SessionPart>());
      break;
    case Message::forget:
      reader_->forget(in.get<SessionKey>());
      break;
    case Message::ask: {
      SessionReader::Question question;
      question.from = from;
      question.number = in.get<std::uint64_t>();
      question.range = in.get<plan::ByteRange>();
      reader_->ask(question);
      break;
    }
    case Message::answer:
      handle_answer(text);
      break;
    case Message::arrived:
      handle_meeting(from, in.get<std::uint64_t>());
      break;
    case Message::released:
      met_ = in.get<std::uint64_t>();
      break;
  }
}

void Sessions::handle_pieces(int from, std::span<const std::byte> text) {
  while (!text.empty()) {
    PieceHead head;
    if (text.size() < sizeof head) {
      throw Error(Code::internal, path_ + ": a piece of a session is too short");
    }
    std::memcpy(&head, text.data(), sizeof head);
    text = text.subspan(sizeof head);
    writer_->take(head.part, from, head.offset, text.first(head.bytes));
    text = text.subspan(head.bytes);
  }
}

void Sessions::handle_answer(std::span<const std::byte> text) {
  model::ByteReader in(text);
  in.get<Message>();
  const auto number = in.get<std::uint64_t>();
  const auto range = in.get<plan::ByteRange>();
  const auto found = readings_.find(number);
  Reading& reading = found->second;
  if (const std::exception_ptr failure = get_failure(in, transport_.rank())) {
    reading.failure = reading.failure ? reading.failure : failure;
  } else {
    const auto bytes = in.get_vector<std::byte>();
    std::copy(bytes.begin(), bytes.end(), reading.into.data() + (range.offset - reading.offset));
  }
  if (--reading.pieces_left == 0) {
    if (reading.done) {
      calls_.push_back(
          [done = std::move(reading.done), failure = reading.failure] { done(failure); });
    }
    readings_.erase(found);
  }
}

void Sessions::handle_meeting(int from, std::uint64_t number) {
  came_[number].insert(from);
  if (came_[number].size() == static_cast<std::size_t>(transport_.size())) {
    came_.erase(number);
    for (int rank = 0; rank < transport_.size(); ++rank) {
      messages_.send(rank, message_with(Message::released, number));
    }
  }
}

/// At the home: an owner has done, or failed, its share.
void Sessions::note_outcome(const SessionKey& key, int owner, const std::exception_ptr& failure) {
  const auto found = homes_.find(key.number);
  if (found == homes_.end() || found->second.is_settled ||
      found->second.part.key.phase != key.phase) {
    return;  // of a session that has failed already
  }
  Home& home = found->second;
  home.owners_left.erase(owner);
  home.failure = home.failure ? home.failure : failure;
  if (home.failure) {
    settle(home);
  } else if (home.owners_left.empty()) {
    key.phase == 0 && !home.handlers.after.empty() ? write_after(home) : settle(home);
  }
}

/// All else is on disk.
void Sessions::write_after(Home& home) {
  const std::vector<std::byte> bytes = std::move(home.handlers.after);
  const plan::ByteRange range{home.handlers.after_offset, bytes.size()};
  home.part.key.phase = 1;
  home.part.range = range;
  for (const int owner : tiles_.owners_of(range)) {
    home.owners_left.insert(owner);
  }
  for (std::uint64_t at = range.offset; at < range.end();) {
    const plan::ByteRange piece = piece_at(at, range.end());
    draft_piece(tiles_.owner_of(at), home.part, at,
                std::span(bytes).subspan(at - range.offset, piece.bytes));
    at = piece.end();
  }
}

void Sessions::settle(Home& home) {
  home.is_settled = true;
  if (reads()) {
    home.is_ready = true;
    if (home.handlers.ready) {
      calls_.push_back(std::move(home.handlers.ready));
    }
    return;
  }
  first_failure_ = first_failure_ ? first_failure_ : home.failure;
  if (home.handlers.complete) {
    calls_.push_back(
        [done = std::move(home.handlers.complete), failure = home.failure] { done(failure); });
  }
  if (!home.failure) {
    homes_.erase(home.part.key.number);  // `home` ends here
  }
}

void Sessions::tell_to_judge(const Home& home) {
  for (const int owner : home.owners_left) {
    messages_.send(owner, message_with(Message::finalize, home.part));
  }
}

void Sessions::tell_to_read_ahead(const Home& home) {
  for (const int owner : home.owners_left) {
    messages_.send(owner, message_with(Message::ahead, home.part));
  }
}

void Sessions::tell_to_forget(const SessionPart& part) {
  for (const int owner : tiles_.owners_of(part.range)) {
    messages_.send(owner, message_with(Message::forget, part.key));
  }
}

/// For a piece of the read that came last.
void Sessions::ask(const plan::ByteRange& piece) {
  model::ByteWriter out = message(Message::ask);
  out.put(asked_);
  out.put(piece);
  messages_.send(tiles_.owner_of(piece.offset), out.take());
}

void Sessions::arrive(std::uint64_t barrier) {
  messages_.send(0, message_with(Message::arrived, barrier));
}

}  // namespace sluice::commit
