#include "exec/transport/mpi_collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "exec/transport/mpi_blob.hpp"
#include "exec/transport/mpi_tree.hpp"
#include "exec/transport/reduce.hpp"

namespace sluice::exec {

namespace {

constexpr std::size_t reduce_slice_values = 8192;         // values of one round of messages
constexpr std::size_t pipe_bytes = std::size_t{1} << 20;  // of a broadcast, forwarded at once

std::span<std::int64_t> as_values(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<std::int64_t*>(bytes.data()), bytes.size() / sizeof(std::int64_t)};
}

// Recursive doubling; ranks above the largest power of two send their values to a lower one first
// and get the result back at the end.
void reduce_slice(MpiCore& core, std::span<std::int64_t> values, Op op) {
  const int rank = core.rank();
  const int doubling = static_cast<int>(std::bit_floor(static_cast<unsigned>(core.size())));
  const int extra = core.size() - doubling;
  Batch batch;
  std::vector<std::byte>& mine = batch.buffer(values.size_bytes());
  std::vector<std::byte>& theirs = batch.buffer(values.size_bytes());
  std::copy(values.begin(), values.end(), as_values(mine).begin());
  const auto swap = [&](int to, int from, int phase) {
    batch.clear();
    if (from >= 0) {
      core.post_receive(batch, from, core.tag(phase), theirs);
    }
    if (to >= 0) {
      core.post_send(batch, to, core.tag(phase), mine);
    }
    core.wait(batch);
  };
  if (rank >= doubling) {
    swap(rank - doubling, -1, 0);
    swap(-1, rank - doubling, 2);
    std::ranges::copy(as_values(theirs), values.begin());
    return;
  }
  const auto take = [&] {
    combine(as_values(mine), reinterpret_cast<const std::int64_t*>(theirs.data()), op);
  };
  if (rank < extra) {
    swap(-1, rank + doubling, 0);
    take();
  }
  for (int distance = 1; distance < doubling; distance *= 2) {
    swap(rank ^ distance, rank ^ distance, 1);
    take();
  }
  if (rank < extra) {
    swap(rank + doubling, -1, 2);
  }
  std::ranges::copy(as_values(mine), values.begin());
}

void reduce_slice_to_root(MpiCore& core, const RankTree& tree, std::span<std::int64_t> values,
                          Op op) {
  Batch batch;
  std::vector<std::vector<std::byte>*> theirs;
  for (const int child : tree.children) {
    theirs.push_back(&batch.buffer(values.size_bytes()));
    core.post_receive(batch, child, core.tag(), *theirs.back());
  }
  core.wait(batch);
  for (const std::vector<std::byte>* bytes : theirs) {
    combine(values, reinterpret_cast<const std::int64_t*>(bytes->data()), op);
  }
  if (tree.parent >= 0) {
    Batch out;
    std::vector<std::byte>& mine = out.buffer(values.size_bytes());
    std::copy(values.begin(), values.end(), as_values(mine).begin());
    core.post_send(out, tree.parent, core.tag(), mine);
    core.wait(out);
  }
}

// `one` for each slice of `values`. An empty reduction still exchanges messages, so that lengths
// are compared.
template <class One>
void for_each_slice(std::span<std::int64_t> values, One&& one) {
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(reduce_slice_values, values.size() - offset);
    one(values.subspan(offset, count));
    offset += count;
  } while (offset < values.size());
}

// Sends the bytes from inline_bytes on down the tree, each piece as soon as it has arrived.
void pipe_rest(MpiCore& core, const RankTree& tree,
               const std::shared_ptr<std::vector<std::byte>>& body) {
  const std::span<std::byte> rest = std::span(*body).subspan(inline_bytes);
  const auto piece = [&rest](std::size_t offset) {
    return rest.subspan(offset, std::min(pipe_bytes, rest.size() - offset));
  };
  Batch in[2];
  Batch out;
  for (Batch* batch : {&in[0], &in[1], &out}) {
    batch->hold(body);
  }
  if (tree.parent >= 0) {
    core.post_receive(in[0], tree.parent, core.tag(1), piece(0));
  }
  std::size_t turn = 0;
  for (std::size_t offset = 0; offset < rest.size(); offset += pipe_bytes, turn ^= 1) {
    if (tree.parent >= 0) {
      if (offset + pipe_bytes < rest.size()) {
        in[turn ^ 1].clear();
        core.post_receive(in[turn ^ 1], tree.parent, core.tag(1), piece(offset + pipe_bytes));
      }
      core.wait(in[turn]);
    }
    for (int child : tree.children) {
      core.post_send(out, child, core.tag(1), piece(offset));
    }
  }
  core.wait(out);
}

}  // namespace

void check_root(MpiCore& core, int root) {
  if (root < 0 || root >= core.size()) {
    core.fail(Code::invalid_argument, core.prefix() + "root " + std::to_string(root) +
                                          " is not one of the " + std::to_string(core.size()) +
                                          " ranks");
  }
}

bool PolledBarrier::test() {
  while (core_.test(batch_)) {
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ >= core_.size()) {
      distance_ = core_.size();  // stays done
      return true;
    }
    batch_.clear();
    const int to = (core_.rank() + distance_) % core_.size();
    const int from = (core_.rank() - distance_ + core_.size()) % core_.size();
    core_.post_receive(batch_, from, core_.tag(phase_), {});
    core_.post_send(batch_, to, core_.tag(phase_), {});
  }
  return false;
}

void mpi_barrier(MpiCore& core, Verb verb) {
  core.enter(verb);
  PolledBarrier barrier(core, 0);
  core.wait({[&barrier] { return barrier.test(); }, [&barrier] { return barrier.peers(); }, 0});
}

void mpi_allreduce(MpiCore& core, std::span<std::int64_t> values, Op op) {
  core.enter(Verb::allreduce);
  if (core.size() == 1) {
    reduce_alone(values, op);
    return;
  }
  for_each_slice(values, [&](std::span<std::int64_t> slice) { reduce_slice(core, slice, op); });
}

void mpi_reduce(MpiCore& core, std::span<std::int64_t> values, Op op, int root) {
  core.enter(Verb::reduce);
  check_root(core, root);
  if (core.size() == 1) {
    reduce_alone(values, op);
    return;
  }
  const RankTree tree(core.rank(), core.size(), root);
  for_each_slice(
      values, [&](std::span<std::int64_t> slice) { reduce_slice_to_root(core, tree, slice, op); });
}

// Recursive doubling over a power of two of groups. The first ranks form groups of two where there
// are more ranks than groups: the lower one of them sends and receives for both.
PrefixSum mpi_prefix_sum(MpiCore& core, std::int64_t value) {
  core.enter(Verb::prefix_sum);
  const int rank = core.rank();
  const int groups = static_cast<int>(std::bit_floor(static_cast<unsigned>(core.size())));
  const int pairs = core.size() - groups;
  const bool is_paired = rank < 2 * pairs;
  Batch batch;
  std::vector<std::byte>& mine = batch.buffer(sizeof(PrefixSum));
  std::vector<std::byte>& theirs = batch.buffer(sizeof(PrefixSum));
  const auto send = [&](int to, int phase, const PrefixSum& sums) {
    std::memcpy(mine.data(), &sums, sizeof sums);
    core.post_send(batch, to, core.tag(phase), mine);
  };
  const auto wait_for = [&](int from, int phase) {
    core.post_receive(batch, from, core.tag(phase), theirs);
    core.wait(batch);
    batch.clear();
    PrefixSum sums;
    std::memcpy(&sums, theirs.data(), sizeof sums);
    return sums;
  };
  if (is_paired && rank % 2 == 1) {
    send(rank - 1, 0, {0, value});
    return wait_for(rank - 1, 2);
  }
  PrefixSum sums{0, value};
  if (is_paired) {
    sums.all = combine(sums.all, wait_for(rank + 1, 0).all, Op::sum);
  }
  const int group = is_paired ? rank / 2 : rank - pairs;
  for (int distance = 1; distance < groups; distance *= 2) {
    const int other = group ^ distance;
    const int partner = other < pairs ? 2 * other : other + pairs;
    send(partner, 1, sums);
    const std::int64_t sum = wait_for(partner, 1).all;
    sums.below = other < group ? combine(sums.below, sum, Op::sum) : sums.below;
    sums.all = combine(sums.all, sum, Op::sum);
  }
  if (is_paired) {
    send(rank + 1, 2, {combine(sums.below, value, Op::sum), sums.all});
    core.wait(batch);
  }
  return sums;
}

void mpi_broadcast(MpiCore& core, std::vector<std::byte>& bytes, int root) {
  core.enter(Verb::broadcast);
  check_root(core, root);
  const RankTree tree(core.rank(), core.size(), root);
  // The caller's memory is used while it is valid; after a failure it is not.
  auto body = std::make_shared<std::vector<std::byte>>(std::exchange(bytes, {}));
  Batch in;
  Batch heads;
  if (tree.parent >= 0) {
    BlobReceive blob(core, in, tree.parent);
    core.wait(in);
    blob.take_head(core, in, std::move(*body));
    body->swap(blob.body());
  }
  // Heads only; the rest follows in pieces after all heads.
  for (int child : tree.children) {
    post_blob_head(core, heads, child, *body);
  }
  if (body->size() > inline_bytes) {
    pipe_rest(core, tree, body);
  }
  core.wait(heads);
  bytes = std::move(*body);
}

// Bruck's algorithm: after the round of distance d a rank has the entries of the 2d ranks from
// itself upwards, modulo the number of ranks.
std::vector<std::vector<std::byte>> mpi_allgather(MpiCore& core, std::span<const std::byte> bytes,
                                                  Verb verb) {
  core.enter(verb);
  const int size = core.size();
  std::vector<std::vector<std::byte>> result(static_cast<std::size_t>(size));
  const auto entry = [&](int above) -> std::vector<std::byte>& {
    return result[static_cast<std::size_t>((core.rank() + above) % size)];
  };
  entry(0).assign(bytes.begin(), bytes.end());
  for (int distance = 1; distance < size; distance *= 2) {
    const int count = std::min(distance, size - distance);
    Batch in;
    Batch out;
    BlobReceive blob(core, in, (core.rank() + distance) % size);
    std::vector<std::byte> packed;
    for (int above = 0; above < count; ++above) {
      const auto length = static_cast<std::int64_t>(entry(above).size());
      const auto* raw = reinterpret_cast<const std::byte*>(&length);
      packed.insert(packed.end(), raw, raw + sizeof length);
      packed.insert(packed.end(), entry(above).begin(), entry(above).end());
    }
    post_blob(core, out, (core.rank() - distance + size) % size, out.adopt(std::move(packed)));
    core.wait(in);
    blob.take_head(core, in);
    in.clear();
    blob.post_rest(core, in);
    core.wait(in);
    const std::byte* at = blob.body().data();
    for (int above = distance; above < distance + count; ++above) {
      std::int64_t length = 0;
      std::memcpy(&length, at, sizeof length);
      at += sizeof length;
      entry(above).assign(at, at + length);
      at += length;
    }
    core.wait(out);
  }
  return result;
}

}  // namespace sluice::exec
