#include "exec/transport/solo_transport.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "exec/transport/reduce.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

namespace {

/// Messages to itself of one tag: the nth receive gets the nth one sent.
struct Mailbox {
  std::map<std::uint64_t, std::vector<std::byte>> waiting;
  std::uint64_t sent = 0;
  std::uint64_t asked = 0;
};
using Mailboxes = std::map<int, Mailbox>;

class Sent : public Pending {
 public:
  bool test() override { return true; }
  void wait() override {}
};

class Awaited : public Pending {
 public:
  Awaited(std::shared_ptr<Mailboxes> boxes, int tag, std::span<std::byte> into)
      : boxes_(std::move(boxes)), box_((*boxes_)[tag]), number_(box_.asked++), into_(into) {}

  bool test() override {
    if (done_) {
      return true;
    }
    const auto found = box_.waiting.find(number_);
    if (found == box_.waiting.end()) {
      return false;
    }
    if (found->second.size() != into_.size()) {
      throw Error(Code::internal, "receive: " + std::to_string(found->second.size()) +
                                      " bytes for a buffer of " + std::to_string(into_.size()));
    }
    std::copy(found->second.begin(), found->second.end(), into_.begin());
    box_.waiting.erase(found);
    done_ = true;
    return true;
  }
  void wait() override {
    if (!test()) {
      throw Error(Code::timeout, "receive: rank 0 is the only rank and has sent itself nothing", 0);
    }
  }

 private:
  std::shared_ptr<Mailboxes> boxes_;  // may outlive the transport
  Mailbox& box_;
  std::uint64_t number_;
  std::span<std::byte> into_;
  bool done_ = false;
};

class SoloTransport : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int node() const override { return 0; }
  int nodes() const override { return 1; }

  void barrier() override {}
  void allreduce(std::span<std::int64_t> values, Op op) override { reduce_alone(values, op); }
  void reduce(std::span<std::int64_t> values, Op op, int root) override {
    require_self(root);
    allreduce(values, op);
  }
  PrefixSum prefix_sum(std::int64_t value) override { return {0, value}; }
  void broadcast(std::vector<std::byte>&, int root) override { require_self(root); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes, int root) override {
    require_self(root);
    return allgather(bytes);
  }
  std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) override {
    return {{bytes.begin(), bytes.end()}};
  }
  std::vector<Parcel> exchange(std::vector<Parcel> parcels) override {
    for (const Parcel& parcel : parcels) {
      require_self(parcel.rank);
    }
    return parcels;
  }

  std::unique_ptr<Pending> start_send(int to, int tag, std::span<const std::byte> bytes) override {
    require_self(to);
    Mailbox& box = (*boxes_)[tag];
    box.waiting.emplace(box.sent++, std::vector<std::byte>(bytes.begin(), bytes.end()));
    return std::make_unique<Sent>();
  }
  std::unique_ptr<Pending> start_receive(int from, int tag, std::span<std::byte> into) override {
    require_self(from);
    return std::make_unique<Awaited>(boxes_, tag, into);
  }
  std::optional<Arriving> start_receive_any(int tag) override {
    Mailbox& box = (*boxes_)[tag];
    if (box.waiting.empty()) {
      return std::nullopt;
    }
    Arriving arriving;
    arriving.bytes = std::move(box.waiting.begin()->second);
    box.waiting.erase(box.waiting.begin());
    ++box.asked;
    arriving.pending = std::make_unique<Sent>();
    return arriving;
  }
  std::unique_ptr<Transport> split(int color) override {
    return color < 0 ? nullptr : std::make_unique<SoloTransport>();
  }

 private:
  static void require_self(int rank) {
    if (rank != 0) {
      throw Error(Code::internal, "there is no rank " + std::to_string(rank) + " of 1");
    }
  }

  std::shared_ptr<Mailboxes> boxes_ = std::make_shared<Mailboxes>();
};

}  // namespace

std::unique_ptr<Transport> make_solo() { return std::make_unique<SoloTransport>(); }

}  // namespace sluice::exec
