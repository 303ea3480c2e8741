#include "exec/transport/carrier.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "exec/transport/agree.hpp"
#include "model/clock.hpp"
#include "model/size_text.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

namespace {

constexpr std::uint32_t message_mark = 0x4c554c53;  // "SLUL"

/// The header of each message.
struct MessageHead {
  std::uint32_t mark = message_mark;
  std::int32_t from = 0;
  std::int32_t to = 0;
  Carrier::Place place;
  std::uint32_t padding = 0;
  std::uint64_t number = 0;  ///< numbers the messages of this pair of ranks
};

MessageHead head_of(std::span<const std::byte> message) {
  MessageHead head;
  std::memcpy(&head, message.data(), std::min(message.size(), sizeof head));
  return head;
}

}  // namespace

Carrier::Carrier(int rank, int size, double timeout_s)
    : rank_(rank), size_(size), timeout_s_(timeout_s) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw Error(Code::invalid_argument,
                "there is no rank " + std::to_string(rank) + " of " + std::to_string(size));
  }
}

std::optional<Parcel> Carrier::next_outgoing() {
  const std::lock_guard lock(mutex_);
  if (leaving_.empty()) {
    return std::nullopt;
  }
  Parcel parcel = std::move(leaving_.front());
  leaving_.pop_front();
  return parcel;
}

void Carrier::deliver(std::span<const std::byte> message) {
  const MessageHead head = head_of(message);
  if (message.size() < sizeof head || head.mark != message_mark || head.to != rank_ ||
      head.from < 0 || head.from >= size_) {
    throw Error(Code::invalid_argument, "deliver: these " + std::to_string(message.size()) +
                                            " bytes are not a message for rank " +
                                            std::to_string(rank_));
  }
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[head.from];
  if (head.number < peer.received || peer.early.count(head.number) != 0) {
    throw Error(Code::invalid_argument, "deliver: message " + std::to_string(head.number) +
                                            " of rank " + std::to_string(head.from) +
                                            " was delivered twice");
  }
  if (head.number != peer.received) {
    peer.early.emplace(head.number, std::vector<std::byte>(message.begin(), message.end()));
    return;
  }
  enqueue(head.from, message);
  for (auto next = peer.early.begin(); next != peer.early.end() && next->first == peer.received;) {
    enqueue(head.from, next->second);
    next = peer.early.erase(next);
  }
  has_news_ = true;
  delivered_.notify_all();
}

/// The message whose turn it is.
void Carrier::enqueue(int from, std::span<const std::byte> message) {
  const std::span<const std::byte> text = message.subspan(sizeof(MessageHead));
  boxes_[head_of(message).place].push_back({from, {text.begin(), text.end()}});
  ++peers_[from].received;
}

void Carrier::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  delivered_.notify_all();
}

void Carrier::send(int to, const Place& place, std::span<const std::byte> bytes) {
  if (to < 0 || to >= size_) {
    throw Error(Code::internal,
                "there is no rank " + std::to_string(to) + " of " + std::to_string(size_));
  }
  const std::lock_guard lock(mutex_);
  MessageHead head;
  head.from = rank_;
  head.to = to;
  head.place = place;
  head.number = peers_[to].left++;
  std::vector<std::byte> message(sizeof head + bytes.size());
  std::memcpy(message.data(), &head, sizeof head);
  std::copy(bytes.begin(), bytes.end(), message.begin() + sizeof head);
  leaving_.push_back({to, std::move(message)});
}

std::optional<Parcel> Carrier::find(const Place& place, std::optional<int> from) {
  const auto box = boxes_.find(place);
  if (box == boxes_.end()) {
    return std::nullopt;
  }
  std::deque<Parcel>& messages = box->second;
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [&](const Parcel& one) { return !from || one.rank == *from; });
  if (found == messages.end()) {
    return std::nullopt;
  }
  Parcel parcel = std::move(*found);
  messages.erase(found);
  if (messages.empty()) {
    boxes_.erase(box);
  }
  return parcel;
}

std::optional<Parcel> Carrier::receive(const Place& place, std::optional<int> from) {
  const std::lock_guard lock(mutex_);
  require_going("receive");
  return find(place, from);
}

void Carrier::require_going(const char* what) const {
  if (is_stopped_) {
    throw Error(Code::wrong_state,
                rank_prefix(rank_) + what + ": the program has stopped delivering messages");
  }
}

Parcel Carrier::await(const Place& place, int from, const char* what) {
  std::unique_lock lock(mutex_);
  const double begin_s = model::now_s();
  while (true) {
    if (std::optional<Parcel> parcel = find(place, from)) {
      return std::move(*parcel);
    }
    require_going(what);
    if (timeout_s_ > 0 && model::now_s() - begin_s > timeout_s_) {
      throw Error(Code::timeout,
                  rank_prefix(rank_) + what + ": waited " + model::seconds_text(timeout_s_) +
                      " for a message of rank " + std::to_string(from) +
                      ": has it opened the file, are messages delivered?",
                  rank_);
    }
    delivered_.wait_for(lock, std::chrono::milliseconds(50));
  }
}

void Carrier::wait(std::chrono::microseconds most) {
  std::unique_lock lock(mutex_);
  delivered_.wait_for(lock, most, [this] { return has_news_ || is_stopped_; });
  has_news_ = false;
}

}  // namespace sluice::exec
