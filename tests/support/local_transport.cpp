#include "support/local_transport.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "exec/transport/reduce.hpp"
#include "sluice/error.hpp"
#include "support/local_world.hpp"

namespace sluice::exec {

namespace {

constexpr std::size_t max_buffered_bytes = 65536;  // a longer send always waits for its receive
constexpr int max_tag = 1 << 20;

using Bytes = std::vector<std::byte>;

std::vector<int> ranks_below(int rank) {
  std::vector<int> ranks(static_cast<std::size_t>(rank));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::string text_of_reduction(std::span<const std::int64_t> values, Op op) {
  return " of " + std::to_string(values.size()) + " values by operation " +
         std::to_string(static_cast<int>(op));
}

void add_to(LocalCall& call, std::span<const std::int64_t> values, Op op) {
  if (!call.values.empty()) {
    combine(call.values, values.data(), op);
    return;
  }
  call.values.assign(values.begin(), values.end());
  reduce_alone(call.values, op);
}

// One member's view of its group.
class LocalRank final : public Transport {
 public:
  LocalRank(std::shared_ptr<LocalGroup> group, int member)
      : group_(std::move(group)), member_(member) {}

  int rank() const override { return member_; }
  int size() const override { return group_->size(); }
  int node() const override { return group_->nodes[at(member_)]; }
  int nodes() const override {
    return 1 + *std::max_element(begin(group_->nodes), end(group_->nodes));
  }

  bool runs_at_once() const override { return false; }
  void let_others_run() override { LocalTransport::pause(); }

  void barrier() override;
  void allreduce(std::span<std::int64_t> values, Op op) override;
  void reduce(std::span<std::int64_t> values, Op op, int root) override;
  PrefixSum prefix_sum(std::int64_t value) override;
  void broadcast(Bytes& bytes, int root) override;
  std::vector<Bytes> gather(std::span<const std::byte> bytes, int root) override;
  std::vector<Bytes> allgather(std::span<const std::byte> bytes) override;
  std::vector<Parcel> exchange(std::vector<Parcel> parcels) override;
  std::unique_ptr<Pending> start_send(int to, int tag, std::span<const std::byte> bytes) override;
  std::unique_ptr<Pending> start_receive(int from, int tag, std::span<std::byte> into) override;
  std::optional<Arriving> start_receive_any(int tag) override;
  std::unique_ptr<Transport> split(int color) override;
  void abandon(const Error& why) noexcept override { group_->leave(member_, why); }
  std::exception_ptr abandoned() const override {
    return group_->left() ? std::make_exception_ptr(group_->left()->error) : nullptr;
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  LocalWorld& world() const { return group_->world; }
  int world_rank() const { return group_->members[at(member_)]; }

  LocalCall& enter(Verb verb, const std::string& signature = "");
  void await(LocalCall& call, const std::vector<int>& ranks);
  void await_all(LocalCall& call) { await(call, ranks_below(size())); }
  void leave(LocalCall& call);
  void require_all(std::int64_t call) const {
    if (group_->lacks(call)) {
      throw Error(group_->left()->error);
    }
  }
  std::string prefix(Verb verb) const {
    return "sluice: rank " + std::to_string(member_) + ": " + verb_name(verb) + ": ";
  }
  [[noreturn]] void fail(Verb verb, Code code, const std::string& text) {
    group_->fail_and_throw(member_, Error(code, prefix(verb) + text, member_));
  }
  void check_root(Verb verb, int root);
  void check_peer(Verb verb, int peer, int tag);
  void make_parts(LocalCall& call);

  std::shared_ptr<LocalGroup> group_;
  int member_;
};

// -- collectives
// ------------------------------------------------------------------------------------

// Counts this rank into its next collective, and compares its arguments with those of the others.
LocalCall& LocalRank::enter(Verb verb, const std::string& signature) {
  world().scheduler().pause(world_rank());
  group_->throw_if_failed(member_, verb);
  const std::int64_t number = ++group_->calls[at(member_)];
  require_all(number);
  auto [entry, fresh] = group_->open_calls.try_emplace(number);
  LocalCall& call = entry->second;
  if (fresh) {
    call.number = number;
    call.verb = verb;
    call.signature = signature;
    call.first = member_;
    call.early = world().scheduler().draw() % 2 == 0;
    call.come.resize(at(size()), false);
    call.bytes.resize(at(size()));
  } else if (call.verb != verb || call.signature != signature) {
    fail(verb, Code::divergent,
         "this rank is in " + std::string(verb_name(verb)) + signature + " while rank " +
             std::to_string(call.first) + " is in " + verb_name(call.verb) + call.signature +
             " (both in collective number " + std::to_string(number) +
             "): every rank must call the same collectives in the same order");
  }
  call.come[at(member_)] = true;
  world().progressed();
  return call;
}

// Returns when all of `ranks` have arrived at `call`.
void LocalRank::await(LocalCall& call, const std::vector<int>& ranks) {
  Place place{call.verb, call.number, 0, {}};
  for (int rank : ranks) {
    if (!call.come[at(rank)]) {
      place.peers.push_back(rank);
    }
  }
  const std::vector<int> lacking = place.peers;
  // Ranks that have arrived stay, so each scan starts where the last one ended: with thousands of
  // ranks the scheduler scans very often.
  std::size_t come = 0;
  world().wait(group_, member_, std::move(place), [this, &call, &lacking, &come] {
    while (come < lacking.size() && call.come[at(lacking[come])]) {
      ++come;
    }
    return come == lacking.size() || group_->lacks(call.number);
  });
  if (come < lacking.size()) {
    require_all(call.number);
  }
}

void LocalRank::leave(LocalCall& call) {
  if (++call.left == size()) {
    group_->open_calls.erase(call.number);
  }
}

void LocalRank::check_root(Verb verb, int root) {
  if (root < 0 || root >= size()) {
    fail(
        verb, Code::invalid_argument,
        "root " + std::to_string(root) + " is not one of the " + std::to_string(size()) + " ranks");
  }
}

void LocalRank::barrier() {
  LocalCall& call = enter(Verb::barrier);
  await_all(call);
  leave(call);
}

void LocalRank::allreduce(std::span<std::int64_t> values, Op op) {
  LocalCall& call = enter(Verb::allreduce, text_of_reduction(values, op));
  add_to(call, values, op);
  await_all(call);
  std::copy(call.values.begin(), call.values.end(), values.begin());
  leave(call);
}

void LocalRank::reduce(std::span<std::int64_t> values, Op op, int root) {
  check_root(Verb::reduce, root);
  LocalCall& call =
      enter(Verb::reduce, " to rank " + std::to_string(root) + text_of_reduction(values, op));
  add_to(call, values, op);
  if (member_ == root) {
    await_all(call);
    std::copy(call.values.begin(), call.values.end(), values.begin());
  } else {
    await(call, call.early ? std::vector<int>{} : std::vector<int>{root});
  }
  leave(call);
}

PrefixSum LocalRank::prefix_sum(std::int64_t value) {
  LocalCall& call = enter(Verb::prefix_sum);
  call.values.resize(at(size()));
  call.values[at(member_)] = value;
  await_all(call);
  PrefixSum sums;
  for (int rank = 0; rank < size(); ++rank) {
    sums.below = rank == member_ ? sums.all : sums.below;
    sums.all = combine(sums.all, call.values[at(rank)], Op::sum);
  }
  leave(call);
  return sums;
}

void LocalRank::broadcast(Bytes& bytes, int root) {
  check_root(Verb::broadcast, root);
  LocalCall& call = enter(Verb::broadcast, " from rank " + std::to_string(root));
  if (member_ == root) {
    call.bytes[at(root)] = bytes;
  }
  await(call, call.early ? std::vector<int>{root} : ranks_below(size()));
  bytes = call.bytes[at(root)];
  leave(call);
}

std::vector<Bytes> LocalRank::gather(std::span<const std::byte> bytes, int root) {
  check_root(Verb::gather, root);
  LocalCall& call = enter(Verb::gather, " to rank " + std::to_string(root));
  call.bytes[at(member_)].assign(bytes.begin(), bytes.end());
  std::vector<Bytes> result;
  if (member_ == root) {
    await_all(call);
    result = std::move(call.bytes);
  } else {
    await(call, call.early ? std::vector<int>{} : std::vector<int>{root});
  }
  leave(call);
  return result;
}

std::vector<Bytes> LocalRank::allgather(std::span<const std::byte> bytes) {
  LocalCall& call = enter(Verb::allgather);
  call.bytes[at(member_)].assign(bytes.begin(), bytes.end());
  await_all(call);
  std::vector<Bytes> result = call.bytes;
  leave(call);
  return result;
}

std::vector<Parcel> LocalRank::exchange(std::vector<Parcel> parcels) {
  LocalCall& call = enter(Verb::exchange);
  call.parcels.resize(at(size()));
  std::vector<bool> used(at(size()), false);
  for (Parcel& parcel : parcels) {
    const int to = parcel.rank;
    if (to < 0 || to >= size()) {
      fail(Verb::exchange, Code::invalid_argument,
           "a parcel is for rank " + std::to_string(to) + " of " + std::to_string(size()) +
               " ranks");
    }
    if (used[at(to)]) {
      fail(Verb::exchange, Code::invalid_argument,
           "two parcels are for rank " + std::to_string(to) + ": join them");
    }
    used[at(to)] = true;
    call.parcels[at(to)].push_back({member_, std::move(parcel.bytes)});
  }
  await_all(call);
  std::vector<Parcel> result = std::move(call.parcels[at(member_)]);
  std::sort(result.begin(), result.end(),
            [](const Parcel& a, const Parcel& b) { return a.rank < b.rank; });
  leave(call);
  return result;
}

void LocalRank::make_parts(LocalCall& call) {
  std::map<int, std::vector<int>> by_color;
  for (int rank = 0; rank < size(); ++rank) {
    by_color[static_cast<int>(call.values[at(rank)])].push_back(rank);
  }
  for (const auto& [color, ranks] : by_color) {
    std::vector<int> its_members;
    std::vector<int> its_nodes;
    std::map<int, int> numbers;  // of nodes, by the order in which ranks show them
    for (int rank : ranks) {
      const int old = group_->nodes[at(rank)];
      its_members.push_back(group_->members[at(rank)]);
      its_nodes.push_back(numbers.try_emplace(old, static_cast<int>(numbers.size())).first->second);
    }
    call.parts[color] =
        std::make_shared<LocalGroup>(world(), std::move(its_members), std::move(its_nodes));
  }
}

std::unique_ptr<Transport> LocalRank::split(int color) {
  LocalCall& call = enter(Verb::split);
  call.values.resize(at(size()));
  call.values[at(member_)] = std::max(color, -1);
  await_all(call);
  if (call.parts.empty()) {
    make_parts(call);
  }
  std::unique_ptr<Transport> part;
  if (color >= 0) {
    const auto group = call.parts.at(color);
    const auto me = std::find(group->members.begin(), group->members.end(), world_rank());
    part = make_local(group, static_cast<int>(me - group->members.begin()));
  }
  leave(call);
  return part;
}

// -- point to point
// ---------------------------------------------------------------------------------

class LocalPending final : public Pending {
 public:
  LocalPending(std::shared_ptr<LocalGroup> group, int member, Place place,
               std::shared_ptr<LocalMessage> message, std::tuple<int, int, int> channel)
      : group_(std::move(group)),
        member_(member),
        place_(std::move(place)),
        message_(std::move(message)),
        channel_(channel) {}

  ~LocalPending() override {
    // Unmatched during exception unwinding: the caller's memory is about to be released.
    if (!message_->done()) {
      LocalGroup::Channel& channel = group_->channels[channel_];
      std::erase(channel.sends, message_);
      std::erase(channel.receives, message_);
    }
  }

  bool test() override {
    group_->world.scheduler().pause(group_->members[static_cast<std::size_t>(member_)]);
    if (message_->done()) {
      return true;
    }
    group_->throw_if_failed(member_, place_.verb);
    group_->world.polled(group_, member_, place_);
    return message_->done();
  }

  void wait() override {
    if (!message_->done()) {
      group_->throw_if_failed(member_, place_.verb);
    }
    place_.call = group_->calls[static_cast<std::size_t>(member_)];
    group_->world.wait(group_, member_, place_, [this] { return message_->done(); });
  }

 private:
  std::shared_ptr<LocalGroup> group_;
  int member_;
  Place place_;
  std::shared_ptr<LocalMessage> message_;
  std::tuple<int, int, int> channel_;
};

// Completes messages of which both sides are present, in order.
void match(LocalGroup& group, const std::tuple<int, int, int>& key) {
  LocalGroup::Channel& channel = group.channels[key];
  while (!channel.sends.empty() && !channel.receives.empty()) {
    LocalMessage& send = *channel.sends.front();
    LocalMessage& receive = *channel.receives.front();
    const auto [from, to, tag] = key;
    if (send.from.size() != receive.into.size()) {
      group.fail(Error(Code::divergent,
                       "sluice: rank " + std::to_string(to) + ": receive: rank " +
                           std::to_string(from) + " sent " + std::to_string(send.from.size()) +
                           " bytes where " + std::to_string(receive.into.size()) +
                           " were expected: both sides must give the same length",
                       to));
      return;
    }
    std::copy(send.from.begin(), send.from.end(), receive.into.begin());
    send.matched = true;
    receive.matched = true;
    channel.sends.pop_front();
    channel.receives.pop_front();
    group.world.progressed();
  }
  if (channel.sends.empty() && channel.receives.empty()) {
    group.channels.erase(key);
  }
}

void LocalRank::check_peer(Verb verb, int peer, int tag) {
  group_->throw_if_failed(member_, verb);
  if (peer < 0 || peer >= size() || tag < 0 || tag > max_tag) {
    throw Error(Code::invalid_argument,
                prefix(verb) + "rank " + std::to_string(peer) + " or tag " + std::to_string(tag) +
                    " is out of range: ranks are 0 .. " + std::to_string(size() - 1) +
                    ", tags 0 .. " + std::to_string(max_tag),
                member_);
  }
}

std::unique_ptr<Pending> LocalRank::start_send(int to, int tag, std::span<const std::byte> bytes) {
  world().scheduler().pause(world_rank());
  check_peer(Verb::send, to, tag);
  auto message = std::make_shared<LocalMessage>();
  message->from = bytes;
  if (bytes.size() <= max_buffered_bytes && world().scheduler().draw() % 2 == 0) {
    message->buffer.assign(bytes.begin(), bytes.end());
    message->from = message->buffer;
    message->buffered = true;
  }
  const std::tuple<int, int, int> channel{member_, to, tag};
  group_->channels[channel].sends.push_back(message);
  match(*group_, channel);
  return std::make_unique<LocalPending>(
      group_, member_, Place{Verb::send, group_->calls[at(member_)], tag, {to}}, message, channel);
}

std::unique_ptr<Pending> LocalRank::start_receive(int from, int tag, std::span<std::byte> into) {
  world().scheduler().pause(world_rank());
  check_peer(Verb::receive, from, tag);
  auto message = std::make_shared<LocalMessage>();
  message->into = into;
  const std::tuple<int, int, int> channel{from, member_, tag};
  group_->channels[channel].receives.push_back(message);
  match(*group_, channel);
  return std::make_unique<LocalPending>(
      group_, member_, Place{Verb::receive, group_->calls[at(member_)], tag, {from}}, message,
      channel);
}

std::optional<Arriving> LocalRank::start_receive_any(int tag) {
  world().scheduler().pause(world_rank());
  check_peer(Verb::receive, 0, tag);
  std::vector<int> senders;
  for (const auto& [key, channel] : group_->channels) {
    const auto [from, to, its_tag] = key;
    if (to == member_ && its_tag == tag && !channel.sends.empty()) {
      senders.push_back(from);
    }
  }
  if (senders.empty()) {
    group_->world.polled(group_, member_,
                         Place{Verb::receive, group_->calls[at(member_)], tag, {}});
    return std::nullopt;
  }
  Arriving arriving;
  arriving.rank = senders[world().scheduler().draw() % senders.size()];
  const std::tuple<int, int, int> channel{arriving.rank, member_, tag};
  arriving.bytes.resize(group_->channels[channel].sends.front()->from.size());
  arriving.pending = start_receive(arriving.rank, tag, arriving.bytes);
  return arriving;
}

}  // namespace

std::unique_ptr<Transport> make_local(std::shared_ptr<LocalGroup> group, int member) {
  return std::make_unique<LocalRank>(std::move(group), member);
}

}  // namespace sluice::exec
