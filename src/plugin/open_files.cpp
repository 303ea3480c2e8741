#include "plugin/open_files.hpp"

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "commit/publish/in_place.hpp"
#include "commit/publish/superblock.hpp"
#include "plugin/block_table.hpp"
#include "plugin/opening.hpp"
#include "sluice/error.hpp"
#include "storage/calls.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"
#include "storage/read_padded.hpp"

namespace sluice::plugin {

namespace {

/// A file that is written, and the HDF5 that writes it.
struct Writing {
  std::weak_ptr<CommittedFile> file;
  const void* library = nullptr;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Writing> written;
};

Registry& registry() {
  static auto* const all = new Registry;  // HDF5 closes files when the process ends
  return *all;
}

std::string key_of(storage::Storage& storage, const std::string& path) {
  return storage::absolute_path(storage.real_path(path));
}

/// The bytes HDF5 sets in the superblock of a file that it has open for writing, where nobody has
/// closed it: other programs refuse such a file, and so must we.
void require_closed(storage::File& file, bool swmr) {
  constexpr std::size_t version_at = 8;
  constexpr std::size_t flags_at = 11;
  constexpr unsigned open_for_writing = 1;
  constexpr unsigned open_for_swmr = 4;
  const auto superblock = commit::find_superblock(file);
  std::array<unsigned char, flags_at + 1> front{};
  if (!superblock ||
      file.read(superblock->offset, std::as_writable_bytes(std::span(front))) != front.size()) {
    return;
  }
  const unsigned flags = front[version_at] >= 3 ? front[flags_at] : 0;
  const bool is_read_with_swmr = swmr && (flags & open_for_swmr) != 0;
  if ((flags & (open_for_writing | open_for_swmr)) != 0 && !is_read_with_swmr) {
    throw Error(Code::locked,
                file.path() +
                    ": a program without the driver has it open for writing, or "
                    "ended without closing it; for the latter: HDF5_DRIVER= h5clear -s " +
                    file.path());
  }
}

/// May somebody be writing the file at this moment?
bool may_be_written(storage::Storage& storage, const std::string& path) {
  const std::string lease = storage::lease_path(path);
  return storage.exists(lease) && storage::is_holder_running(lease).value_or(true);
}

/// Of a writer that stays in the middle of a flush.
Error busy_error(const std::string& path) {
  return {Code::locked, path +
                            ": its writer is in the middle of a flush, or was stopped there: try "
                            "again. If it has ended on another host: sluice recover " +
                            path};
}

/// What a reader sees that knows of the journal. While the file is being written that is what is in
/// place, as for every reader: what lies in the journal only would not stay right beside what the
/// writer changes later, and the journal itself is written over.
std::unique_ptr<storage::File> open_to_read(storage::Storage& storage, const std::string& path,
                                            const Settings& settings) {
  constexpr int most_tries = 200;
  for (int tries = 0;; ++tries) {
    auto file = storage.open(path, storage::Access::read);
    bool is_written = may_be_written(storage, path);
    const auto is_last = [&] { return tries == most_tries || !is_written; };
    try {
      // A journal may be as large as what was written, and is read in full.
      auto journal = is_written ? nullptr : commit::open_runs(storage, path);
      if (journal) {
        const commit::InPlace found = commit::examine(*file, *journal);
        is_written = may_be_written(storage, path);  // that may have taken any time
        if ((found.changed != 0 || found.guarded) && !is_written) {
          share_lock(*file, settings);
          return commit::with_journal(std::move(file), std::move(journal));
        }
      }
      if (!commit::is_guarded(*file)) {
        share_lock(*file, settings);
        return file;
      }
      if (is_last()) {
        is_written ? throw busy_error(path) : commit::throw_lost(path);
      }
    } catch (const Error& e) {
      if (is_last() || e.code() == Code::locked) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its writer is at work
  }
}

}  // namespace

Error swmr_refused(const std::string& path) {
  return {Code::unsupported, path +
                                 ": SWMR writing is not possible with the sluice driver: without "
                                 "it readers that open the file see each flush whole"};
}

std::unique_ptr<OpenFile> OpenFile::open(storage::Storage& storage, const std::string& path,
                                         const Opening& opening, const Settings& settings) {
  const std::string key = key_of(storage, path);
  std::unique_ptr<OpenFile> open(new OpenFile);
  std::unique_lock lock(registry().mutex);
  const auto found = registry().written.find(key);
  const Writing known = found != registry().written.end() ? found->second : Writing{};
  std::shared_ptr<CommittedFile> written = known.file.lock();
  if (written && !written->is_here()) {
    written.reset();  // of the parent of this process
  }
  if (written && opening.exclusive) {
    throw is_there_already(path);
  }
  if (written && opening.truncates) {
    throw Error(Code::locked, path + ": is open in this program: close it first");
  }
  const bool is_others = written && known.library != opening.library;
  if (is_others && opening.writes) {
    throw Error(Code::locked, path +
                                  ": is already being written by this program, through another "
                                  "HDF5 library: close that file first");
  }
  if (is_others) {
    written.reset();  // it is read as by another program
  }
  if (!written && opening.writes) {
    if (opening.swmr) {
      throw swmr_refused(path);
    }
    // The family driver looks for its last member by truncating the next one, not creating it.
    const bool creates =
        storage.exists(key) ? opening.truncates || opening.exclusive : opening.creates;
    if (!creates && !opening.clears_marks) {
      require_closed(*storage.open(key, storage::Access::read_write), false);
    }
    written = creates ? CommittedFile::create(storage, key, settings, opening.exclusive)
                      : CommittedFile::reopen(storage, key, settings);
    registry().written[key] = {written, opening.library};
  }
  if (written) {
    open->identity_ = written->identity();
    open->written_ = std::move(written);
    return open;
  }
  if (!is_others) {
    registry().written.erase(key);
  }
  lock.unlock();  // that may wait for a writer, or read a long journal
  open->read_ = open_to_read(storage, key, settings);
  require_closed(*open->read_, opening.swmr);
  open->identity_ = open->read_->identity();
  return open;
}

void remove_with_journal(storage::Storage& storage, const std::string& given_path) {
  const std::string path = key_of(storage, given_path);
  const auto lease = storage.lease(path);
  storage.remove(path);
  if (storage.exists(commit::journal_path(path))) {
    commit::remove_journal(storage, path);
  }
  remove_block_table(storage, path);
}

OpenFile::~OpenFile() {
  const std::lock_guard lock(registry().mutex);
  if (!written_) {
    return;
  }
  const std::string key = written_->path();
  written_.reset();
  const auto found = registry().written.find(key);
  if (found != registry().written.end() && found->second.file.expired()) {
    registry().written.erase(found);
  }
}

const std::string& OpenFile::path() const { return written_ ? written_->path() : read_->path(); }

void OpenFile::read(std::uint64_t offset, std::span<std::byte> bytes) {
  if (written_) {
    written_->read(offset, bytes);
    return;
  }
  storage::read_padded(*read_, offset, bytes);
}

void OpenFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!written_) {
    throw Error(Code::permission, path() + ": was opened for reading");
  }
  has_uncommitted_ = true;
  written_->write(offset, bytes);
}

std::uint64_t OpenFile::size() const { return written_ ? written_->size() : read_->size(); }

std::uint64_t OpenFile::end() const { return written_ ? written_->end() : end_; }

void OpenFile::set_end(std::uint64_t end) {
  if (written_) {
    written_->set_end(end);
  }
  end_ = end;
}

void OpenFile::cut() {
  if (written_) {
    written_->set_size(written_->end());
  }
}

void OpenFile::commit() {
  if (written_) {
    written_->commit(false);
    has_uncommitted_ = false;
  }
}

void OpenFile::close() {
  if (written_ && written_.use_count() == 1) {
    written_->close();
  } else if (has_uncommitted_) {
    // Not where HDF5 has only looked whether it has the file open: what others have written is
    // theirs to commit.
    commit();
  }
}

}  // namespace sluice::plugin
