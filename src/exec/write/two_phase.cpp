#include <optional>

#include "exec/write/flows.hpp"
#include "exec/write/portion_source.hpp"
#include "exec/write/two_phase_write.hpp"

namespace sluice::exec {

std::uint64_t write_two_phase(Transport& transport, const plan::Plan& plan, const Work& work,
                              Buffers& buffers) {
  const bool in_background = plan.flow == plan::Flow::async_two_phase;
  std::optional<Window> window;
  const bool owns_tiles = plan.tiles.index_of(transport.rank()) >= 0;
  std::exception_ptr failure;
  if (work.memory) {
    try {
      window.emplace(work.memory());
    } catch (...) {
      failure = std::current_exception();
    }
  } else if (work.file != nullptr && (owns_tiles || work.file->is_collective())) {
    window.emplace(*work.file, buffers.writer, in_background);
  }
  std::vector<const layout::Placement*> placements;
  for (const layout::Placement& placement : work.commit->placements) {
    placements.push_back(&placement);
  }
  if (work.commit->checksums) {
    placements.push_back(&*work.commit->checksums);
  }
  TwoPhaseWrite rounds(transport, plan.tiles, plan.window_bytes, placements,
                       window ? &*window : nullptr, buffers);
  rounds.fail(failure);
  PortionSource portions(work, plan.packed_bytes, buffers);
  bool is_well = rounds.run(portions, {0, plan.tiles.own_bytes()});
  if (is_well) {
    portions.give_records();
  }
  if (is_well && work.commit->checksums) {
    // The records are known only now, and are sent in the same way.
    const RecordWords records = portions.records();
    WordSource words(work, records);
    rounds.run(words, plan.tiles.own_range(work.commit->checksums->hull()));
  }
  if (rounds.failure()) {
    std::rethrow_exception(rounds.failure());
  }
  if (!window) {
    return 0;
  }
  in_background ? window->leave() : window->finish();
  return window->bytes_written();
}

}  // namespace sluice::exec
