// The sparse all-to-all. With few ranks every pair exchanges a head, which says "nothing" or
// carries the first bytes. With many, heads go to receivers only, as synchronous sends: when all of
// its own are being received a rank enters a barrier, and when the barrier is complete no head can
// be in flight any more.
//
// Invariant: where heads go to receivers only, the memory of a rank is in proportion to what it
// sends and receives: a head is received in as much as its sender wrote, and released once it is
// read.
#include <algorithm>
#include <deque>
#include <memory>

#include "exec/transport/mpi_blob.hpp"
#include "exec/transport/mpi_collectives.hpp"

namespace sluice::exec {

namespace {

// The parcels that leave, by destination; shared with the batches that send them.
using Bodies = std::shared_ptr<std::vector<Parcel>>;

void check_parcels(MpiCore& core, const std::vector<Parcel>& parcels) {
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    const int rank = parcels[i].rank;
    if (rank < 0 || rank >= core.size()) {
      core.fail(Code::invalid_argument, core.prefix() + "a parcel is for rank " +
                                            std::to_string(rank) + " of " +
                                            std::to_string(core.size()) + " ranks");
    }
    if (i > 0 && parcels[i - 1].rank == rank) {
      core.fail(Code::invalid_argument,
                core.prefix() + "two parcels are for rank " + std::to_string(rank) + ": join them");
    }
  }
}

void exchange_dense(MpiCore& core, const Bodies& leaving, std::vector<Parcel>& result) {
  Batch in;
  Batch out;
  out.hold(leaving);
  std::vector<const Parcel*> parcel_for(static_cast<std::size_t>(core.size()), nullptr);
  for (const Parcel& parcel : *leaving) {
    parcel_for[static_cast<std::size_t>(parcel.rank)] = &parcel;
  }
  std::vector<BlobReceive> blobs;
  // Each rank starts with its neighbour, so that not all send to the same rank.
  for (int step = 1; step < core.size(); ++step) {
    const int to = (core.rank() + step) % core.size();
    blobs.emplace_back(core, in, (core.rank() - step + core.size()) % core.size());
    if (const Parcel* parcel = parcel_for[static_cast<std::size_t>(to)]; parcel != nullptr) {
      post_blob(core, out, to, parcel->bytes);
    } else {
      post_no_blob(core, out, to);
    }
  }
  core.wait(in);
  receive_rests(core, in, blobs);
  for (BlobReceive& blob : blobs) {
    if (blob.length() != no_blob) {
      result.push_back({blob.from(), std::move(blob.body())});
    }
  }
  core.wait(out);
}

// The state of one sparse exchange during polling.
class SparseExchange {
 public:
  SparseExchange(MpiCore& core, const Bodies& leaving) : core_(core), barrier_(core, /*phase=*/2) {
    heads_out_.hold(leaving);
    rests_out_.hold(leaving);
    for (const Parcel& parcel : *leaving) {
      post_blob_head(core_, heads_out_, parcel.rank, parcel.bytes, /*synchronous=*/true);
    }
    for (const Parcel& parcel : *leaving) {
      post_blob_rest(core_, rests_out_, parcel.rank, parcel.bytes);
    }
  }

  // All heads exchanged, everywhere?
  bool test_heads() {
    accept();
    return core_.test(heads_out_) && barrier_.test();
  }

  std::vector<int> peers() {
    return heads_out_.pending() ? heads_out_.pending_peers() : barrier_.peers();
  }

  void finish(std::vector<Parcel>& result) {
    for (Incoming& one : incoming_) {
      if (!one.headed) {
        core_.wait(*one.batch);
        one.read_head(core_);
      }
      if (one.batch) {
        core_.wait(*one.batch);
        one.batch.reset();
      }
      result.push_back({one.blob.from(), std::move(one.blob.body())});
    }
    core_.wait(rests_out_);
  }

 private:
  struct Incoming {
    Incoming(MpiCore& core, const mpi::Status& status)
        : batch(std::make_unique<Batch>()), blob(core, *batch, status.source, status.bytes) {}

    std::unique_ptr<Batch> batch;  // null: nothing is missing
    BlobReceive blob;
    bool headed = false;

    void read_head(MpiCore& core) {
      blob.take_head(core, *batch);
      batch = std::make_unique<Batch>();
      blob.post_rest(core, *batch);
      headed = true;
      if (!batch->pending()) {
        batch.reset();
      }
    }
  };

  void accept() {
    for (;;) {
      bool is_there = false;
      mpi::Status status;
      core_.check(mpi::messages().probe(core_.tag(), core_.comm(), is_there, status));
      if (!is_there) {
        break;
      }
      incoming_.emplace_back(core_, status);
      read_heads();
    }
    read_heads();
  }

  // Rests are received as soon as their head has arrived: heads arrive in almost any order.
  void read_heads() {
    for (; unread_ < incoming_.size() && core_.test(*incoming_[unread_].batch); ++unread_) {
      incoming_[unread_].read_head(core_);
    }
  }

  MpiCore& core_;
  Batch heads_out_;
  Batch rests_out_;
  PolledBarrier barrier_;
  std::deque<Incoming> incoming_;
  std::size_t unread_ = 0;
};

}  // namespace

std::vector<Parcel> mpi_exchange(MpiCore& core, std::vector<Parcel> parcels) {
  core.enter(Verb::exchange);
  const auto by_rank = [](const Parcel& a, const Parcel& b) { return a.rank < b.rank; };
  std::sort(parcels.begin(), parcels.end(), by_rank);
  check_parcels(core, parcels);
  std::vector<Parcel> result;
  auto leaving = std::make_shared<std::vector<Parcel>>();
  std::uint64_t bytes = 0;
  for (Parcel& parcel : parcels) {
    bytes += parcel.bytes.size();
    (parcel.rank == core.rank() ? result : *leaving).push_back(std::move(parcel));
  }
  if (core.size() < core.options().sparse_from) {
    exchange_dense(core, leaving, result);
  } else {
    SparseExchange state(core, leaving);
    core.wait({[&state] { return state.test_heads(); }, [&state] { return state.peers(); }, bytes});
    state.finish(result);
  }
  std::sort(result.begin(), result.end(), by_rank);
  return result;
}

}  // namespace sluice::exec
