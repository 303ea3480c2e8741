#include "commit/write/choice.hpp"

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "plan/auto.hpp"
#include "plan/groups.hpp"

namespace sluice::commit {

namespace {

/// Is the writer of a tile the one with its number modulo their count? "auto": yes if a file is
/// striped over several servers, as far as known: a stripe should always have one writer.
bool deals_in_turn(const std::string& tiles, const model::FileSystemFacts& facts) {
  if (tiles != "auto" && tiles != "contiguous" && tiles != "cyclic") {
    throw Error(Code::invalid_argument, "tiles: \"" + tiles + "\": use auto, contiguous or cyclic");
  }
  const bool has_stripes = facts.reach == model::Reach::parallel && facts.stripes != 1;
  return tiles == "auto" ? has_stripes : tiles == "cyclic";
}

}  // namespace

std::uint64_t stripe_of(const Options& options, const PlaceFacts& facts) {
  return options.stripe_bytes != 0 ? options.stripe_bytes : facts.file_system.stripe_bytes;
}

plan::WriterChoice choose_writers(const Options& options, const PlaceFacts& facts) {
  const std::uint64_t stripe = stripe_of(options, facts);
  const std::uint64_t tile = options.tile_bytes != 0 ? options.tile_bytes : stripe;
  plan::WriterChoice choice;
  choice.writers = options.writers;
  choice.first_writer = options.first_writer;
  choice.writer_spacing = options.writer_spacing;
  choice.writer_map = options.writer_map;
  choice.cyclic = deals_in_turn(options.tiles, facts.file_system);
  choice.tile_bytes = tile != 0 ? tile : plan::default_tile_bytes;
  choice.budget_bytes = options.budget_bytes;
  choice.gathers = options.coalesce;
  choice.coalesce_bytes = options.coalesce_bytes;
  return choice;
}

plan::MachineRates rates_of(const Options& options, const PlaceFacts& facts) {
  model::FileSystemFacts file_system = facts.file_system;
  file_system.stripe_bytes = stripe_of(options, facts);
  return plan::rates_of(file_system, facts.node_cores);
}

FilesChoice choose_files(exec::Transport& transport, const Options& options,
                         const PlaceFacts& facts) {
  plan::Input input;
  input.choice = choose_writers(options, facts);
  input.rates = rates_of(options, facts);
  input.topology = plan::pretend(topology_of(transport, input.choice), options.ranks_per_node);
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    const plan::Decision decision = plan::decide_files(input);
    const bool is_set = plan::writes_parts(decision.candidate.strategy);
    out.put(is_set ? std::string(decision.candidate.strategy) : options.strategy);
    out.put(decision.reason);
  });
  FilesChoice choice;
  choice.strategy = in.get_string();
  choice.reason = in.get_string();
  return choice;
}

plan::Topology topology_of(exec::Transport& transport, const plan::WriterChoice& choice) {
  plan::Topology topology{
      transport.rank(), transport.size(), transport.node(), transport.nodes(), {}};
  if (choice.writer_map == "node") {
    model::ByteWriter mine;
    mine.put(transport.node());
    for (const auto& message : transport.allgather(mine.take())) {
      model::ByteReader in(message);
      topology.node_of.push_back(in.get<int>());
    }
  }
  return topology;
}

}  // namespace sluice::commit
