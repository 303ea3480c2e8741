#include <cstring>
#include <limits>

#include "layout/namdbin/namdbin.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::namdbin {

using model::Definition;

std::string refusal(const Definition& definition) {
  const model::Dims& shape = definition.shape;
  if (definition.stepped || definition.type != type_of<double>() || shape.rank() != 2 ||
      shape[1] != 3) {
    return "holds one float64 array of shape {atoms, 3} without steps";
  }
  if (shape[0] == 0) {
    return "holds at least one atom";
  }
  if (shape[0] > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    return "counts atoms in 32 bits: at most 2147483647";
  }
  return "";
}

std::unique_ptr<NamdbinPlanner> NamdbinPlanner::create(storage::File& file) {
  return std::unique_ptr<NamdbinPlanner>(new NamdbinPlanner(file));
}

void NamdbinPlanner::define(const Definition& definition) {
  if (!definitions_.empty()) {
    throw Error(Code::internal, definition.name + ": a second array in a file of format namdbin");
  }
  definitions_.push_back(definition);
}

std::uint64_t NamdbinPlanner::end() const {
  return header_bytes + (definitions_.empty() ? 0 : definitions_[0].bytes_per_step());
}

CommitPlan NamdbinPlanner::plan_commit(const CommitRequest& request) {
  CommitPlan plan;
  if (request.is_step) {
    throw Error(Code::unsupported,
                file_.path() + ": format namdbin: holds no steps: use dcd or hdf5");
  }
  if (request.touched.empty() && !must_fill_) {
    return plan;
  }
  if (is_placed_) {
    refuse_rewriting(definitions_[0].name, "write a new file");
  }
  std::vector<std::uint64_t> addresses;
  if (definitions_[0].shape.volume() != 0) {
    addresses.push_back(header_bytes);
  }
  const model::Dims& shape = definitions_[0].shape;
  plan.placements.emplace_back(0, definitions_[0].type.bytes, shape, shape, addresses);
  plan.set_space(definitions_);
  is_placed_ = true;
  return plan;
}

void NamdbinPlanner::make_all() {
  must_fill_ = !definitions_.empty() && definitions_[0].partial && !is_placed_;
}

MetadataUpdate NamdbinPlanner::seal() {
  MetadataUpdate update;
  if (definitions_.empty()) {
    throw Error(Code::unsupported,
                file_.path() + ": format namdbin: the file has no array: define it, or use hdf5");
  }
  const auto atoms = static_cast<std::int32_t>(definitions_[0].shape[0]);
  std::vector<std::byte> bytes(header_bytes);
  std::memcpy(bytes.data(), &atoms, sizeof atoms);
  update.root.push_back({0, std::move(bytes)});
  update.end = end();
  update.is_atomic = in_file().has_header;  // the number of atoms
  return update;
}

void NamdbinPlanner::planned() { history_.plan({is_placed_, true}); }

void NamdbinPlanner::abandon() {
  is_placed_ = history_.abandon().placed;
  must_fill_ = false;
}

}  // namespace sluice::layout::namdbin
