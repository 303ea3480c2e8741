#include "exec/transport/mailbox.hpp"

#include <cstring>
#include <set>
#include <utility>

#include "exec/transport/tags.hpp"

namespace sluice::exec {

Mailbox::Mailbox(Transport& transport) : own_(transport.split(0)), transport_(*own_) {}

void Mailbox::post(int to, std::vector<std::byte> letter) {
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(letter));
  unheard_bytes_ += kept->size();
  ++unheard_letters_;
  if (to == transport_.rank()) {
    to_self_.push_back(std::move(kept));
  } else {
    boxes_[to].waiting.push_back(std::move(kept));
  }
}

bool Mailbox::poll(const Handler& handle) {
  bool moved = hear();
  moved = receive(handle) || moved;
  moved = handle_own(handle) || moved;
  acknowledge();
  moved = send() || moved;
  return moved;
}

/// Frees what was sent, and counts what others have handled.
bool Mailbox::hear() {
  std::erase_if(leaving_, [](const Leaving& one) { return one.pending->test(); });
  while (answers_.size() < arriving_max) {
    std::optional<Arriving> answer = transport_.start_receive_any(session_answer_tag);
    if (!answer) {
      break;
    }
    answers_.push_back(std::move(*answer));
  }
  const std::size_t before = answers_.size();
  std::erase_if(answers_, [&](Arriving& answer) {
    if (!answer.pending->test()) {
      return false;
    }
    std::uint32_t letters = 0;
    std::memcpy(&letters, answer.bytes.data(), sizeof letters);
    count_heard(answer.rank, letters);
    return true;
  });
  return answers_.size() != before;
}

void Mailbox::count_heard(int from, std::uint32_t letters) {
  Box& box = boxes_[from];
  for (std::uint32_t i = 0; i < letters; ++i) {
    unheard_bytes_ -= box.unheard.front();
    --unheard_letters_;
    box.unheard.pop_front();
  }
  if (box.unheard.empty() && box.waiting.empty()) {
    boxes_.erase(from);
  }
}

bool Mailbox::receive(const Handler& handle) {
  while (arriving_.size() < arriving_max) {
    std::optional<Arriving> letter = transport_.start_receive_any(session_letter_tag);
    if (!letter) {
      break;
    }
    arriving_.push_back(std::move(*letter));
  }
  bool moved = false;
  std::set<int> held_up;  // by an earlier letter that is not there yet
  for (std::size_t i = 0; i < arriving_.size();) {
    const int from = arriving_[i].rank;
    if (held_up.count(from) != 0 || !arriving_[i].pending->test()) {
      held_up.insert(from);
      ++i;
      continue;
    }
    const Arriving letter = std::move(arriving_[i]);
    arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(i));
    handle(from, letter.bytes);
    ++handled_[from];
    moved = true;
  }
  return moved;
}

bool Mailbox::handle_own(const Handler& handle) {
  const std::deque<Letter> letters = std::exchange(to_self_, {});
  for (const Letter& letter : letters) {
    handle(transport_.rank(), *letter);
    unheard_bytes_ -= letter->size();
    --unheard_letters_;
  }
  return !letters.empty();
}

void Mailbox::acknowledge() {
  for (const auto& [from, letters] : handled_) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&letters);
    auto answer = std::make_shared<const std::vector<std::byte>>(bytes, bytes + sizeof letters);
    auto pending = transport_.start_send(from, session_answer_tag, *answer);
    leaving_.push_back({std::move(answer), std::move(pending)});
  }
  handled_.clear();
}

bool Mailbox::send() {
  bool moved = false;
  for (auto& [to, box] : boxes_) {
    while (!box.waiting.empty() && box.unheard.size() < unheard_max) {
      Letter letter = std::move(box.waiting.front());
      box.waiting.pop_front();
      box.unheard.push_back(letter->size());
      auto pending = transport_.start_send(to, session_letter_tag, *letter);
      leaving_.push_back({std::move(letter), std::move(pending)});
      moved = true;
    }
  }
  return moved;
}

void Mailbox::settle() {
  for (const Leaving& one : leaving_) {
    one.pending->wait();
  }
  leaving_.clear();
}

std::vector<int> Mailbox::silent_ranks() const {
  std::vector<int> ranks;
  for (const auto& [to, box] : boxes_) {
    ranks.push_back(to);
  }
  return ranks;
}

}  // namespace sluice::exec
