// plan: predicts the cost of each strategy for a described run on a model machine, and recommends
// one.
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/config/option_table.hpp"
#include "api/config/settings.hpp"
#include "exec/transport/read_text.hpp"
#include "help.hpp"
#include "new_file.hpp"
#include "plan/groups.hpp"
#include "sim/advise.hpp"
#include "sluice/types.hpp"
#include "text/progress.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "verb.hpp"
#include "verbs/plan_compress.hpp"
#include "verbs/plan_record.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct PlanVerb {
  int ranks = 0;
  int nodes = 0;
  std::vector<std::string> shapes;
  std::string from;  ///< a record of a program's MPI-IO
  std::optional<Recorded> recorded;
  std::string type = "float64";
  int variables = 1;
  std::string decomposition = "blocks";
  bool is_fixed = false;
  std::optional<double> period_s;
  std::string machine = "lustre-today";
  std::string storage = "direct";
  std::string durability = "step";
  std::string budget = "256 MiB";
  int seeds = 0;  ///< 0: from the number of ranks
  bool lists_machines = false;
  std::string write_to;
  std::string sample;  ///< of --compress
  std::string sample_variable;
  std::string picture;
  bool json = false;
  std::string described;  ///< options that were given of what a record has, with commas
};

constexpr std::array planned_kinds{Kind::i8,  Kind::i16, Kind::i32, Kind::i64,
                                   Kind::u8,  Kind::u16, Kind::u32, Kind::u64,
                                   Kind::f16, Kind::f32, Kind::f64, Kind::boolean};

std::uint32_t bytes_of_type(const std::string& name) {
  std::string known;
  for (const Kind kind : planned_kinds) {
    if (name == type_name(type_of(kind))) {
      return type_of(kind).bytes;
    }
    known += (known.empty() ? "" : ", ") + type_name(type_of(kind));
  }
  throw Error(Code::invalid_argument, "--type " + printable(name) + ": use one of " + known);
}

/// "1024x1024x512", "32000,3"
model::Dims shape_of_text(const std::string& text) {
  model::Dims shape;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    std::uint64_t length = 0;
    const auto [next, problem] = std::from_chars(at, end, length);
    if (problem != std::errc() || length == 0 || (next != end && *next != 'x' && *next != ',')) {
      throw Error(Code::invalid_argument,
                  "--shape " + printable(text) + ": use 1024x1024x512, or 32000x3");
    }
    shape.push_back(length);
    if (next == end) {
      return shape;
    }
    at = next + 1;
  }
}

sim::Machine machine_of(const Context& context, const std::string& name) {
  if (!name.ends_with(".toml")) {
    return sim::machine_named(name);
  }
  return sim::read_machine(exec::read_on_root(context.transport, context.storage, name), name);
}

void describe_variables(const PlanVerb& verb, sim::Job& job) {
  job.cut = verb.decomposition == "slabs"     ? sim::Cut::slabs
            : verb.decomposition == "pencils" ? sim::Cut::pencils
            : verb.decomposition == "columns" ? sim::Cut::columns
                                              : sim::Cut::blocks;
  const std::uint32_t bytes = bytes_of_type(verb.type);
  for (int i = 0; i < verb.variables; ++i) {
    for (const std::string& shape : verb.shapes) {
      job.variables.push_back({shape_of_text(shape), bytes, !verb.is_fixed});
    }
  }
}

sim::Described described(const PlanVerb& verb, const sim::Machine& machine) {
  sim::Described run;
  if (verb.recorded) {
    run.job = verb.recorded->job;
  }
  run.job.ranks = verb.ranks;
  const auto cores = static_cast<int>(machine.cores_per_node.value);
  run.job.nodes = verb.nodes != 0 ? verb.nodes : (verb.ranks - 1) / cores + 1;
  if (verb.ranks < 1 || run.job.nodes > verb.ranks) {
    throw Error(Code::invalid_argument,
                fmt::format("--ranks {} on {} nodes: there must be at least one rank for each node",
                            verb.ranks, run.job.nodes));
  }
  if (!verb.recorded) {
    describe_variables(verb, run.job);
  }
  Options options;
  settings::find_option("budget_bytes")->set(options, verb.budget);
  run.budget_bytes = options.budget_bytes;
  run.period_s = verb.period_s.value_or(verb.recorded ? verb.recorded->period_s : 0);
  run.is_direct = verb.storage == "direct";
  run.is_synced = verb.durability == "step";
  run.seeds.clear();
  const int few = verb.ranks <= 10'000 ? 3 : 1;  // a large run takes a minute anyway
  for (int seed = 1; seed <= (verb.seeds != 0 ? verb.seeds : few); ++seed) {
    run.seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  return run;
}

bool has_writers(const sim::Prediction& one) {
  return !plan::writes_parts(one.strategy) && plan::strategy(one.strategy).in_windows;
}

/// In the form of sluice.toml; defaults are left out.
std::string toml_of(const PlanVerb& verb, const sim::Prediction& chosen) {
  std::string text = fmt::format("strategy = \"{}\"\n", chosen.strategy);
  if (has_writers(chosen)) {
    text += fmt::format("writers = {}\ntiles = \"{}\"\n", chosen.writers,
                        chosen.choice.who.cyclic ? "cyclic" : "contiguous");
  }
  text += fmt::format("storage = \"{}\"\ndurability = \"{}\"\nbudget_bytes = \"{}\"\n",
                      verb.storage, verb.durability, verb.budget);
  parse_options(text);  // the options must be valid
  return text;
}

void write_toml(const Context& context, const std::string& path, const std::string& text,
                const std::string& why) {
  const std::string whole = "# Made by sluice plan. " + why + "\n" + text;
  write_new_file(context.storage, path, std::as_bytes(std::span(whole)));
}

Json json_of(const sim::Prediction& one) {
  return {{"strategy", one.strategy},
          {"writers", one.writers},
          {"tiles", one.choice.who.cyclic ? "cyclic" : "contiguous"},
          {"files", one.files},
          {"visible_s", one.visible_s},
          {"durable_s", one.durable_s},
          {"open_s", one.open_s},
          {"cost_rank_s", one.cost_rank_s},
          {"written_bytes", one.counts.written_bytes},
          {"lock_handovers", one.counts.handovers},
          {"buffer_bytes", one.buffer_bytes}};
}

void print_json(const PlanVerb& verb, const sim::Machine& machine, const sim::Described& run,
                const sim::Advice& advice) {
  Json all = Json::array();
  for (const sim::Prediction& one : advice.predictions) {
    all.push_back(json_of(one));
  }
  const sim::Prediction& chosen = advice.predictions[advice.chosen];
  const Json json{
      {"machine", machine.name},
      {"ranks", run.job.ranks},
      {"nodes", run.job.nodes},
      {"predictions", all},
      {"chosen", advice.chosen},
      {"why", advice.why},
      {"recorded", verb.recorded ? Json(verb.recorded->about) : Json()},
      {"left_out",
       verb.recorded && !verb.recorded->left_out.empty() ? Json(verb.recorded->left_out) : Json()},
      {"auto", advice.automatic ? json_of(*advice.automatic) : Json()},
      {"auto_of_any_files", advice.automatic_of_any ? json_of(*advice.automatic_of_any) : Json()},
      {"toml", toml_of(verb, chosen)}};
  show_json(json);
}

std::string text_of(const std::optional<sim::Prediction>& one) {
  if (!one) {
    return "one with too many rounds for the model";
  }
  return one->strategy + (has_writers(*one) ? fmt::format(" with {} writers", one->writers) : "") +
         ": " + seconds_text(one->visible_s) + " visible";
}

void print_table(const sim::Machine& machine, const sim::Described& run,
                 const sim::Advice& advice) {
  tell("{} ranks on {} nodes of {}: {} a step\n\n", run.job.ranks, run.job.nodes, machine.name,
       bytes_text(advice.predictions.front().counts.written_bytes));
  Table table({"strategy", ">writers", ">files", ">visible", ">durable", ">cost", ""});
  for (std::size_t i = 0; i < advice.predictions.size(); ++i) {
    const sim::Prediction& one = advice.predictions[i];
    table.add({one.strategy, std::to_string(one.writers), std::to_string(one.files),
               seconds_text(one.visible_s), seconds_text(one.durable_s),
               fmt::format("{:.3g} rank s", one.cost_rank_s), i == advice.chosen ? "<- this" : ""});
  }
  tell("{}\n{}\nThere strategy = \"auto\" takes {}; with files = \"allow_multiple\" {}.\n",
       table.text(2), advice.why, text_of(advice.automatic), text_of(advice.automatic_of_any));
}

int list_machines(bool as_json) {
  Json json = Json::array();
  Table table({"machine", "what it is"});
  for (const std::string& name : sim::machine_names()) {
    const sim::Machine machine = sim::machine_named(name);
    json.push_back({{"name", name}, {"about", machine.about}});
    table.add({name, machine.about});
  }
  as_json ? show_json(json) : show(stdout, table.text());
  return fine;
}

/// What the options leave open comes from the record.
void take_record(const Context& context, PlanVerb& verb) {
  if (!verb.described.empty()) {
    throw Error(Code::invalid_argument,
                "--from has what was written, and how: leave " + verb.described + " out");
  }
  verb.recorded =
      read_record(exec::read_on_root(context.transport, context.storage, verb.from), verb.from);
  verb.ranks = verb.ranks != 0 ? verb.ranks : verb.recorded->job.ranks;
}

int plan_run(const Context& context, PlanVerb verb) {
  if (verb.lists_machines) {
    return context.is_root() ? list_machines(verb.json) : fine;
  }
  if (!verb.sample.empty()) {
    return context.is_root()
               ? plan_compress(context, verb.sample, verb.sample_variable, verb.json, verb.picture)
               : fine;
  }
  if (!verb.picture.empty()) {
    throw Error(Code::invalid_argument, "--plot draws what --compress measures: name a sample");
  }
  if (!verb.sample_variable.empty()) {
    throw Error(Code::invalid_argument,
                "--variable is one that --compress measures: name a sample");
  }
  if (!verb.from.empty()) {
    take_record(context, verb);
  } else if (verb.ranks == 0 || verb.shapes.empty()) {
    throw Error(Code::invalid_argument,
                "--ranks and --shape are needed, or --from (see: sluice plan --help)");
  }
  const sim::Machine machine = machine_of(context, verb.machine);
  if (!context.is_root()) {
    return fine;  // one rank is enough for thinking
  }
  const sim::Described run = described(verb, machine);
  sim::Advice advice;
  {
    Progress progress("plan", true, Progress::Unit::count);
    advice = sim::advise(machine, run,
                         [&](std::size_t done, std::size_t all) { progress.update(done, all); });
  }
  if (verb.recorded && !verb.json) {
    tell("{}\n", verb.recorded->about);
    if (!verb.recorded->left_out.empty()) {
      tell("{}\n", verb.recorded->left_out);
    }
  }
  verb.json ? print_json(verb, machine, run, advice) : print_table(machine, run, advice);
  if (!verb.write_to.empty()) {
    const std::string text = toml_of(verb, advice.predictions[advice.chosen]);
    write_toml(context, verb.write_to, text, advice.why);
    if (!verb.json) {
      tell("\n{}:\n{}", printable(verb.write_to), text);
    }
  }
  return fine;
}

const char* const plan_examples = R"help(
Examples:
  sluice plan --ranks 4096 --shape 1024x1024x1024 --period 60
  sluice plan --ranks 512 --shape 32000000x3 --decomposition slabs \
              --machine archer --storage posix --write sluice.toml
  sluice plan --from record.json --machine archer   # what a program did
  sluice plan --machines                       # which ones are there?
  sluice plan --ranks 64 --shape 4096x4096 --machine mine.toml
  sluice plan --compress sample.h5 --variable temperature --plot it.png)help";

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::IsMember(std::move(words)).description("");
}

void add_plan_options(CLI::App* command, PlanVerb& verb) {
  const auto add = [&](const char* name, auto& value, const char* type, const char* help) {
    return command->add_option(name, value, help)->type_name(type);
  };
  const auto count = [](int most) { return CLI::Range(1, most).description(""); };
  add("--ranks", verb.ranks, "N", "of the run, at most 2097152")->check(count(most_planned_ranks));
  add("--nodes", verb.nodes, "N", "else as many as the machine's cores ask for")
      ->check(CLI::NonNegativeNumber.description(""));
  add("--shape", verb.shapes, "AxBxC", "of a variable; again for another one")
      ->expected(1)
      ->take_all();
  add("--from", verb.from, "FILE", "a record of MPI-IO (SLUICE_MPIIO_RECORD)");
  add("--type", verb.type, "TYPE", "of its elements: float64, int32, ...");
  add("--variables", verb.variables, "N", "so many of each shape")->check(count(10'000));
  add("--decomposition", verb.decomposition, "CUT", "slabs, pencils, blocks or columns")
      ->check(one_of({"slabs", "pencils", "blocks", "columns"}));
  command->add_flag("--fixed", verb.is_fixed, "one array, not one a step");
  add("--period", verb.period_s, "S", "seconds of computing between steps")
      ->check(number_between(0, 1e9));
  add("--machine", verb.machine, "NAME", "a machine, or a file: mine.toml");
  command->add_flag("--machines", verb.lists_machines, "lists those that are known");
  add("--storage", verb.storage, "WAY", "direct or posix")->check(one_of({"direct", "posix"}));
  add("--durability", verb.durability, "WHEN", "step or none")->check(one_of({"step", "none"}));
  add("--budget", verb.budget, "BYTES", "staging memory of a rank");
  add("--seeds", verb.seeds, "N", "placements tried; the median")->check(count(99));
  add("--compress", verb.sample, "FILE", "measures compression on a sample instead");
  add("--variable", verb.sample_variable, "NAME", "of the sample; else all of 4 KiB and more");
  add("--plot", verb.picture, "FILE.png", "draws what --compress measures");
  add("--write", verb.write_to, "FILE", "the options, as a new sluice.toml");
  command->add_flag("--json", verb.json, "print JSON");
}

/// Those of the options that were given, with commas.
std::string given_of(const CLI::App& command, std::initializer_list<const char*> names) {
  std::string given;
  for (const char* name : names) {
    if (command.count(name) != 0) {
      given += (given.empty() ? "" : ", ") + std::string(name);
    }
  }
  return given;
}

}  // namespace

void add_plan(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<PlanVerb>();
  CLI::App* command =
      add_verb(app, "plan", "predict the best strategy for a run on a machine",
               "Runs the plans of every strategy on a model of the machine. Prints for each the\n"
               "time that a step costs the ranks (visible), the time until its bytes are on disk\n"
               "(durable), and ranks x visible time (cost). Trust the order more than the\n"
               "figures.\n"
               "--compress FILE writes nothing and needs no machine: it measures on the last\n"
               "step of FILE what each way of compressing costs, gains, and loses; plugins of\n"
               "HDF5 too, if they are in the folders of HDF5_PLUGIN_PATH.\n",
               plan_examples);
  add_plan_options(command, *verb);
  command->callback([&run, verb, command] {
    verb->described =
        given_of(*command, {"--shape", "--type", "--variables", "--decomposition", "--fixed"});
    run = [verb](const Context& context) { return plan_run(context, *verb); };
  });
}

}  // namespace sluice::cli
