// Transport over a Carrier.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>

#include "exec/transport/carrier.hpp"
#include "exec/transport/reduce.hpp"
#include "exec/transport/tags.hpp"
#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

namespace {

/// The carrier copies the bytes.
class Left : public Pending {
 public:
  bool test() override { return true; }
  void wait() override {}
};

/// The receives of one place must be tested in the order in which they were started.
class Expected : public Pending {
 public:
  Expected(std::shared_ptr<Carrier> carrier, Carrier::Place place, int from,
           std::span<std::byte> into)
      : carrier_(std::move(carrier)), place_(place), from_(from), into_(into) {}

  bool test() override {
    if (!is_done_) {
      if (const std::optional<Parcel> parcel = carrier_->receive(place_, from_)) {
        fill(*parcel);
      }
    }
    return is_done_;
  }
  void wait() override {
    if (!is_done_) {
      fill(carrier_->await(place_, from_, "receive"));
    }
  }

 private:
  void fill(const Parcel& parcel) {
    if (parcel.bytes.size() != into_.size()) {
      throw Error(Code::internal, "receive: " + std::to_string(parcel.bytes.size()) +
                                      " bytes for room of " + std::to_string(into_.size()));
    }
    std::copy(parcel.bytes.begin(), parcel.bytes.end(), into_.begin());
    is_done_ = true;
  }

  std::shared_ptr<Carrier> carrier_;
  Carrier::Place place_;
  int from_;
  std::span<std::byte> into_;
  bool is_done_ = false;
};

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::span<const std::byte> bytes_of(const auto& value) {
  return std::as_bytes(std::span(&value, 1));
}

class CarriedTransport : public Transport {
 public:
  /// `members`: ranks of the carrier, those of this transport in order. `hosts`: of its ranks.
  CarriedTransport(std::shared_ptr<Carrier> carrier, std::uint32_t channel,
                   std::vector<int> members)
      : carrier_(std::move(carrier)), channel_(channel), members_(std::move(members)) {
    const auto me = std::find(members_.begin(), members_.end(), carrier_->rank());
    rank_ = static_cast<int>(me - members_.begin());
  }

  /// Collective: finds out the hosts of all ranks.
  void settle(const std::string& host) {
    const auto* first = reinterpret_cast<const std::byte*>(host.data());
    std::vector<std::vector<std::byte>> seen;
    hosts_ = allgather({first, host.size()});
    for (const std::vector<std::byte>& one : hosts_) {
      const auto found = std::find(seen.begin(), seen.end(), one);
      node_of_.push_back(static_cast<int>(found - seen.begin()));
      if (found == seen.end()) {
        seen.push_back(one);
      }
    }
    nodes_ = static_cast<int>(seen.size());
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  int node() const override { return node_of_[static_cast<std::size_t>(rank_)]; }
  int nodes() const override { return nodes_; }

  void barrier() override { allgather({}); }

  void allreduce(std::span<std::int64_t> values, Op op) override {
    reduce(values, op, 0);
    std::vector<std::byte> result;
    if (rank_ == 0) {
      const auto bytes = std::as_bytes(values);
      result.assign(bytes.begin(), bytes.end());
    }
    broadcast(result, 0);
    require_length(result.size(), values.size_bytes(), "allreduce");
    std::ranges::copy(result, std::as_writable_bytes(values).begin());
  }

  void reduce(std::span<std::int64_t> values, Op op, int root) override {
    const auto all = gather(std::as_bytes(values), root);
    reduce_alone(values, op);
    for (std::size_t other = 0; other < all.size(); ++other) {
      if (other == static_cast<std::size_t>(root)) {
        continue;
      }
      std::vector<std::int64_t> theirs(values.size());
      require_length(all[other].size(), values.size_bytes(), "reduce");
      std::ranges::copy(all[other], std::as_writable_bytes(std::span(theirs)).begin());
      combine(values, theirs.data(), op);
    }
  }

  PrefixSum prefix_sum(std::int64_t value) override {
    const auto entries = allgather(bytes_of(value));
    PrefixSum sums;
    for (int rank = 0; rank < size(); ++rank) {
      std::int64_t theirs = 0;
      std::memcpy(&theirs, entries[static_cast<std::size_t>(rank)].data(), sizeof theirs);
      sums.below = rank == rank_ ? sums.all : sums.below;
      sums.all = combine(sums.all, theirs, Op::sum);
    }
    return sums;
  }

  void broadcast(std::vector<std::byte>& bytes, int root) override {
    if (rank_ != root) {
      bytes = await(root, "broadcast");
      return;
    }
    for (int other = 0; other < size(); ++other) {
      if (other != root) {
        send(other, carried_collective_tag, bytes);
      }
    }
  }

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes, int root) override {
    if (rank_ != root) {
      send(root, carried_collective_tag, bytes);
      return {};
    }
    std::vector<std::vector<std::byte>> all;
    all.reserve(static_cast<std::size_t>(size()));
    for (int other = 0; other < size(); ++other) {
      all.push_back(other == root ? std::vector<std::byte>(bytes.begin(), bytes.end())
                                  : await(other, "gather"));
    }
    return all;
  }

  std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) override {
    model::ByteWriter out;
    for (const std::vector<std::byte>& one : gather(bytes, 0)) {
      out.put(one);
    }
    std::vector<std::byte> text = out.take();
    broadcast(text, 0);
    model::ByteReader in(text);
    std::vector<std::vector<std::byte>> all;
    all.reserve(static_cast<std::size_t>(size()));
    for (int other = 0; other < size(); ++other) {
      all.push_back(in.get_vector<std::byte>());
    }
    return all;
  }

  std::vector<Parcel> exchange(std::vector<Parcel> parcels) override {
    std::vector<std::int32_t> receivers;
    for (const Parcel& parcel : parcels) {
      receivers.push_back(parcel.rank);
      send(parcel.rank, carried_parcel_tag, parcel.bytes);
    }
    const auto all = allgather(std::as_bytes(std::span(receivers)));
    std::vector<Parcel> mine;
    for (int other = 0; other < size(); ++other) {
      const std::vector<std::byte>& theirs = all[static_cast<std::size_t>(other)];
      std::vector<std::int32_t> ranks(theirs.size() / sizeof(std::int32_t));
      std::ranges::copy(theirs, std::as_writable_bytes(std::span(ranks)).begin());
      if (std::find(ranks.begin(), ranks.end(), rank_) != ranks.end()) {
        mine.push_back(
            {other, carrier_->await(place(carried_parcel_tag), world(other), "exchange").bytes});
      }
    }
    return mine;
  }

  std::unique_ptr<Pending> start_send(int to, int tag, std::span<const std::byte> bytes) override {
    send(to, tag, bytes);
    return std::make_unique<Left>();
  }
  std::unique_ptr<Pending> start_receive(int from, int tag, std::span<std::byte> into) override {
    return std::make_unique<Expected>(carrier_, place(tag), world(from), into);
  }
  std::optional<Arriving> start_receive_any(int tag) override {
    std::optional<Parcel> parcel = carrier_->receive(place(tag));
    if (!parcel) {
      return std::nullopt;
    }
    const auto member = std::find(members_.begin(), members_.end(), parcel->rank);
    return Arriving{static_cast<int>(member - members_.begin()), std::move(parcel->bytes),
                    std::make_unique<Left>()};
  }

  std::unique_ptr<Transport> split(int color) override {
    std::int64_t youngest[] = {carrier_->channels()};
    allreduce(youngest, Op::max);
    const auto all = allgather(bytes_of(color));
    std::vector<int> members;
    std::set<int> colors;
    for (std::size_t other = 0; other < all.size(); ++other) {
      int theirs = 0;
      std::memcpy(&theirs, all[other].data(), sizeof theirs);
      if (theirs >= 0) {
        colors.insert(theirs);
      }
      if (theirs == color) {
        members.push_back(members_[other]);
      }
    }
    const auto before = static_cast<std::uint32_t>(youngest[0]);
    carrier_->channels() = before + static_cast<std::uint32_t>(colors.size());
    if (color < 0) {
      return nullptr;
    }
    const auto nth = std::distance(colors.begin(), colors.find(color));
    auto part = std::make_unique<CarriedTransport>(
        carrier_, before + 1 + static_cast<std::uint32_t>(nth), std::move(members));
    const std::vector<std::byte>& host = hosts_[static_cast<std::size_t>(rank_)];
    part->settle({reinterpret_cast<const char*>(host.data()), host.size()});
    return part;
  }

 private:
  Carrier::Place place(std::int32_t tag) const { return {channel_, tag}; }
  int world(int rank) const { return members_.at(static_cast<std::size_t>(rank)); }
  void send(int to, std::int32_t tag, std::span<const std::byte> bytes) {
    carrier_->send(world(to), place(tag), bytes);
  }
  std::vector<std::byte> await(int from, const char* what) {
    return carrier_->await(place(carried_collective_tag), world(from), what).bytes;
  }
  static void require_length(std::size_t bytes, std::size_t wanted, const char* what) {
    if (bytes != wanted) {
      throw Error(Code::divergent, std::string(what) + ": the ranks pass " + std::to_string(bytes) +
                                       " and " + std::to_string(wanted) + " bytes");
    }
  }

  std::shared_ptr<Carrier> carrier_;
  std::uint32_t channel_;
  std::vector<int> members_;
  int rank_ = 0;
  std::vector<std::vector<std::byte>> hosts_;
  std::vector<int> node_of_;
  int nodes_ = 1;
};

}  // namespace

std::unique_ptr<Transport> make_carried(std::shared_ptr<Carrier> carrier, int ranks_per_node) {
  std::vector<int> members(static_cast<std::size_t>(carrier->size()));
  std::iota(members.begin(), members.end(), 0);
  const int rank = carrier->rank();
  auto transport = std::make_unique<CarriedTransport>(std::move(carrier), 0, std::move(members));
  transport->settle(ranks_per_node > 0 ? "node " + std::to_string(rank / ranks_per_node)
                                       : host_name());
  return transport;
}

}  // namespace sluice::exec
