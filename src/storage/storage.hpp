// The only door to the operating system for the bytes of files: a handful of verbs.
//
// Invariants: write() has written all or throws; EINTR, short counts and sizes above 2 GiB are
// handled behind the door; sync() is never retried after a failure (the kernel may have dropped
// the pages); every failure is a sluice::Error that names the path, the offset and errno in words.
// A File may be used by one thread at a time; different Files of one path are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/file_system.hpp"

namespace sluice::storage {

/// What is written is never reached through a symbolic link at the end of its path: a caller's own
/// path goes through Storage::real_path() first, and at any other name a link is not ours.
enum class Access : std::uint8_t {
  read,        ///< must exist
  read_write,  ///< must exist, and be no symbolic link: Error permission
  create,      ///< must not exist: Error exists
};

/// Bytes and their place in a file; the memory stays the caller's.
struct WritePiece {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};
struct ReadPiece {
  std::uint64_t offset = 0;
  std::span<std::byte> bytes;
};

/// A range of the addresses of a store that lies in one of its objects, from the object's start.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t length = 0;      ///< 0: there must be no such object
  std::uint64_t file_bytes = 0;  ///< the object's size before anything is written
  std::string name;              ///< below the store's folder
  bool is_folder = false;        ///< all objects in this folder, of which there must be none
};

/// What a store has beside the bytes: a folder of objects with one range of addresses (store.hpp).
class Objects {
 public:
  virtual ~Objects() = default;
  /// Ties addresses to objects; what is tied already stays as it is. Any thread.
  virtual void map(std::span<const Segment> segments) = 0;
  /// Gives objects that were made elsewhere their sizes through this File, so that its sync()
  /// covers them. Any thread.
  virtual void adopt(std::span<const Segment> segments) = 0;
  /// The size of an object; nothing where there is no such object.
  virtual std::optional<std::uint64_t> object_bytes(const std::string& name) = 0;
  /// The names of what lies in the folder `name`, "" for the store's own, in no order.
  virtual std::vector<std::string> names_in(const std::string& name) = 0;
};

/// Of a file that is open: no other has the same while it is there.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

class File {
 public:
  virtual ~File() = default;

  /// Writes all bytes at `offset`. Grows the file where needed.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// Reads up to bytes.size(); fewer only at the end of the file. Returns how many.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  /// Reserves space for [offset, offset + length) and grows the file to cover it: Error no_space
  /// now rather than in the middle of a step. A file system that cannot reserve is not an error.
  virtual void preallocate(std::uint64_t offset, std::uint64_t length) = 0;
  /// Everything written through this File (and its size) is on stable storage.
  virtual void sync() = 0;
  virtual std::uint64_t size() = 0;
  /// Cuts or grows (with zeros) to `bytes`.
  virtual void resize(std::uint64_t bytes) = 0;
  /// Sets the time of last modification (nanoseconds since 1970), and reads it.
  virtual void set_modified_ns(std::int64_t ns) = 0;
  virtual std::int64_t modified_ns() = 0;
  /// What tells two names of one file from names of two; all zero: the storage cannot tell.
  virtual FileIdentity identity() { return {}; }
  /// Keeps out programs that lock the whole file for themselves, as HDF5 does for writing, and lets
  /// in those that only share it, as HDF5 does for reading; until the File is destroyed. False:
  /// another one holds it for itself. A file system without locks is not an error.
  virtual bool share_lock() { return true; }
  /// Offsets and memory addresses that are multiples of this are written fastest; 1: any.
  virtual std::size_t alignment() const { return 1; }
  /// Tells the operating system to forget cached pages of this file (for cold benchmarks).
  virtual void drop_cache() {}
  virtual const std::string& path() const = 0;

  /// Of a store: its objects; null for a file.
  virtual Objects* objects() { return nullptr; }
  // The same of either: nothing is done, and there is nothing, where it is a file.
  void map(std::span<const Segment> segments) {
    if (Objects* all = objects()) {
      all->map(segments);
    }
  }
  void adopt(std::span<const Segment> segments) {
    if (Objects* all = objects()) {
      all->adopt(segments);
    }
  }
  std::optional<std::uint64_t> object_bytes(const std::string& name) {
    Objects* all = objects();
    return all != nullptr ? all->object_bytes(name) : std::nullopt;
  }
  std::vector<std::string> names_in(const std::string& name) {
    Objects* all = objects();
    return all != nullptr ? all->names_in(name) : std::vector<std::string>{};
  }

  // -- of a file that several ranks opened together (Storage::open_together) ----------------------
  /// Must all ranks that opened it write at the same time for the best speed? Then write_collective
  /// and read_collective are collective over them, each rank with its own pieces, none too.
  virtual bool is_collective() const { return false; }
  /// As write() of each piece; pieces ascend and do not overlap.
  virtual void write_collective(std::span<const WritePiece> pieces) {
    for (const WritePiece& piece : pieces) write(piece.offset, piece.bytes);
  }
  /// As read() of each piece, each wholly inside the file: Error truncated where it is not, on the
  /// rank that asked for it; the others get theirs.
  virtual void read_collective(std::span<const ReadPiece> pieces);
};

/// The right to change a file, held until it is destroyed or its process ends.
class Lease {
 public:
  virtual ~Lease() = default;
  /// Before anything is changed: Error locked where another writer has taken the lease over.
  virtual void check() {}
  /// What a user should know about how it keeps others out; empty: nothing.
  virtual std::string notice() const { return {}; }
};

/// A file system, real or made for a test.
class Storage {
 public:
  virtual ~Storage() = default;

  virtual std::unique_ptr<File> open(const std::string& path, Access access) = 0;
  /// Collective over the ranks for which the storage was made: opens on those that take part,
  /// nullptr elsewhere. Where the storage has no notion of ranks every one opens for itself.
  virtual std::unique_ptr<File> open_together(const std::string& path, Access access,
                                              bool takes_part) {
    return takes_part ? open(path, access) : nullptr;
  }
  /// As open() with Access::create. Where there is something at `model`, the new file gets its
  /// permissions, and its owner and group as far as that is allowed, before anybody else can open
  /// it.
  virtual std::unique_ptr<File> create_like(const std::string& path, const std::string& model) {
    (void)model;
    return open(path, Access::create);
  }
  /// Is the name taken? A symbolic link takes it, wherever it leads.
  virtual bool exists(const std::string& path) = 0;
  /// The names of what lies in the folder `path`, in no order. Error not_found where there is none.
  virtual std::vector<std::string> list(const std::string& path);
  /// `path`, or, where a symbolic link is there, what the link leads to, from the root; there need
  /// not be anything yet. Files beside a file (lease, journal, log, parts) lie beside this one.
  /// Error permission for a chain of links without an end.
  virtual std::string real_path(const std::string& path) { return path; }
  /// From now on no symbolic link is followed below the folder `top`, for any access: Error
  /// permission that names the link.
  virtual void confine(const std::string& top) { (void)top; }
  /// Replaces `to` atomically where it exists.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Error not_found where there is none.
  virtual void remove(const std::string& path) = 0;
  /// Is the last component of `path` a symbolic link, wherever it leads?
  virtual bool is_link(const std::string& path) {
    (void)path;
    return false;
  }
  /// Removes the file at `path` if `is_meant` accepts its content. Returns whether it did. No link
  /// is followed: where `path` or its folder is one, or `path` is no regular file, nothing is
  /// opened and the answer is false. So it is where there is no such file.
  virtual bool remove_if(const std::string& path,
                         const std::function<bool(std::unique_ptr<File>)>& is_meant);
  /// Makes a folder and those above it; one that is there is left. Nothing where the storage has
  /// no folders.
  virtual void make_folder(const std::string& path) { (void)path; }
  /// The same for a new folder, which gets the permissions, owner and group of `model`, where that
  /// is there, as far as it is allowed.
  virtual void make_folder_like(const std::string& path, const std::string& model) {
    (void)model;
    make_folder(path);
  }
  /// Removes a folder with everything in it.
  virtual void remove_folder(const std::string& path) = 0;
  /// Makes creations, renames and removals in the folder of `path` durable.
  virtual void sync_directory(const std::string& path) = 0;
  /// The sole right to change `path`, kept in a record beside it. Error locked, naming the holder,
  /// where another process (or File) has it. nullptr where the storage has no notion of it.
  virtual std::unique_ptr<Lease> lease(const std::string& path) = 0;
  /// What is known of the file system that holds `path`.
  virtual FileSystemFacts file_system(const std::string& path) {
    (void)path;
    return {};
  }
  /// Stripe size of the file system that holds `path`, 0 where it has none.
  std::uint64_t stripe_bytes(const std::string& path) { return file_system(path).stripe_bytes; }
  /// May a thread of the library write while the caller's goes on? Not where a test wants one
  /// order.
  virtual bool in_background() const { return false; }
  /// The ranks of the communicator for which it was made; 0: it has no notion of ranks, and
  /// open_together is no other thing than open.
  virtual int ranks_together() const { return 0; }
  /// "posix", "direct", "memory", ...
  virtual const char* name() const = 0;
};

/// Buffered POSIX calls.
std::shared_ptr<Storage> make_posix();
/// O_DIRECT for the aligned middle of every write, buffered calls for ragged edges (on pages that
/// no direct write of the same call touches); falls back to buffered, per file, where the file
/// system refuses O_DIRECT.
std::shared_ptr<Storage> make_direct();
/// "posix" | "direct" | "auto" (= direct, with its own fallback); "mpiio" needs a communicator:
/// mpiio.hpp. Error invalid_argument otherwise.
std::shared_ptr<Storage> make(const std::string& name);

}  // namespace sluice::storage
