#include "layout/records/planner.hpp"

#include <algorithm>

#include "layout/records/catalog.hpp"

namespace sluice::layout::records {

using model::Definition;

namespace {

constexpr std::uint64_t word_bytes = 8;

std::uint64_t rounded_up(std::uint64_t offset, std::uint64_t unit) {
  return (offset + unit - 1) / unit * unit;
}

}  // namespace

std::unique_ptr<RecordsPlanner> RecordsPlanner::create(storage::File& file,
                                                       const PlannerOptions& options) {
  return std::unique_ptr<RecordsPlanner>(new RecordsPlanner(file, options));
}

std::unique_ptr<RecordsPlanner> RecordsPlanner::append(storage::File& file,
                                                       const PlannerOptions& options) {
  const auto catalog = RecordsCatalog::open(file);
  auto planner = create(file, options);
  State& state = planner->state_;
  for (std::uint32_t v = 0; v < catalog->variables().size(); ++v) {
    planner->definitions_.push_back(catalog->variables()[v].definition);
    state.fixed_is_there.push_back(catalog->holds_fixed(v));
  }
  state.root = catalog->root();
  state.end = catalog->end();
  state.steps = catalog->steps();
  state.definitions = planner->definitions_.size();
  planner->committed_ = state;
  return planner;
}

void RecordsPlanner::define(const Definition& definition) {
  definitions_.push_back(definition);
  definitions_.back().chunk = {};
  definitions_.back().compress.clear();
}

void RecordsPlanner::set_attribute(const model::Attribute& attribute) {
  attributes_.push_back(attribute);
}

std::uint64_t RecordsPlanner::take(std::uint64_t bytes) {
  const bool is_large = bytes >= options_.threshold_bytes;
  const std::uint64_t unit = is_large ? std::max(options_.alignment_bytes, word_bytes) : word_bytes;
  const std::uint64_t address = rounded_up(state_.end, unit);
  if (__builtin_add_overflow(address, bytes, &state_.end)) {
    throw Error(Code::no_space, file_.path() + ": the file would exceed 64-bit offsets");
  }
  return address;
}

Placement RecordsPlanner::place(const Touched& touched) {
  const Definition& definition = definitions_[touched.variable];
  const model::Dims& shape = definition.varying ? touched.shape : definition.shape;
  const std::uint64_t bytes =
      model::checked_product(shape.volume(), definition.type.bytes, "variable size in bytes");
  if (!definition.stepped) {
    if (state_.fixed_is_there[touched.variable]) {
      throw Error(Code::unsupported,
                  definition.name +
                      ": was written by an earlier commit, and committed data is never overwritten "
                      "in place: define it with steps");
    }
    state_.fixed_is_there[touched.variable] = bytes != 0;
  }
  std::vector<std::uint64_t> addresses;
  if (bytes != 0) {
    addresses.push_back(take(bytes));
  }
  entry_.sections.push_back({touched.variable, shape, bytes != 0 ? addresses[0] : absent});
  return {touched.variable, definition.type.bytes, shape, shape, addresses};
}

CommitPlan RecordsPlanner::plan_commit(const CommitRequest& request) {
  CommitPlan plan;
  plan.step = state_.steps;
  entry_ = {};
  state_.fixed_is_there.resize(definitions_.size());
  for (const Touched& touched : request.touched) {
    plan.placements.push_back(place(touched));
  }
  entry_.row.time = request.time;
  entry_.row.modified_ns = request.modified_ns;
  if (request.checksum_words != 0) {
    const model::Dims words{request.checksum_words};
    entry_.row.first_word = take(request.checksum_words * word_bytes);
    entry_.row.word_count = request.checksum_words;
    plan.checksums = Placement(checksum_variable, word_bytes, words, words,
                               std::vector<std::uint64_t>{entry_.row.first_word});
  }
  if (request.is_step) {
    entry_.row.step = state_.steps++;
  }
  plan.set_space(definitions_);
  return plan;
}

void RecordsPlanner::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  entry_ = {};
  entry_.row.time = std::nan("");
  entry_.row.modified_ns = modified_ns;
  state_.steps = std::min(steps, state_.steps);
}

MetadataUpdate RecordsPlanner::seal() {
  const bool is_fresh = state_.root.entries == 0;
  entry_.previous = state_.root;
  entry_.steps = state_.steps;
  entry_.definitions.assign(definitions_.begin() + static_cast<std::ptrdiff_t>(state_.definitions),
                            definitions_.end());
  entry_.attributes.assign(attributes_.begin() + static_cast<std::ptrdiff_t>(state_.attributes),
                           attributes_.end());
  std::vector<std::byte> text = entry_text(entry_);
  state_.root = {state_.root.entries + 1, take(text.size()), text.size()};
  state_.definitions = definitions_.size();
  state_.attributes = attributes_.size();
  entry_ = {};

  MetadataUpdate update;
  update.fresh.push_back({state_.root.offset, std::move(text)});
  update.end = state_.end;
  if (is_fresh) {
    update.root.push_back({0, header_text(state_.root)});
  } else {
    update.root.push_back({root_offset, root_text(state_.root)});
    update.is_atomic = true;
  }
  return update;
}

void RecordsPlanner::planned() { under_way_.push_back(state_); }

void RecordsPlanner::committed() {
  if (under_way_.empty()) {
    planned();
  }
  committed_ = std::move(under_way_.front());
  under_way_.pop_front();
}

void RecordsPlanner::abandon() {
  under_way_.clear();
  state_ = committed_;
  entry_ = {};
}

}  // namespace sluice::layout::records
