#include "layout/layout.hpp"

#include <algorithm>

#include "layout/catalog.hpp"

namespace sluice::layout {

void Planner::set_attribute(const model::Attribute& attribute) {
  throw Error(Code::internal, std::string(format()) + ": attribute " + attribute.name);
}

std::vector<std::uint64_t> Planner::place_encoded(std::span<const EncodedTile>) {
  throw Error(Code::internal, std::string(format()) + ": holds no encoded tiles");
}

std::uint64_t proof_of_rows(std::span<const model::Definition> definitions,
                            std::span<const Touched> touched) {
  RowsProof proof;
  for (const Touched& one : touched) {
    const model::Definition& definition = definitions[one.variable];
    if (definition.varying && one.shape.empty()) {
      return 0;
    }
    if (definition.varying) {
      proof.add(definition.name, one.shape[0]);
    }
  }
  return proof.value();
}

namespace {

/// From the first byte to the last of the checksums, and of the placements that `counts` accepts.
template <class Counts>
Extent hull_of(const CommitPlan& plan, const Counts& counts) {
  std::uint64_t first = absent;
  std::uint64_t end = 0;
  const auto include = [&](const Placement& placement) {
    const Extent hull = placement.hull();
    if (hull.length != 0) {
      first = std::min(first, hull.offset);
      end = std::max(end, hull.offset + hull.length);
    }
  };
  for (const Placement& placement : plan.placements) {
    if (counts(placement)) {
      include(placement);
    }
  }
  if (plan.checksums) {
    include(*plan.checksums);
  }
  return first == absent ? Extent{} : Extent{first, end - first};
}

}  // namespace

void CommitPlan::set_space(std::span<const model::Definition> definitions) {
  space = hull_of(*this, [&](const Placement& placement) {
    return !definitions[placement.variable()].partial;
  });
}

Extent CommitPlan::hull() const {
  return hull_of(*this, [](const Placement&) { return true; });
}

std::vector<std::byte> CommitPlan::to_bytes() const {
  model::ByteWriter out;
  out.put(step);
  out.put(space);
  write_segments(objects, out);
  out.put(placements.size());
  for (const Placement& placement : placements) {
    placement.write_to(out);
  }
  out.put(checksums.has_value());
  if (checksums) {
    checksums->write_to(out);
  }
  return out.take();
}

CommitPlan CommitPlan::from_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  CommitPlan plan;
  plan.step = in.get<std::uint64_t>();
  plan.space = in.get<Extent>();
  plan.objects = read_segments(in);
  const auto count = in.get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    plan.placements.push_back(Placement::read_from(in));
  }
  if (in.get<bool>()) {
    plan.checksums = Placement::read_from(in);
  }
  return plan;
}

}  // namespace sluice::layout
