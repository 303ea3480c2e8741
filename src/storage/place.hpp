// How a system call refers to a path: relative to an open folder, or as it is.
//
// Invariant: below a confined folder every component of a path is opened relative to the one before
// it without following a symbolic link, so that a user with write access there cannot redirect a
// call, even between a check and the call.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace sluice::storage {

/// A name in a folder, as the calls ending in `at` take it.
class Place {
 public:
  /// `folder`: a descriptor, which the Place closes, or AT_FDCWD.
  Place(int folder, std::string name, bool is_confined = false)
      : folder_(folder), name_(std::move(name)), is_confined_(is_confined) {}
  Place(Place&& other) noexcept;
  Place& operator=(Place&& other) noexcept;
  ~Place();

  int folder() const noexcept { return folder_; }
  const char* name() const noexcept { return name_.c_str(); }
  bool is_link() const;
  /// Is it below a confined folder?
  bool is_confined() const noexcept { return is_confined_; }

 private:
  int folder_;
  std::string name_;
  bool is_confined_;
};

/// Storage::real_path() for the files of the operating system.
std::string follow_links(const std::string& path);

/// The folders below which no symbolic link is followed. Thread-safe.
class Confined {
 public:
  void add(const std::string& top);
  /// Error permission if a component is a link; not_found and others as open() would report them.
  Place place_of(const std::string& path) const;
  /// Creates a folder below a confined one, with its parents; false: `path` is below none.
  bool make_folders(const std::string& path) const;

 private:
  /// The outermost confined folder that contains `path`, without trailing slash; empty: none.
  std::string top_of(const std::string& path) const;

  mutable std::mutex mutex_;
  std::set<std::string> tops_;
};

}  // namespace sluice::storage
