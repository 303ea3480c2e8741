#include "commit/session/session_messages.hpp"

#include <cstring>
#include <utility>

#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

enum class Message : std::uint8_t {
  pieces,
  outcome,
  finalize,
  read_ahead,
  forget,
  question,
  answer,
  arrived,
  released,
  report,
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

template <class... Values>
model::ByteWriter message_of(Message kind, const Values&... values) {
  model::ByteWriter out;
  out.put(kind);
  (out.put(values), ...);
  return out;
}

}  // namespace

SessionMessages::SessionMessages(exec::Transport& transport, std::string path)
    : rank_(transport.rank()), path_(std::move(path)), messages_(transport) {}

void SessionMessages::send_piece(int owner, const SessionPart& part, std::uint64_t offset,
                                 std::span<const std::byte> bytes) {
  std::vector<std::byte>& draft = drafts_[owner];
  const std::uint64_t added = sizeof(PieceHead) + bytes.size();
  if (!draft.empty() && draft.size() + added > message_bytes) {
    draft_bytes_ -= draft.size();
    messages_.send(owner, std::exchange(draft, {}));
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

void SessionMessages::flush() {
  for (auto& [to, draft] : drafts_) {
    messages_.send(to, std::move(draft));
  }
  drafts_.clear();
  draft_bytes_ = 0;
}

void SessionMessages::send_finalize(int owner, const SessionPart& part) {
  messages_.send(owner, message_of(Message::finalize, part).take());
}

void SessionMessages::send_read_ahead(int owner, const SessionPart& part) {
  messages_.send(owner, message_of(Message::read_ahead, part).take());
}

void SessionMessages::send_forget(int owner, const SessionKey& key) {
  messages_.send(owner, message_of(Message::forget, key).take());
}

void SessionMessages::send_question(int owner, std::uint64_t number, const plan::ByteRange& range) {
  messages_.send(owner, message_of(Message::question, number, range).take());
}

void SessionMessages::send_outcome(const SessionKey& key, const std::exception_ptr& failure) {
  model::ByteWriter out = message_of(Message::outcome, key);
  put_failure(out, failure);
  messages_.send(key.home, out.take());
}

void SessionMessages::send_answer(const SessionReader::Answer& answer) {
  model::ByteWriter out =
      message_of(Message::answer, answer.question.number, answer.question.range);
  put_failure(out, answer.failure);
  if (!answer.failure) {
    out.put(answer.bytes);
  }
  messages_.send(answer.question.from, out.take());
}

void SessionMessages::send_arrived(int rank, std::uint64_t number, std::uint64_t reports) {
  messages_.send(rank, message_of(Message::arrived, number, reports).take());
}

void SessionMessages::send_released(int rank, std::uint64_t number) {
  messages_.send(rank, message_of(Message::released, number).take());
}

void SessionMessages::send_report(std::uint64_t number, std::uint64_t come) {
  messages_.send(0, message_of(Message::report, number, come).take());
}

bool SessionMessages::poll() {
  return messages_.poll(
      [this](int from, std::span<const std::byte> message) { handle(from, message); });
}

void SessionMessages::handle(int from, std::span<const std::byte> message) {
  model::ByteReader in(message);
  switch (in.get<Message>()) {
    case Message::pieces:
      handle_pieces(from, message.subspan(1));
      break;
    case Message::outcome: {
      const auto key = in.get<SessionKey>();
      handlers_.outcome(key, from, get_failure(in, from));
      break;
    }
    case Message::finalize:
      handlers_.finalize(in.get<SessionPart>());
      break;
    case Message::read_ahead:
      handlers_.read_ahead(in.get<SessionPart>());
      break;
    case Message::forget:
      handlers_.forget(in.get<SessionKey>());
      break;
    case Message::question: {
      const auto number = in.get<std::uint64_t>();
      handlers_.question({from, number, in.get<plan::ByteRange>()});
      break;
    }
    case Message::answer: {
      const auto number = in.get<std::uint64_t>();
      const auto range = in.get<plan::ByteRange>();
      const std::exception_ptr failure = get_failure(in, rank_);
      const std::vector<std::byte> bytes =
          failure ? std::vector<std::byte>{} : in.get_vector<std::byte>();
      handlers_.answer(number, range, bytes, failure);
      break;
    }
    case Message::arrived: {
      const auto number = in.get<std::uint64_t>();
      handlers_.arrived(from, number, in.get<std::uint64_t>());
      break;
    }
    case Message::released:
      handlers_.released(in.get<std::uint64_t>());
      break;
    case Message::report: {
      const auto number = in.get<std::uint64_t>();
      handlers_.report(from, number, in.get<std::uint64_t>());
      break;
    }
  }
}

void SessionMessages::handle_pieces(int from, std::span<const std::byte> message) {
  while (!message.empty()) {
    PieceHead head;
    if (message.size() < sizeof head) {
      throw Error(Code::internal, path_ + ": a piece of a session is too short");
    }
    std::memcpy(&head, message.data(), sizeof head);
    message = message.subspan(sizeof head);
    handlers_.piece(from, head.part, head.offset, message.first(head.bytes));
    message = message.subspan(head.bytes);
  }
}

}  // namespace sluice::commit
