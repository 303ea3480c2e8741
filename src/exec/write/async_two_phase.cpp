#include <bit>
#include <exception>
#include <optional>

#include "exec/transport/agree.hpp"
#include "exec/write/flows.hpp"
#include "exec/write/portion_source.hpp"
#include "exec/write/ring.hpp"

namespace sluice::exec {

namespace {

/// The largest power of two that divides every address, element and tile.
std::uint64_t granule_of(const Work& work, const plan::Plan& plan, std::uint64_t window_bytes) {
  constexpr std::uint64_t largest = 4096;
  std::uint64_t all = largest | plan.tiles.tile_bytes() | window_bytes;
  const auto include = [&](const layout::Placement& placement) {
    all |= placement.element_bytes() | placement.address_bits();
  };
  for (const layout::Placement& placement : work.commit->placements) {
    include(placement);
  }
  if (work.commit->checksums) {
    include(*work.commit->checksums);
  }
  return std::uint64_t{1} << std::countr_zero(all);
}

/// No more of the tiles than is needed: a window without bytes has to be passed all the same. The
/// same on every rank, as `placed` need not be: of encoded tiles a rank knows only some.
plan::OwnRange data_range(const plan::Plan& plan) {
  return plan.space.length != 0 ? plan.tiles.own_range(plan.space)
                                : plan::OwnRange{0, plan.tiles.own_bytes()};
}

plan::OwnRange records_range(const plan::Plan& plan, const layout::CommitPlan& placed) {
  return placed.checksums ? plan.tiles.own_range(placed.checksums->hull()) : plan::OwnRange{};
}

}  // namespace

std::uint64_t ring_windows(const plan::Plan& plan, const layout::CommitPlan& placed,
                           std::uint64_t window_bytes) {
  const auto windows = [&](const plan::OwnRange& range) {
    return range.last / window_bytes + 1 - range.first / window_bytes;
  };
  return windows(data_range(plan)) + windows(records_range(plan, placed));
}

std::uint64_t write_async_two_phase(const plan::Plan& plan, const Work& work, Buffers& buffers) {
  Ring& ring = *buffers.ring;
  const std::uint64_t granule = granule_of(work, plan, ring.window_bytes());
  std::exception_ptr failure;
  const auto carry = [&](RoundSource* source, const plan::OwnRange& range) {
    Pass pass = ring.pass(plan.tiles, range, granule);
    pass.gathers = plan.gathers;
    if (work.file != nullptr) {
      buffers.writer.submit([&ring, pass, file = work.file](bool has_failed) {
        ring.take(pass, has_failed ? nullptr : file);
      });
    }
    try {
      source != nullptr ? ring.put(pass, *source) : ring.put_nothing(pass);
    } catch (...) {
      failure = failure ? failure : std::current_exception();
    }
  };
  // A rank that fails passes the windows all the same: the writers of its node wait for them.
  const auto unless_failed = [&](auto&& prepare) {
    failure = failure ? failure : failure_of(prepare);
  };
  std::optional<PortionSource> portions;
  unless_failed([&] { portions.emplace(work, plan.packed_bytes, buffers); });
  carry(portions ? &*portions : nullptr, data_range(plan));
  unless_failed([&] { portions->give_records(); });
  if (work.commit->checksums) {
    // The records are known only now, and go the same way.
    std::optional<RecordWords> records;
    std::optional<WordSource> words;
    unless_failed([&] {
      records.emplace(portions->records());
      words.emplace(work, *records);
    });
    carry(words ? &*words : nullptr, records_range(plan, *work.commit));
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  return 0;
}

}  // namespace sluice::exec
