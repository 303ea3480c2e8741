// Getting selections by address, checked where the file has checksums; through rank 0 where libhdf5
// must decode. Where a get fails, the caller's memory may hold anything.
#include <algorithm>

#include "codec/checksum.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/tags.hpp"
#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// Where a part of `box` belongs, if it is one run of the caller's memory and of the file's type,
/// so that it can be read there at once; empty otherwise.
std::span<std::byte> place_of(const Type& type, const Box& box, const Box& part,
                              const model::Memory& memory) {
  const model::ConstMemory as_it_is{memory.data, memory.type, memory.shape, memory.start};
  if (!model::is_dense(as_it_is, box, part, type)) {
    return {};
  }
  const std::ptrdiff_t at = model::address_of(as_it_is, box, part) - memory.data;
  return {memory.data + at, part.volume() * type.bytes};
}

}  // namespace

std::exception_ptr Input::naming_call(const std::string& call) {
  try {
    throw;
  } catch (const Error& e) {
    if (e.code() != Code::overflow) {
      return std::current_exception();
    }
    return std::make_exception_ptr(Error(e.code(), call + ": " + e.what()));
  } catch (...) {
    return std::current_exception();
  }
}

void Input::get_placed(const Located& located, const Box& box, const model::Memory& memory,
                       bool allow_overflow) {
  const model::Definition& d = variables_[located.variable].definition;
  std::vector<std::byte> bytes;
  std::uint64_t covered = 0;
  for (const Record& record : located.records) {
    const auto part = model::intersect(record.box, box);
    covered += part ? part->volume() : 0;
  }
  if (covered < box.volume()) {
    for (const layout::Piece& piece : layout::cut(located.placement, box)) {
      for (const Box& part : layout::split(piece.box, d.type.bytes, layout::portion_bytes)) {
        if (const auto place = place_of(d.type, box, part, memory); !place.empty()) {
          read_located(located, part, place);
          continue;
        }
        bytes.resize(part.volume() * d.type.bytes);
        read_located(located, part, bytes);
        model::unpack(bytes, d.type, box, part, memory, allow_overflow);
      }
    }
  }
  std::vector<std::byte> selected;
  for (const Record& record : located.records) {
    const auto part = model::intersect(record.box, box);
    if (!part) {
      continue;
    }
    const bool is_whole = *part == record.box;
    const auto place = is_whole ? place_of(d.type, box, *part, memory) : std::span<std::byte>{};
    if (!place.empty()) {
      read_located(located, record.box, place);
      if (codec::checksum(std::span<const std::byte>(place)) != record.checksum) {
        refuse_damaged(located, record);
      }
      continue;
    }
    if (!read_record(located, record, bytes)) {
      refuse_damaged(located, record);
    }
    if (is_whole) {
      model::unpack(bytes, d.type, box, *part, memory, allow_overflow);
      continue;
    }
    selected.resize(part->volume() * d.type.bytes);
    model::copy_box(bytes.data(), record.box, selected.data(), *part, *part, d.type.bytes);
    model::unpack(selected, d.type, box, *part, memory, allow_overflow);
  }
}

void Input::check_through_root(std::uint32_t variable, std::uint64_t step,
                               std::span<const Box> wanted) {
  if (!ours_ || !options_.checksum) {
    return;
  }
  std::vector<std::byte> bytes;
  for (const Record& record : records_of(variable, step)) {
    const bool is_wanted = std::any_of(wanted.begin(), wanted.end(), [&](const Box& box) {
      return model::intersect(record.box, box).has_value();
    });
    if (!is_wanted) {
      continue;
    }
    bytes.assign(record.box.volume() * variables_[variable].definition.type.bytes, std::byte{0});
    catalog_->read(catalog_index_[variable], step, record.box, bytes);
    if (codec::checksum(std::span<const std::byte>(bytes)) != record.checksum) {
      refuse_damaged({variable, step, record.box, {}, {}}, record);
    }
  }
}

void Input::get_through_root(std::uint32_t variable, std::uint64_t step, const Box& box,
                             const model::Memory& memory, bool allow_overflow) {
  const model::Definition& d = variables_[variable].definition;
  model::ByteWriter wish;
  wish.put(box);
  const auto wishes = transport_.gather(wish.take(), 0);
  std::exception_ptr failure;
  std::vector<std::byte> bytes;
  auto parts_of = [&](const Box& wanted) {
    return layout::split(wanted, d.type.bytes, layout::portion_bytes);
  };
  auto place = [&](const Box& part) {
    model::unpack(bytes, d.type, box, part, memory, allow_overflow);
  };
  if (transport_.rank() == 0) {
    std::vector<Box> wanted;
    for (const auto& one : wishes) {
      wanted.push_back(model::ByteReader(one).get<Box>());
    }
    failure = exec::failure_of([&] { check_through_root(variable, step, wanted); });
    for (int rank = 0; rank < transport_.size(); ++rank) {
      for (const Box& part : parts_of(wanted[static_cast<std::size_t>(rank)])) {
        bytes.assign(part.volume() * d.type.bytes, std::byte{0});
        try {
          catalog_->read(catalog_index_[variable], step, part, bytes);
          if (rank == 0) {
            place(part);
          }
        } catch (...) {
          failure = std::current_exception();  // the receiver still gets its bytes, to be dropped
        }
        if (rank != 0) {
          transport_.send(rank, exec::read_by_root_tag, bytes);
        }
      }
    }
  } else {
    for (const Box& part : parts_of(box)) {
      bytes.resize(part.volume() * d.type.bytes);
      transport_.receive(0, exec::read_by_root_tag, bytes);
      try {
        place(part);
      } catch (...) {
        failure = std::current_exception();
      }
    }
  }
  exec::agree(transport_, failure);
}

}  // namespace sluice::commit
