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

/// The extent around several.
class Hull {
 public:
  void include(const Placement& placement) {
    const Extent extent = placement.hull();
    if (extent.length != 0) {
      first_ = std::min(first_, extent.offset);
      end_ = std::max(end_, extent.offset + extent.length);
    }
  }
  Extent extent() const { return first_ == absent ? Extent{} : Extent{first_, end_ - first_}; }

 private:
  std::uint64_t first_ = absent;
  std::uint64_t end_ = 0;
};

}  // namespace

void CommitPlan::set_space(std::span<const model::Definition> definitions) {
  Hull hull;
  for (const Placement& placement : placements) {
    if (!definitions[placement.variable()].partial) {
      hull.include(placement);
    }
  }
  if (checksums) {
    hull.include(*checksums);
  }
  space = hull.extent();
}

Extent CommitPlan::hull() const {
  Hull hull;
  for (const Placement& placement : placements) {
    hull.include(placement);
  }
  if (checksums) {
    hull.include(*checksums);
  }
  return hull.extent();
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
