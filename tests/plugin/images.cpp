// Every disk that a crash of a recorded program could leave, brought to its last commit by the
// driver's own opening: images DUMP PATH OUT MARKS LONG SEED PLANT [BASE]
//
// DUMP is of watched_storage.cpp, PATH the file that the program wrote, MARKS ("3,17,40") the
// numbers of records at which its flushes had returned, BASE what was at PATH before. Different
// files go to OUT/N.h5, once each. A line for every image goes to OUT/images: "recovered", "again"
// (after a second crash inside recovery) or "plain" (as a program without the driver finds it); N,
// -1 where there is no file, -2 where it was refused; the flushes that had returned; a checksum of
// the disk, so that those that are the same are counted once.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "codec/checksum.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/journal_format.hpp"
#include "crash/disk.hpp"
#include "plugin/committed_file.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::test {
namespace {

using storage::Call;
using storage::Record;

Call call_of(const std::string& name) {
  for (int call = 0; call < storage::call_count; ++call) {
    if (name == storage::call_name(static_cast<Call>(call))) {
      return static_cast<Call>(call);
    }
  }
  throw std::runtime_error("no call " + name);
}

/// The model of the disk begins at the folder that holds the file.
std::string in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<Record> load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<Record> records;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string call;
    std::size_t bytes = 0;
    Record record;
    words >> call >> record.failed >> record.inode >> record.offset >> record.length >> bytes >>
        record.replaced;
    record.call = call_of(call);
    std::getline(in, record.path);
    std::getline(in, record.to);
    record.path = in_folder(record.path);
    record.to = in_folder(record.to);
    record.bytes.resize(bytes);
    in.read(reinterpret_cast<char*>(record.bytes.data()), static_cast<std::streamsize>(bytes));
    in.get();
    records.push_back(std::move(record));
  }
  return records;
}

std::uint64_t checksum_of(const Files& files) {
  codec::Checksum digest;
  for (const auto& [path, bytes] : files) {
    digest.update(std::as_bytes(std::span(path)));
    digest.update(*bytes);
  }
  return digest.value();
}

/// What a driver with a bug would have done to the disk. Marks move with the records.
void plant(const std::string& bug, const std::string& path, std::vector<Record>& records,
           std::vector<std::size_t>& marks) {
  const std::string journal = commit::journal_path(path);
  std::vector<Record> kept;
  std::vector<std::size_t> moved = marks;
  // A commit syncs its data, or data and guard together; its record, at the same time where that
  // says what the data is; what it changes in place.
  bool is_guarded = false;
  bool is_decided = false;
  bool is_applied = false;
  for (std::size_t r = 0; r < records.size(); ++r) {
    const Record& record = records[r];
    const bool of_journal = record.path == journal;
    const bool is_sync = record.call == Call::sync;
    const bool is_guard =
        record.call == Call::write && record.length == 1 && record.bytes[0] == std::byte{0};
    bool drops = false;
    if (bug == "no_journal") drops = of_journal;
    if (bug == "no_journal_sync") drops = of_journal && is_sync;
    const bool is_lifted =
        record.call == Call::write && !of_journal && record.length > 1 && record.offset == 0;
    if (bug == "no_data_sync") drops = is_sync && !of_journal && !is_decided;
    if (bug == "no_guard_sync") drops = is_sync && !of_journal && is_guarded && !is_applied;
    if (bug == "no_apply_sync") drops = is_sync && !of_journal && is_applied;
    if (bug == "no_guard") drops = is_guard;
    if (bug == "no_folder_sync") drops = record.call == Call::sync_directory;
    is_decided = (is_decided || (of_journal && is_sync)) && !is_lifted;
    is_applied =
        (is_applied || (is_guarded && is_decided && record.call == Call::write)) && !is_lifted;
    is_guarded = (is_guarded || is_guard) && !is_lifted;
    if (drops) {
      for (std::size_t m = 0; m < marks.size(); ++m) {
        moved[m] -= r < marks[m] ? 1 : 0;
      }
    } else {
      kept.push_back(record);
    }
  }
  records = std::move(kept);
  marks = std::move(moved);
}

/// As records would be that say nothing of the data. Those of short runs, each one write.
void strip_tails(const std::string& journal, std::vector<Record>& records) {
  commit::JournalPlace place;
  for (Record& record : records) {
    const bool is_record = record.call == Call::write && record.path == journal &&
                           record.bytes.size() > commit::journal_header_bytes;
    if (!is_record) {
      continue;
    }
    commit::JournalHeader header{};
    std::memcpy(&header, record.bytes.data(), sizeof header);
    if (header.magic != commit::tail_magic && header.magic != commit::log_magic) {
      continue;  // room for later records
    }
    place = record.offset == 0 ? commit::JournalPlace{} : place;
    place.at = record.offset;
    if (header.magic == commit::tail_magic) {
      const auto payload = std::span(record.bytes).subspan(sizeof header);
      const std::uint64_t bytes = commit::tail_bytes(payload, payload.size()).value();
      record.bytes.resize(record.bytes.size() - bytes);
      record.length = record.bytes.size();
      header.magic = commit::log_magic;
      header.payload_bytes -= bytes;
      header.payload_checksum = codec::checksum(std::span(record.bytes).subspan(sizeof header));
    }
    header = commit::sealed_header(header, place.previous);
    std::memcpy(record.bytes.data(), &header, sizeof header);
    place = commit::place_behind(place, header);
  }
}

/// Places between two syncs that are carried out at the same time: of the data and of the record.
std::vector<std::size_t> places_between_syncs(const std::vector<Record>& records) {
  std::vector<std::size_t> places;
  for (std::size_t r = 1; r < records.size(); ++r) {
    const bool are_both = records[r - 1].call == Call::sync && records[r].call == Call::sync;
    if (are_both && records[r - 1].inode != records[r].inode) {
      places.push_back(r);
    }
  }
  return places;
}

class Images {
 public:
  Images(std::string path, std::string out, std::vector<std::size_t> marks)
      : path_(std::move(path)),
        out_(std::move(out)),
        marks_(std::move(marks)),
        list_(out_ + "/images") {}

  void examine(const CrashDisk& disk, const DiskLimits& limits, int second_every) {
    std::size_t returned = 0;
    for (const std::size_t mark : marks_) {
      returned += mark <= disk.place ? 1 : 0;
    }
    const auto memory = storage::make_memory();
    for (const auto& [path, bytes] : disk.files) {
      memory->put(path, *bytes);
    }
    const std::uint64_t checksum = checksum_of(disk.files);
    note("plain", number_of(*memory), returned, checksum);
    const auto log = std::make_shared<storage::Log>();
    storage::RecordingStorage recorded(memory, log);
    note("recovered", recover(recorded, *memory), returned, checksum);
    if (!log->records().empty() && ++replays_ % second_every == 0) {
      CrashDisks(disk.files, log->records(), Reach::inode, limits)
          .visit([&](const CrashDisk& second) {
            const auto again = storage::make_memory();
            for (const auto& [path, bytes] : second.files) {
              again->put(path, *bytes);
            }
            note("again", recover(*again, *again), returned, checksum_of(second.files));
            return true;
          });
    }
  }

 private:
  /// As the driver opens a file for writing, after which it ends without writing.
  long recover(storage::Storage& storage, const storage::MemoryStorage& memory) {
    if (!storage.exists(path_)) {
      return -1;
    }
    try {
      plugin::CommittedFile::reopen(storage, path_, plugin::Settings{});
    } catch (const Error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      return -2;
    }
    return number_of(memory);
  }

  long number_of(const storage::MemoryStorage& memory) {
    const auto paths = memory.paths();
    if (std::find(paths.begin(), paths.end(), path_) == paths.end()) {
      return -1;
    }
    const std::vector<std::byte> bytes = memory.contents(path_);
    const auto [found, is_new] =
        numbers_.emplace(codec::checksum(bytes), static_cast<long>(numbers_.size()));
    if (is_new) {
      std::ofstream(out_ + "/" + std::to_string(found->second) + ".h5", std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    return found->second;
  }

  void note(const char* what, long number, std::size_t returned, std::uint64_t checksum) {
    list_ << what << ' ' << number << ' ' << returned << ' ' << checksum << '\n';
  }

  const std::string path_;
  const std::string out_;
  const std::vector<std::size_t> marks_;
  std::ofstream list_;
  std::map<std::uint64_t, long> numbers_;
  int replays_ = 0;
};

int run(const std::vector<std::string>& words) {
  const std::string path = in_folder(words[1]);
  std::vector<Record> records = load(words[0]);
  std::vector<std::size_t> marks;
  std::istringstream text(words[3]);
  for (std::string mark; std::getline(text, mark, ',');) {
    marks.push_back(std::stoul(mark));
  }
  plant(words[6], path, records, marks);
  if (words[6] == "no_data_checksums") {
    strip_tails(commit::journal_path(path), records);
  }
  Files base;
  if (words.size() > 7) {
    std::ifstream in(words[7], std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(content));
    base[path] = std::make_shared<Bytes>(bytes.begin(), bytes.end());
  }
  const bool is_long = words[4] == "1";
  DiskLimits limits{.all_up_to = 4, .random = 3, .pairs = 3, .torn = 3, .per_place = 4};
  DiskLimits second{.all_up_to = 3, .random = 2, .pairs = 2, .torn = 2, .per_place = 2};
  if (is_long) {
    limits = {.all_up_to = 8, .random = 40, .pairs = 40, .torn = 12, .per_place = 60};
    second.per_place = 6;
  }
  limits.seed = second.seed = std::stoull(words[5]);
  Images images(path, words[2], marks);
  // Either of two syncs at the same time may be the one that has ended.
  const std::vector<std::size_t> between = places_between_syncs(records);
  std::vector<Record> exchanged = records;
  for (const std::size_t place : between) {
    std::swap(exchanged[place - 1], exchanged[place]);
  }
  std::vector<std::size_t> places = marks;
  places.insert(places.end(), between.begin(), between.end());
  for (const std::vector<Record>& order : {records, exchanged}) {
    CrashDisks(base, order, Reach::inode, limits)
        .visit(
            [&](const CrashDisk& disk) {
              images.examine(disk, second, is_long ? 200 : 40);
              return true;
            },
            0, places);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr, "images DUMP PATH OUT MARKS LONG SEED PLANT [BASE]\n");
    return 2;
  }
  return sluice::test::run({argv + 1, argv + argc});
}
