#include "exec/transport/active_messages.hpp"

#include <cstring>
#include <set>
#include <utility>

#include "exec/transport/tags.hpp"

namespace sluice::exec {

ActiveMessages::ActiveMessages(Transport& transport) : own_(transport.twin()), transport_(*own_) {}

void ActiveMessages::send(int to, std::vector<std::byte> message) {
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(message));
  unacknowledged_bytes_ += kept->size();
  ++unacknowledged_;
  if (to == transport_.rank()) {
    to_self_.push_back(std::move(kept));
  } else {
    boxes_[to].waiting.push_back(std::move(kept));
  }
}

bool ActiveMessages::poll(const Handler& handle) {
  bool moved = collect_answers();
  moved = receive(handle) || moved;
  moved = handle_own(handle) || moved;
  acknowledge();
  moved = start_sends() || moved;
  return moved;
}

/// Frees sent messages, and counts those that others have handled.
bool ActiveMessages::collect_answers() {
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
    std::uint32_t messages = 0;
    std::memcpy(&messages, answer.bytes.data(), sizeof messages);
    count_acknowledged(answer.rank, messages);
    return true;
  });
  return answers_.size() != before;
}

void ActiveMessages::count_acknowledged(int from, std::uint32_t messages) {
  Box& box = boxes_[from];
  for (std::uint32_t i = 0; i < messages; ++i) {
    unacknowledged_bytes_ -= box.unacknowledged.front();
    --unacknowledged_;
    box.unacknowledged.pop_front();
  }
  if (box.unacknowledged.empty() && box.waiting.empty()) {
    boxes_.erase(from);
  }
}

bool ActiveMessages::receive(const Handler& handle) {
  while (arriving_.size() < arriving_max) {
    std::optional<Arriving> message = transport_.start_receive_any(session_message_tag);
    if (!message) {
      break;
    }
    arriving_.push_back(std::move(*message));
  }
  bool moved = false;
  std::set<int> held_up;  // blocked by an earlier message that has not arrived yet
  for (std::size_t i = 0; i < arriving_.size();) {
    const int from = arriving_[i].rank;
    if (held_up.count(from) != 0 || !arriving_[i].pending->test()) {
      held_up.insert(from);
      ++i;
      continue;
    }
    const Arriving message = std::move(arriving_[i]);
    arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(i));
    handle(from, message.bytes);
    ++handled_[from];
    moved = true;
  }
  return moved;
}

bool ActiveMessages::handle_own(const Handler& handle) {
  const std::deque<Message> messages = std::exchange(to_self_, {});
  for (const Message& message : messages) {
    handle(transport_.rank(), *message);
    unacknowledged_bytes_ -= message->size();
    --unacknowledged_;
  }
  return !messages.empty();
}

void ActiveMessages::acknowledge() {
  for (const auto& [from, messages] : handled_) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&messages);
    auto answer = std::make_shared<const std::vector<std::byte>>(bytes, bytes + sizeof messages);
    auto pending = transport_.start_send(from, session_answer_tag, *answer);
    leaving_.push_back({std::move(answer), std::move(pending)});
  }
  handled_.clear();
}

bool ActiveMessages::start_sends() {
  bool moved = false;
  for (auto& [to, box] : boxes_) {
    while (!box.waiting.empty() && box.unacknowledged.size() < unacknowledged_max) {
      Message message = std::move(box.waiting.front());
      box.waiting.pop_front();
      box.unacknowledged.push_back(message->size());
      auto pending = transport_.start_send(to, session_message_tag, *message);
      leaving_.push_back({std::move(message), std::move(pending)});
      moved = true;
    }
  }
  return moved;
}

void ActiveMessages::settle() {
  for (const Leaving& one : leaving_) {
    one.pending->wait();
  }
  leaving_.clear();
}

std::vector<int> ActiveMessages::unacknowledged_ranks() const {
  std::vector<int> ranks;
  for (const auto& [to, box] : boxes_) {
    ranks.push_back(to);
  }
  return ranks;
}

}  // namespace sluice::exec
