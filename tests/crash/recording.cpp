// The storage calls of a scenario's ranks, and the states that they acknowledged.
#include "crash/scenario.hpp"
#include "support/local_transport.hpp"

namespace sluice::test {

namespace {

/// The guard is the first thing that is done after a commit became durable.
std::vector<std::size_t> durable_places(const Recording& recording) {
  const auto& records = recording.log->records();
  std::vector<std::size_t> places;
  std::size_t first = 0;
  for (const std::size_t ack : recording.acks) {
    std::size_t place = ack;
    for (std::size_t r = first; r < ack && place == ack; ++r) {
      const storage::Record& record = records[r];
      if (record.call == storage::Call::write && record.offset == 0 && record.length == 1) {
        place = r;
      }
    }
    places.push_back(place);
    first = ack;
  }
  return places;
}

}  // namespace

Recording record(const Scenario& scenario, const Row& row, std::uint64_t seed, const Wrap& wrap) {
  Recording recording;
  recording.disk = storage::make_memory();
  if (scenario.before) {
    exec::run_local(crash_ranks, seed, [&](exec::Transport& transport) {
      Recording unused;
      unused.disk = recording.disk;
      Writer writer(transport, recording.disk, row, unused);
      scenario.before(writer);
    });
  }
  const Golden unspoilt = golden_of(recording.disk);
  if (scenario.spoil) {
    scenario.spoil(*recording.disk);
  }
  for (const std::string& path : recording.disk->paths()) {
    recording.base[path] = std::make_shared<Bytes>(recording.disk->contents(path));
  }
  recording.is_in_flight = scenario.one_by_one != nullptr;
  recording.is_deferred = row.is_deferred;
  if (recording.is_in_flight || recording.is_deferred) {
    Scenario waiting = scenario;
    waiting.body = scenario.one_by_one ? scenario.one_by_one : scenario.body;
    waiting.one_by_one = nullptr;
    Row at_once = row;
    at_once.is_deferred = false;
    recording.golden = record(waiting, at_once, seed).golden;
    for (Golden& golden : recording.golden) {
      golden.plain = recording.comparable(std::move(golden.plain));
    }
  } else {
    recording.golden.push_back(golden_of(recording.disk));
  }
  recording.golden.front().unspoilt = unspoilt.sluice;
  exec::run_local(crash_ranks, seed,
                  [&](exec::Transport& transport) {
                    const int rank = transport.rank();
                    std::shared_ptr<storage::Storage> storage =
                        std::make_shared<storage::RecordingStorage>(recording.disk, recording.log,
                                                                    rank);
                    Writer writer(transport, wrap ? wrap(storage, rank) : storage, row, recording);
                    scenario.body(writer);
                  },
                  {.ranks_per_node = row.ranks_per_node});
  // Only the index makes a step of a set visible, whatever became of the parts.
  recording.durable =
      row.is_set() || recording.is_in_flight ? recording.acks : durable_places(recording);
  return recording;
}

}  // namespace sluice::test
