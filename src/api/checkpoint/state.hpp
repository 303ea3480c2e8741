// What is registered for a checkpoint, and how it becomes variables of a file and comes back.
//
// Invariants: every rank registers the same names, types and shapes in the same order, which the
// file compares when something is committed; pointers and places are a rank's own; memory of the
// object that a message which was given up may still use is neither used again nor freed.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "exec/transport/given_up.hpp"
#include "layout/formats/formats.hpp"
#include "sluice/checkpoint.hpp"

namespace sluice::detail {

/// Memory of a text: of the two one is not null.
struct TextMemory {
  std::string* text = nullptr;
  char* chars = nullptr;
};

/// Where a registered thing lies in memory, and which part of it is this rank's.
struct ByPlace {
  void* data = nullptr;
  Selection mine = {};
};
struct ByRows {
  void* data = nullptr;
  std::vector<std::uint64_t> ids = {};
};
struct SingleValue {
  void* value = nullptr;
};
struct OfText {
  TextMemory memory = {};
  std::vector<char> padded = {};  ///< as it is in the file, while it is written or read
};
struct OfRank {
  void* data = nullptr;
  OnOtherRanks otherwise = OnOtherRanks::refuse;
  std::vector<std::byte> read = {};  ///< until the whole checkpoint is found good
};

struct Registered {
  std::string name;
  Type type;
  Shape shape;  ///< of OfRank: the bytes of one rank
  std::variant<ByPlace, ByRows, SingleValue, OfText, OfRank> memory;
  std::exception_ptr wrong = {};  ///< with its memory: every save and restore fails with it
};

class State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { keep_used(); }

  /// Of the file; before add().
  void keep_in(const layout::Format& format) { checked_.emplace(format); }
  /// Local. Error exists where the name has another type, shape or kind, bad_name where it is none
  /// or the library's own, and what the format says to what it cannot hold. `is_saved`: there are
  /// checkpoints without it; wrong_state if it is new.
  void add(Registered thing, bool is_saved);
  /// Local. `name` was registered again with memory that is refused for `why`: every save and
  /// restore fails with it until a registration is good. Nothing where the name is new.
  void spoil(const std::string& name, const std::exception_ptr& why);
  bool empty() const noexcept { return things_.empty(); }

  /// Local: the variables of the file, in order.
  std::vector<Variable> define(File& file, int ranks) const;
  /// Local. `variables`: of define().
  void put(Step& step, const std::vector<Variable>& variables, int rank);
  /// What the file's steps hold and nobody has registered: the first such name, in quotes; empty:
  /// nothing.
  std::string left_out(const File& file) const;
  /// Error wrong_state where there is such a name: a save would replace checkpoints that have it.
  void require_all_of(const File& file, const std::string& path) const;
  /// Is something registered that the file does not hold?
  bool has_more(const File& file) const;

  /// Error where the file cannot hold what is registered: not_found, type_mismatch,
  /// invalid_argument. The same on every rank.
  void check(const File& in) const;
  /// Local: the variables of a checkpoint that `writers` ranks wrote; none for bytes of others.
  /// Error invalid_argument where bytes have another size.
  std::vector<Variable> find(const File& in, int ranks, int writers) const;
  /// Local: notes everything that is read by place. `variables`: of find().
  void defer_gets(File& in, const std::vector<Variable>& variables, std::uint64_t step, int rank,
                  bool same_ranks);
  /// Collective: reads what was noted, and the rows.
  void finish_gets(File& in, const std::vector<Variable>& variables, std::uint64_t step);
  /// Names of the bytes that stay as they are where `writers` ranks saved them. Error unsupported
  /// where one of them must not.
  std::vector<std::string> kept(const std::string& path, int ranks, int writers) const;

 private:
  void keep_used() noexcept;
  void forget_read() noexcept;
  std::vector<Registered>::iterator known(const std::string& name);

  std::vector<Registered> things_;
  std::optional<layout::Definitions> checked_;
  exec::MessageMark mark_;  ///< of before the put or the gets that use the memory of `things_`
};

}  // namespace sluice::detail
