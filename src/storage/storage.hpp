// The only interface to the operating system for the bytes of files.
//
// Invariants: write() has written all bytes or throws; EINTR, short counts and sizes above 2 GiB
// are handled inside; sync() is never retried after a failure (the kernel may have dropped the
// pages); every failure is a sluice::Error that names the path, the offset and the text of errno. A
// File may be used by one thread at a time; different Files of one path are independent.
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

/// Files are never written through a symbolic link at the end of their path: a path of the caller
/// goes through Storage::real_path() first, and a link at any other name is not one of Sluice.
enum class Access : std::uint8_t {
  read,        ///< must exist
  read_write,  ///< must exist, and not be a symbolic link: Error permission
  create,      ///< must not exist: Error exists
};

/// Bytes and their offset in a file; the memory belongs to the caller.
struct WritePiece {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};
struct ReadPiece {
  std::uint64_t offset = 0;
  std::span<std::byte> bytes;
};

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// The same of a file that has a path of its own.
struct ObjectRange {
  std::string path;
  FileRange range;
};
/// Of files or objects; empty: there is none of that name.
using Sizes = std::vector<std::optional<std::uint64_t>>;

/// A range of the addresses of a store that belongs to one of its objects, from the object's start.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t length = 0;      ///< 0: the object must not exist
  std::uint64_t file_bytes = 0;  ///< the object's size before anything is written
  std::string name;              ///< below the store's folder
};

/// What a store has in addition to bytes: a folder of objects with one range of addresses
/// (store.hpp).
class Objects {
 public:
  virtual ~Objects() = default;
  /// Maps addresses to objects; existing mappings stay. Any thread.
  virtual void map(std::span<const Segment> segments) = 0;
  /// Sets the sizes of objects that were created elsewhere through this File, so that its sync()
  /// covers them. Any thread.
  virtual void adopt(std::span<const Segment> segments) = 0;
  /// The size of an object; empty if there is no such object.
  virtual std::optional<std::uint64_t> object_bytes(const std::string& name) = 0;
  /// Of several, in the order of `names`: at a time where a look-up takes long.
  virtual Sizes sizes_of(std::span<const std::string> names);
  /// The names of what lies in the folder `name`, "" for the store's own, in no order.
  virtual std::vector<std::string> names_in(const std::string& name) = 0;
  /// Does will_read() something? True where a read takes long, whatever its size.
  virtual bool reads_ahead() const { return false; }
  /// These ranges will be read, in about this order: several are read at a time, into bounded
  /// memory, until what is returned is destroyed. A hint: what is read otherwise, or was read once,
  /// is read as ever. Any thread.
  virtual std::shared_ptr<void> will_read(std::span<const FileRange> ranges) {
    (void)ranges;
    return nullptr;
  }
};

class File;

/// What a storage has in addition whose files are written whole, under their names: an object
/// store. Nothing is renamed, nothing is changed in place, and what was put is on stable storage.
/// Every file is written by one rank.
class WholeFiles {
 public:
  virtual ~WholeFiles() = default;
  /// Writes a file, whatever was there.
  virtual void put(const std::string& path, std::span<const std::byte> bytes) = 0;
  /// The same for a file that decides a commit, with its time of modification. Error locked if it
  /// is not the one that this storage opened or put last, or exists and was neither. `in_doubt`: it
  /// failed, and whether the file was replaced is unknown.
  virtual void replace(const std::string& path, std::span<const std::byte> bytes,
                       std::int64_t modified_ns, bool& in_doubt) = 0;
  /// Can replace() look at what it replaces? Known once there was a lease.
  virtual bool has_conditions() const = 0;
  /// A file to be written, of `bytes` bytes or as many as are written; what is not written is zero.
  /// Opened again with the same `version` it has what was written before, with another one nothing.
  /// finish() writes it.
  virtual std::unique_ptr<File> open_version(const std::string& path, std::uint64_t version,
                                             std::uint64_t bytes) = 0;
  /// To read a file that should be there: Error not_found comes with the first read.
  virtual std::unique_ptr<File> open_unseen(const std::string& path) = 0;
  /// Writes all files that were opened by open_version(). An error is reported until discard().
  virtual void finish() = 0;
  /// Forgets them: their commit failed.
  virtual void discard() = 0;
  /// Files of a step that was not committed may lie where new ones go: unless nothing was there at
  /// all (note_empty), and no commit failed since.
  virtual void note_empty() = 0;
  virtual bool may_have_leftovers() const = 0;
  virtual void remove_all(std::span<const std::string> paths) = 0;
  /// The sizes of files, several looked up at a time. One that is looked up alone counts as opened,
  /// for replace().
  virtual Sizes sizes_of(std::span<const std::string> paths) = 0;
  /// As Objects::will_read(), of files that open_unseen() opens.
  virtual std::shared_ptr<void> will_read(std::vector<ObjectRange> ranges) = 0;
};

/// The identity of an open file: unique among existing files.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

class File {
 public:
  virtual ~File() = default;

  /// Writes all bytes at `offset`. Grows the file if needed.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// Reads up to bytes.size(); fewer only at the end of the file. Returns the number of bytes read.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  /// Reserves space for [offset, offset + length) and grows the file to cover it: reports Error
  /// no_space now rather than in the middle of a step. A file system that cannot reserve is not an
  /// error.
  virtual void preallocate(std::uint64_t offset, std::uint64_t length) = 0;
  /// On return, everything written through this File (and its size) is on stable storage.
  virtual void sync() = 0;
  /// A sync by this or another process of the node will follow: begins to write back what the page
  /// cache holds of the file. A hint, which reports nothing. Any thread.
  virtual void begin_sync() {}
  virtual std::uint64_t size() = 0;
  /// Truncates or extends (with zeros) to `bytes`.
  virtual void resize(std::uint64_t bytes) = 0;
  /// Sets, or returns, the time of last modification (nanoseconds since 1970).
  virtual void set_modified_ns(std::int64_t ns) = 0;
  virtual std::int64_t modified_ns() = 0;
  /// Distinguishes two names of one file from names of two files; all zero: unknown to the storage.
  virtual FileIdentity identity() { return {}; }
  /// Has it no name any more, so that nobody else can open it?
  virtual bool is_removed() { return false; }
  /// Takes a shared lock of the whole file until the File is destroyed: it excludes programs that
  /// lock the file exclusively, as HDF5 does for writing, and admits those that share it, as HDF5
  /// does for reading. False: another program has an exclusive lock. A file system without locks is
  /// not an error.
  virtual bool share_lock() { return true; }
  /// Writes are fastest if offsets and memory addresses are multiples of this; 1: any.
  virtual std::size_t alignment() const { return 1; }
  /// Long ranges are read fastest by one call after the other of about this size. Small where the
  /// operating system reads ahead by itself, so that bytes can be looked at while they are in the
  /// processor's cache and the next ones are on their way.
  virtual std::size_t read_bytes() const { return 4 << 20; }
  /// From now on writes go through the page cache (true), from which other processes of the node
  /// read them back, or in whatever way is fastest (false). Any thread.
  virtual void keep_cached(bool is_wanted) { (void)is_wanted; }
  /// Tells the operating system to forget cached pages of this file (for cold benchmarks).
  virtual void drop_cache() {}
  virtual const std::string& path() const = 0;
  /// Ends the use of the file as the destructor does, but a failure is thrown: some file systems
  /// write, or count a quota, only then. For who does not sync(). Only the destructor may follow,
  /// also after a failure.
  virtual void close() {}

  /// The objects of a store; null for a file.
  virtual Objects* objects() { return nullptr; }
  // The same for both: on a file they do nothing, and return nothing.
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
  Sizes sizes_of(std::span<const std::string> names) {
    Objects* all = objects();
    return all != nullptr ? all->sizes_of(names) : Sizes(names.size());
  }
  bool reads_ahead() {
    Objects* all = objects();
    return all != nullptr && all->reads_ahead();
  }
  std::shared_ptr<void> will_read(std::span<const FileRange> ranges) {
    Objects* all = objects();
    return all != nullptr ? all->will_read(ranges) : nullptr;
  }

  // -- of a file that several ranks opened together (Storage::open_together) ----------------------
  /// Must all ranks that opened it write at the same time for the best speed? Then write_collective
  /// and read_collective are collective over them, each rank with its own pieces, possibly none.
  virtual bool is_collective() const { return false; }
  /// As write() of each piece; pieces ascend and do not overlap.
  virtual void write_collective(std::span<const WritePiece> pieces) {
    for (const WritePiece& piece : pieces) write(piece.offset, piece.bytes);
  }
  /// As read() of each piece, each wholly inside the file: otherwise Error truncated on the rank
  /// that requested it; the other ranks get their data.
  virtual void read_collective(std::span<const ReadPiece> pieces);
};

/// The right to change a file, held until the object is destroyed or its process ends.
class Lease {
 public:
  virtual ~Lease() = default;
  /// To be called before any change: Error locked if another writer has taken over the lease.
  virtual void check() {}
  /// A remark for the user on how it excludes others; empty: none.
  virtual std::string notice() const { return {}; }
};

/// A file system, real or for tests.
class Storage {
 public:
  virtual ~Storage() = default;

  virtual std::unique_ptr<File> open(const std::string& path, Access access) = 0;
  /// Collective over the ranks for which the storage was made: opens on those that take part,
  /// nullptr elsewhere. If the storage does not know of ranks, each rank opens independently.
  virtual std::unique_ptr<File> open_together(const std::string& path, Access access,
                                              bool takes_part) {
    return takes_part ? open(path, access) : nullptr;
  }
  /// As open() with Access::create. If something exists at `model`, the new file gets its
  /// permissions, and its owner and group as far as that is allowed, before anybody else can open
  /// it.
  virtual std::unique_ptr<File> create_like(const std::string& path, const std::string& model) {
    (void)model;
    return open(path, Access::create);
  }
  /// Does the name exist? A symbolic link counts, wherever it leads.
  virtual bool exists(const std::string& path) = 0;
  /// False: nothing is in the folder `path`, for it does not exist, or is a regular file.
  virtual bool may_have_names(const std::string& path) { return exists(path); }
  /// The names in the folder `path`, in no order. Error not_found if it does not exist.
  virtual std::vector<std::string> list(const std::string& path);
  /// The absolute path of `path`, or of its target if it is a symbolic link; the target need not
  /// exist. Files that belong to a file (lease, journal, log, parts) are beside this path. Error
  /// permission for a loop of links.
  virtual std::string real_path(const std::string& path) { return path; }
  /// From now on no symbolic link is followed below the folder `top`, for any access: Error
  /// permission that names the link.
  virtual void confine(const std::string& top) { (void)top; }
  /// Replaces `to` atomically if it exists.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// The same where `to` must not exist: Error exists, and nothing has changed. Of two that rename
  /// to one name at a time one fails, where the file system can do that.
  virtual void rename_new(const std::string& from, const std::string& to);
  /// Error not_found if it does not exist.
  virtual void remove(const std::string& path) = 0;
  /// Is the last component of `path` a symbolic link, wherever it leads?
  virtual bool is_link(const std::string& path) {
    (void)path;
    return false;
  }
  /// Removes the file at `path` if `is_meant` accepts its content. Returns whether it did. No link
  /// is followed: if `path` or its folder is one, or `path` is not a regular file, or does not
  /// exist, nothing is opened and the result is false.
  virtual bool remove_if(const std::string& path,
                         const std::function<bool(std::unique_ptr<File>)>& is_meant);
  /// Creates a folder and its parents; an existing one is kept. Does nothing if the storage has no
  /// folders.
  virtual void make_folder(const std::string& path) { (void)path; }
  /// The same for a new folder, which gets the permissions, owner and group of `model`, if that
  /// exists, as far as it is allowed.
  virtual void make_folder_like(const std::string& path, const std::string& model) {
    (void)model;
    make_folder(path);
  }
  /// Removes a folder with its content.
  virtual void remove_folder(const std::string& path) = 0;
  /// Makes creations, renames and removals in the folder of `path` durable.
  virtual void sync_directory(const std::string& path) = 0;
  /// The exclusive right to change `path`, kept in a record beside it. Error locked, naming the
  /// holder, if another process (or File) has it. nullptr if the storage has no leases.
  virtual std::unique_ptr<Lease> lease(const std::string& path) = 0;
  /// The known properties of the file system that holds `path`.
  virtual FileSystemFacts file_system(const std::string& path) {
    (void)path;
    return {};
  }
  /// May a thread of the library write while the caller's thread continues? False in tests that
  /// need a fixed order.
  virtual bool in_background() const { return false; }
  /// The ranks of the communicator for which it was made; 0: it does not know of ranks, and
  /// open_together is the same as open.
  virtual int ranks_together() const { return 0; }
  /// Null where files at `path` can be changed in place.
  virtual WholeFiles* whole_files(const std::string& path) {
    (void)path;
    return nullptr;
  }
  /// "posix", "direct", "memory", ...
  virtual const char* name() const = 0;
};

/// Buffered POSIX calls.
std::shared_ptr<Storage> make_posix();
/// The same, with the write-back of long writes begun at once: faster until it is synced.
std::shared_ptr<Storage> make_writeback();
/// O_DIRECT for the aligned middle of every write, buffered calls for unaligned edges (on pages
/// that no direct write of the same call touches); falls back to buffered, per file, if the file
/// system refuses O_DIRECT.
std::shared_ptr<Storage> make_direct();
/// "posix" | "writeback" | "direct" | "auto" (= direct, with its own fallback); "mpiio" needs a
/// communicator: mpiio.hpp. Error invalid_argument otherwise.
std::shared_ptr<Storage> make(const std::string& name);
/// Is it the address of something in an object store, such as "s3://bucket/prefix"?
bool is_object_path(const std::string& path);
/// The bucket of `path`. `timeout_s`: of a call of the library, 0: no limit. Error unsupported
/// where there is no libcurl, permission without credentials.
std::shared_ptr<Storage> make_object_store(const std::string& path, double timeout_s,
                                           std::uint64_t budget_bytes);

}  // namespace sluice::storage
