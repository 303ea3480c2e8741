// Gather along a tree: a rank sends its parent one message, which holds what its subtree has. So
// the root receives O(log size) messages where little is gathered. What is long goes to the root
// directly, and the message says how long it is: a rank's own bytes if they exceed
// most_packed_bytes (of a child of the root, what one message holds), and the message of a subtree
// that has become longer than that.
//
// Invariants: no bytes are copied more than 1 + log2(size) times; a rank other than the root holds
// at most 2 * (1 + log2(size)) * most_packed_bytes of the others'; the root at most twice what it
// gathers.
#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/transport/mpi_blob.hpp"
#include "exec/transport/mpi_collectives.hpp"
#include "exec/transport/mpi_tree.hpp"

namespace sluice::exec {

namespace {

using Gathered = std::vector<std::vector<std::byte>>;

constexpr std::size_t most_packed_bytes = std::size_t{64} << 10;
constexpr std::size_t gather_window = 64;  // messages that the root receives directly at a time
constexpr int alone_phase = 2;
constexpr int pack_phase = 3;

enum class Form : std::int32_t {
  packed,  // the bytes of a rank follow
  alone,   // the rank sends them to the root
  pack,    // the rank sends the root a message of this form, of its subtree
};

// The head of each entry of a message.
struct GatherEntry {
  std::int32_t rank;
  Form form;
  std::int64_t bytes;
};

void append(std::vector<std::byte>& pack, int rank, Form form, std::size_t length,
            std::span<const std::byte> bytes = {}) {
  const GatherEntry entry{rank, form, static_cast<std::int64_t>(length)};
  const auto head = std::as_bytes(std::span(&entry, 1));
  pack.insert(pack.end(), head.begin(), head.end());
  pack.insert(pack.end(), bytes.begin(), bytes.end());
}

// `take` with the message of each child.
template <class Take>
void receive_packs(MpiCore& core, const std::vector<int>& children, Take&& take) {
  Batch in;
  std::vector<BlobReceive> blobs;
  blobs.reserve(children.size());
  for (const int child : children) {
    blobs.emplace_back(core, in, child);
  }
  core.wait(in);
  receive_rests(core, in, blobs);
  for (BlobReceive& blob : blobs) {
    take(blob.body());
  }
}

void send_to_parent(MpiCore& core, const RankTree& tree, std::span<const std::byte> bytes,
                    int root) {
  Batch out;
  std::vector<std::byte> pack;
  constexpr std::size_t one_message_bytes = inline_bytes - sizeof(GatherEntry);
  if (bytes.size() > (tree.parent == root ? one_message_bytes : most_packed_bytes)) {
    append(pack, core.rank(), Form::alone, bytes.size());
    core.post_send(out, root, core.tag(alone_phase), out.adopt({bytes.begin(), bytes.end()}));
  } else {
    append(pack, core.rank(), Form::packed, bytes.size(), bytes);
  }
  receive_packs(core, tree.children, [&](const std::vector<std::byte>& theirs) {
    pack.insert(pack.end(), theirs.begin(), theirs.end());
  });
  if (tree.parent != root && pack.size() > most_packed_bytes) {
    const std::vector<std::byte>& whole = out.adopt(std::exchange(pack, {}));
    core.post_send(out, root, core.tag(pack_phase), whole);
    append(pack, core.rank(), Form::pack, whole.size());
  }
  post_blob(core, out, tree.parent, out.adopt(std::move(pack)));
  core.wait(out);
}

// What the root has received, and what it still has to receive directly.
class GatherRoot {
 public:
  GatherRoot(MpiCore& core, Gathered& result)
      : core_(core), result_(result), came_(result.size(), false) {}

  void set(int rank, std::vector<std::byte> bytes) {
    const auto at = static_cast<std::size_t>(rank);
    if (came_[at]) {
      fail("has the bytes of rank " + std::to_string(core_.outer_rank(rank)) + " twice");
    }
    came_[at] = true;
    result_[at] = std::move(bytes);
  }

  void unpack(std::span<const std::byte> pack) {
    while (!pack.empty()) {
      GatherEntry entry{};
      if (pack.size() < sizeof entry) {
        fail("ends in an entry");
      }
      std::memcpy(&entry, pack.data(), sizeof entry);
      pack = pack.subspan(sizeof entry);
      if (entry.rank < 0 || entry.rank >= core_.size() || entry.bytes < 0) {
        fail("is of a rank or length that is out of range");
      }
      if (entry.form != Form::packed) {
        direct_.push_back(entry);
        continue;
      }
      const auto length = static_cast<std::uint64_t>(entry.bytes);
      if (length > pack.size()) {
        fail("ends in the bytes of a rank");
      }
      set(entry.rank, {pack.begin(), pack.begin() + entry.bytes});
      pack = pack.subspan(length);
    }
  }

  void receive_direct() {
    while (!direct_.empty()) {
      const std::size_t count = std::min(direct_.size(), gather_window);
      const std::vector<GatherEntry> entries(direct_.end() - static_cast<std::ptrdiff_t>(count),
                                             direct_.end());
      direct_.resize(direct_.size() - count);
      Batch window;
      std::vector<std::vector<std::byte>*> into;
      for (const GatherEntry& entry : entries) {
        into.push_back(&window.buffer(static_cast<std::size_t>(entry.bytes)));
        const int phase = entry.form == Form::alone ? alone_phase : pack_phase;
        core_.post_receive(window, entry.rank, core_.tag(phase), *into.back());
      }
      core_.wait(window);
      for (std::size_t i = 0; i < count; ++i) {
        if (entries[i].form == Form::alone) {
          set(entries[i].rank, std::move(*into[i]));
        } else {
          unpack(*into[i]);
        }
      }
    }
  }

  void require_all() {
    const auto lacks = std::find(came_.begin(), came_.end(), false);
    if (lacks != came_.end()) {
      fail("lacks rank " +
           std::to_string(core_.outer_rank(static_cast<int>(lacks - came_.begin()))));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) {
    core_.fail(Code::internal, core_.prefix() + "a message is damaged: it " + why);
  }

  MpiCore& core_;
  Gathered& result_;
  std::vector<bool> came_;
  std::vector<GatherEntry> direct_;
};

}  // namespace

Gathered mpi_gather(MpiCore& core, std::span<const std::byte> bytes, int root) {
  core.enter(Verb::gather);
  check_root(core, root);
  const int size = core.size();
  const RankTree tree = size < core.options().tree_from ? RankTree::flat(core.rank(), size, root)
                                                        : RankTree(core.rank(), size, root);
  if (core.rank() != root) {
    send_to_parent(core, tree, bytes, root);
    return {};
  }
  Gathered result(static_cast<std::size_t>(size));
  GatherRoot all(core, result);
  all.set(root, {bytes.begin(), bytes.end()});
  receive_packs(core, tree.children,
                [&](const std::vector<std::byte>& theirs) { all.unpack(theirs); });
  all.receive_direct();
  all.require_all();
  return result;
}

}  // namespace sluice::exec
