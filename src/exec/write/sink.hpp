// The destination of the bytes of a transfer: a file, or another rank.
//
// Invariants: a sink holds at most its staging of bytes; runs come in any order, ascending and
// adjacent ones are gathered into large writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"
#include "exec/write/write_behind.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// On return everything given so far has left (file: passed to the operating system; rank: sent).
  virtual void finish() = 0;
};

/// Gathers adjacent runs and writes them to a file in large pieces that end at aligned offsets.
class FileSink final : public Sink {
 public:
  FileSink(storage::File& file, WriteBehind& writer);
  ~FileSink() override;
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void finish() override;
  std::uint64_t bytes_written() const noexcept { return bytes_written_; }

 private:
  void flush();

  storage::File& file_;
  WriteBehind& writer_;
  std::size_t alignment_;
  std::size_t room_;  ///< of a buffer: no more is packed while another one is being written
  Staging* staging_ = nullptr;
  std::uint64_t base_ = 0;  ///< file offset of the staging's first byte
  std::size_t begin_ = 0;   ///< held bytes are [begin_, end_) of the staging
  std::size_t end_ = 0;
  std::uint64_t bytes_written_ = 0;
};

/// Sends runs to a writer that serves its senders in turn. Waits for its turn at the first message.
class RemoteSink final : public Sink {
 public:
  RemoteSink(Transport& transport, int writer);
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  void send(bool last);

  Transport& transport_;
  int writer_;
  bool has_turn_ = false;
  struct Run {
    std::uint64_t offset;
    std::uint64_t length;
  };
  std::vector<Run> runs_;
  std::vector<std::byte> payload_;
};

/// The writer's side of RemoteSink: receives everything that `senders` send, one after the other,
/// and calls `visit(offset, bytes)`. All of it is received even if visit throws; the first such
/// error is thrown at the end.
void take_in_turn(Transport& transport, std::span<const int> senders,
                  const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit);

}  // namespace sluice::exec
