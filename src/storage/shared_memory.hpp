// Memory shared by the processes of one node.
//
// Invariants: no process touches bytes that reserve() has not allocated, so that lack of memory is
// an error there and never a signal later; each process maps pages as it needs them, because most
// use a part of the memory only, and mapping all of it in every process of a node takes longer than
// filling it; it has no name in any folder, so nothing is left behind by a process that dies.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::storage {

class SharedMemory {
 public:
  /// How other processes of the node find it, by the descriptor of one that has it.
  struct Key {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::uint64_t nonce = 0;
    std::uint64_t bytes = 0;
  };

  /// Can small parts be reserved just before they are filled? This adds no time, but a refusal
  /// comes late. False if the kernel is too old, or refuses memory although it has some.
  static bool makes_room_in_parts();
  /// Initially zero; to be reserved before use. Error no_space.
  static std::unique_ptr<SharedMemory> make(std::uint64_t bytes);
  /// The same memory. Who gave the key must still have it. Error io where it cannot be reached.
  static std::unique_ptr<SharedMemory> attach(const Key& key);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Allocates bytes [first, last) of data(), which every process may touch from then on; huge
  /// pages where whole ones fit. Several processes may reserve several parts in parallel, which is
  /// faster. Error no_space.
  void reserve(std::uint64_t first, std::uint64_t last);

  static constexpr std::uint64_t huge_page_bytes = 2 << 20;
  /// data() begins so many bytes behind the start of a huge page.
  static constexpr std::uint64_t header_bytes = 4096;
  /// Allocates all of the huge page in which byte `at` lies, as one page, whatever the system's
  /// default for shared memory is: in a fraction of the time that small pages take; contents stay.
  /// False where there is none to be had: then a small page of it was allocated, or nothing.
  /// Several processes and threads may call it, also while others use the memory. Error no_space.
  bool reserve_huge_page(std::uint64_t at);

  /// Of all processes that have the memory, for memory that outlives its use: if nobody uses it,
  /// `users` do from here on, each of which calls leave() once. False: it is used.
  bool claim(std::uint32_t users) noexcept;
  void leave() noexcept;

  const Key& key() const noexcept { return key_; }
  /// Aligned to pages.
  std::byte* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return key_.bytes; }

 private:
  SharedMemory(int descriptor, std::uint64_t bytes);
  void map(std::uint64_t mapped_bytes);
  void make_room(std::uint64_t first, std::uint64_t last);
  std::atomic_ref<std::uint32_t> users() const noexcept;

  int descriptor_;
  std::atomic<bool> is_refused_huge_{false};  ///< for good
  Key key_;
  std::byte* mapping_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace sluice::storage
