#include "commit/write/plan_maker.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "model/clock.hpp"

namespace sluice::commit {

namespace {

/// What may be packed ahead.
constexpr std::uint64_t packing_share_of_budget = 4;

/// By variable; nullptr: not in this commit.
std::vector<const layout::Placement*> by_variable(const layout::CommitPlan& placed,
                                                  std::size_t variables) {
  std::vector<const layout::Placement*> all(variables);
  for (const layout::Placement& placement : placed.placements) {
    all[placement.variable()] = &placement;
  }
  return all;
}

}  // namespace

PlanMaker::PlanMaker(exec::Transport& transport, storage::Storage& storage, const FilePlace& place,
                     const Options& options, const FileVariables& variables)
    : transport_(transport),
      variables_(variables),
      strategy_(plan::strategy(options.strategy)),
      rates_(rates_of(options, place.facts)),
      choice_(choose_writers(options, place.facts)),
      topology_(topology_of(transport, choice_)),
      by_objects_(storage.whole_files(place.path) != nullptr) {
  if (strategy_.in_background && storage.ranks_together() != 0) {
    throw Error(Code::unsupported,
                place.path + ": strategy " + strategy_.name +
                    " writes in the background, which storage mpiio cannot: use storage direct or "
                    "posix" +
                    (strategy_.within_part == nullptr
                         ? std::string()
                         : std::string(", or strategy ") + strategy_.within_part));
  }
}

std::vector<std::uint64_t> PlanMaker::sizes_of(const FileCommit& commit,
                                               std::span<const layout::Portion> portions) const {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(portions.size());
  for (const layout::Portion& portion : portions) {
    const std::uint32_t variable = commit.blocks[portion.block].variable;
    sizes.push_back(portion.piece.box.volume() * variables_.definitions()[variable].type.bytes);
  }
  return sizes;
}

plan::Plan PlanMaker::make(const FileCommit& commit, const layout::CommitPlan& placed,
                           std::span<const layout::Portion> portions) {
  const std::vector<std::uint64_t> sizes = sizes_of(commit, portions);
  plan::Input input{topology_, portions, sizes, placed.hull(), choice_, 0};
  if (!strategy_.chooses) {
    return with_objects(strategy_.plan(input), input, placed);
  }
  const auto placements = by_variable(placed, variables_.definitions().size());
  std::int64_t runs = 0;
  for (const layout::Portion& portion : portions) {
    if (const auto* placement = placements[commit.blocks[portion.block].variable]) {
      runs += static_cast<std::int64_t>(
          layout::run_count(*placement, portion.piece, portion.piece.box));
    }
  }
  const auto bytes = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  return with_objects(choose(commit, input, bytes, runs), input, placed);
}

plan::Plan PlanMaker::with_objects(plan::Plan plan, const plan::Input& input,
                                   const layout::CommitPlan& placed) const {
  if (!by_objects_) {
    return plan;
  }
  std::uint64_t largest = 1;
  for (const storage::Segment& object : placed.objects) {
    largest = std::max(largest, object.length);
  }
  const std::uint64_t room_bytes =
      strategy_.in_windows ? plan::window_bytes(choice_) : layout::portion_bytes;
  return plan::by_objects(std::move(plan), input, largest, room_bytes);
}

/// Collective, unless the blocks are unchanged since their load was last summed up. The load of
/// this rank's bytes in their runs. `input` gets the basis of the choice. Rank 0's clock is used by
/// all, so that all choose the same.
plan::Plan PlanMaker::choose(const FileCommit& commit, plan::Input& input, std::int64_t bytes,
                             std::int64_t runs) {
  if (commit.blocks_number == 0 || commit.blocks_number != load_.blocks_number) {
    load_.blocks_number = 0;
    std::int64_t sums[] = {bytes, runs};
    transport_.allreduce(sums, exec::Op::sum);
    load_ = {commit.blocks_number, sums[0], sums[1]};
  }
  input.bytes = static_cast<std::uint64_t>(load_.bytes);
  input.mean_run_bytes =
      static_cast<std::uint64_t>(load_.bytes / std::max<std::int64_t>(1, load_.runs));
  input.rates = rates_;
  const bool has_data = load_.bytes != 0;
  plan::Plan plan;
  if (commit.tuner != nullptr) {
    // The first commit includes allocating memory and the file's first space, the last one the
    // final writes.
    const bool is_sample =
        has_data && has_planned_data_ && !commit.is_last && !variables_.has_encoded(commit);
    commit.tuner->note(model::from_ns(root_took_ns_));
    plan = plan::plan_of(input, commit.tuner->decide(input, is_sample));
  } else {
    plan = strategy_.plan(input);
  }
  has_planned_data_ = has_planned_data_ || has_data;
  if (commit.stats != nullptr && has_data) {
    commit.stats->choose(plan.reason);
  }
  return plan;
}

plan::Plan PlanMaker::make_rounds(const FileCommit& commit,
                                  std::span<const layout::Portion> portions,
                                  std::uint64_t window_bytes) const {
  const std::vector<std::uint64_t> sizes = sizes_of(commit, portions);
  const auto largest = std::max_element(sizes.begin(), sizes.end());
  plan::Plan plan;
  plan.strategy = strategy_.name;
  plan.flow = plan::Flow::two_phase;
  plan.window_bytes = window_bytes;
  plan.packed_bytes = std::max(choice_.budget_bytes / packing_share_of_budget,
                               largest == sizes.end() ? 0 : *largest);
  plan.buffer_bytes = window_bytes;
  return plan;
}

plan::Totals PlanMaker::totals(const FileCommit& commit, const layout::CommitPlan& placed,
                               const plan::Plan& plan,
                               std::span<const layout::Portion> portions) const {
  const std::vector<std::uint64_t> sizes = sizes_of(commit, portions);
  const auto placements = by_variable(placed, variables_.definitions().size());
  const plan::Input input{topology_, portions, sizes, placed.hull(), choice_, 0};
  return plan::totals_of(
      plan, input, [&](const layout::Portion& portion) -> auto& {
        return *placements[commit.blocks[portion.block].variable];
      });
}

void PlanMaker::explain(const FileCommit& commit, const plan::Totals& encoded, plan::Totals plain,
                        bool is_writer) const {
  plain += encoded;
  plain.files = transport_.rank() == 0 ? 1 : 0;
  plain.writers = is_writer ? 1 : 0;
  (*commit.explain)(plain);
}

void PlanMaker::begin_writing(std::vector<std::byte>& message) {
  const std::int64_t took_ns = model::to_ns(std::exchange(took_s_, 0));
  const auto bytes = std::as_bytes(std::span(&took_ns, 1));
  message.insert(message.end(), bytes.begin(), bytes.end());
  began_s_ = model::now_s();
}

void PlanMaker::take_root_time(std::vector<std::byte>& message) {
  const std::size_t rest = message.size() - sizeof root_took_ns_;
  std::memcpy(&root_took_ns_, message.data() + rest, sizeof root_took_ns_);
  message.resize(rest);
}

void PlanMaker::end_writing() { took_s_ = model::now_s() - began_s_; }

}  // namespace sluice::commit
