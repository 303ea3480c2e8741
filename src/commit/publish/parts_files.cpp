#include "commit/publish/parts_files.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <random>

#include "codec/checksum.hpp"
#include "commit/publish/atomic_file.hpp"
#include "commit/publish/damage.hpp"
#include "commit/publish/in_place.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/recovery.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/node_share.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "storage/calls.hpp"
#include "storage/named_file.hpp"

namespace sluice::commit {

using layout::Part;
using layout::PartSet;

std::string parts_folder(const std::string& path, const std::string& parts_dir) {
  const std::filesystem::path beside = path + ".parts";
  return parts_dir.empty() ? beside.string()
                           : (std::filesystem::path(parts_dir) / beside.filename()).string();
}

namespace {

std::string name_prefix(std::uint64_t set_id) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "%016llx-", static_cast<unsigned long long>(set_id));
  return text.data();
}

}  // namespace

std::string part_file(const std::string& folder, std::uint64_t set_id, std::uint64_t number,
                      const std::string& index_path) {
  constexpr std::size_t digits = 6;
  std::string name = std::to_string(number);
  name.insert(0, digits - std::min(digits, name.size()), '0');
  const std::string ending = std::filesystem::path(index_path).extension().string();
  return folder + "/" + name_prefix(set_id) + name + (ending.empty() ? ".h5" : ending);
}

std::optional<std::uint64_t> part_number(const std::string& path, std::uint64_t set_id) {
  constexpr std::size_t most_digits = 18;
  const std::string prefix = name_prefix(set_id);
  std::string stem = std::filesystem::path(path).stem().string();
  if (!stem.starts_with(prefix)) {
    return std::nullopt;
  }
  stem.erase(0, prefix.size());
  if (stem.empty() || stem.size() > most_digits ||
      stem.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoull(stem);
}

std::uint64_t draw_id() {
  // The clock in addition to the device: one of them differs in every run.
  std::random_device device;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::array<std::uint64_t, 3> seeds{device(), device(), static_cast<std::uint64_t>(now)};
  return codec::checksum(std::as_bytes(std::span(seeds)));
}

namespace {

[[noreturn]] void refuse(Code code, const std::string& index_path, const std::string& part,
                         const std::string& why) {
  throw Error(code, index_path + ": its part " + part + " " + why);
}

/// For a part that was checked. The index may come from anybody: the files it names are not written
/// through a link, nor while another writer has them, for example after the index was copied.
void recover_part(storage::Storage& storage, const std::string& index_path,
                  const std::string& part) {
  if (storage.is_link(part) || storage.is_link(storage::folder_of(part))) {
    refuse(Code::permission, index_path, part,
           "has a journal and is reached by a symbolic link: recover it by its own path");
  }
  recover_unattended(storage, part, false);
}

}  // namespace

void check_part(storage::Storage& storage, const std::string& index_path, const PartSet& set,
                std::size_t part) {
  const Part& known = set.parts[part];
  const std::string path = layout::part_path(index_path, known.path);
  if (!storage.exists(path)) {
    refuse(Code::not_found, index_path, path,
           "is missing: restore it, or run sluice collect where it is");
  }
  const std::uint64_t bytes = storage.open(path, storage::Access::read)->size();
  if (bytes < known.bytes) {
    refuse(Code::truncated, index_path, path,
           "has " + std::to_string(bytes) + " bytes, but the index says " +
               std::to_string(known.bytes) + ": an older or a truncated copy");
  }
  layout::hdf5::PartIdentity found;
  try {
    open_committed(storage, path, [&](storage::File& file) {
      found = layout::hdf5::read_identity(file, known.commits - 1);
    });
  } catch (const Error& e) {
    throw Error(e.code(), index_path + ": its part " + e.what());
  }
  if (found.set_id != set.id || found.part_id != known.id) {
    refuse(Code::format, index_path, path,
           found.set_id != set.id ? "belongs to another set: restore the right file"
                                  : "is another part of the set: was it renamed?");
  }
  if (found.commits < known.commits || found.stamp_ns != known.stamp_ns) {
    refuse(Code::format, index_path, path, "does not have the steps that the index refers to");
  }
}

bool is_seen_by_all(storage::Storage& storage, const std::string& path) {
  std::filesystem::path present = storage::absolute_path(path);
  while (present.has_relative_path() && !storage.exists(present.string())) {
    present = present.parent_path();
  }
  const model::Reach reach = storage.file_system(present.string()).reach;
  return reach == model::Reach::server || reach == model::Reach::parallel;
}

std::string path_at_home(const std::string& index_path, const Part& part) {
  return parts_folder(index_path, "") + "/" + part.path.substr(part.path.rfind('/') + 1);
}

std::vector<std::size_t> parts_away(const PartSet& set, const std::string& index_path) {
  std::vector<std::size_t> away;
  for (std::size_t p = 0; p < set.parts.size(); ++p) {
    const Part& part = set.parts[p];
    if (storage::absolute_path(layout::part_path(index_path, part.path)) !=
        storage::absolute_path(path_at_home(index_path, part))) {
      away.push_back(p);
    }
  }
  return away;
}

std::vector<std::size_t> find_absent_parts(exec::Transport& transport, storage::Storage& storage,
                                           const std::string& index_path, const PartSet& set) {
  const std::vector<std::size_t> away = parts_away(set, index_path);
  std::vector<std::int64_t> is_absent(set.parts.size(), 0);
  const exec::Share of_all = exec::share_of_all(transport);
  const exec::Share of_node = away.empty() ? of_all : exec::share_of_node(transport);
  exec::together(transport, [&] {
    for (std::size_t p = 0; p < set.parts.size(); ++p) {
      const bool is_away = std::ranges::binary_search(away, p);
      if (!(is_away ? of_node : of_all).has(p)) {
        continue;
      }
      try {
        check_part(storage, index_path, set, p);
      } catch (const Error& e) {
        if (!is_of_lost_part(e.code()) && !(is_away && e.code() == Code::permission)) {
          throw;
        }
        is_absent[p] = 1;
      }
    }
  });
  transport.allreduce(is_absent, exec::Op::max);
  std::vector<std::size_t> absent;
  for (std::size_t p = 0; p < set.parts.size(); ++p) {
    if (is_absent[p] != 0) {
      absent.push_back(p);
    }
  }
  return absent;
}

void check_parts(exec::Transport& transport, storage::Storage& storage,
                 const std::string& index_path, const PartSet& set, bool recovers) {
  exec::together(transport, [&] {
    const exec::Share share = exec::share_of_all(transport);
    for (std::size_t p = share.place; p < set.parts.size(); p += share.ranks) {
      const std::string path = layout::part_path(index_path, set.parts[p].path);
      check_part(storage, index_path, set, p);
      if (recovers && is_unfinished(storage, path)) {
        recover_part(storage, index_path, path);
      }
    }
  });
}

namespace {

bool belongs_to(const std::string& index_path, const std::string& part,
                const layout::hdf5::PartIdentity& found) {
  const auto folder = [](const std::string& path) {
    return std::filesystem::path(storage::absolute_path(path)).parent_path();
  };
  const std::string own_folder = parts_folder(index_path, "");
  return folder(part) == folder(own_folder + "/x") ||
         found.index_path == storage::absolute_path(index_path);
}

}  // namespace

bool remove_part(storage::Storage& storage, const std::string& index_path, std::uint64_t set_id,
                 const OldPart& part) noexcept {
  try {
    const bool is_removed = storage.remove_if(part.path, [&](std::unique_ptr<storage::File> file) {
      if (auto journal = open_runs(storage, part.path)) {
        file = with_journal(std::move(file), std::move(journal));  // a crash left it partly changed
      }
      const auto found = layout::hdf5::read_identity(*file, 0);
      return found.set_id == set_id && (!part.id || found.part_id == *part.id) &&
             belongs_to(index_path, part.path, found);
    });
    if (is_removed && storage.exists(journal_path(part.path))) {
      storage.remove(journal_path(part.path));
    }
    return is_removed;
  } catch (const std::exception&) {
    return false;  // on another node, already removed, or not a part: it does no harm
  }
}

void copy_part(storage::Storage& storage, const std::string& from, const std::string& to,
               const std::function<void(std::uint64_t)>& copied) {
  constexpr std::uint64_t most_bytes = 4 << 20;
  write_atomically(storage, to, [&](storage::File& copy) {
    const auto part = storage.open(from, storage::Access::read);
    const std::uint64_t size = part->size();
    std::vector<std::byte> buffer(std::min(size, most_bytes));
    copy.preallocate(0, size);
    for (std::uint64_t at = 0; at < size;) {
      const std::size_t got = part->read(at, buffer);
      if (got == 0) {
        throw Error(Code::truncated, from + ": became shorter while it was copied");
      }
      copy.write(at, std::span(buffer).first(got));
      at += got;
      copied(got);
    }
    copy.set_modified_ns(part->modified_ns());
    copy.sync();
  });
  storage.sync_directory(to);
  storage.sync_directory(storage::folder_of(to));
}

ReplacedSet::ReplacedSet(storage::Storage& storage, const std::string& index_path)
    : storage_(&storage), index_path_(index_path) {
  try {
    if (!storage.exists(index_path)) {
      return;
    }
    const auto file = storage.open(index_path, storage::Access::read);
    identity_ = file->identity();
    if (const auto set = layout::hdf5::read_set(*file)) {
      set_id_ = set->id;
      for (const Part& part : set->parts) {
        parts_.push_back({layout::part_path(index_path, part.path), part.id});
      }
    }
  } catch (const Error&) {
    parts_.clear();
  }
}

void ReplacedSet::keep_if_moved() noexcept {
  try {
    if (!parts_.empty() && !storage::is_at(*storage_, index_path_, identity_)) {
      parts_.clear();
    }
  } catch (const std::exception&) {
    parts_.clear();  // what is not known is not removed
  }
}

void ReplacedSet::remove_parts() noexcept {
  for (const OldPart& part : parts_) {
    remove_part(*storage_, index_path_, set_id_, part);
  }
  parts_.clear();
}

}  // namespace sluice::commit
