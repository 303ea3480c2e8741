// The private communicators of a communicator of the program: duplicates that one transport after
// another uses, because making one takes longer than all other calls of an open together.
//
// Invariants: a duplicate serves one transport at a time, and a further one only where that is
// agreed on by all ranks: on each the transport before has ended, without a failure. Each use has
// tags of its own, so a message that an earlier use left behind is never received. The duplicates
// are freed with the program's communicator.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "mpi/process.hpp"

namespace sluice::exec {

class MpiChannels;

/// A communicator for one transport: of the tags of this use, the first are its callers', the last
/// those of its collectives (below the highest, that of notices), and those between can be lent.
struct MpiChannel {
  static constexpr int user_tags = 4000;
  static constexpr int internal_tags = 4096;

  mpi::Comm comm;
  /// The tags of this use.
  int first_tag = 0;
  int last_tag = 0;
  std::shared_ptr<MpiChannels> home = nullptr;  ///< null: to be freed by its user
  int slot = -1;
  bool is_lent = false;      ///< to be freed by who lent it, which outlives it
  int lent = 0;              ///< to how many
  bool is_retained = false;  ///< never to be freed

  /// Of a communicator that is used once.
  static MpiChannel alone(mpi::Comm comm);
  /// Tags for another transport of the same ranks; empty: none are left. Never the same again, so
  /// that a message which nobody received is for nobody else. Local.
  std::optional<MpiChannel> lend();
  /// Local. Ends the use; `is_sound`: without a failure.
  void give_back(bool is_sound) noexcept;
};

/// Where the ranks of a communicator are.
struct NodePlace {
  int node = 0;
  int nodes = 1;
};

class MpiChannels : public std::enable_shared_from_this<MpiChannels> {
 public:
  /// Those of `comm`. Local; null if MPI takes no attributes.
  static std::shared_ptr<MpiChannels> of(mpi::Comm comm);

  /// What the ranks must agree on: the maximum over all of them is passed to take().
  static constexpr std::size_t slots = 8;
  using State = std::array<int, 2 * slots + 1>;
  State state() const;
  /// A duplicate that is free on every rank, if there is one.
  std::optional<MpiChannel> take(const State& all);
  /// A new duplicate, in a slot that is empty on every rank; if none is, it stays the caller's.
  MpiChannel add(mpi::Comm made, const State& all);

  /// Known, if a rank asked MPI before; take it only if all ranks know theirs (see places_known).
  std::optional<NodePlace> place() const;
  static bool places_known(const State& all) { return all.back() == 0; }
  void note(NodePlace place);

  /// The program frees the communicator. Frees what is not in use.
  void leave() noexcept;

 private:
  friend struct MpiChannel;
  void give_back(const MpiChannel& channel, bool is_sound) noexcept;

  enum class Use : std::uint8_t { empty, idle, busy, lost };
  struct Slot {
    Use use = Use::empty;
    mpi::Comm comm;
    int uses = 0;
    bool is_retained = false;
  };

  mutable std::mutex mutex_;
  std::array<Slot, slots> slots_;
  std::optional<NodePlace> place_;
  bool has_left_ = false;
};

}  // namespace sluice::exec
