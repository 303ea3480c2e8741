#include "sim/compile.hpp"

#include <algorithm>

#include "plan/auto.hpp"
#include "plan/groups.hpp"
#include "sim/flows.hpp"

namespace sluice::sim {

using layout::Extent;

namespace {

/// Buffers of a writer that does not write in the background: one is filled, two are written.
constexpr std::uint64_t windows_behind = 2;
/// Rank 0: entering a chunk into an index by libhdf5; measured, 2.7 million a second.
constexpr double place_tile_s = 0.37e-6;
/// Of a commit: the agreement, the touched variables, the addresses.
constexpr int barriers_before = 3;
/// More runs than these are written stripe by stripe.
constexpr std::uint64_t most_single_runs = 1'000'000;
/// Journal, change in place, root.
constexpr int syncs_to_publish = 3;
/// The description of a variable that the first rank of a part sends to rank 0, and its processing
/// there.
constexpr std::uint64_t news_bytes = 200;
constexpr double news_s = 1e-6;

plan::Topology topology_of(const Job& job, int rank) {
  plan::Topology topology;
  topology.rank = rank;
  topology.ranks = job.ranks;
  topology.nodes = job.nodes;
  topology.node = static_cast<int>(static_cast<std::int64_t>(rank) * job.nodes / job.ranks);
  return topology;
}

class Compiler {
 public:
  Compiler(const Job& job, const Choice& choice, const MachineFacts& facts);
  Compiled one_file();
  Compiled parts();

 private:
  plan::Plan plan_of(const plan::Strategy& strategy, const plan::Topology& topology,
                     const Share& share, const Extent& space) const;
  void begin_all(const Arrangement* arrangement);
  void open_one_file(const plan::Strategy& strategy);
  void add_rounds(const Arrangement& arrangement, const plan::Plan& first);
  void add_one_by_one(const Arrangement& arrangement, const plan::Strategy& strategy);
  void add_part(std::uint32_t number, const std::vector<int>& members);
  void end_one_file(const plan::Plan& plan);
  void publish();
  void note(const plan::Plan& plan, const Share& share);
  std::string name_in_parts() const {
    const char* own = plan::strategy(choice_.strategy).within_part;
    return !choice_.in_parts.empty() ? choice_.in_parts : own != nullptr ? own : choice_.strategy;
  }
  FileUse use_of(std::uint32_t file) const {
    return {file, choice_.is_direct, facts_.stripe_bytes, run_by_run_};
  }

  const Job& job_;
  Choice choice_;
  MachineFacts facts_;
  bool run_by_run_ = false;
  Compiled made_;
};

plan::MachineRates rates_of(const Machine& machine) {
  plan::MachineRates rates;
  const double targets = machine.stripes.value;
  rates.kind = machine.name;
  rates.reach = model::Reach::parallel;
  rates.cores = static_cast<int>(machine.cores_per_node.value);
  rates.exchange_bytes_per_s = machine.copy_bytes_per_s.value;
  rates.exchange_most_bytes_per_s = machine.memory_bytes_per_s.value;
  rates.link_bytes_per_s = machine.link_bytes_per_s.value;
  rates.barrier_s = machine.barrier_s.value;
  rates.stream_bytes_per_s = machine.stream_bytes_per_s.value;
  rates.drain_bytes_per_s = machine.drain_bytes_per_s.value;
  rates.file_bytes_per_s = targets * machine.target_bytes_per_s.value;
  rates.files_bytes_per_s = machine.targets.value * machine.target_bytes_per_s.value;
  rates.file_s = 1 / machine.opens_per_s.value;
  rates.in_flight = std::max(1.0, machine.dirty_bytes.value / machine.request_bytes.value);
  rates.call_s = machine.request_s.value;
  rates.short_bytes_per_s = machine.stream_bytes_per_s.value;
  rates.sync_s = machine.sync_s.value;
  rates.stripes = static_cast<std::uint32_t>(targets);
  rates.servers = static_cast<std::uint32_t>(machine.targets.value);
  rates.stripe_bytes = static_cast<std::uint64_t>(machine.stripe_bytes.value);
  rates.rpc_s = machine.rpc_s.value;
  rates.lock_s = machine.lock_callback_s.value + machine.handover_s.value;
  rates.locks_processes = machine.process_clients.value > 0;
  rates.touch_s = machine.touch_s.value;
  return rates;
}

Compiler::Compiler(const Job& job, const Choice& choice, const MachineFacts& facts)
    : job_(job), choice_(choice), facts_(facts) {
  facts_.stripe_bytes = std::max(facts.stripe_bytes, page_bytes);
  if (choice_.who.tile_bytes == 0) {
    choice_.who.tile_bytes = facts.stripe_bytes;
  }
  made_.programs = Programs(job.ranks, job.nodes);
  made_.programs.held_bytes = windows_behind * layout::portion_bytes;
}

plan::Plan Compiler::plan_of(const plan::Strategy& strategy, const plan::Topology& topology,
                             const Share& share, const Extent& space) const {
  return strategy.plan({topology, share.portions, share.sizes, space, choice_.who, 0});
}

void Compiler::note(const plan::Plan& plan, const Share& share) {
  made_.strategy = plan.strategy;
  made_.data_bytes += share.bytes;
  made_.largest_buffer_bytes = std::max(made_.largest_buffer_bytes, plan.buffer_bytes);
}

void Compiler::begin_all(const Arrangement* arrangement) {
  for (int rank = 0; rank < job_.ranks; ++rank) {
    Program& program = made_.programs[rank];
    program.push_back(barrier(everybody));
    program.push_back(begin());
    for (int i = 0; i < barriers_before && !choice_.is_only_data; ++i) {
      if (rank == 0 && i + 1 == barriers_before && arrangement != nullptr) {
        program.push_back(compute(place_tile_s * static_cast<double>(arrangement->tiles())));
      }
      program.push_back(barrier(everybody));
    }
  }
}

Compiled Compiler::one_file() {
  const std::uint64_t alignment = std::max(facts_.stripe_bytes, page_bytes);
  const Arrangement arrangement(job_, alignment, choice_.has_checksums);
  run_by_run_ = arrangement.bytes() / std::max<std::uint64_t>(1, arrangement.mean_run_bytes()) <
                most_single_runs;
  std::string name = choice_.strategy;
  if (plan::strategy(name).chooses) {
    plan::Input input{topology_of(job_, 0), {}, {}, arrangement.space(), choice_.who, 0};
    input.mean_run_bytes = arrangement.mean_run_bytes();
    input.bytes = arrangement.bytes();
    input.rates = facts_.rates;
    const plan::Candidate candidate = plan::decide(input).candidate;
    name = candidate.strategy;
    choice_.who = candidate.choice;
  }
  const plan::Strategy& strategy = plan::strategy(name);
  const auto ranks = plan::count_writers(strategy, topology_of(job_, 0), choice_.who);
  made_.writers = ranks;
  made_.files = 1;
  made_.other_bytes = arrangement.words_space().length;
  open_one_file(strategy);
  begin_all(&arrangement);
  const plan::Plan first =
      plan_of(strategy, topology_of(job_, 0), arrangement.share(0), arrangement.space());
  strategy.in_windows ? add_rounds(arrangement, first) : add_one_by_one(arrangement, strategy);
  end_one_file(first);
  return std::move(made_);
}

/// Rank 0 makes the file and, with output in the background, keeps it open beside its own writer,
/// once to plan and once to publish; then the writers open it.
void Compiler::open_one_file(const plan::Strategy& strategy) {
  const int descriptors = choice_.is_direct ? 2 : 1;
  const auto open_it = [&](int rank, int times) {
    made_.programs[rank].insert(made_.programs[rank].end(),
                                static_cast<std::size_t>(times * descriptors), open(0));
  };
  open_it(0, strategy.in_background ? 2 : 1);
  if (choice_.is_only_data) {
    return;  // the time of the others is not needed
  }
  for (Program& program : made_.programs.of_rank) {
    program.push_back(barrier(everybody));
  }
  const plan::RankList writers = strategy.openers(topology_of(job_, 0), choice_.who);
  for (std::size_t i = 0; i < writers.size(); ++i) {
    if (writers[i] != 0 || strategy.in_background) {
      open_it(writers[i], 1);
    }
  }
}

void Compiler::add_rounds(const Arrangement& arrangement, const plan::Plan& first) {
  const plan::Strategy& strategy = plan::strategy(first.strategy);
  const bool in_background = first.flow == plan::Flow::async_two_phase;
  const std::uint64_t windows = in_background ? plan::windows_held(choice_.who) : windows_behind;
  made_.programs.held_bytes = windows * first.window_bytes;
  const std::uint64_t barriers = first.tiles.own_bytes() / first.window_bytes / rounds_of_barrier;
  if (barriers * static_cast<std::uint64_t>(job_.ranks) > 2 * most_barriers) {
    throw Error(Code::unsupported, "so many bytes through " + std::to_string(made_.writers) +
                                       " writers are too many rounds for the model: use more");
  }
  RoundsOfAll rounds(first.tiles, first.window_bytes, job_.ranks);
  for (int rank = 0; rank < job_.ranks; ++rank) {
    const Share share = arrangement.share(rank);
    const plan::Plan plan = plan_of(strategy, topology_of(job_, rank), share, arrangement.space());
    note(plan, share);
    for (const layout::RunList& runs : share.runs) {
      rounds.add(rank, runs);
    }
  }
  rounds.emit(made_.programs, use_of(0), {0, first.tiles.own_bytes()}, arrangement.space());
  if (choice_.has_checksums) {
    for (int rank = 0; rank < job_.ranks; ++rank) {
      rounds.add(rank, arrangement.words_of(rank));
    }
    rounds.emit(made_.programs, use_of(0), first.tiles.own_range(arrangement.words_space()),
                arrangement.words_space());
  }
}

void Compiler::add_one_by_one(const Arrangement& arrangement, const plan::Strategy& strategy) {
  for (int rank = 0; rank < job_.ranks; ++rank) {
    const Share share = arrangement.share(rank);
    const plan::Plan plan = plan_of(strategy, topology_of(job_, rank), share, arrangement.space());
    note(plan, share);
    if (plan.flow == plan::Flow::direct) {
      add_own(made_.programs[rank], use_of(0), share.runs, arrangement.words_of(rank));
    } else {
      add_in_turn(made_.programs, use_of(0), plan.transfers.front().writer, rank, share.runs,
                  arrangement.words_of(rank));
    }
  }
}

void Compiler::end_one_file(const plan::Plan& plan) {
  const plan::Strategy& strategy = plan::strategy(plan.strategy);
  for (int rank = 0; rank < job_.ranks && strategy.in_background; ++rank) {
    made_.programs[rank].push_back(returned());
  }
  const plan::RankList writers = strategy.openers(topology_of(job_, 0), choice_.who);
  for (std::size_t i = 0; i < writers.size(); ++i) {
    made_.programs[writers[i]].push_back(choice_.is_synced ? sync() : finish());
  }
  publish();
  for (int rank = 0; rank < job_.ranks && !strategy.in_background; ++rank) {
    made_.programs[rank].push_back(returned());
  }
}

void Compiler::publish() {
  if (choice_.is_only_data) {
    return;
  }
  for (int rank = 0; rank < job_.ranks; ++rank) {
    Program& program = made_.programs[rank];
    program.push_back(barrier(everybody));
    for (int i = 0; i < syncs_to_publish && rank == 0 && choice_.is_synced; ++i) {
      program.push_back(sync());
    }
    program.push_back(barrier(everybody));
  }
}

Compiled Compiler::parts() {
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < job_.ranks; ++rank) {
    const plan::Group group =
        plan::group_of(choice_.strategy, choice_.who.writers, topology_of(job_, rank));
    groups.resize(static_cast<std::size_t>(group.count));
    groups[static_cast<std::size_t>(group.number)].push_back(rank);
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    for (const int rank : groups[g]) {
      made_.programs[rank].push_back(open(1 + g));
    }
  }
  begin_all(nullptr);
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    add_part(1 + g, groups[g]);
  }
  if (!choice_.is_only_data) {
    const std::uint64_t news = news_bytes * job_.variables.size();
    made_.programs[0].push_back(receive(news * (groups.size() - 1)));
    made_.programs[0].push_back(
        compute(news_s * static_cast<double>(groups.size() * job_.variables.size())));
  }
  publish();
  for (int rank = 0; rank < job_.ranks; ++rank) {
    made_.programs[rank].push_back(returned());
  }
  made_.strategy = choice_.strategy;
  made_.files = groups.size() + 1;
  return std::move(made_);
}

void Compiler::add_part(std::uint32_t number, const std::vector<int>& members) {
  const PartArrangement arrangement(job_, members);
  const plan::Strategy& strategy = plan::strategy(name_in_parts());
  const std::uint32_t group = made_.programs.add_group(static_cast<std::uint32_t>(members.size()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    plan::Topology topology;
    topology.rank = static_cast<int>(i);
    topology.ranks = static_cast<int>(members.size());
    const Share share = arrangement.share(i);
    const plan::Plan plan = plan_of(strategy, topology, share, arrangement.space());
    note(plan, share);
    if (plan.flow == plan::Flow::direct) {
      add_own(made_.programs[members[i]], use_of(number), share.runs, {});
    } else if (plan.flow == plan::Flow::funnel) {
      add_in_turn(made_.programs, use_of(number), members[0], members[i], share.runs, {});
    } else {
      throw Error(Code::unsupported, std::string("the model writes no parts by strategy ") +
                                         strategy.name + ", only without an exchange");
    }
  }
  const plan::RankList writers =
      strategy.openers({0, static_cast<int>(members.size())}, choice_.who);
  for (std::size_t i = 0; i < members.size(); ++i) {
    Program& program = made_.programs[members[i]];
    if (writers.index_of(static_cast<int>(i)) >= 0) {
      program.push_back(choice_.is_synced ? sync() : finish());
      ++made_.writers;
    }
    if (!choice_.is_only_data) {
      program.push_back(barrier(group));
    }
  }
  if (members[0] != 0 && !choice_.is_only_data) {
    made_.programs[members[0]].push_back(send(0, news_bytes * job_.variables.size()));
  }
}

}  // namespace

MachineFacts facts_of(const Machine& machine) {
  return {static_cast<std::uint64_t>(machine.stripe_bytes.value), rates_of(machine)};
}

Compiled compile(const Job& job, const Choice& choice, const MachineFacts& facts) {
  if (job.ranks < 1 || job.nodes < 1 || job.nodes > job.ranks || job.variables.empty()) {
    throw Error(Code::invalid_argument,
                "a job needs ranks, at most one node for each rank, and a variable to write");
  }
  Choice opened = choice;
  if (choice.may_be_several && plan::chooses(choice.strategy)) {
    const plan::Input input{topology_of(job, 0), {}, {}, {}, choice.who, 0, 0, facts.rates};
    const plan::Candidate candidate = plan::decide_files(input).candidate;
    opened.strategy = plan::writes_parts(candidate.strategy) ? candidate.strategy : choice.strategy;
  }
  Compiler compiler(job, opened, facts);
  return plan::writes_parts(opened.strategy) ? compiler.parts() : compiler.one_file();
}

}  // namespace sluice::sim
