#include "exec/write/emitter.hpp"

#include <algorithm>

#include "layout/rounding.hpp"
#include "model/convert.hpp"

namespace sluice::exec {

using layout::Placement;
using layout::Portion;

namespace {

/// Fits the cache of a core together with its copy.
constexpr std::uint64_t slice_bytes = 256 << 10;

}  // namespace

Packer::Packer(const Work& work) : work_(work) {
  roundings_.reserve(work.definitions.size());
  for (const model::Definition& definition : work.definitions) {
    roundings_.push_back(layout::rounding_of(definition));
  }
  if (work.commit == nullptr) {
    return;
  }
  placements_.resize(work.definitions.size());
  for (const Placement& placement : work.commit->placements) {
    placements_[placement.variable()] = &placement;
  }
}

const model::Definition& Packer::definition_of(const Portion& portion) const {
  return work_.definitions[work_.blocks[portion.block].variable];
}

const Placement& Packer::placement_of(const Portion& portion) const {
  const std::uint32_t variable = work_.blocks[portion.block].variable;
  if (variable >= placements_.size() || placements_[variable] == nullptr) {
    throw Error(Code::internal, work_.definitions[variable].name + ": not part of this commit");
  }
  return *placements_[variable];
}

bool Packer::is_turned(const Portion& portion) const {
  const std::uint32_t variable = work_.blocks[portion.block].variable;
  return variable < placements_.size() && placements_[variable] != nullptr &&
         placements_[variable]->big_endian();
}

std::uint64_t Packer::bytes(const Portion& portion) const {
  return portion.piece.box.volume() * definition_of(portion).type.bytes;
}

std::optional<std::span<const std::byte>> Packer::in_place(const Portion& portion) const {
  const model::Block& block = work_.blocks[portion.block];
  const model::Box& part = portion.piece.box;
  const bool is_dense = block.source == nullptr && !is_turned(portion) &&
                        !roundings_[block.variable] &&
                        model::is_dense(block.memory, block.box, part, definition_of(portion).type);
  if (!is_dense) {
    return std::nullopt;
  }
  return std::span(model::address_of(block.memory, block.box, part), bytes(portion));
}

void Packer::pack(const Portion& portion, std::span<std::byte> out) const {
  const model::Block& block = work_.blocks[portion.block];
  const model::Definition& definition = definition_of(portion);
  const model::Box& part = portion.piece.box;
  try {
    if (block.source != nullptr) {
      block.source->read(part, out);
    } else {
      model::pack(block.memory, block.box, part, definition.type, block.allow_overflow, out);
    }
    if (const auto& rounding = roundings_[block.variable]) {
      rounding->apply(definition.type.bytes, definition.fill, out.first(bytes(portion)));
    }
    if (is_turned(portion)) {
      model::swap_bytes(out.first(bytes(portion)), definition.type);
    }
  } catch (const Error& e) {
    throw Error(e.code(), "put " + definition.name + ": " + e.what());
  }
}

void RecordWords::add(const Portion& portion, std::uint64_t checksum) {
  if (!layout::keeps_values(work_.definitions[work_.blocks[portion.block].variable])) {
    return;
  }
  const std::uint64_t name_hash = work_.name_hashes[work_.blocks[portion.block].variable];
  ChecksumRecord{name_hash, portion.piece.box, checksum, work_.rank}.append_to(words_);
}

void Emitter::emit(const Portion& portion, Sink& sink) {
  std::span<const std::byte> bytes;
  if (const auto in_place = packer_.in_place(portion)) {
    bytes = *in_place;
  } else {
    const std::uint64_t size = packer_.bytes(portion);
    if (buffers_.scratch.size() < size) {
      buffers_.scratch.resize(size);
    }
    const std::span<std::byte> out(buffers_.scratch.data(), size);
    packer_.pack(portion, out);
    bytes = out;
  }
  checksum_.restart();
  // Runs come in packed order, so the checksum is computed slice by slice: the copy that follows
  // then finds the bytes in the cache.
  layout::for_each_run(packer_.placement_of(portion), portion.piece, portion.piece.box,
                       [&](std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
                         for (std::uint64_t done = 0; done < length; done += slice_bytes) {
                           const auto slice =
                               bytes.subspan(at + done, std::min(slice_bytes, length - done));
                           if (records_.wanted()) {
                             checksum_.update(slice);
                           }
                           sink.write(offset + done, slice);
                         }
                       });
  if (records_.wanted()) {
    records_.add(portion, checksum_.value());
  }
}

void Emitter::emit(const plan::Transfer& transfer, Sink& sink) {
  for (const std::uint32_t index : transfer.portions) {
    emit(work_.portions[index], sink);
  }
}

void Emitter::emit_records(Sink& sink) {
  if (records_.bytes().empty()) {
    return;
  }
  const Placement& placement = *work_.commit->checksums;
  for (const layout::Piece& piece : layout::cut(placement, records_.box())) {
    layout::for_each_run(placement, piece, records_.box(),
                         [&](std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
                           sink.write(offset, records_.bytes().subspan(at, length));
                         });
  }
}

}  // namespace sluice::exec
