// Generates every disk that a crash could leave, from the log of a storage that recorded all calls.
//
// The model: writes to a file (bytes, growth, truncation, reserved space) are volatile until that
// file is synced; until then each call may have reached the disk or not, in any combination, whole,
// in some of its 512-byte sectors, or as growth alone with garbage in it. A name that is created,
// renamed or removed is volatile until its folder is synced; each such change may have landed or
// not, independently of the others; a rename may leave both names. A folder is a name too: the
// content of one that did not land is lost. A folder is renamed atomically, with its content; one
// that is removed may have lost part of it.
//
// Invariants: a disk is determined by the log, the place of the crash and the choice; choices above
// the limit are drawn from the seed, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/recording_storage.hpp"

namespace sluice::test {

using Bytes = std::vector<std::byte>;
using Files = std::map<std::string, std::shared_ptr<const Bytes>>;

/// The scope of a sync.
enum class Reach : std::uint8_t {
  inode,  ///< everything written to the file by any rank, as in POSIX
  rank,   ///< only what the same rank wrote: ranks on other nodes keep their own pages
};

struct DiskLimits {
  int all_up_to = 10;       ///< with so many volatile calls, every subset
  int random = 1000;        ///< above: so many random choices at every place, and
  int pairs = 1000;         ///< at most so many pairs; singles and prefixes always
  int torn = 8;             ///< choices in which sectors are torn, at every place
  int per_place = 1 << 20;  ///< at most so many of all those, drawn from the seed
  std::uint64_t seed = 1;
};

struct CrashDisk {
  std::size_t place = 0;  ///< records that had begun when it happened
  std::string choice;     ///< which of the volatile calls landed, for messages
  Files files;
};

/// Where the crash was, of so many calls, and what landed: for messages.
std::string describe(const CrashDisk& disk, std::size_t calls);

class CrashDisks {
 public:
  /// `base`: what was there before the first record, durably. `records` must outlive the object.
  CrashDisks(const Files& base, const std::vector<storage::Record>& records, Reach reach,
             const DiskLimits& limits);

  /// Calls `visit` with the disks of every place from `first` on, until it returns false. At each
  /// of `marks` (numbers of records) the disks are visited again, though nothing happened:
  /// something else may be demanded of them from there on.
  void visit(const std::function<bool(const CrashDisk&)>& visit, std::size_t first = 0,
             const std::vector<std::size_t>& marks = {});

  /// After each record that changes something, the view of other programs on the same machine:
  /// everything so far.
  void visit_live(const std::function<void(const CrashDisk&)>& visit);

 private:
  enum class Landed : std::uint8_t { no, whole, torn, growth };
  struct Op {
    std::size_t record = 0;
    bool durable = false;  ///< waits for an earlier one that is not (Reach::rank only)
  };
  using Choice = std::vector<Landed>;

  bool enter(std::size_t record);
  void sync(const storage::Record& record);
  void sync_folder(const std::string& path);
  bool visit_place(std::size_t place, bool has_new,
                   const std::function<bool(const CrashDisk&)>& visit);
  std::vector<Choice> choices(bool has_new);
  std::vector<std::vector<bool>> subsets(std::size_t count);
  CrashDisk build(std::size_t place, const Choice& choice, std::uint64_t salt) const;
  void apply(Bytes& content, const storage::Record& record, Landed landed,
             std::uint64_t salt) const;

  const std::vector<storage::Record>& records_;
  Reach reach_;
  DiskLimits limits_;
  std::mt19937_64 random_;
  std::map<std::string, std::uint64_t> names_;                      // durable, folders too
  std::map<std::uint64_t, std::shared_ptr<const Bytes>> contents_;  // durable
  std::vector<Op> pending_;
};

}  // namespace sluice::test
