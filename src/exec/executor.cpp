#include "exec/executor.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include "codec/checksum.hpp"
#include "model/convert.hpp"

namespace sluice::exec {

namespace {

using layout::Placement;
using layout::Portion;

/// What fits the cache of a core besides its copy.
constexpr std::uint64_t slice_bytes = 256 << 10;

class Emitter {
 public:
  Emitter(const Work& work, Buffers& buffers) : work_(work), buffers_(buffers) {}

  void emit(const Portion& portion, Sink& sink) {
    const model::Block& block = work_.blocks[portion.block];
    const model::Definition& definition = work_.definitions[block.variable];
    const model::Box& part = portion.piece.box;
    const std::span<const std::byte> bytes = packed(block, definition, part);
    const bool is_checked = work_.commit->checksums.has_value();
    checksum_.restart();
    // Runs come in packed order, so the checksum is taken on the way, slice by slice: the copy that
    // follows then finds the bytes in the cache.
    layout::for_each_run(placement_of(block.variable), portion.piece, part,
                         [&](std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
                           for (std::uint64_t done = 0; done < length; done += slice_bytes) {
                             const auto slice =
                                 bytes.subspan(at + done, std::min(slice_bytes, length - done));
                             if (is_checked) {
                               checksum_.update(slice);
                             }
                             sink.write(offset + done, slice);
                           }
                         });
    if (is_checked) {
      add_record(block.variable, part, checksum_.value());
    }
  }

  /// The words of all portions so far, to their place among those of all ranks.
  void emit_checksums(Sink& sink) {
    if (words_.empty()) {
      return;
    }
    const Placement& placement = *work_.commit->checksums;
    const model::Box box{{work_.first_word}, {words_.size()}};
    const auto bytes = std::as_bytes(std::span(words_));
    for (const layout::Piece& piece : layout::cut(placement, box)) {
      layout::for_each_run(placement, piece, box,
                           [&](std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
                             sink.write(offset, bytes.subspan(at, length));
                           });
    }
  }

 private:
  const Placement& placement_of(std::uint32_t variable) const {
    for (const Placement& placement : work_.commit->placements) {
      if (placement.variable() == variable) {
        return placement;
      }
    }
    throw Error(Code::internal, work_.definitions[variable].name + ": not part of this commit");
  }

  std::span<const std::byte> packed(const model::Block& block, const model::Definition& definition,
                                    const model::Box& part) {
    const std::size_t size = part.volume() * definition.type.bytes;
    if (model::is_dense(block.memory, block.box, part, definition.type)) {
      return {model::address_of(block.memory, block.box, part), size};
    }
    if (buffers_.scratch.size() < size) {
      buffers_.scratch.resize(size);
    }
    const std::span<std::byte> out(buffers_.scratch.data(), size);
    try {
      model::pack(block.memory, block.box, part, definition.type, block.allow_overflow, out);
    } catch (const Error& e) {
      throw Error(e.code(), "put " + definition.name + ": " + e.what());
    }
    return out;
  }

  void add_record(std::uint32_t variable, const model::Box& part, std::uint64_t checksum) {
    words_.push_back(work_.name_hashes[variable]);
    words_.push_back(static_cast<std::uint64_t>(part.start.rank()));
    words_.insert(words_.end(), part.start.begin(), part.start.end());
    words_.insert(words_.end(), part.count.begin(), part.count.end());
    words_.push_back(checksum);
  }

  const Work& work_;
  Buffers& buffers_;
  codec::Checksum checksum_;
  std::vector<std::uint64_t> words_;
};

}  // namespace

std::uint64_t carry_out(Transport& transport, const plan::Plan& plan, const Work& work,
                        Buffers& buffers) {
  std::exception_ptr failure;
  std::optional<FileSink> file;
  if (work.file != nullptr) {
    file.emplace(*work.file, buffers.writer);
  }
  Emitter emitter(work, buffers);
  for (const plan::Transfer& transfer : plan.transfers) {
    const bool is_last = &transfer == &plan.transfers.back();
    std::optional<RemoteSink> remote;
    if (transfer.writer != transport.rank()) {
      remote.emplace(transport, transfer.writer);
    }
    Sink& sink = remote ? static_cast<Sink&>(*remote) : *file;
    try {
      for (const std::uint32_t index : transfer.portions) {
        emitter.emit(work.portions[index], sink);
      }
      if (is_last) {
        emitter.emit_checksums(sink);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    if (remote) {
      remote->finish();  // also after a failure: the writer waits for the last message
    }
  }
  try {
    take_in_turn(transport, plan.feeders, [&](std::uint64_t offset, auto bytes) {
      if (!failure) {
        file->write(offset, bytes);
      }
    });
    if (file && !failure) {
      file->finish();
    }
  } catch (...) {
    failure = failure ? failure : std::current_exception();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  return file ? file->bytes_written() : 0;
}

}  // namespace sluice::exec
