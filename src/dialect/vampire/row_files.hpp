// Bytes of rows into the files of one snapshot: who makes a file, who writes into it.
//
// Invariants: a file has one maker, which replaces what an older run left; nobody else opens it
// before all files are made; a writer holds three pieces of 4 MiB, which a thread writes while the
// next is packed, and where it gathers one more of at most gather_bytes; what one rank meets is
// thrown on every rank, after all messages have been received.
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

/// Bytes and their place in one of the files; the memory stays the caller's.
struct Extent {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

struct RowFiles {
  std::size_t files = 0;
  std::function<std::string(std::size_t file)> path;
  std::function<int(std::size_t file)> maker;         ///< its rank
  std::function<std::string(std::size_t file)> head;  ///< its first bytes; asked of the maker
  /// Its size, where that is known; 0: it is not. Asked of the maker.
  std::function<std::uint64_t(std::size_t file)> bytes;
  /// The rank that writes this rank's bytes. Ranks with the same writer follow one another, the
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
