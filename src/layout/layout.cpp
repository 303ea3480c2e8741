#include "layout/layout.hpp"

namespace sluice::layout {

std::vector<std::uint64_t> Planner::place_encoded(std::span<const EncodedTile>) {
  throw Error(Code::internal, std::string(format()) + ": holds no encoded tiles");
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
