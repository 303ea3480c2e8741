// Memory that the processes of one node share.
//
// Invariants: its space is reserved when it is made, so that a full memory file system is an error
// then and never a signal later; where the kernel gives huge pages (copies into them and direct
// writes from them cost less) every page is touched once, at the start; small pages each process
// maps as it comes to them, for most see a part of the memory only, and mapping all of it in every
// process of a node takes longer than filling it; it has no name in any folder, so nothing is left
// behind by a process that dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::storage {

class SharedMemory {
 public:
  /// How other processes of the node find it.
  struct Key {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::uint64_t nonce = 0;
    std::uint64_t bytes = 0;
  };

  /// Reads as zeros. Error no_space where there is no room.
  static std::unique_ptr<SharedMemory> make(std::uint64_t bytes);
  /// The same memory. The maker must still have it. Error io where it cannot be reached.
  static std::unique_ptr<SharedMemory> attach(const Key& key);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const Key& key() const noexcept { return key_; }
  /// Aligned to pages.
  std::byte* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return key_.bytes; }

 private:
  SharedMemory(int descriptor, std::uint64_t bytes);
  void map(std::uint64_t mapped_bytes);
  void populate_huge();

  int descriptor_;
  Key key_;
  std::byte* mapping_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace sluice::storage
