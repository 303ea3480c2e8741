// Names and attributes: everything but the data of open files.
#define FUSE_USE_VERSION 312
#include "operations.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

namespace sluice::contended {

namespace {

/// Nothing changes but through the mount, so what the kernel knows stays true.
constexpr double cache_s = 3600;
constexpr const char* striping_name = "user.striping";

fuse_ino_t number_of(Node& node) { return reinterpret_cast<fuse_ino_t>(&node); }

struct stat statistics_status() {
  struct stat status = {};
  status.st_ino = 2;
  status.st_mode = S_IFREG | 0444;
  status.st_nlink = 1;
  return status;
}

/// Attributes as they are shown: programs take the block size for the stripe.
void show_stripe(const FileSystem& system, struct stat& status) {
  status.st_blksize = static_cast<blksize_t>(system.parameters.stripe_bytes);
}

int status_of(fuse_req_t request, fuse_ino_t number, struct stat& status) {
  FileSystem& system = system_of(request);
  const Node& node = node_of(request, number);
  if (&node == &system.statistics) {
    status = statistics_status();
    return 0;
  }
  if (::fstat(node.place.get(), &status) != 0) return errno;
  show_stripe(system, status);
  return 0;
}

void reply_entry(fuse_req_t request, fuse_ino_t folder, const char* name) {
  FileSystem& system = system_of(request);
  fuse_entry_param entry = {};
  entry.attr_timeout = entry.entry_timeout = cache_s;
  if (folder == FUSE_ROOT_ID && std::strcmp(name, statistics_name) == 0) {
    entry.ino = number_of(system.statistics);
    entry.attr = statistics_status();
    fuse_reply_entry(request, &entry);
    return;
  }
  int error = 0;
  Node* node = system.nodes.look_up(node_of(request, folder), name, entry.attr, error);
  if (node == nullptr) {
    fuse_reply_err(request, error);
    return;
  }
  show_stripe(system, entry.attr);
  entry.ino = number_of(*node);
  fuse_reply_entry(request, &entry);
}

void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
  reply_entry(request, folder, name);
}

void forget_one(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
  FileSystem& system = system_of(request);
  Node& node = node_of(request, number);
  if (&node != &system.statistics) system.nodes.forget(node, lookups);
}

void forget(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
  forget_one(request, number, lookups);
  fuse_reply_none(request);
}

void forget_many(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
  for (std::size_t i = 0; i < count; ++i) {
    forget_one(request, forgotten[i].ino, forgotten[i].nlookup);
  }
  fuse_reply_none(request);
}

void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  struct stat status = {};
  const int error = status_of(request, number, status);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_attr(request, &status, cache_s);
  }
}

timespec time_of(int what, int given_bit, int now_bit, const timespec& given) {
  if ((what & now_bit) != 0) return {0, UTIME_NOW};
  if ((what & given_bit) != 0) return given;
  return {0, UTIME_OMIT};
}

int change(const std::string& path, const struct stat& wanted, int what) {
  if ((what & FUSE_SET_ATTR_MODE) != 0 && ::chmod(path.c_str(), wanted.st_mode) != 0) return errno;
  if ((what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    const uid_t user = (what & FUSE_SET_ATTR_UID) != 0 ? wanted.st_uid : static_cast<uid_t>(-1);
    const gid_t group = (what & FUSE_SET_ATTR_GID) != 0 ? wanted.st_gid : static_cast<gid_t>(-1);
    if (::chown(path.c_str(), user, group) != 0) return errno;
  }
  if ((what & FUSE_SET_ATTR_SIZE) != 0 && ::truncate(path.c_str(), wanted.st_size) != 0) {
    return errno;
  }
  const timespec times[2] = {
      time_of(what, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted.st_atim),
      time_of(what, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted.st_mtim)};
  return ::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0 ? 0 : errno;
}

void set_attributes(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int what,
                    fuse_file_info* open_file) {
  FileSystem& system = system_of(request);
  Node& node = node_of(request, number);
  if (&node == &system.statistics) {
    fuse_reply_err(request, EACCES);
    return;
  }
  if ((what & FUSE_SET_ATTR_SIZE) != 0) system.physics.metadata_turn();
  const int error = change(node.path(), *wanted, what);
  if (error != 0) {
    fuse_reply_err(request, error);
    return;
  }
  get_attributes(request, number, open_file);
}

/// Replies with the outcome of a call that changed a name.
void reply_changed(fuse_req_t request, int result) {
  const int error = result == 0 ? 0 : errno;
  system_of(request).physics.metadata_turn();
  fuse_reply_err(request, error);
}

// The kernel makes a file by this call and opens it by another, which takes the turn of both.
void make_file(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode, dev_t) {
  const int place = node_of(request, folder).place.get();
  if (!S_ISREG(mode)) {
    fuse_reply_err(request, EPERM);
    return;
  }
  if (::mknodat(place, name, mode, 0) != 0) {
    fuse_reply_err(request, errno);
    return;
  }
  system_of(request).physics.note_create();
  reply_entry(request, folder, name);
}

void make_folder(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode) {
  system_of(request).physics.metadata_turn();
  if (::mkdirat(node_of(request, folder).place.get(), name, mode) != 0) {
    fuse_reply_err(request, errno);
    return;
  }
  reply_entry(request, folder, name);
}

void unlink_file(fuse_req_t request, fuse_ino_t folder, const char* name) {
  reply_changed(request, ::unlinkat(node_of(request, folder).place.get(), name, 0));
}

void remove_folder(fuse_req_t request, fuse_ino_t folder, const char* name) {
  reply_changed(request, ::unlinkat(node_of(request, folder).place.get(), name, AT_REMOVEDIR));
}

void rename_file(fuse_req_t request, fuse_ino_t folder, const char* name, fuse_ino_t new_folder,
                 const char* new_name, unsigned flags) {
  const int from = node_of(request, folder).place.get();
  const int to = node_of(request, new_folder).place.get();
  reply_changed(request, ::renameat2(from, name, to, new_name, flags));
}

void file_system_status(fuse_req_t request, fuse_ino_t) {
  struct statvfs status = {};
  if (::statvfs(system_of(request).parameters.backing.c_str(), &status) != 0) {
    fuse_reply_err(request, errno);
  } else {
    fuse_reply_statfs(request, &status);
  }
}

/// One attribute of everything, which tells programs how files are striped.
void get_attribute(fuse_req_t request, fuse_ino_t, const char* name, std::size_t size) {
  const Parameters& of = system_of(request).parameters;
  const std::string text =
      "size=" + std::to_string(of.stripe_bytes) + " count=" + std::to_string(of.targets);
  if (of.is_silent || std::strcmp(name, striping_name) != 0) {
    fuse_reply_err(request, ENODATA);
  } else if (size == 0) {
    fuse_reply_xattr(request, text.size());
  } else if (size < text.size()) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, text.data(), text.size());
  }
}

void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  const std::string path = node_of(request, number).path();
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) {
    fuse_reply_err(request, errno);
    return;
  }
  info->fh = reinterpret_cast<std::uint64_t>(folder);
  fuse_reply_open(request, info);
}

void read_folder(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset,
                 fuse_file_info* info) {
  DIR* folder = reinterpret_cast<DIR*>(info->fh);
  ::seekdir(folder, offset);
  std::vector<char> entries(size);
  std::size_t used = 0;
  while (const dirent* found = ::readdir(folder)) {
    struct stat status = {};
    status.st_ino = found->d_ino;
    status.st_mode = static_cast<mode_t>(DTTOIF(found->d_type));
    const std::size_t wanted = fuse_add_direntry(request, entries.data() + used, size - used,
                                                 found->d_name, &status, ::telldir(folder));
    if (wanted > size - used) break;
    used += wanted;
  }
  fuse_reply_buf(request, entries.data(), used);
}

void close_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  ::closedir(reinterpret_cast<DIR*>(info->fh));
  fuse_reply_err(request, 0);
}

void sync_folder(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  system_of(request).physics.sync(unknown_client);
  fuse_reply_err(request, 0);
}

}  // namespace

FileSystem& system_of(fuse_req_t request) {
  return *static_cast<FileSystem*>(fuse_req_userdata(request));
}

Node& node_of(fuse_req_t request, fuse_ino_t number) {
  if (number == FUSE_ROOT_ID) return system_of(request).nodes.root();
  return *reinterpret_cast<Node*>(number);
}

fuse_lowlevel_ops make_operations() {
  fuse_lowlevel_ops operations = {};
  operations.lookup = look_up;
  operations.forget = forget;
  operations.forget_multi = forget_many;
  operations.getattr = get_attributes;
  operations.setattr = set_attributes;
  operations.mknod = make_file;
  operations.mkdir = make_folder;
  operations.unlink = unlink_file;
  operations.rmdir = remove_folder;
  operations.rename = rename_file;
  operations.statfs = file_system_status;
  operations.getxattr = get_attribute;
  operations.opendir = open_folder;
  operations.readdir = read_folder;
  operations.releasedir = close_folder;
  operations.fsyncdir = sync_folder;
  add_data_operations(operations);
  return operations;
}

}  // namespace sluice::contended
