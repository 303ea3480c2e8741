// Writes bytes of rows into the files of one snapshot: who creates a file, who writes into it.
//
// Invariants: a file has one creator, which replaces the file of an older run; no other rank opens
// it before all files are created; a writer holds three pieces of 4 MiB, which a thread writes
// while the next is packed, and if it gathers one more of at most gather_bytes; a failure of one
// rank is thrown on every rank, after all messages have been received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::dialect::vampire {

inline constexpr std::size_t gather_bytes = 4 << 20;

/// Bytes and their offset in one of the files; the memory belongs to the caller.
struct Extent {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

struct RowFiles {
  std::size_t files = 0;
  std::function<std::string(std::size_t file)> path;
  std::function<int(std::size_t file)> maker;         ///< its rank
  std::function<std::string(std::size_t file)> head;  ///< its first bytes; set on the creator
  /// Its size, if it is known; else 0. Set on the creator.
  std::function<std::uint64_t(std::size_t file)> bytes;
  /// The rank that writes this rank's bytes. Ranks with the same writer are consecutive, and the
  /// writer is the last of them.
  int writer = 0;
  int first_member = 0;  ///< of the writer: the first rank whose bytes it writes
  bool durable = true;
};

/// Seconds of this rank inside the calls.
struct RowSeconds {
  double write = 0;
  double sync = 0;
};

/// Writes this rank's extents, which ascend. Collective.
RowSeconds write_row_files(exec::Transport& transport, storage::Storage& storage,
                           const RowFiles& files, std::span<const Extent> extents);

}  // namespace sluice::dialect::vampire
