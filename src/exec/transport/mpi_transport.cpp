#include "exec/transport/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "exec/transport/agree.hpp"
#include "exec/transport/mpi_collectives.hpp"
#include "exec/transport/mpi_core.hpp"
#include "model/clock.hpp"
#include "model/size_text.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

namespace {

constexpr double unwind_s = 1.0;  // time for a send to finish during exception unwinding

class MpiPending final : public Pending {
 public:
  MpiPending(std::shared_ptr<MpiCore> core, Verb verb, int tag)
      : core_(std::move(core)), verb_(verb), tag_(tag) {}

  ~MpiPending() override {
    // Reached with pending requests only during exception unwinding: the buffer is about to be
    // released.
    const double end = model::now_s() + unwind_s;
    while (batch.pending() && !core_->failed() && model::now_s() < end) {
      try {
        if (verb_ == Verb::receive || core_->test(batch)) {
          break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      } catch (const Error&) {
        break;
      }
    }
    batch.abandon();
  }

  bool test() override {
    core_->enter_point_to_point(verb_, tag_);
    if (core_->test(batch)) {
      return true;
    }
    core_->listen([this] { return batch.pending_peers(); });
    return false;
  }

  void wait() override {
    core_->enter_point_to_point(verb_, tag_);
    core_->wait(batch);
  }

  Batch batch;

 private:
  std::shared_ptr<MpiCore> core_;
  Verb verb_;
  int tag_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(std::shared_ptr<MpiCore> core, int node, int nodes)
      : core_(std::move(core)), node_(node), nodes_(nodes) {}

  int rank() const override { return core_->rank(); }
  int size() const override { return core_->size(); }
  int node() const override { return node_; }
  int nodes() const override { return nodes_; }

  void barrier() override { mpi_barrier(*core_); }
  void barrier_within(double seconds) override {
    const double limit_s = core_->options().timeout_s;
    core_->limit_waits(limit_s > 0 ? std::min(limit_s, seconds) : seconds);
    mpi_barrier(*core_);  // where it fails the transport is not used again
    core_->limit_waits(limit_s);
  }
  void allreduce(std::span<std::int64_t> values, Op op) override {
    mpi_allreduce(*core_, values, op);
  }
  void reduce(std::span<std::int64_t> values, Op op, int root) override {
    mpi_reduce(*core_, values, op, root);
  }
  PrefixSum prefix_sum(std::int64_t value) override { return mpi_prefix_sum(*core_, value); }
  void broadcast(std::vector<std::byte>& bytes, int root) override {
    mpi_broadcast(*core_, bytes, root);
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes, int root) override {
    return mpi_gather(*core_, bytes, root);
  }
  std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) override {
    return mpi_allgather(*core_, bytes);
  }
  std::vector<Parcel> exchange(std::vector<Parcel> parcels) override {
    return mpi_exchange(*core_, std::move(parcels));
  }

  std::unique_ptr<Pending> start_send(int to, int tag, std::span<const std::byte> bytes) override {
    auto pending = begin(Verb::send, to, tag);
    core_->post_send(pending->batch, to, core_->tag_of_user(tag), bytes);
    return pending;
  }
  std::unique_ptr<Pending> start_receive(int from, int tag, std::span<std::byte> into) override {
    auto pending = begin(Verb::receive, from, tag);
    core_->post_receive(pending->batch, from, core_->tag_of_user(tag), into);
    return pending;
  }

  std::optional<Arriving> start_receive_any(int tag) override {
    Arriving arriving;
    mpi::Message message;
    auto pending = begin(Verb::receive, 0, tag);
    if (!core_->take_any(core_->tag_of_user(tag), message, arriving.rank, arriving.bytes)) {
      core_->listen([] { return std::vector<int>(); });
      return std::nullopt;
    }
    core_->post_taken(pending->batch, arriving.rank, message, arriving.bytes);
    arriving.pending = std::move(pending);
    return arriving;
  }

  std::unique_ptr<Transport> split(int color) override;
  std::unique_ptr<Transport> twin() override;

  void abandon(const Error& why) noexcept override {
    try {
      if (!mpi::comms().is_finalized()) {
        core_->watch().leave(why);
      }
    } catch (const std::exception&) {
      // The others end by their own time limit.
    }
  }
  std::exception_ptr abandoned() const override { return core_->watch().left(); }
  void retain() noexcept override { core_->retain(); }

 private:
  std::unique_ptr<MpiPending> begin(Verb verb, int peer, int tag) {
    core_->enter_point_to_point(verb, tag);
    if (peer < 0 || peer >= size() || tag < 0 || tag > core_->max_user_tag()) {
      throw Error(Code::invalid_argument,
                  core_->prefix() + "rank " + std::to_string(peer) + " or tag " +
                      std::to_string(tag) + " is out of range: ranks are 0 .. " +
                      std::to_string(size() - 1) + ", tags 0 .. " +
                      std::to_string(core_->max_user_tag()),
                  rank());
    }
    return std::make_unique<MpiPending>(core_, verb, tag);
  }

  std::shared_ptr<MpiCore> core_;
  int node_;
  int nodes_;
  std::shared_ptr<MpiCore> lender_ = core_;  ///< whose communicator the next twin uses
};

std::span<const std::byte> bytes_of(const std::int64_t (&values)[2]) {
  return std::as_bytes(std::span(values));
}

// Before a call that MPI cannot make pollable (creating a communicator): every rank has left the
// collective before it, so none can have failed in it. What could still block this rank in MPI is
// another rank that stops inside this function for longer than the time limit.
void all_are_here(MpiCore& core) {
  PolledBarrier barrier(core, /*phase=*/2);
  core.wait({[&barrier] { return barrier.test(); }, [&barrier] { return barrier.peers(); }, 0});
}

// Numbers the nodes of a transport by the lowest rank on each.
class NodeNumbers {
 public:
  void see(std::int64_t name) { numbers_.try_emplace(name, static_cast<int>(numbers_.size())); }
  int number(std::int64_t name) const { return numbers_.at(name); }
  int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<std::int64_t, int> numbers_;
};

std::unique_ptr<Transport> MpiTransport::split(int color) {
  const std::int64_t mine[2] = {std::max(color, -1), node_};
  const auto all = mpi_allgather(*core_, bytes_of(mine), Verb::split);
  NodeNumbers numbers;
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    std::int64_t theirs[2];
    std::memcpy(theirs, all[static_cast<std::size_t>(rank)].data(), sizeof theirs);
    if (theirs[0] == mine[0]) {
      numbers.see(theirs[1]);
      members.push_back(rank);
    }
  }
  all_are_here(*core_);
  mpi::Comm part = mpi::comms().null_comm();
  core_->check(mpi::comms().split(core_->comm(), color, rank(), part));
  if (part == mpi::comms().null_comm()) {
    return nullptr;
  }
  return std::make_unique<MpiTransport>(
      std::make_shared<MpiCore>(MpiChannel::alone(part), core_, members), numbers.number(node_),
      numbers.count());
}

// Tags of their own on the same communicator keep the messages of twins apart. Once all tags of
// this use of the communicator are lent, a new one has tags for the next twins; what they used
// before is freed with the last of them.
std::unique_ptr<Transport> MpiTransport::twin() {
  std::optional<MpiChannel> channel = lender_->lend_channel();
  if (!channel) {
    lender_ = static_cast<MpiTransport&>(*split(0)).core_;
    channel = lender_->lend_channel();
  }
  return std::make_unique<MpiTransport>(std::make_shared<MpiCore>(*channel, lender_), node_,
                                        nodes_);
}

// The lowest rank on this rank's node.
int node_leader(MpiCore& core) {
  const int pretended = core.options().ranks_per_node;
  if (pretended > 0) {
    return core.rank() / pretended * pretended;
  }
  mpi_barrier(core, Verb::open);
  all_are_here(core);
  int leader = 0;
  core.check(mpi::comms().node_leader(core.comm(), leader));
  return leader;
}

NodePlace find_place(MpiCore& core) {
  const std::int64_t mine[2] = {node_leader(core), 0};
  NodeNumbers numbers;
  for (const std::vector<std::byte>& entry : mpi_allgather(core, bytes_of(mine), Verb::open)) {
    std::int64_t leader = 0;
    std::memcpy(&leader, entry.data(), sizeof leader);
    numbers.see(leader);
  }
  return {numbers.number(mine[0]), numbers.count()};
}

void check_options(const MpiOptions& options) {
  if (!(options.timeout_s >= 0) || !(options.grace_s >= 0) || !(options.say_after_s >= 0) ||
      options.ranks_per_node < 0 || options.part_bytes == 0 ||
      options.part_bytes > (std::size_t{1} << 30)) {
    throw Error(Code::invalid_argument,
                "sluice: open: an option of the MPI transport is out of range: times and "
                "ranks_per_node are >= 0, part_bytes is 1 .. 2^30");
  }
}

// Waits for a request on the communicator of the caller, where missing ranks cannot be named,
// because there is no channel yet. MPI writes to `held` until the request is done: it is leaked
// after the time limit.
template <class Held>
void wait_at_open(std::unique_ptr<Held>& held, int rank, double timeout_s) {
  constexpr int tests_in_a_row = 64;
  constexpr double yielding_s = 1e-3;
  const double start = model::now_s();
  bool is_done = false;
  for (int tests = 0;; ++tests) {
    if (mpi::messages().test(held->request, is_done) != mpi::success) {
      throw Error(Code::mpi,
                  "sluice: rank " + std::to_string(rank) +
                      ": open: MPI could not duplicate the communicator: see MPI's own messages",
                  rank);
    }
    if (is_done) {
      return;
    }
    if (tests < tests_in_a_row) {
      continue;
    }
    const double waited_s = model::now_s() - start;
    if (timeout_s > 0 && waited_s > timeout_s) {
      static_cast<void>(held.release());
      throw Error(Code::timeout,
                  "sluice: rank " + std::to_string(rank) + " waited " +
                      model::seconds_text(timeout_s) +
                      " in open for the other ranks of the communicator: every rank of it must "
                      "open the file, or raise timeout_s",
                  rank);
    }
    if (waited_s < yielding_s) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

mpi::Comm duplicate(mpi::Comm comm, double timeout_s) {
  struct Opening {
    mpi::Comm comm;
    mpi::Request request;
  };
  auto opening = std::make_unique<Opening>();
  const int rank = mpi::comms().rank(comm);
  const int result = mpi::comms().start_duplicate(comm, opening->comm, opening->request);
  if (result != mpi::success) {
    throw Error(Code::mpi,
                "sluice: open: rank " + std::to_string(rank) + ": " + mpi_failure_text(result));
  }
  wait_at_open(opening, rank, timeout_s);
  return opening->comm;
}

struct AgreedAtOpen {
  MpiChannels::State state;
  bool has_failed;  ///< on some rank
  bool are_alike;   ///< all gave the same digest
};

// What the ranks agree on before an open. Error divergent, the same on all, if ranks_per_node
// differs: some would use places that are known where others ask for theirs.
AgreedAtOpen agree_at_open(mpi::Comm comm, const MpiChannels::State& mine,
                           const MpiOptions& options, std::uint64_t digest, bool has_failed) {
  if (mpi::comms().size(comm) == 1) {
    return {mine, false, true};
  }
  constexpr std::size_t states = std::tuple_size_v<MpiChannels::State>;
  constexpr std::size_t halves = states + 3;  // of the digest, and of its complement
  struct Agreeing {
    std::array<int, halves + 4> mine;
    std::array<int, halves + 4> all;
    mpi::Request request;
  };
  auto agreeing = std::make_unique<Agreeing>();
  std::copy(mine.begin(), mine.end(), agreeing->mine.begin());
  agreeing->mine[states] = options.ranks_per_node;
  agreeing->mine[states + 1] = -options.ranks_per_node;
  agreeing->mine[states + 2] = static_cast<int>(has_failed);
  for (std::size_t half = 0; half < 2; ++half) {
    const int value = static_cast<int>(static_cast<std::uint32_t>(digest >> (32 * half)));
    agreeing->mine[halves + 2 * half] = value;
    agreeing->mine[halves + 2 * half + 1] = ~value;
  }
  const int rank = mpi::comms().rank(comm);
  if (mpi::comms().start_all_max(agreeing->mine, agreeing->all, comm, agreeing->request) !=
      mpi::success) {
    throw Error(Code::mpi,
                "sluice: rank " + std::to_string(rank) +
                    ": open: MPI could not reduce a few numbers: see MPI's own messages",
                rank);
  }
  wait_at_open(agreeing, rank, options.timeout_s);
  const int most = agreeing->all[states];
  const int fewest = -agreeing->all[states + 1];
  const bool any_failed = agreeing->all[states + 2] != 0;
  if (most != fewest && !any_failed) {
    throw Error(Code::divergent, "sluice: open: ranks_per_node is " + std::to_string(fewest) +
                                     " on one rank and " + std::to_string(most) +
                                     " on another: give all ranks the same");
  }
  MpiChannels::State all{};
  std::copy_n(agreeing->all.begin(), states, all.begin());
  const auto is_alike = [&](std::size_t half) {
    return agreeing->all[halves + 2 * half] == ~agreeing->all[halves + 2 * half + 1];
  };
  return {all, any_failed, is_alike(0) && is_alike(1)};
}

// Error wrong_state or invalid_argument if nothing can be opened on it.
mpi::Comm checked(const Comm& comm) {
  mpi::use(comm);
  mpi::Comms& comms = mpi::comms();
  if (!mpi::runs()) {
    throw Error(Code::wrong_state,
                "sluice: open: MPI is not running: open between MPI_Init and MPI_Finalize");
  }
  const mpi::Comm own = mpi::take(comm);
  bool is_inter = false;
  if (own != comms.null_comm()) {
    comms.test_inter(own, is_inter);
  }
  if (own == comms.null_comm() || is_inter) {
    throw Error(Code::invalid_argument,
                "sluice: open: the communicator is null or an intercommunicator: pass an "
                "intracommunicator of which this rank is a member");
  }
  return own;
}

std::unique_ptr<Transport> connect(mpi::Comm own, const MpiChannels::State& all,
                                   const std::shared_ptr<MpiChannels>& channels,
                                   const MpiOptions& options) {
  if (!channels) {
    auto core =
        std::make_shared<MpiCore>(MpiChannel::alone(duplicate(own, options.timeout_s)), options);
    const NodePlace place = find_place(*core);
    return std::make_unique<MpiTransport>(core, place.node, place.nodes);
  }
  auto channel = channels->take(all);
  if (!channel) {
    channel = channels->add(duplicate(own, options.timeout_s), all);
  }
  auto core = std::make_shared<MpiCore>(*std::move(channel), options);
  const bool asks = options.ranks_per_node == 0;
  std::optional<NodePlace> place;
  if (asks && MpiChannels::places_known(all)) {
    place = channels->place();
  }
  if (!place) {
    place = find_place(*core);
    if (asks) {
      channels->note(*place);
    }
  }
  return std::make_unique<MpiTransport>(core, place->node, place->nodes);
}

// `failure` is this rank's (null: none). One of any rank is thrown on every rank.
OpenedTransport connect_or_fail(const Comm& comm, MpiOptions options, std::uint64_t digest,
                                const std::exception_ptr& failure) {
  const mpi::Comm own = checked(comm);
  if (failure && mpi::comms().size(own) == 1) {
    std::rethrow_exception(failure);
  }
  const auto channels = MpiChannels::of(own);
  const AgreedAtOpen agreed =
      agree_at_open(own, channels ? channels->state() : MpiChannels::State{}, options, digest,
                    failure != nullptr);
  if (agreed.has_failed) {
    options.ranks_per_node = 0;  // unknown on the rank that failed
  }
  auto transport = connect(own, agreed.state, channels, options);
  if (agreed.has_failed) {
    agree(*transport, failure);
  }
  return {std::move(transport), agreed.are_alike};
}

}  // namespace

OpenedTransport open_mpi(const Comm& comm, const MpiOptions& options, std::uint64_t digest) {
  const std::exception_ptr failure = failure_of([&] { check_options(options); });
  return connect_or_fail(comm, failure ? MpiOptions{} : options, digest, failure);
}

std::unique_ptr<Transport> make_mpi(const Comm& comm, const MpiOptions& options) {
  return open_mpi(comm, options, 0).transport;
}

void fail_open(const Comm& comm, const std::exception_ptr& failure) {
  if (failure_of([&] { checked(comm); })) {
    std::rethrow_exception(failure);  // no rank waits for this one
  }
  connect_or_fail(comm, MpiOptions{}, 0, failure);
  throw Error(Code::internal, "sluice: open: the ranks did not agree on a failure");
}

std::unique_ptr<Transport> make_mpi(const Comm& comm, double timeout_s) {
  MpiOptions options;
  options.timeout_s = timeout_s;
  return make_mpi(comm, options);
}

}  // namespace sluice::exec
