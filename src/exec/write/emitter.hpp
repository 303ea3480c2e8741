// From portions to packed bytes and checksum records: the first step of every flow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/checksum.hpp"
#include "codec/quantise.hpp"
#include "exec/write/sink.hpp"
#include "exec/write/work.hpp"

namespace sluice::exec {

/// Packs the bytes of portions; holds no bytes itself.
class Packer {
 public:
  /// The commit of `work` is known already, or no placement is used.
  explicit Packer(const Work& work);

  const layout::Placement& placement_of(const layout::Portion& portion) const;
  std::uint64_t bytes(const layout::Portion& portion) const;
  /// The bytes in the caller's memory, if they are there as the file needs them.
  std::optional<std::span<const std::byte>> in_place(const layout::Portion& portion) const;
  /// Packs into `out` (bytes() long). Errors name the variable.
  void pack(const layout::Portion& portion, std::span<std::byte> out) const;

 private:
  /// Is the byte order of its numbers in the file the opposite one?
  bool is_turned(const layout::Portion& portion) const;
  const model::Definition& definition_of(const layout::Portion& portion) const;
  const Work& work_;
  std::vector<const layout::Placement*> placements_;  ///< by variable; nullptr: not in this commit
  std::vector<std::optional<codec::Rounding>> roundings_;  ///< by variable
};

/// The checksum records of one rank, as words.
class RecordWords {
 public:
  explicit RecordWords(const Work& work)
      : work_(work), words_(work.earlier_words.begin(), work.earlier_words.end()) {}

  bool wanted() const { return work_.wants_records(); }
  void add(const layout::Portion& portion, std::uint64_t checksum);
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }
  const std::vector<std::uint64_t>& words() const { return words_; }
  /// The place of the words among those of all ranks.
  model::Box box() const { return {{work_.first_word}, {words_.size()}}; }

 private:
  const Work& work_;
  std::vector<std::uint64_t> words_;
};

/// Writes portions to sinks, and at the end their records.
class Emitter {
 public:
  Emitter(const Work& work, Buffers& buffers)
      : work_(work), buffers_(buffers), packer_(work), records_(work) {}

  void emit(const plan::Transfer& transfer, Sink& sink);
  /// The records of everything emitted.
  void emit_records(Sink& sink);

 private:
  void emit(const layout::Portion& portion, Sink& sink);

  const Work& work_;
  Buffers& buffers_;
  Packer packer_;
  RecordWords records_;
  codec::Checksum checksum_;
};

}  // namespace sluice::exec
