// The files of a set of parts: their names, whether they are those that the index refers to, and
// when they may be removed.
//
// Invariants: no part is read, appended to a set or collected before it was found to be the file
// that the index refers to: existing, long enough, with the ids of its set and of itself, and with
// the last commit that the index refers to. Otherwise an Error names the index and the part. No
// file is removed or written merely because an index names it: remove_part() has the rule, and
// recovery never writes through a link or beside another writer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// The folder of the parts of an index at `path`: `<path>.parts`, or, if `parts_dir` is given, a
/// folder of that name in it.
std::string parts_folder(const std::string& path, const std::string& parts_dir);
/// A part's path in a folder: "<id of the set, 16 hexadecimal digits>-000012.h5", with the ending
/// of the index. So no two sets use the same name.
std::string part_file(const std::string& folder, std::uint64_t set_id, std::uint64_t number,
                      const std::string& index_path);
/// The number in such a name; empty if `path` is not a name of that set.
std::optional<std::uint64_t> part_number(const std::string& path, std::uint64_t set_id);

/// 64 random bits, different in every run.
std::uint64_t draw_id();

/// Local. Error not_found, truncated (shorter than the index says) or format (of another set, or of
/// another run of the same name).
void check_part(storage::Storage& storage, const std::string& index_path,
                const layout::PartSet& set, std::size_t part);
/// Collective: the ranks share the parts; the same Error on every rank. With `recovers`, what a
/// crash left undone in a part is completed (the caller holds the lease of the index): Error
/// permission if the part or its folder is a link, locked if another writer has it.
void check_parts(exec::Transport& transport, storage::Storage& storage,
                 const std::string& index_path, const layout::PartSet& set, bool recovers);

/// Local. Should every node see what this one sees at `path`? By the file system there, or, where
/// that does not exist yet, of the folder in which it will be made. A hint.
bool is_seen_by_all(storage::Storage& storage, const std::string& path);

/// The path of a part in `<index>.parts`, wherever it is now.
std::string path_at_home(const std::string& index_path, const layout::Part& part);
/// The parts of a set that are not in the folder of its index, or in `<index>.parts`, such as those
/// on node-local storage: by number.
std::vector<std::size_t> parts_away(const layout::PartSet& set, const std::string& index_path);
/// Collective: check_parts() without recovery. Returns the parts that are not there as the index
/// knows them, those of parts_away() also if some node does not find them, or may not read them:
/// the same on every rank. The ranks of a node share the look-ups of these.
std::vector<std::size_t> find_absent_parts(exec::Transport& transport, storage::Storage& storage,
                                           const std::string& index_path,
                                           const layout::PartSet& set);

/// Copies the file at `from` to `to`, with its time of modification: it appears there whole or not
/// at all, and durably, also in the folder of its folder, which may be new. `copied` gets the bytes
/// of each piece of at most 4 MiB; what it throws ends the copying. Local.
void copy_part(storage::Storage& storage, const std::string& from, const std::string& to,
               const std::function<void(std::uint64_t)>& copied);

/// A part that its set does not need any more.
struct OldPart {
  std::string path;                 ///< as it is opened
  std::optional<std::uint64_t> id;  ///< empty: any part of the set
};

/// Removes a part of the set `set_id`, whose index is, or was, at `index_path`, and the journal
/// that a crash left beside it. Only if all of this holds:
/// - it is a regular file, and neither it nor its folder is a link;
/// - it holds the ids of the set and of the part;
/// - it belongs to that index: it lies in `<index_path>.parts`, or says that it was made for the
///   index at that path. So an index that was copied or renamed takes no part with it.
/// Otherwise, and on any failure, it is kept: returns false. Local.
bool remove_part(storage::Storage& storage, const std::string& index_path, std::uint64_t set_id,
                 const OldPart& part) noexcept;

/// The set whose index a new file is about to replace.
class ReplacedSet {
 public:
  ReplacedSet() = default;
  /// Reads the index. Empty if there is none at `index_path`, or it cannot be read: what is not
  /// known is not removed.
  ReplacedSet(storage::Storage& storage, const std::string& index_path);
  /// Just before the new file takes the name: if that is another file's by now, the index was moved
  /// away, and remove_parts() will remove nothing.
  void keep_if_moved() noexcept;
  /// Removes its parts, by the rule of remove_part(). After the new file has the name durably, or
  /// if it is never synced. Further calls do nothing.
  void remove_parts() noexcept;

 private:
  storage::Storage* storage_ = nullptr;
  std::string index_path_;
  storage::FileIdentity identity_;
  std::uint64_t set_id_ = 0;
  std::vector<OldPart> parts_;
};

}  // namespace sluice::commit
