#include "exec/transport/mpi_core.hpp"

#include <algorithm>
#include <utility>

namespace sluice::exec {

namespace {

// Internal tags: a block of this many below the highest tag.
constexpr int internal_tags = 4096;
constexpr int tags_per_kind = 64;
constexpr int phases_per_verb = 4;

// Memory that MPI may access until it is finalised. Grows only by failures.
void bury(std::vector<std::shared_ptr<void>>&& memory) {
  static auto* graveyard = new std::vector<std::vector<std::shared_ptr<void>>>();
  graveyard->push_back(std::move(memory));
}

bool mpi_is_over() { return mpi::comms().is_finalized(); }

}  // namespace

// -- Batch
// ------------------------------------------------------------------------------------------

Batch::~Batch() { abandon(); }

std::vector<int> Batch::pending_peers() {
  std::set<int> peers;
  const mpi::Request none = mpi::messages().null_request();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    bool is_done = false;
    if (requests[i] != none && mpi::messages().look(requests[i], is_done) == mpi::success &&
        !is_done) {
      peers.insert(items[i].peer);
    }
  }
  return {peers.begin(), peers.end()};
}

void Batch::clear() {
  requests.clear();
  items.clear();
  total_bytes = 0;
}

void Batch::abandon() noexcept {
  if (done_) {
    return;
  }
  done_ = true;
  if (!mpi_is_over()) {
    mpi::Messages& messages = mpi::messages();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      bool is_done = false;
      if (items[i].receive && requests[i] != messages.null_request()) {
        messages.cancel(requests[i]);
        messages.test(requests[i], is_done);
      }
    }
  }
  bury(std::move(buffers_));
}

// -- life
// -------------------------------------------------------------------------------------------

MpiCore::MpiCore(MpiChannel channel, const MpiOptions& options)
    : channel_(std::move(channel)), comm_(channel_.comm), options_(options) {
  mpi::Comms& comms = mpi::comms();
  comms.return_errors(comm_);
  rank_ = comms.rank(comm_);
  size_ = comms.size(comm_);
  notice_tag_ = channel_.last_tag;
  tag_base_ = notice_tag_ - internal_tags;
}

MpiCore::~MpiCore() {
  if (!mpi_is_over()) {
    channel_.give_back(!failed_);
  }
}

std::string MpiCore::prefix() const {
  return "sluice: rank " + std::to_string(rank_) + ": " + verb_name(verb_) + ": ";
}

void MpiCore::throw_if_failed() const {
  if (failed_) {
    throw Error(code_, prefix() + "not possible after an earlier failure: " + text_, error_rank_);
  }
}

void MpiCore::enter(Verb verb) {
  verb_ = verb;
  throw_if_failed();
  ++call_;
  if (!askers_.empty() || !asked_.empty()) {
    askers_.clear();
    asked_.clear();
  }
}

void MpiCore::enter_point_to_point(Verb verb, int tag) {
  verb_ = verb;
  user_tag_ = tag;
  throw_if_failed();
}

int MpiCore::tag(int phase) const noexcept {
  const int kind = static_cast<int>(verb_) * phases_per_verb + phase;
  return tag_base_ + kind * tags_per_kind + static_cast<int>(call_ % tags_per_kind);
}

// -- messages
// ---------------------------------------------------------------------------------------

void MpiCore::post_send(Batch& batch, int to, int tag, std::span<const std::byte> bytes,
                        bool synchronous) {
  do {
    const std::size_t part = std::min(bytes.size(), options_.part_bytes);
    const int count = static_cast<int>(part);
    mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
    batch.items.push_back({to, false, count, true});
    check(mpi::messages().start_send(bytes.first(part), to, tag, comm_, synchronous, request));
    batch.done_ = false;
    batch.total_bytes += part;
    bytes = bytes.subspan(part);
  } while (!bytes.empty());
}

void MpiCore::post_receive(Batch& batch, int from, int tag, std::span<std::byte> into, bool exact) {
  do {
    const std::size_t part = std::min(into.size(), options_.part_bytes);
    const int count = static_cast<int>(part);
    mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
    batch.items.push_back({from, true, count, exact});
    check(mpi::messages().start_receive(into.first(part), from, tag, comm_, request));
    batch.done_ = false;
    batch.total_bytes += part;
    into = into.subspan(part);
  } while (!into.empty());
}

bool MpiCore::take_any(int tag, mpi::Message& message, int& from, std::vector<std::byte>& into) {
  bool is_there = false;
  mpi::Status status;
  check(mpi::messages().take(tag, comm_, is_there, message, status));
  if (!is_there) {
    return false;
  }
  from = status.source;
  into.resize(static_cast<std::size_t>(std::max(status.bytes, 0)));
  return true;
}

void MpiCore::post_taken(Batch& batch, int from, mpi::Message message, std::span<std::byte> into) {
  const int count = static_cast<int>(into.size());
  mpi::Request& request = batch.requests.emplace_back(mpi::messages().null_request());
  batch.items.push_back({from, true, count, true});
  check(mpi::messages().start_taken(into, message, request));
  batch.done_ = false;
  batch.total_bytes += into.size();
}

bool MpiCore::test(Batch& batch) {
  if (batch.done_) {
    return true;
  }
  batch.statuses.resize(batch.requests.size());
  bool is_done = false;
  const int result = mpi::messages().test_all(batch.requests, is_done, batch.statuses);
  if (result != mpi::success) {
    check_batch(result, batch);
  }
  if (!is_done) {
    return false;
  }
  batch.done_ = true;
  check_lengths(batch);
  return true;
}

void MpiCore::check_lengths(Batch& batch) {
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    Batch::Item& item = batch.items[i];
    if (!item.receive) {
      continue;
    }
    item.received = batch.statuses[i].bytes;
    if (item.exact && item.received != item.expected) {
      fail(Code::divergent, prefix() + "rank " + std::to_string(item.peer) + " sent " +
                                std::to_string(item.received) + " bytes where " +
                                std::to_string(item.expected) +
                                " were expected: both sides must give the same length");
    }
  }
}

void MpiCore::check_batch(int result, const Batch& batch) {
  mpi::Messages& messages = mpi::messages();
  if (messages.fault(result) != mpi::Fault::in_status) {
    check(result);
  }
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const int error = batch.statuses[i].error;
    const mpi::Fault fault = messages.fault(error);
    if (fault == mpi::Fault::none || fault == mpi::Fault::pending) {
      continue;
    }
    if (fault == mpi::Fault::truncate) {
      fail(Code::divergent, prefix() + "rank " + std::to_string(batch.items[i].peer) +
                                " sent more than the " + std::to_string(batch.items[i].expected) +
                                " bytes that were expected: both sides must give the same length");
    }
    check(error);
  }
  check(result);
}

void MpiCore::check(int result) {
  if (result == mpi::success) {
    return;
  }
  fail(Code::mpi, prefix() + "MPI failed: " + mpi::messages().error_text(result) +
                      ": the run cannot continue with this communicator; see MPI's own messages");
}

}  // namespace sluice::exec
