// The storage of the tests' driver: the real one, whose calls are recorded and can be made to fail.
// A test reaches it from inside the program that it watches, by ctypes.
//
// Format of a dump: for every record a line "CALL FAILED INODE OFFSET LENGTH BYTES REPLACED",
// one with the path, one with the new path, then BYTES bytes and a newline.
#include <cstdio>
#include <fstream>

#include "plugin/driver_storage.hpp"
#include "support/faulty_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::plugin {

namespace {

struct Watched {
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::shared_ptr<storage::Faults> faults = std::make_shared<storage::Faults>();
  std::shared_ptr<storage::Storage> storage = std::make_shared<storage::FaultyStorage>(
      std::make_shared<storage::RecordingStorage>(storage::make_writeback(), log), faults);
};

Watched& watched() {
  static auto* const all = new Watched;
  return *all;
}

}  // namespace

storage::Storage& driver_storage() { return *watched().storage; }

}  // namespace sluice::plugin

using sluice::plugin::watched;
namespace storage = sluice::storage;

extern "C" {

#define EXPORTED __attribute__((visibility("default")))

/// How many calls are recorded.
EXPORTED unsigned long watched_mark() { return watched().log->records().size(); }

EXPORTED int watched_dump(const char* path) {
  std::ofstream out(path, std::ios::binary);
  for (const storage::Record& record : watched().log->records()) {
    out << storage::call_name(record.call) << ' ' << record.failed << ' ' << record.inode << ' '
        << record.offset << ' ' << record.length << ' ' << record.bytes.size() << ' '
        << record.replaced << '\n'
        << record.path << '\n'
        << record.to << '\n';
    out.write(reinterpret_cast<const char*>(record.bytes.data()),
              static_cast<std::streamsize>(record.bytes.size()));
    out << '\n';
  }
  return out.flush() ? 0 : -1;
}

/// Calls so far, those that failed included.
EXPORTED unsigned long watched_calls() { return watched().faults->calls(); }

/// The nth call from now on fails, and with `persistent` every later one.
EXPORTED void watched_fail(unsigned long nth, int error_number, int persistent,
                           unsigned long landed_bytes) {
  storage::Rule rule;
  rule.nth = nth;
  rule.error_number = error_number;
  rule.persistent = persistent != 0;
  rule.landed_bytes = landed_bytes;
  watched().faults->add(rule);
}

EXPORTED void watched_heal() { watched().faults->clear(); }
EXPORTED unsigned long watched_fired() { return watched().faults->fired(); }
}
