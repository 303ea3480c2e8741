#include "nodes.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace sluice::contended {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Nodes::Nodes(const std::string& backing, Physics& physics) : physics_(physics) {
  root_.place = Descriptor(::open(backing.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root_.place.get() < 0) {
    throw std::system_error(errno, std::generic_category(), backing);
  }
}

Node* Nodes::look_up(const Node& folder, const char* name, struct stat& status, int& error) {
  Descriptor place(::openat(folder.place.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (place.get() < 0 || ::fstat(place.get(), &status) != 0) {
    error = errno;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[{status.st_dev, status.st_ino}];
  if (node.lookups++ == 0) {
    node.place = std::move(place);
    node.striped = physics_.make_file();
  }
  error = 0;
  return &node;
}

void Nodes::forget(Node& node, std::uint64_t lookups) {
  if (&node == &root_) return;
  const std::lock_guard lock(mutex_);
  node.lookups -= lookups;
  if (node.lookups > 0) return;
  struct stat status = {};
  if (::fstat(node.place.get(), &status) == 0) nodes_.erase({status.st_dev, status.st_ino});
}

}  // namespace sluice::contended
