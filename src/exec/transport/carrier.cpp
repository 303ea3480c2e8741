#include "exec/transport/carrier.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "model/clock.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

namespace {

constexpr std::uint32_t letter_mark = 0x4c554c53;  // "SLUL"

/// In front of each letter.
struct LetterHead {
  std::uint32_t mark = letter_mark;
  std::int32_t from = 0;
  std::int32_t to = 0;
  Carrier::Place place;
  std::uint32_t padding = 0;
  std::uint64_t number = 0;  ///< of those of this pair of ranks
};

LetterHead head_of(std::span<const std::byte> letter) {
  LetterHead head;
  std::memcpy(&head, letter.data(), std::min(letter.size(), sizeof head));
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

std::optional<Parcel> Carrier::take() {
  const std::lock_guard lock(mutex_);
  if (leaving_.empty()) {
    return std::nullopt;
  }
  Parcel parcel = std::move(leaving_.front());
  leaving_.pop_front();
  return parcel;
}

void Carrier::bring(std::span<const std::byte> letter) {
  const LetterHead head = head_of(letter);
  if (letter.size() < sizeof head || head.mark != letter_mark || head.to != rank_ ||
      head.from < 0 || head.from >= size_) {
    throw Error(Code::invalid_argument, "bring: these " + std::to_string(letter.size()) +
                                            " bytes are no letter for rank " +
                                            std::to_string(rank_));
  }
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[head.from];
  if (head.number < peer.heard || peer.early.count(head.number) != 0) {
    throw Error(Code::invalid_argument, "bring: letter " + std::to_string(head.number) +
                                            " of rank " + std::to_string(head.from) +
                                            " was brought twice");
  }
  if (head.number != peer.heard) {
    peer.early.emplace(head.number, std::vector<std::byte>(letter.begin(), letter.end()));
    return;
  }
  deliver(head.from, letter);
  for (auto next = peer.early.begin(); next != peer.early.end() && next->first == peer.heard;) {
    deliver(head.from, next->second);
    next = peer.early.erase(next);
  }
  has_news_ = true;
  brought_.notify_all();
}

/// The one whose turn it is.
void Carrier::deliver(int from, std::span<const std::byte> letter) {
  const std::span<const std::byte> text = letter.subspan(sizeof(LetterHead));
  boxes_[head_of(letter).place].push_back({from, {text.begin(), text.end()}});
  ++peers_[from].heard;
}

void Carrier::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  brought_.notify_all();
}

void Carrier::leave(int to, const Place& place, std::span<const std::byte> bytes) {
  if (to < 0 || to >= size_) {
    throw Error(Code::internal,
                "there is no rank " + std::to_string(to) + " of " + std::to_string(size_));
  }
  const std::lock_guard lock(mutex_);
  LetterHead head;
  head.from = rank_;
  head.to = to;
  head.place = place;
  head.number = peers_[to].left++;
  std::vector<std::byte> letter(sizeof head + bytes.size());
  std::memcpy(letter.data(), &head, sizeof head);
  std::copy(bytes.begin(), bytes.end(), letter.begin() + sizeof head);
  leaving_.push_back({to, std::move(letter)});
}

std::optional<Parcel> Carrier::find(const Place& place, std::optional<int> from) {
  const auto box = boxes_.find(place);
  if (box == boxes_.end()) {
    return std::nullopt;
  }
  std::deque<Parcel>& letters = box->second;
  const auto found = std::find_if(letters.begin(), letters.end(),
                                  [&](const Parcel& one) { return !from || one.rank == *from; });
  if (found == letters.end()) {
    return std::nullopt;
  }
  Parcel parcel = std::move(*found);
  letters.erase(found);
  if (letters.empty()) {
    boxes_.erase(box);
  }
  return parcel;
}

std::optional<Parcel> Carrier::hear(const Place& place, std::optional<int> from) {
  const std::lock_guard lock(mutex_);
  require_going("receive");
  return find(place, from);
}

void Carrier::require_going(const char* what) const {
  if (is_stopped_) {
    throw Error(Code::wrong_state, "rank " + std::to_string(rank_) + ": " + what +
                                       ": the program carries letters no more");
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
                  "rank " + std::to_string(rank_) + ": " + what + ": waited " +
                      std::to_string(timeout_s_) + " s for a letter of rank " +
                      std::to_string(from) + ": has it opened the file, and are letters carried?",
                  rank_);
    }
    brought_.wait_for(lock, std::chrono::milliseconds(50));
  }
}

void Carrier::doze(std::chrono::microseconds most) {
  std::unique_lock lock(mutex_);
  brought_.wait_for(lock, most, [this] { return has_news_ || is_stopped_; });
  has_news_ = false;
}

}  // namespace sluice::exec
