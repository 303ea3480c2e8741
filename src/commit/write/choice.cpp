#include "commit/write/choice.hpp"

#include "exec/cores.hpp"
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

plan::WriterChoice choose_writers(exec::Transport& transport, storage::Storage& storage,
                                  const std::string& path, const Options& options,
                                  plan::MachineRates* rates) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    const model::FileSystemFacts facts = storage.file_system(path);
    const std::uint64_t stripe =
        options.stripe_bytes != 0 ? options.stripe_bytes : facts.stripe_bytes;
    const std::uint64_t tile = options.tile_bytes != 0 ? options.tile_bytes : stripe;
    out.put(options.writers);
    out.put(options.first_writer);
    out.put(options.writer_spacing);
    out.put(options.writer_map);
    out.put(deals_in_turn(options.tiles, facts));
    out.put(tile != 0 ? tile : plan::default_tile_bytes);
    out.put(options.budget_bytes);
    out.put(options.coalesce);
    out.put(options.coalesce_bytes);
    out.put(facts.kind);
    out.put(facts.reach);
    out.put(stripe);
    out.put(facts.stripes);
    out.put(static_cast<int>(exec::node_cores()));
  });
  plan::WriterChoice choice;
  choice.writers = in.get<int>();
  choice.first_writer = in.get<int>();
  choice.writer_spacing = in.get<int>();
  choice.writer_map = in.get_string();
  choice.cyclic = in.get<bool>();
  choice.tile_bytes = in.get<std::uint64_t>();
  choice.budget_bytes = in.get<std::uint64_t>();
  choice.gathers = in.get<bool>();
  choice.coalesce_bytes = in.get<std::uint64_t>();
  if (rates != nullptr) {
    model::FileSystemFacts facts;
    facts.kind = in.get_string();
    facts.reach = in.get<model::Reach>();
    facts.stripe_bytes = in.get<std::uint64_t>();
    facts.stripes = in.get<std::uint32_t>();
    *rates = plan::rates_of(facts, in.get<int>());
  }
  return choice;
}

FilesChoice choose_files(exec::Transport& transport, storage::Storage& storage,
                         const std::string& path, const Options& options) {
  plan::Input input;
  input.choice = choose_writers(transport, storage, path, options, &input.rates);
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
