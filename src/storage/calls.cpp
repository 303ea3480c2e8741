#include "storage/calls.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <string_view>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace sluice::storage {

namespace {

/// The remedy for the user; empty if there is no general one.
const char* remedy(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "check that the file and its folder exist";
    case EEXIST:
      return "choose another name or remove the old file";
    case EROFS:
      return "choose a folder that can be written";
    case ENOSPC:
      return "free space and repeat the step";
    case EDQUOT:
      return "free quota and repeat the step";
    case EFBIG:
      return "raise the limit of file size (ulimit -f) or split the output";
    case EIO:
      return "check the disk (kernel log); data that was not synced may be lost";
    case ESTALE:
      return "the file was replaced or removed on the server: open it again";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case EISDIR:
      return "it is a folder: name a file (a Zarr store is a folder that holds zarr.json)";
    case ENOTDIR:
      return "check the path";
    case ELOOP:
      return "it is a symbolic link, which is not followed: remove it";
    case ESPIPE:
    case ENXIO:
      return "it is a pipe, a socket or a device: name a file";
    default:
      return "";
  }
}

/// For the user to whom `path` was denied: which folder it is in, and what he may not do there.
std::string permission_remedy(const std::string& path) {
  const std::string folder = folder_of(path);
  const bool may_write = ::access(folder.c_str(), W_OK | X_OK) == 0;
  return "check the permissions of the file and its folder " + folder +
         (may_write ? "" : ", in which this user may not create, rename or remove files");
}

/// No component of it is empty (but the first), "." or "..".
bool is_normal(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if ((component.empty() && begin != 0) || component == "." || component == "..") {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

}  // namespace

const char* call_name(Call call) noexcept {
  switch (call) {
    case Call::create:
      return "create";
    case Call::open:
      return "open";
    case Call::write:
      return "write";
    case Call::read:
      return "read";
    case Call::preallocate:
      return "preallocate";
    case Call::sync:
      return "sync";
    case Call::size:
      return "size";
    case Call::resize:
      return "resize";
    case Call::set_modified:
      return "set_modified";
    case Call::modified:
      return "modified";
    case Call::exists:
      return "exists";
    case Call::rename:
      return "rename";
    case Call::remove:
      return "remove";
    case Call::sync_directory:
      return "sync_directory";
    case Call::make_folder:
      return "make_folder";
    case Call::remove_folder:
      return "remove_folder";
    case Call::list:
      return "list";
  }
  return "unknown";
}

std::string describe(Call call, std::uint64_t bytes, std::uint64_t offset) {
  const std::string extent =
      " of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset);
  switch (call) {
    case Call::write:
    case Call::read:
      return call_name(call) + extent;
    case Call::preallocate:
      return "reservation" + extent;
    case Call::resize:
      return "resizing to " + std::to_string(bytes) + " bytes";
    case Call::size:
      return "reading the size";
    case Call::set_modified:
      return "setting the modification time";
    case Call::modified:
      return "reading the modification time";
    case Call::exists:
      return "look-up";
    case Call::sync_directory:
      return "sync of its folder";
    case Call::make_folder:
      return "creating the folder";
    case Call::remove_folder:
      return "removing the folder";
    default:
      return call_name(call);
  }
}

Code code_of_errno(int error_number) noexcept {
  switch (error_number) {
    case ENOENT:
      return Code::not_found;
    case EEXIST:
      return Code::exists;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
      return Code::permission;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::no_space;
    default:
      return Code::io;
  }
}

Error system_error(const std::string& path, const std::string& what, int error_number) {
  std::string text =
      path + ": " + what + " failed: " + std::generic_category().message(error_number);
  const bool is_denied = error_number == EACCES || error_number == EPERM;
  const std::string help = is_denied ? permission_remedy(path) : remedy(error_number);
  if (!help.empty()) {
    text += ": " + help;
  }
  return Error(code_of_errno(error_number), text);
}

void check_range(const std::string& path, Call call, std::uint64_t bytes, std::uint64_t offset) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (offset <= largest && bytes <= largest - offset) return;
  throw Error(Code::invalid_argument,
              path + ": " + describe(call, bytes, offset) + " ends beyond the largest file size");
}

std::string normal_path(const std::string& path) {
  if (is_normal(path)) {
    return path;  // as nearly always; a std::filesystem::path costs several allocations
  }
  return std::filesystem::path(path).lexically_normal().string();
}

std::string absolute_path(const std::string& path) {
  return normal_path(std::filesystem::absolute(path).string());
}

std::uint64_t open_files_limit() {
  constexpr std::uint64_t unknown = 256;
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : unknown;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace sluice::storage
