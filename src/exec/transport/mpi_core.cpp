#include "exec/transport/mpi_core.hpp"

#include <algorithm>
#include <utility>

namespace sluice::exec {

namespace {

// Internal tags: a block of this many below the highest tag.
constexpr int internal_tags = 4096;
constexpr int tags_per_kind = 64;
constexpr int phases_per_verb = 4;

// Memory that MPI may touch until it is finalised. Grows only by failures.
void bury(std::vector<std::shared_ptr<void>>&& memory) {
  static auto* graveyard = new std::vector<std::vector<std::shared_ptr<void>>>();
  graveyard->push_back(std::move(memory));
}

bool mpi_is_over() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

}  // namespace

// -- Batch
// ------------------------------------------------------------------------------------------

Batch::~Batch() { abandon(); }

std::vector<int> Batch::pending_peers() {
  std::set<int> peers;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    int flag = 0;
    if (requests[i] != MPI_REQUEST_NULL &&
        MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0) {
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
    for (std::size_t i = 0; i < requests.size(); ++i) {
      int flag = 0;
      if (items[i].receive && requests[i] != MPI_REQUEST_NULL) {
        MPI_Cancel(&requests[i]);
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      }
    }
  }
  bury(std::move(buffers_));
}

// -- life
// -------------------------------------------------------------------------------------------

MpiCore::MpiCore(MPI_Comm comm, const MpiOptions& options) : comm_(comm), options_(options) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  notice_tag_ = found != 0 ? *static_cast<int*>(value) : 32767;  // the least that MPI promises
  tag_base_ = notice_tag_ - internal_tags;
}

MpiCore::~MpiCore() {
  if (!failed_ && !mpi_is_over()) {
    MPI_Comm_free(&comm_);
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
    MPI_Request& request = batch.requests.emplace_back(MPI_REQUEST_NULL);
    batch.items.push_back({to, false, count, true});
    check((synchronous ? MPI_Issend : MPI_Isend)(bytes.data(), count, MPI_BYTE, to, tag, comm_,
                                                 &request));
    batch.done_ = false;
    batch.total_bytes += part;
    bytes = bytes.subspan(part);
  } while (!bytes.empty());
}

void MpiCore::post_receive(Batch& batch, int from, int tag, std::span<std::byte> into, bool exact) {
  do {
    const std::size_t part = std::min(into.size(), options_.part_bytes);
    const int count = static_cast<int>(part);
    MPI_Request& request = batch.requests.emplace_back(MPI_REQUEST_NULL);
    batch.items.push_back({from, true, count, exact});
    check(MPI_Irecv(into.data(), count, MPI_BYTE, from, tag, comm_, &request));
    batch.done_ = false;
    batch.total_bytes += part;
    into = into.subspan(part);
  } while (!into.empty());
}

bool MpiCore::take_any(int tag, MPI_Message& message, int& from, std::vector<std::byte>& into) {
  int flag = 0;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &flag, &message, &status));
  if (flag == 0) {
    return false;
  }
  int bytes = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &bytes));
  from = status.MPI_SOURCE;
  into.resize(static_cast<std::size_t>(bytes));
  return true;
}

void MpiCore::post_taken(Batch& batch, int from, MPI_Message message, std::span<std::byte> into) {
  const int count = static_cast<int>(into.size());
  MPI_Request& request = batch.requests.emplace_back(MPI_REQUEST_NULL);
  batch.items.push_back({from, true, count, true});
  check(MPI_Imrecv(into.data(), count, MPI_BYTE, &message, &request));
  batch.done_ = false;
  batch.total_bytes += into.size();
}

bool MpiCore::test(Batch& batch) {
  if (batch.done_) {
    return true;
  }
  const int count = static_cast<int>(batch.requests.size());
  batch.statuses.resize(batch.requests.size());
  int flag = 0;
  const int result = MPI_Testall(count, batch.requests.data(), &flag, batch.statuses.data());
  if (result != MPI_SUCCESS) {
    check_batch(result, batch);
  }
  if (flag == 0) {
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
    check(MPI_Get_count(&batch.statuses[i], MPI_BYTE, &item.received));
    if (item.exact && item.received != item.expected) {
      fail(Code::divergent, prefix() + "rank " + std::to_string(item.peer) + " sent " +
                                std::to_string(item.received) + " bytes where " +
                                std::to_string(item.expected) +
                                " were expected: both sides must give the same length");
    }
  }
}

void MpiCore::check_batch(int result, const Batch& batch) {
  if (result != MPI_ERR_IN_STATUS) {
    check(result);
  }
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const int error = batch.statuses[i].MPI_ERROR;
    if (error == MPI_SUCCESS || error == MPI_ERR_PENDING) {
      continue;
    }
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(error, &error_class);
    if (error_class == MPI_ERR_TRUNCATE) {
      fail(Code::divergent, prefix() + "rank " + std::to_string(batch.items[i].peer) +
                                " sent more than the " + std::to_string(batch.items[i].expected) +
                                " bytes that were expected: both sides must give the same length");
    }
    check(error);
  }
  check(result);
}

void MpiCore::check(int result) {
  if (result == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = "unknown";
  int length = 0;
  MPI_Error_string(result, text, &length);
  fail(Code::mpi, prefix() + "MPI failed: " + text +
                      ": the run cannot go on over this communicator; see MPI's own messages");
}

}  // namespace sluice::exec
