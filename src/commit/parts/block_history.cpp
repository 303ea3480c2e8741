#include "commit/parts/block_history.hpp"

#include <algorithm>
#include <exception>
#include <span>

#include "codec/checksum.hpp"
#include "layout/portion.hpp"
#include "model/convert.hpp"

namespace sluice::commit {

using model::Block;
using model::Box;
using model::Definition;

namespace {

constexpr std::uint64_t sampled_places = 64;
constexpr std::uint64_t sampled_bytes = 64;  // of a place, at least an element
/// Of blocks that are not dense in memory: what is packed at a time.
constexpr std::uint64_t packed_bytes = 1 << 20;

template <class Value>
void add(codec::Checksum& sum, const Value& value) {
  sum.update(std::as_bytes(std::span(&value, 1)));
}

void add_place(codec::Checksum& sum, const Block& block) {
  add(sum, block.box.start.rank());
  for (int d = 0; d < block.box.start.rank(); ++d) {
    add(sum, block.box.start[d]);
    add(sum, block.box.count[d]);
  }
}

/// The file bytes of `part`, in the order of the file: of the caller's memory where they are that.
class FileBytes {
 public:
  FileBytes(const Block& block, const Definition& definition)
      : block_(block), definition_(definition) {}

  bool are_in_memory(const Box& part) const {
    return block_.source == nullptr &&
           model::is_dense(block_.memory, block_.box, part, definition_.type);
  }
  std::span<const std::byte> of(const Box& part) {
    const std::size_t size = part.volume() * definition_.type.bytes;
    if (are_in_memory(part)) {
      return {model::address_of(block_.memory, block_.box, part), size};
    }
    packed_.resize(size);
    if (block_.source != nullptr) {
      block_.source->read(part, packed_);
    } else {
      model::pack(block_.memory, block_.box, part, definition_.type, block_.allow_overflow,
                  packed_);
    }
    return packed_;
  }

 private:
  const Block& block_;
  const Definition& definition_;
  std::vector<std::byte> packed_;
};

void add_all(codec::Checksum& sum, const Block& block, const Definition& definition) {
  FileBytes bytes(block, definition);
  if (bytes.are_in_memory(block.box)) {
    sum.update(bytes.of(block.box));
    return;
  }
  layout::for_each_part(block.box, definition.type.bytes, packed_bytes,
                        [&](const Box& part) { sum.update(bytes.of(part)); });
}

/// Some elements of some rows, spread over the block.
void add_sample(codec::Checksum& sum, const Block& block, const Definition& definition) {
  const int rank = block.box.start.rank();
  const std::uint64_t at_once = std::max<std::uint64_t>(1, sampled_bytes / definition.type.bytes);
  const std::uint64_t elements = block.box.volume();
  if (elements <= sampled_places * at_once) {
    add_all(sum, block, definition);
    return;
  }
  FileBytes bytes(block, definition);
  for (std::uint64_t i = 0; i < sampled_places; ++i) {
    std::uint64_t left =
        elements / sampled_places * i + i * (elements % sampled_places) / sampled_places;
    Box part = block.box;
    for (int d = rank; d-- > 0;) {
      const std::uint64_t at = left % block.box.count[d];
      left /= block.box.count[d];
      part.count[d] = d + 1 == rank ? std::min(at_once, block.box.count[d]) : 1;
      part.start[d] = block.box.start[d] + std::min(at, block.box.count[d] - part.count[d]);
    }
    sum.update(bytes.of(part));
  }
}

using Adding = void(codec::Checksum&, const Block&, const Definition&);

std::uint64_t checksum_of(const std::vector<const Block*>& blocks, const Definition& definition,
                          Adding& adding) {
  codec::Checksum sum;
  for (const Block* block : blocks) {
    add_place(sum, *block);
    if (!block->box.empty()) {
      adding(sum, *block, definition);
    }
  }
  return sum.value();
}

}  // namespace

BlockHistory::Seen BlockHistory::next_of(const Seen& before,
                                         const std::vector<const Block*>& blocks,
                                         const Definition& definition, std::int64_t most,
                                         std::int64_t& alike) {
  Seen now;
  now.is_known = true;
  now.sample = checksum_of(blocks, definition, add_sample);
  // What is new, or changes after it stayed for a while, may stay as it is from now on.
  const bool stays = before.is_known && before.sample == now.sample;
  if (stays || !before.is_known || before.commits > 1) {
    now.whole = checksum_of(blocks, definition, add_all);
    alike = stays && before.commits > 0 && before.whole == now.whole ? before.commits : 0;
    now.commits = std::min(most, alike + 1);
  }
  return now;
}

std::vector<std::int64_t> BlockHistory::look(const std::vector<Definition>& definitions,
                                             const FileCommit& commit, std::int64_t most) {
  std::vector<std::int64_t> alike(definitions.size());
  std::vector<std::vector<const Block*>> blocks(definitions.size());
  for (const Block& block : commit.blocks) {
    blocks[block.variable].push_back(&block);
  }
  seen_.resize(definitions.size());
  next_.assign(definitions.size(), {});
  for (std::size_t v = 0; v < definitions.size(); ++v) {
    if (!commit.touched[v] || !definitions[v].stepped || definitions[v].varying) {
      continue;
    }
    try {
      next_[v] = next_of(seen_[v], blocks[v], definitions[v], most, alike[v]);
    } catch (const std::exception&) {
      alike[v] = 0;  // values that its type cannot hold, or no memory: writing them says so
    }
  }
  return alike;
}

}  // namespace sluice::commit
