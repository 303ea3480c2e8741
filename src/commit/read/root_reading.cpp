#include "commit/read/root_reading.hpp"

#include <functional>
#include <vector>

#include "codec/checksum.hpp"
#include "exec/transport/tags.hpp"
#include "layout/portion.hpp"
#include "model/box_tree.hpp"
#include "model/bytes.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// Rank 0 reads the ranks' boxes one after the other, a portion in each of its rounds; the others
/// count only the rounds in which they receive something.
class RootParty final : public exec::RoundParty {
 public:
  /// Dense bytes of a box, checked; called on rank 0.
  using Read = std::function<void(const Box&, std::span<std::byte>)>;
  /// `wanted`: of all ranks, on rank 0; of this rank alone elsewhere.
  RootParty(int rank, std::vector<Box> wanted, std::uint64_t element_bytes, const Destination& to,
            const Read& read)
      : rank_(rank),
        wanted_(std::move(wanted)),
        element_bytes_(element_bytes),
        to_(to),
        read_(read) {}

  std::uint64_t rounds() const {
    std::uint64_t rounds = 0;
    for (const Box& box : wanted_) {
      rounds += parts_of(box).size();
    }
    return rounds;
  }
  std::vector<exec::RoundMessage> incoming(std::uint64_t) override {
    while (next_ == parts_.size()) {
      reader_ = rank_ == 0 ? static_cast<int>(box_) : rank_;
      parts_ = parts_of(wanted_[box_++]);
      next_ = 0;
    }
    part_ = parts_[next_++];
    return message_if(reader_ == rank_, 0);
  }
  void prepare(std::uint64_t, bool failed) override {
    if (rank_ == 0 && !failed) {
      bytes_.assign(bytes_of_part(), std::byte{0});
      read_(part_, bytes_);
    }
  }
  std::vector<exec::RoundMessage> outgoing(std::uint64_t) override {
    return message_if(rank_ == 0, reader_);
  }
  std::span<const std::byte> in_place(const exec::RoundMessage&) override { return bytes_; }
  void pack(const exec::RoundMessage&, std::span<std::byte>) override {}
  void take(const exec::RoundMessage&, std::span<const std::byte> bytes) override {
    to_.put(part_, bytes);
  }

 private:
  /// The message of the round, if there is one, with the rank at the other end.
  std::vector<exec::RoundMessage> message_if(bool is_there, int rank) const {
    return is_there ? std::vector<exec::RoundMessage>{{rank, bytes_of_part(), 0}}
                    : std::vector<exec::RoundMessage>{};
  }
  std::uint64_t bytes_of_part() const { return part_.volume() * element_bytes_; }
  std::vector<Box> parts_of(const Box& box) const {
    return layout::split(box, element_bytes_, layout::portion_bytes);
  }

  const int rank_;
  const std::vector<Box> wanted_;
  const std::uint64_t element_bytes_;
  const Destination& to_;
  const Read& read_;
  std::size_t box_ = 0;  ///< of wanted_, the next one
  int reader_ = 0;       ///< whose parts_ these are
  std::vector<Box> parts_;
  std::size_t next_ = 0;  ///< of parts_
  Box part_;              ///< of the current round
  std::vector<std::byte> bytes_;
};

/// Rank 0: reads the records that overlap the request, through the library of the format. Error
/// damaged.
void check_through_root(const FileInput& file, const CheckedReader& checked,
                        const GetRequest& request, std::span<const Box> wanted) {
  const InputVariable& variable = file.view[request.variable];
  std::vector<model::OwnedBox> boxes;
  for (const Box& box : wanted) {
    if (!box.empty()) {
      boxes.push_back({box});
    }
  }
  const model::BoxTree tree(boxes);
  std::vector<std::byte> bytes;
  const RecordSet& records = file.root->records_of(file.view, request.variable, request.step);
  for (const Record& record : records.list()) {
    if (!tree.meets(record.box)) {
      continue;
    }
    bytes.assign(record.box.volume() * variable.definition.type.bytes, std::byte{0});
    file.root->catalog().read(file.root->number_of(variable), request.step, record.box, bytes);
    if (codec::checksum(std::span<const std::byte>(bytes)) != record.checksum) {
      checked.refuse({request.variable, request.step, record.box}, record);
    }
  }
}

}  // namespace

void read_through_root(const FileInput& file, const CheckedReader& checked,
                       exec::ExchangeBuffers& buffers, const GetRequest& request) {
  exec::Transport& transport = file.transport;
  const InputVariable& variable = file.view[request.variable];
  model::ByteWriter wish;
  wish.put(request.box);
  std::vector<Box> wanted;
  for (const auto& one : transport.gather(wish.take(), 0)) {
    wanted.push_back(model::ByteReader(one).get<Box>());
  }
  if (transport.rank() != 0) {
    wanted = {request.box};
  }
  bool is_checked = false;
  const RootParty::Read read = [&](const Box& part, std::span<std::byte> out) {
    if (!is_checked) {
      is_checked = true;
      check_through_root(file, checked, request, wanted);
    }
    file.root->catalog().read(file.root->number_of(variable), request.step, part, out);
  };
  const Destination to(variable, request);
  RootParty party(transport.rank(), wanted, variable.definition.type.bytes, to, read);
  exec::BoundedExchange(transport, exec::read_by_root_tag, 0, party, buffers).run(party.rounds());
}

}  // namespace sluice::commit
