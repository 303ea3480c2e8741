#include "plugin/record_log.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "commit/publish/in_place.hpp"
#include "commit/publish/superblock.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"
#include "storage/read_padded.hpp"

namespace sluice::plugin {

namespace {

using Range = HeldWrites::Range;

/// Short enough to stay in a core's cache while it is compared, summed up and written.
constexpr std::uint64_t piece_bytes = 256 << 10;
static_assert(piece_bytes <= commit::JournalRuns::piece_bytes);

/// A log of short records begins anew when it is longer.
constexpr std::uint64_t short_log_bytes = 1 << 20;

/// Where the record behind one from `place` to `next` goes. A journal begins anew at its front, at
/// the cost of two more syncs, when it holds a few records of this length.
commit::JournalPlace place_after(const commit::JournalPlace& place,
                                 const commit::JournalPlace& next) {
  constexpr std::uint64_t longest_to_keep = 64 << 20;
  constexpr std::uint64_t most_of_a_length = 8;
  const std::uint64_t length = next.at - place.at;
  const bool is_full =
      length > longest_to_keep || next.at > std::max(short_log_bytes, most_of_a_length * length);
  return is_full ? commit::JournalPlace{} : next;
}

/// What is held below `frontier`, and the superblock at `root` as a range of its own.
std::vector<Range> ranges_around(const HeldWrites& held, std::uint64_t frontier,
                                 std::uint64_t root) {
  const std::uint64_t root_end = root + commit::superblock_bytes;
  std::vector<Range> all;
  for (const Range& range : held.ranges(piece_bytes)) {
    if (range.offset >= frontier) {
      break;
    }
    all.push_back({range.offset, std::min(range.length, frontier - range.offset)});
  }
  if (root_end <= frontier) {
    cut(all, root, commit::superblock_bytes);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Range& range) { return range.offset >= root_end; });
    all.insert(at, Range{root, commit::superblock_bytes});
  }
  return all;
}

}  // namespace

RecordLog::RecordLog(storage::Storage& storage, std::string path)
    : storage_(storage),
      path_(std::move(path)),
      sync_(new storage::SyncBeside(storage, storage::Cores::of_starter)) {}

std::unique_ptr<commit::JournalRuns> RecordLog::write(const Change& change) {
  if (!journal_) {
    journal_ = storage_.create_like(commit::journal_path(path_), path_);
    is_named_ = false;
    room_ = 0;
  }
  if (std::exchange(holds_old_, false)) {
    commit::forget_records(*journal_);
  }
  make_room();
  commit::JournalWriter writer(journal_, next_);
  const auto superblock = commit::find_superblock(change.file);
  const std::uint64_t root = superblock ? superblock->offset : 0;
  bool is_changed = change.is_needed;
  std::vector<std::byte> before;
  std::vector<std::byte> after;
  for (const Range& range : ranges_around(change.held, change.frontier, root)) {
    before.resize(range.length);
    storage::read_padded(change.file, range.offset, before);
    if (change.guard && *change.guard >= range.offset &&
        *change.guard - range.offset < before.size()) {
      before[*change.guard - range.offset] = commit::signature_byte;
    }
    auto held = change.held.view(range.offset, before.size());
    if (held.empty()) {
      after = before;
      change.held.read_over(range.offset, after);
      held = after;
    }
    if (range.offset == root) {
      // Always: the disk may still have the superblock of the commit before the last one.
      writer.add_whole(range.offset, before, held);
      is_changed = is_changed || !std::ranges::equal(before, held);
    } else {
      const std::uint64_t runs = writer.runs();
      writer.add(range.offset, before, held);
      is_changed = is_changed || writer.runs() != runs;
    }
  }
  if (!is_changed) {
    return nullptr;
  }
  auto record = writer.finish(change.commit, change.end, model::wall_clock_ns(), change.tail);
  behind_ = place_after(next_, writer.next_place());
  last_bytes_ = writer.next_place().at - next_.at;
  room_ = std::max(room_, writer.next_place().at);
  return record;
}

/// For a record like the last one: doubled each time, up to where short records begin anew. A wish:
/// the record itself may still fit where this does not.
void RecordLog::make_room() {
  constexpr std::uint64_t first_bytes = 128 << 10;
  if (next_.at + last_bytes_ <= room_ || room_ >= short_log_bytes) {
    return;
  }
  const std::uint64_t room = std::min(std::max(first_bytes, 2 * room_), short_log_bytes);
  try {
    journal_->write(room_, std::vector<std::byte>(room - room_));
    room_ = room;
  } catch (const Error& e) {
    if (e.code() != Code::no_space) {
      throw;
    }
    journal_->resize(room_);
  }
}

void RecordLog::sync(const std::function<void()>& beside) {
  const storage::SyncInScope record(*sync_, journal_.get());
  beside();
  record.finish();
  if (!is_named_) {
    storage_.sync_directory(path_);
    is_named_ = true;
  }
}

void RecordLog::accept(bool durable) {
  next_ = durable ? behind_ : commit::JournalPlace{};
  holds_old_ = durable && is_full();
}

void RecordLog::reject() {
  if (!has_previous()) {
    remove();
    return;
  }
  // Another descriptor: a sync of this one may have failed. It needs no space to become shorter.
  journal_ = storage_.open(commit::journal_path(path_), storage::Access::read_write);
  if (journal_->size() > next_.at) {
    journal_->resize(next_.at);
    room_ = next_.at;
  }
  journal_->sync();
}

void RecordLog::remove() {
  next_ = {};
  holds_old_ = false;
  journal_.reset();
  commit::remove_journal(storage_, path_);
}

}  // namespace sluice::plugin
