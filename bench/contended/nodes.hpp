// The files that the kernel knows of, each tied to one of the backing folder.
//
// Invariants: a node lives as long as the kernel counts lookups of it; its descriptor (O_PATH)
// keeps the backing inode, so that no other file takes its number meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <utility>

#include "physics.hpp"

namespace sluice::contended {

/// A file descriptor that closes itself; -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Node {
  Descriptor place;  ///< O_PATH
  std::uint64_t lookups = 0;
  std::unique_ptr<StripedFile> striped;

  /// A name for calls that take no O_PATH descriptor.
  std::string path() const { return "/proc/self/fd/" + std::to_string(place.get()); }
};

/// Thread safe. Failures are errno, as values: 0 is success.
class Nodes {
 public:
  /// Throws std::system_error where `backing` cannot be opened.
  Nodes(const std::string& backing, Physics& physics);

  Node& root() { return root_; }
  /// The file `name` in `folder`, its lookups one more; nullptr and `error` where it is not there.
  Node* look_up(const Node& folder, const char* name, struct stat& status, int& error);
  /// Takes back lookups; the node is gone when none is left.
  void forget(Node& node, std::uint64_t lookups);

 private:
  using Key = std::pair<dev_t, ino_t>;

  Physics& physics_;
  std::mutex mutex_;
  Node root_;
  std::map<Key, Node> nodes_;
};

}  // namespace sluice::contended
