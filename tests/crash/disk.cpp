#include "crash/disk.hpp"

#include <algorithm>
#include <cstring>

#include "storage/calls.hpp"

namespace sluice::test {

using storage::Call;
using storage::Record;

namespace {

constexpr std::uint64_t sector_bytes = 512;
/// Numbers for files that are not in the log yet.
constexpr std::uint64_t unmet = std::uint64_t{1} << 40;
/// In place of a file's number: the name is that of a folder.
constexpr std::uint64_t folder = 0;

bool is_name_change(Call call) {
  return call == Call::create || call == Call::rename || call == Call::remove ||
         call == Call::make_folder || call == Call::remove_folder;
}
bool is_data_change(Call call) {
  return call == Call::write || call == Call::resize || call == Call::preallocate;
}

std::byte garbage(std::uint64_t salt, std::uint64_t at) {
  std::uint64_t x = (salt ^ at) * 0x9E3779B97F4A7C15ULL;
  x ^= x >> 29;
  return static_cast<std::byte>((x * 0xBF58476D1CE4E5B9ULL) >> 56);
}

/// Grows with garbage (odd salt) or zeros.
void grow(Bytes& content, std::uint64_t bytes, std::uint64_t salt) {
  const std::uint64_t old = content.size();
  if (bytes <= old) {
    return;
  }
  content.resize(bytes);
  if (salt % 2 != 0) {
    for (std::uint64_t at = old; at < bytes; ++at) {
      content[at] = garbage(salt, at);
    }
  }
}

}  // namespace

std::string describe(const CrashDisk& disk, std::size_t calls) {
  return "crash after " + std::to_string(disk.place) + " of " + std::to_string(calls) +
         " calls, choice " + disk.choice;
}

CrashDisks::CrashDisks(const Files& base, const std::vector<Record>& records, Reach reach,
                       const DiskLimits& limits)
    : records_(records), reach_(reach), limits_(limits), random_(limits.seed) {
  for (const auto& [path, bytes] : base) {
    const std::uint64_t number = unmet + names_.size();
    names_[path] = number;
    contents_[number] = bytes;
    for (std::string at = storage::folder_of(path); at != "."; at = storage::folder_of(at)) {
      names_[at] = folder;
    }
  }
}

void CrashDisks::visit(const std::function<bool(const CrashDisk&)>& visit, std::size_t first,
                       const std::vector<std::size_t>& marks) {
  for (std::size_t r = 0; r <= records_.size(); ++r) {
    const bool is_marked = r == 0 || std::count(marks.begin(), marks.end(), r) != 0;
    if (r >= first && is_marked && !visit_place(r, false, visit)) {
      return;
    }
    if (r == records_.size()) {
      return;
    }
    const bool has_new = enter(r);
    if (has_new && r + 1 >= first && !visit_place(r + 1, true, visit)) {
      return;
    }
  }
}

void CrashDisks::visit_live(const std::function<void(const CrashDisk&)>& visit) {
  for (std::size_t r = 0; r < records_.size(); ++r) {
    if (enter(r)) {
      visit(build(r + 1, Choice(pending_.size(), Landed::whole), 0));
    }
  }
}

/// True where the record is one more volatile call.
bool CrashDisks::enter(std::size_t index) {
  const Record& record = records_[index];
  if (record.call == Call::open) {
    const auto found = names_.find(record.path);
    if (found != names_.end() && found->second >= unmet) {
      contents_[record.inode] = contents_[found->second];
      found->second = record.inode;
    }
    return false;
  }
  if (record.failed) {
    return false;  // the faults of these tests do not reach the disk
  }
  if (record.call == Call::sync) {
    sync(record);
    return false;
  }
  if (record.call == Call::sync_directory) {
    sync_folder(record.path);
    return false;
  }
  if (!is_name_change(record.call) && !is_data_change(record.call)) {
    return false;
  }
  if (record.call == Call::create) {
    contents_[record.inode] = std::make_shared<Bytes>();
  }
  pending_.push_back({index, false});
  return true;
}

void CrashDisks::sync(const Record& record) {
  auto concerns = [&](const Op& op) {
    const Record& made = records_[op.record];
    return is_data_change(made.call) && made.inode == record.inode &&
           (reach_ == Reach::inode || made.rank == record.rank);
  };
  for (Op& op : pending_) {
    op.durable = op.durable || concerns(op);
  }
  // What is durable goes to the base, up to the first call on the same file that is not.
  auto content = std::make_shared<Bytes>(*contents_.at(record.inode));
  bool is_blocked = false;
  std::erase_if(pending_, [&](const Op& op) {
    const Record& made = records_[op.record];
    if (!is_data_change(made.call) || made.inode != record.inode) {
      return false;
    }
    is_blocked = is_blocked || !op.durable;
    if (!is_blocked) {
      apply(*content, made, Landed::whole, 0);
    }
    return !is_blocked;
  });
  contents_[record.inode] = std::move(content);
}

namespace {

using Names = std::map<std::string, std::uint64_t>;

/// The content of a folder: the range of names with this prefix.
std::pair<Names::iterator, Names::iterator> inside(Names& names, const std::string& path) {
  return {names.lower_bound(path + "/"), names.lower_bound(path + "0")};  // 0 is the character
                                                                          // after the slash
}

void rename_folder(Names& names, const std::string& path, const std::string& to) {
  Names moved;
  const auto [first, last] = inside(names, path);
  for (auto at = first; at != last; ++at) {
    moved[to + at->first.substr(path.size())] = at->second;
  }
  names.erase(first, last);
  names.erase(path);
  names[to] = folder;
  names.merge(moved);
}

/// Partial removal: every other name, by `salt`, and the folder remains.
void remove_folder(Names& names, const std::string& path, bool in_part, std::uint64_t salt) {
  const auto [first, last] = inside(names, path);
  if (!in_part) {
    names.erase(first, last);
    names.erase(path);
    return;
  }
  std::mt19937_64 coin(salt);
  for (auto at = first; at != last;) {
    const bool is_lost = at->second != folder && coin() % 2 != 0;
    at = is_lost ? names.erase(at) : std::next(at);
  }
}

void change_names(Names& names, const Record& record, bool in_part, std::uint64_t salt) {
  switch (record.call) {
    case Call::create:
      names[record.path] = record.inode;
      return;
    case Call::make_folder:
      names.emplace(record.path, folder);
      return;
    case Call::remove:
      names.erase(record.path);
      return;
    case Call::remove_folder:
      remove_folder(names, record.path, in_part, salt);
      return;
    default:
      break;
  }
  const auto found = names.find(record.path);
  if (found != names.end() && found->second == folder) {
    rename_folder(names, record.path, record.to);
    return;
  }
  if (!in_part) {
    names.erase(record.path);
  }
  names[record.to] = record.inode;
}

/// Do all folders on the path of a file exist?
bool can_be_reached(const Names& names, const std::string& path) {
  for (std::string at = storage::folder_of(path); at != "."; at = storage::folder_of(at)) {
    if (!names.contains(at)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void CrashDisks::sync_folder(const std::string& path) {
  const std::string synced = storage::folder_of(path);
  std::erase_if(pending_, [&](const Op& op) {
    const Record& made = records_[op.record];
    if (!is_name_change(made.call) || storage::folder_of(made.path) != synced) {
      return false;
    }
    change_names(names_, made, false, 0);
    return true;
  });
}

std::vector<std::vector<bool>> CrashDisks::subsets(std::size_t count) {
  std::vector<std::vector<bool>> all;
  if (count <= static_cast<std::size_t>(limits_.all_up_to)) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << count; ++bits) {
      std::vector<bool> subset(count);
      for (std::size_t i = 0; i < count; ++i) {
        subset[i] = (bits >> i & 1) != 0;
      }
      all.push_back(std::move(subset));
    }
    return all;
  }
  for (std::size_t prefix = 0; prefix <= count; ++prefix) {
    std::vector<bool> subset(count, false);
    std::fill_n(subset.begin(), prefix, true);
    all.push_back(subset);
    if (prefix < count) {
      std::vector<bool> one(count, false);
      one[prefix] = true;
      all.push_back(one);
      one.flip();
      all.push_back(one);
    }
  }
  int pairs = 0;
  for (std::size_t i = 0; i < count && pairs < limits_.pairs; ++i) {
    for (std::size_t j = i + 1; j < count && pairs < limits_.pairs; ++j, ++pairs) {
      std::vector<bool> two(count, false);
      two[i] = two[j] = true;
      all.push_back(two);
    }
  }
  for (int i = 0; i < limits_.random; ++i) {
    std::vector<bool> subset(count);
    for (std::size_t k = 0; k < count; ++k) {
      subset[k] = random_() % 2 != 0;
    }
    all.push_back(std::move(subset));
  }
  return all;
}

std::vector<CrashDisks::Choice> CrashDisks::choices(bool has_new) {
  std::vector<std::size_t> open;  // of pending_: what the choice is about
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (!pending_[i].durable) {
      open.push_back(i);
    }
  }
  // The newest call landed: without it, it is a disk of the previous place.
  const std::size_t count = open.size() - (has_new ? 1 : 0);
  std::vector<Choice> all;
  for (const std::vector<bool>& subset : subsets(count)) {
    Choice choice(pending_.size(), Landed::whole);
    for (std::size_t i = 0; i < count; ++i) {
      choice[open[i]] = subset[i] ? Landed::whole : Landed::no;
    }
    all.push_back(std::move(choice));
  }
  const std::size_t whole_choices = all.size();
  for (int i = 0; i < limits_.torn && !open.empty(); ++i) {
    Choice choice = all[random_() % whole_choices];
    if (i % 2 == 0) {
      choice[open.back()] = random_() % 3 == 0 ? Landed::growth : Landed::torn;
    } else {
      for (const std::size_t o : open) {
        choice[o] = static_cast<Landed>(random_() % 4);
      }
    }
    all.push_back(std::move(choice));
  }
  return all;
}

bool CrashDisks::visit_place(std::size_t place, bool has_new,
                             const std::function<bool(const CrashDisk&)>& visit) {
  std::vector<Choice> all = choices(has_new);
  if (all.size() > static_cast<std::size_t>(limits_.per_place)) {
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(static_cast<std::size_t>(limits_.per_place));
  }
  for (const Choice& choice : all) {
    if (!visit(build(place, choice, random_()))) {
      return false;
    }
  }
  return true;
}

void CrashDisks::apply(Bytes& content, const Record& record, Landed landed,
                       std::uint64_t salt) const {
  if (record.call == Call::resize && record.length < content.size()) {
    content.resize(record.length);
    return;
  }
  if (record.call != Call::write) {
    grow(content, record.call == Call::resize ? record.length : record.offset + record.length,
         salt);
    return;
  }
  const std::uint64_t end = record.offset + record.bytes.size();
  grow(content, end, salt);
  if (landed == Landed::growth || record.bytes.empty()) {
    return;
  }
  std::mt19937_64 coin(salt ^ record.offset);
  for (std::uint64_t at = record.offset; at < end;) {
    const std::uint64_t stop =
        landed == Landed::whole ? end : std::min(end, (at / sector_bytes + 1) * sector_bytes);
    if (landed == Landed::whole || coin() % 2 != 0) {
      std::memcpy(&content[at], &record.bytes[at - record.offset], stop - at);
    }
    at = stop;
  }
}

CrashDisk CrashDisks::build(std::size_t place, const Choice& choice, std::uint64_t salt) const {
  CrashDisk disk;
  disk.place = place;
  std::map<std::string, std::uint64_t> names = names_;
  std::map<std::uint64_t, std::shared_ptr<Bytes>> changed;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Record& record = records_[pending_[i].record];
    disk.choice += ".WTG"[static_cast<int>(choice[i])];
    if (choice[i] == Landed::no) {
      continue;
    }
    if (is_name_change(record.call)) {
      const bool is_file = contents_.contains(record.inode);
      if (record.call == Call::rename && !is_file && !names.contains(record.path)) {
        continue;  // a folder whose creation did not land
      }
      change_names(names, record, choice[i] != Landed::whole, salt);
      continue;
    }
    std::shared_ptr<Bytes>& content = changed[record.inode];
    if (!content) {
      content = std::make_shared<Bytes>(*contents_.at(record.inode));
    }
    apply(*content, record, choice[i], pending_[i].durable ? 0 : salt);
  }
  for (const auto& [name, inode] : names) {
    if (inode == folder || !can_be_reached(names, name)) {
      continue;
    }
    const auto found = changed.find(inode);
    disk.files[name] = found != changed.end() ? found->second : contents_.at(inode);
  }
  return disk;
}

}  // namespace sluice::test
