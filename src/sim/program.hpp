// What every rank of a model machine does: a list of operations for each rank.
//
// Made from a plan by compile(), or by hand for codes that have no plan.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace sluice::sim {

enum class Do : std::uint8_t {
  compute,   ///< for this long
  copy,      ///< copies bytes within the node's memory
  begin,     ///< starts the clock of this rank
  send,      ///< returns at once; held back until the receiver has admitted the round
  admit,     ///< admits messages of rounds up to this one
  receive,   ///< waits until this many more bytes have arrived
  sent,      ///< waits until all that was sent has arrived
  barrier,   ///< waits for all ranks of a group
  open,      ///< opens a file, at the metadata server
  write,     ///< into the node's cache, or directly to the targets
  submit,    ///< a write by the rank's thread; waits if the thread has too much
  finish,    ///< waits until the thread has nothing left
  sync,      ///< the same, and until all of it is on stable storage
  read,      ///< waits until it is there
  returned,  ///< returns to the caller; the program continues in the background
};

struct Op {
  Do what = Do::compute;
  bool is_direct = false;     ///< write, submit
  bool is_scattered = false;  ///< write, submit: others have bytes in every stripe of it
  std::uint32_t other = 0;    ///< rank, group or file
  std::uint32_t count = 1;    ///< requests that a piece of a write is made of; round of a send
  std::uint64_t offset = 0;   ///< in a file; compute: seconds, as bits; submit: `most` below
  std::uint64_t bytes = 0;
};

using Program = std::vector<Op>;

/// The programs of all ranks, and what they have in common.
struct Programs {
  int ranks = 0;
  int nodes = 1;  ///< equal blocks of consecutive ranks
  std::vector<Program> of_rank;
  std::vector<std::uint32_t> group_sizes;  ///< of `barrier`
  std::uint64_t held_bytes = 0;            ///< limit of what may wait for a rank's thread
  std::uint32_t stripes = 0;               ///< of every file; 0: the machine's
  std::uint64_t stripe_bytes = 0;          ///< the same

  Programs() = default;
  Programs(int rank_count, int node_count)
      : ranks(rank_count),
        nodes(node_count),
        of_rank(static_cast<std::size_t>(rank_count)),
        group_sizes{static_cast<std::uint32_t>(rank_count)} {}
  Program& operator[](int rank) { return of_rank[static_cast<std::size_t>(rank)]; }
  /// Group 0 is all ranks.
  std::uint32_t add_group(std::uint32_t size) {
    group_sizes.push_back(size);
    return static_cast<std::uint32_t>(group_sizes.size() - 1);
  }
  int node_of(int rank) const {
    return static_cast<int>(static_cast<std::int64_t>(rank) * nodes / ranks);
  }
};

/// Group of `barrier`: all ranks.
inline constexpr std::uint32_t everybody = 0;
/// Round of a message that is never held back.
inline constexpr std::uint32_t at_once = 0;

inline Op compute(double seconds) {
  return {Do::compute, false, false, 0, 1, std::bit_cast<std::uint64_t>(seconds), 0};
}
inline Op copy(std::uint64_t bytes) { return {Do::copy, false, false, 0, 1, 0, bytes}; }
inline Op begin() { return {Do::begin}; }
inline Op send(int to, std::uint64_t bytes, std::uint32_t round = at_once) {
  return {Do::send, false, false, static_cast<std::uint32_t>(to), round, 0, bytes};
}
inline Op admit(std::uint32_t round) { return {Do::admit, false, false, 0, round}; }
inline Op receive(std::uint64_t bytes) { return {Do::receive, false, false, 0, 1, 0, bytes}; }
inline Op sent() { return {Do::sent}; }
inline Op barrier(std::uint32_t group) { return {Do::barrier, false, false, group}; }
inline Op open(std::uint32_t file) { return {Do::open, false, false, file}; }
inline Op write(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes,
                bool is_direct = false) {
  return {Do::write, is_direct, false, file, 1, offset, bytes};
}
inline Op submit(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes,
                 bool is_direct = false) {
  return {Do::submit, is_direct, false, file, 1, offset, bytes};
}
inline Op read(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes) {
  return {Do::read, false, false, file, 1, offset, bytes};
}
inline Op finish() { return {Do::finish}; }
inline Op sync() { return {Do::sync}; }
inline Op returned() { return {Do::returned}; }

}  // namespace sluice::sim
