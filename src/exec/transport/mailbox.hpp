// Letters that ranks send each other whenever they like: nobody waits for them at a known place.
//
// Invariants: letters of one rank to another are handled in the order in which they were posted; of
// one rank to another at most unheard_max are on their way and not yet handled, the others wait at
// their sender, so that a receiver holds no more than that of each; no call but settle() waits; one
// thread polls, the one that may use the transport, and only one at a time calls anything.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

class Mailbox {
 public:
  static constexpr std::uint32_t unheard_max = 4;
  /// Letters that are being received at the same time.
  static constexpr std::size_t arriving_max = 16;
  using Handler = std::function<void(int from, std::span<const std::byte> letter)>;

  /// Collective: the letters have a transport of their own.
  explicit Mailbox(Transport& transport);

  /// The letter will go to `to`, this rank itself too, within poll().
  void post(int to, std::vector<std::byte> letter);
  /// Moves on what can be moved, and has `handle` read what came; it may post. Did anything move?
  bool poll(const Handler& handle);
  /// Collective, after every rank was quiet and all have met: ends the last answers.
  void settle();
  /// Was everything that this rank posted handled?
  bool is_quiet() const { return unheard_bytes_ == 0 && unheard_letters_ == 0; }
  /// Of letters posted and not handled yet.
  std::uint64_t unheard_bytes() const { return unheard_bytes_; }
  /// The ranks that have not handled all of theirs.
  std::vector<int> silent_ranks() const;

 private:
  using Letter = std::shared_ptr<const std::vector<std::byte>>;
  struct Box {
    std::deque<Letter> waiting;
    std::deque<std::uint64_t> unheard;  ///< bytes of those on their way, in order
  };
  struct Leaving {
    Letter letter;
    std::unique_ptr<Pending> pending;
  };

  bool hear();
  bool send();
  bool receive(const Handler& handle);
  bool handle_own(const Handler& handle);
  void acknowledge();
  void count_heard(int from, std::uint32_t letters);

  const std::unique_ptr<Transport> own_;
  Transport& transport_;
  std::map<int, Box> boxes_;
  std::deque<Letter> to_self_;
  std::deque<Leaving> leaving_;
  std::deque<Arriving> arriving_;
  std::deque<Arriving> answers_;
  std::map<int, std::uint32_t> handled_;  ///< letters not acknowledged yet
  std::uint64_t unheard_bytes_ = 0;
  std::uint64_t unheard_letters_ = 0;
};

}  // namespace sluice::exec
