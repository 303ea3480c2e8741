#include "layout/npy/planner.hpp"

#include <algorithm>

#include "layout/appending_planner.hpp"

namespace sluice::layout::npy {

using model::Definition;
using model::Dims;

namespace {

Header header_of(const Definition& definition, std::uint64_t steps) {
  Header header;
  header.type = definition.type;
  header.growing = definition.stepped;
  const Dims extents = definition.stepped ? definition.shape.with_front(steps) : definition.shape;
  header.extents.assign(extents.begin(), extents.end());
  return header;
}

}  // namespace

std::unique_ptr<NpyPlanner> NpyPlanner::create(storage::File& file) {
  return std::unique_ptr<NpyPlanner>(new NpyPlanner(file));
}

std::unique_ptr<NpyPlanner> NpyPlanner::append(storage::File& file, const std::string& name) {
  const Header header = read_header(file);
  std::vector<std::byte> text(header_bytes);
  text.resize(file.read(0, text));
  if (!header.growing || text != header_text(header)) {
    throw Error(Code::unsupported,
                file.path() +
                    ": format npy: steps can be appended only to a file of steps that Sluice "
                    "wrote: write a new one");
  }
  auto planner = create(file);
  Definition definition;
  definition.name = name;
  definition.type = header.type;
  definition.stepped = true;
  for (std::size_t d = 1; d < header.extents.size(); ++d) {
    definition.shape.push_back(header.extents[d]);
  }
  planner->definitions_.push_back(definition);
  planner->steps_ = header.extents[0];
  planner->has_header_ = true;
  planner->history_.begin({planner->steps_, false, true, planner->end()});
  return planner;
}

void NpyPlanner::define(const Definition& definition) {
  if (!definitions_.empty()) {
    throw Error(Code::internal, definition.name + ": a second array in a numpy file");
  }
  definitions_.push_back(definition);
}

std::uint64_t NpyPlanner::end() const {
  if (definitions_.empty()) {
    return header_bytes;
  }
  const std::uint64_t times = definitions_[0].stepped ? steps_ : 1;
  return header_bytes + model::checked_product(times, definitions_[0].bytes_per_step(), "file");
}

Placement NpyPlanner::place(std::uint64_t step) const {
  const Definition& definition = definitions_[0];
  return in_one_piece(0, definition, definition.shape,
                      header_bytes + step * definition.bytes_per_step());
}

CommitPlan NpyPlanner::plan_commit(const CommitRequest& request) {
  CommitPlan plan;
  plan.step = steps_;
  const bool is_stepped = !definitions_.empty() && definitions_[0].stepped;
  if (request.is_step && !is_stepped) {
    throw Error(Code::unsupported, file_.path() +
                                       ": format npy: a step, but no variable with "
                                       "steps: define one before the first step, or use hdf5");
  }
  if (request.is_step) {
    // Also if no rank put anything: the array has no gaps, so missing elements are filled.
    plan.placements.push_back(place(steps_));
    ++steps_;
  } else if (!request.touched.empty() || must_fill_) {
    if (history_.last().placed) {
      refuse_rewriting(definitions_[0].name);
    }
    plan.placements.push_back(place(0));
    is_placed_ = true;
  }
  plan.set_space(definitions_);
  return plan;
}

void NpyPlanner::drop_steps(std::uint64_t steps, std::int64_t) { steps_ = std::min(steps, steps_); }

void NpyPlanner::make_all() {
  must_fill_ =
      !definitions_.empty() && !definitions_[0].stepped && definitions_[0].partial && !is_placed_;
}

MetadataUpdate NpyPlanner::seal() {
  MetadataUpdate update;
  if (definitions_.empty()) {
    throw Error(Code::unsupported,
                file_.path() + ": format npy: the file has no variable: define one, or use hdf5");
  }
  const Header header = header_of(definitions_[0], steps_);
  update.end = std::max(end(), committed_end());
  const std::vector<std::byte> text = header_text(header);
  if (!has_header_) {
    update.root.push_back({0, text});
  } else if (header.growing) {
    const auto field = text.begin() + static_cast<std::ptrdiff_t>(field_offset(header));
    update.root.push_back({field_offset(header), {field, field + field_width}});
    update.is_atomic = true;
  }
  return update;
}

void NpyPlanner::planned() {
  has_header_ = true;
  history_.plan({steps_, is_placed_, true, end()});
}

void NpyPlanner::abandon() {
  const Counters& left = history_.abandon();
  steps_ = left.steps;
  is_placed_ = left.placed;
  has_header_ = left.has_header;
  must_fill_ = false;
}

}  // namespace sluice::layout::npy
