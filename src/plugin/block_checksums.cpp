#include "plugin/block_checksums.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "model/clock.hpp"
#include "sluice/error.hpp"
#include "storage/say.hpp"

namespace sluice::plugin {

BlockChecksums::BlockChecksums(storage::Storage& storage, std::string path, bool wanted)
    : storage_(storage), path_(std::move(path)), is_kept_(wanted) {}

void BlockChecksums::load(storage::File& file) noexcept {
  if (!is_kept_) {
    return;
  }
  try {
    auto found = read_block_table(storage_, path_);
    if (found && found->is_of(file)) {
      file_ = storage_.open(block_table_path(path_), storage::Access::read_write);
      table_ = std::move(*found);
    } else {
      table_.resize(file.size());  // what is there already is not known
    }
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void BlockChecksums::before_change(storage::File& file, std::uint64_t offset,
                                   std::uint64_t length) noexcept {
  if (!is_kept_ || length == 0) {
    return;
  }
  try {
    const std::uint64_t last = (offset + length - 1) / checksum_block_bytes;
    for (std::uint64_t number = offset / checksum_block_bytes; number <= last; ++number) {
      const std::uint64_t begin = number * checksum_block_bytes;
      const bool is_whole = begin >= offset && begin - offset + checksum_block_bytes <= length;
      if (is_whole) {
        damaged_.erase(number);
      }
      if (changed_.insert(number).second && !is_whole && !matches(file, number)) {
        note_damage(number);
      }
    }
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

/// As it was at the last update.
bool BlockChecksums::matches(storage::File& file, std::uint64_t number) {
  if (number >= table_.checksums.size() || table_.checksums[number] == 0) {
    return true;
  }
  buffer_.resize(table_.length_of(number));
  try {
    return file.read(number * checksum_block_bytes, buffer_) == buffer_.size() &&
           block_checksum(buffer_) == table_.checksums[number];
  } catch (const Error&) {
    return false;  // a disk that cannot read it any more
  }
}

void BlockChecksums::note_damage(std::uint64_t number) {
  if (!damaged_.insert(number).second) {
    return;
  }
  const std::uint64_t begin = number * checksum_block_bytes;
  storage::say(path_ + ": bytes " + std::to_string(begin) + " to " +
               std::to_string(begin + table_.length_of(number) - 1) +
               " do not match their checksum: the disk, or another program, changed them");
}

/// What the file was cut by, or grew by, without a write.
void BlockChecksums::follow_size(std::uint64_t bytes, storage::File& file) {
  if (bytes == table_.file_bytes) {
    return;
  }
  const std::uint64_t first = std::min(bytes, table_.file_bytes) / checksum_block_bytes;
  if (changed_.insert(first).second && bytes > table_.file_bytes && !matches(file, first)) {
    note_damage(first);
  }
  table_.resize(bytes);
  for (std::uint64_t number = first; number < table_.checksums.size(); ++number) {
    changed_.insert(number);
  }
}

void BlockChecksums::compute(storage::File& file, std::uint64_t number) {
  buffer_.resize(table_.length_of(number));
  if (file.read(number * checksum_block_bytes, buffer_) != buffer_.size()) {
    throw Error(Code::truncated, file.path() + ": became shorter while it was written");
  }
  const std::uint64_t checksum = block_checksum(buffer_);
  table_.set(number,
             damaged_.count(number) == 0 ? checksum : std::max<std::uint64_t>(checksum ^ 1, 2));
}

/// A new one where there is none of this opening.
void BlockChecksums::open_table() {
  if (file_) {
    return;
  }
  const std::string name = block_table_path(path_);
  if (!remove_block_table(storage_, path_)) {
    throw Error(Code::exists, name + ": is there, and is not a table of checksums");
  }
  file_ = storage_.create_like(name, path_);
}

void BlockChecksums::update(storage::File& file) noexcept {
  if (!is_kept_) {
    return;
  }
  try {
    follow_size(file.size(), file);
    changed_.erase(changed_.lower_bound(table_.checksums.size()), changed_.end());
    damaged_.erase(damaged_.lower_bound(table_.checksums.size()), damaged_.end());
    if (file_ && changed_.empty() && table_.is_of(file)) {
      return;
    }
    for (const std::uint64_t number : changed_) {
      compute(file, number);
    }
    open_table();
    // Of nanoseconds, not of the kernel's clock: no later change has the same.
    file.set_modified_ns(model::wall_clock_ns());
    table_.modified_ns = file.modified_ns();
    const std::vector<std::uint64_t> changed(changed_.begin(), changed_.end());
    write_block_table(*file_, table_, changed);
    changed_.clear();
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void BlockChecksums::sync() noexcept {
  if (!is_kept_ || !file_) {
    return;
  }
  try {
    file_->sync();
    storage_.sync_directory(path_);
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void BlockChecksums::give_up(const char* why) noexcept {
  is_kept_ = false;
  file_.reset();
  storage::say(path_ + ": no checksums are kept any more: " + why);
}

}  // namespace sluice::plugin
