#include "storage/place.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "storage/calls.hpp"

namespace sluice::storage {

namespace {

constexpr int folder_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// The components of a path. Error permission for "..", which would leave a confined folder.
std::vector<std::string> components_of(const std::string& path, std::size_t from) {
  std::vector<std::string> names;
  std::string_view rest = std::string_view(path).substr(from);
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "..") throw system_error(path, describe(Call::open), EPERM);
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  return names;
}

/// The folder at `place`. `path`: its path, for the message.
int open_folder(const Place& place, const std::string& path) {
  const int folder = ::openat(place.folder(), place.name(), folder_flags);
  if (folder >= 0) return folder;
  const int problem = errno;
  // A file where a folder is expected: nothing exists below it.
  throw system_error(path, describe(Call::open),
                     place.is_link()      ? ELOOP
                     : problem == ENOTDIR ? ENOENT
                                          : problem);
}

void make_one(const Place& place, const std::string& path) {
  if (::mkdirat(place.folder(), place.name(), 0777) != 0 && errno != EEXIST) {
    throw system_error(path, describe(Call::make_folder), errno);
  }
}

/// Opens from the folder `top` down to the parent of the last of `names`. With `makes`, missing
/// folders before the last are created.
Place walk(const std::string& top, const std::vector<std::string>& names, bool makes) {
  Place place(AT_FDCWD, top);
  std::string path = top;
  for (const std::string& name : names) {
    place = Place(open_folder(place, path), name, true);
    path += "/" + name;
    if (makes && &name != &names.back()) make_one(place, path);
  }
  return place;
}

}  // namespace

Place::Place(Place&& other) noexcept
    : folder_(std::exchange(other.folder_, AT_FDCWD)),
      name_(std::move(other.name_)),
      is_confined_(other.is_confined_) {}

Place& Place::operator=(Place&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(name_, other.name_);
  std::swap(is_confined_, other.is_confined_);
  return *this;
}

Place::~Place() {
  if (folder_ >= 0) ::close(folder_);
}

bool Place::is_link() const {
  struct stat status = {};
  return ::fstatat(folder_, name(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

namespace {

constexpr int most_links = 40;  // the limit of the kernel

/// Does the text of a link name its target? Not for the links in /proc to open files.
bool is_same(const std::string& link, const std::string& target) {
  struct stat one = {};
  struct stat other = {};
  if (::stat(link.c_str(), &one) != 0) return true;  // a dangling link
  return ::stat(target.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// In the current folder, where it is relative. ".." stays, because what it means depends on links.
std::string in_full(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::current_path(problem);
  if (problem) throw system_error(path, "finding the current folder", problem.value());
  std::string_view below = path;
  while (below.starts_with("./")) below.remove_prefix(2);
  return (folder / below).string();
}

/// Resolves links in the folders too, so that ".." in it means what the kernel takes it for.
std::string from_the_root(const std::string& path, const std::string& link) {
  std::error_code problem;
  auto whole = std::filesystem::canonical(path, problem);
  if (problem) {
    const std::filesystem::path name = std::filesystem::path(path).filename();
    whole = std::filesystem::canonical(folder_of(path), problem) / name;
  }
  if (problem) {
    throw system_error(link, "following the symbolic link to " + path, problem.value());
  }
  return whole.string();
}

}  // namespace

std::string follow_links(const std::string& path) {
  std::string at = without_end_slashes(path);
  for (int links = 0; links < most_links; ++links) {
    std::error_code problem;
    const std::filesystem::path target = std::filesystem::read_symlink(at, problem);
    if (problem)
      return links == 0 ? in_full(at) : from_the_root(at, path);  // not a link, or nothing there
    const std::string next =
        without_end_slashes((std::filesystem::path(folder_of(at)) / target).string());
    if (!is_same(at, next)) return in_full(at);
    at = next;
  }
  throw Error(Code::permission, path +
                                    ": is a symbolic link in a loop, or in a chain of more than " +
                                    std::to_string(most_links) + ": correct the links");
}

void Confined::add(const std::string& top) {
  const std::lock_guard lock(mutex_);
  tops_.insert(top);
}

std::string Confined::top_of(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  if (tops_.empty()) return {};
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (const auto top = tops_.find(path.substr(0, slash)); top != tops_.end()) return *top;
  }
  return {};
}

Place Confined::place_of(const std::string& path) const {
  const std::string top = top_of(path);
  if (top.empty()) return {AT_FDCWD, path};
  return walk(top, components_of(path, top.size()), false);
}

bool Confined::make_folders(const std::string& path) const {
  const std::string top = top_of(path);
  if (top.empty()) return false;
  const Place place = walk(top, components_of(path, top.size()), true);
  make_one(place, path);
  const Place there(open_folder(place, path), "");  // a folder, not a link to one
  return true;
}

}  // namespace sluice::storage
