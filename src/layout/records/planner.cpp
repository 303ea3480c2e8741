#include "layout/records/planner.hpp"

#include <algorithm>

#include "layout/records/catalog.hpp"
#include "layout/records/entry_text.hpp"

namespace sluice::layout::records {

using model::Definition;

namespace {

constexpr std::uint64_t word_bytes = 8;

}  // namespace

std::unique_ptr<RecordsPlanner> RecordsPlanner::create(storage::File& file,
                                                       const PlannerOptions& options) {
  return std::unique_ptr<RecordsPlanner>(new RecordsPlanner(file, options));
}

std::unique_ptr<RecordsPlanner> RecordsPlanner::append(storage::File& file,
                                                       const PlannerOptions& options) {
  const auto catalog = RecordsCatalog::open(file);
  auto planner = create(file, options);
  RecordsState& state = planner->state_;
  for (std::uint32_t v = 0; v < catalog->variables().size(); ++v) {
    planner->definitions_.push_back(catalog->variables()[v].definition);
    state.fixed_is_there.push_back(catalog->holds_fixed(v));
  }
  state.root = catalog->root();
  state.end = catalog->end();
  state.steps = catalog->steps();
  state.definitions = planner->definitions_.size();
  planner->history_.begin(state);
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

Placement RecordsPlanner::place(const Touched& touched) {
  const Definition& definition = definitions_[touched.variable];
  const model::Dims& shape = definition.varying ? touched.shape : definition.shape;
  const std::uint64_t bytes =
      model::checked_product(shape.volume(), definition.type.bytes, "variable size in bytes");
  if (!definition.stepped) {
    if (state_.fixed_is_there[touched.variable]) {
      refuse_rewriting(definition.name);
    }
    state_.fixed_is_there[touched.variable] = bytes != 0;
  }
  const std::uint64_t address = bytes != 0 ? take(bytes) : absent;
  entry_.sections.push_back({touched.variable, shape, address});
  return in_one_piece(touched.variable, definition, shape, address);
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

void RecordsPlanner::abandon() {
  AppendingPlanner::abandon();
  entry_ = {};
}

}  // namespace sluice::layout::records
