// The file pointer that all ranks of a file share.
//
// Invariants: add() is atomic among all ranks of the file. If they are on one node it is a word of
// shared memory; between nodes it is eight bytes of a file beside the file, under a lock, because
// no MPI call moves a word while its owner computes. Also where a rank cannot reach the memory, as
// in a container of its own. The memory is attached at the opening, where the ranks agree on it;
// the file is created at the first use.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "storage/shared_memory.hpp"
#include "storage/storage.hpp"

namespace sluice::mpiio {

/// How the ranks of a file find it.
struct SharedPointerKey {
  storage::SharedMemory::Key memory{};  ///< empty: there is none, and the file is used
  std::uint64_t number = 0;             ///< of the opening: names the file
};

class SharedPointer {
 public:
  ~SharedPointer();
  /// On rank 0: `by_memory` if all ranks are on its node.
  SharedPointerKey make(bool by_memory);
  /// On another rank. False: it cannot reach the memory of that key.
  bool attach(const SharedPointerKey& key) noexcept;
  /// On every rank, including rank 0, with the same key: without memory if not all ranks have it.
  /// `beside`: the path of the file. `owns`: this rank removes it.
  void join(const SharedPointerKey& key, std::shared_ptr<storage::Storage> files,
            const std::string& beside, bool owns);

  /// Adds, and returns the previous value. Fault MPI_ERR_ARG where no int64 holds the sum.
  std::int64_t add(std::int64_t count);
  void set(std::int64_t position);
  /// Resets it to 0, for a new view: on every rank, after all have got there.
  void restart();
  std::int64_t get() { return add(0); }

 private:
  template <class Change>
  std::int64_t change(Change&& change);
  std::int64_t* word(std::uint64_t view) const;

  std::mutex mutex_;
  SharedPointerKey key_;
  std::shared_ptr<storage::Storage> files_;
  std::string path_;  ///< of the file of eight bytes
  bool owns_ = false;
  std::uint64_t view_ = 0;  ///< number of views so far: selects the word
  std::unique_ptr<storage::SharedMemory> memory_;
  std::unique_ptr<storage::File> file_;
};

}  // namespace sluice::mpiio
