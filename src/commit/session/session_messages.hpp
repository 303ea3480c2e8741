// The messages between the ranks of a session file, as bytes and back.
//
// Invariants: pieces for one rank are sent together, up to 64 KiB, and leave with the next flush()
// at the latest; messages of one rank to another are handled in the order of their sending;
// handlers are called within poll() only.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "commit/session/session_reader.hpp"
#include "commit/session/session_writer.hpp"
#include "exec/transport/active_messages.hpp"

namespace sluice::commit {

class SessionMessages {
 public:
  /// The handlers of received messages.
  struct Handlers {
    // at an owner
    std::function<void(int from, const SessionPart&, std::uint64_t, std::span<const std::byte>)>
        piece;
    std::function<void(const SessionPart&)> finalize;  ///< no more will come
    std::function<void(const SessionPart&)> read_ahead;
    std::function<void(const SessionKey&)> forget;
    std::function<void(const SessionReader::Question&)> question;
    // at a home: the owner's share is complete (reading: in memory), or its failure
    std::function<void(const SessionKey&, int owner, const std::exception_ptr&)> outcome;
    // at the rank that asked
    std::function<void(std::uint64_t number, const plan::ByteRange&, std::span<const std::byte>,
                       const std::exception_ptr&)>
        answer;
    // barriers: at the rank above, at those below, at rank 0
    std::function<void(int from, std::uint64_t number, std::uint64_t reports)> arrived;
    std::function<void(std::uint64_t number)> released;
    std::function<void(int from, std::uint64_t number, std::uint64_t come)> report;
  };

  /// Collective. `path` is for errors.
  SessionMessages(exec::Transport& transport, std::string path);
  void set_handlers(Handlers handlers) { handlers_ = std::move(handlers); }

  void send_piece(int owner, const SessionPart& part, std::uint64_t offset,
                  std::span<const std::byte> bytes);
  void send_finalize(int owner, const SessionPart& part);
  void send_read_ahead(int owner, const SessionPart& part);
  void send_forget(int owner, const SessionKey& key);
  void send_question(int owner, std::uint64_t number, const plan::ByteRange& range);
  void send_outcome(const SessionKey& key, const std::exception_ptr& failure);
  void send_answer(const SessionReader::Answer& answer);
  void send_arrived(int rank, std::uint64_t number, std::uint64_t reports);
  void send_released(int rank, std::uint64_t number);
  void send_report(std::uint64_t number, std::uint64_t come);

  /// Sends the pieces that wait for more of them.
  void flush();
  /// Makes progress, and calls the handlers of received messages. Did anything move?
  bool poll();
  /// Were all messages that this rank sent handled?
  bool is_idle() const { return drafts_.empty() && messages_.is_idle(); }
  /// The number of pieces and messages not handled yet.
  std::uint64_t held_bytes() const { return messages_.unacknowledged_bytes() + draft_bytes_; }
  /// The ranks that have not handled all of their messages.
  std::vector<int> unacknowledged_ranks() const { return messages_.unacknowledged_ranks(); }
  /// Collective, when every rank is idle and after a barrier.
  void settle() { messages_.settle(); }

 private:
  void handle(int from, std::span<const std::byte> message);
  void handle_pieces(int from, std::span<const std::byte> message);

  const int rank_;
  const std::string path_;
  Handlers handlers_;
  exec::ActiveMessages messages_;
  std::map<int, std::vector<std::byte>> drafts_;
  std::uint64_t draft_bytes_ = 0;
};

}  // namespace sluice::commit
