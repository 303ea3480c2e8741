// checkpoints: lists the checkpoints of a file, and which of them are good. On all ranks together.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/checkpoint/names.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/read/input.hpp"
#include "commit/read/latest_good.hpp"
#include "help.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "text/values.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;
using commit::Input;

struct CheckpointsOptions {
  std::string file;
  bool json = false;
};

/// The properties of one checkpoint, and "" or what is wrong with it.
struct Listed {
  std::uint64_t number = 0;  ///< 0: it cannot be read, and nothing else but perhaps the time
  double time = std::numeric_limits<double>::quiet_NaN();
  double saved_s = 0;
  std::int32_t ranks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t shared_bytes = 0;  ///< of these, in parts of earlier checkpoints
  std::string why;
  /// The part on the scratch folder of a node for want of which it cannot be read here: only `time`
  /// is known; "" if there is none.
  std::string absent_part;

  bool is_good() const { return why.empty(); }
  bool is_absent() const { return !absent_part.empty(); }
};

/// Collective. The value of a step, on every rank.
template <class T>
T value_of(Input& input, const char* name, std::uint64_t step) {
  T value{};
  const auto type = type_of<T>();
  const model::Dims none;
  input.get(commit::dense_request(input.find(name), step, {none, none},
                                  reinterpret_cast<std::byte*>(&value), type));
  return value;
}

std::uint64_t bytes_of(const Input& input, std::uint64_t step, int ranks) {
  std::uint64_t bytes = 0;
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    const model::Definition& d = input.variables()[v].definition;
    // Values that belong to ranks have a variable for each number of ranks.
    const std::size_t at = d.name.rfind("/of_");
    const bool is_of_others = d.partial && at != std::string::npos &&
                              d.name != detail::bytes_variable(d.name.substr(0, at), ranks);
    if (d.stepped && !is_of_others) {
      bytes += input.shape(v, step).volume() * d.type.bytes;
    }
  }
  return bytes;
}

/// What a checkpoint did not write, because an earlier one has it. Parts are in the order in which
/// they were made, and each save begins with that which holds its number.
std::uint64_t shared_bytes_of(const Input& input, std::uint64_t step) {
  const layout::PartSet* set = input.set();
  if (set == nullptr) {
    return 0;
  }
  std::uint32_t own = 0;
  for (const layout::Mapping& mapping : input.parts()->mappings()) {
    if (mapping.holds(step) &&
        set->variables[mapping.variable].name == detail::checkpoint_number_name) {
      own = mapping.part;
    }
  }
  std::uint64_t bytes = 0;
  for (const layout::Mapping& mapping : input.parts()->mappings()) {
    const layout::SetVariable& variable = set->variables[mapping.variable];
    if (variable.stepped && mapping.holds(step) && mapping.part < own) {
      const std::uint32_t v = input.find(variable.name);
      bytes += mapping.box.volume() * input.variables()[v].definition.type.bytes;
    }
  }
  return bytes;
}

/// Collective.
Listed properties_of(Input& input, std::uint64_t step, const std::string& why) {
  Listed one;
  if (const std::string absent = input.absent_part(step); !absent.empty()) {
    one.time = input.time(step);
    one.why = why;
    const bool is_at_home = absent.starts_with(commit::parts_folder(input.path(), "") + "/");
    one.absent_part = is_at_home ? "" : absent;
    return one;
  }
  try {
    one.number = value_of<std::uint64_t>(input, detail::checkpoint_number_name, step);
    one.ranks = value_of<std::int32_t>(input, detail::checkpoint_ranks_name, step);
    one.saved_s = value_of<double>(input, detail::checkpoint_saved_name, step);
    one.time = input.time(step);
    one.bytes = bytes_of(input, step, one.ranks);
    one.shared_bytes = shared_bytes_of(input, step);
    one.why = why;
  } catch (const Error& e) {
    one = {};
    one.why = why.empty() ? e.what() : why;
  }
  return one;
}

/// Collective.
void require_checkpoints(const Context& context, const std::string& path) {
  const Input input(context.transport, context.storage, path, {}, commit::NeededParts::of_steps);
  const auto& all = input.variables();  // find() takes any name for the array of a .npy file
  if (std::none_of(all.begin(), all.end(), [](const commit::InputVariable& v) {
        return v.definition.name == detail::checkpoint_number_name;
      })) {
    throw Error(Code::format, path + ": holds no checkpoints: see sluice ls");
  }
}

/// Collective. The newest first.
std::vector<Listed> list(const Context& context, const std::string& path) {
  require_checkpoints(context, path);
  std::vector<Listed> all;
  commit::look_back(context.transport, context.storage, path,
                    [&](Input& input, std::uint64_t step, const std::string& why) {
                      if (step < input.steps()) {  // else it was dropped meanwhile
                        all.push_back(properties_of(input, step, why));
                      }
                      return true;
                    });
  return all;
}

std::string list_text(const std::string& path, const std::vector<Listed>& all) {
  if (all.empty()) {
    return fmt::format("{}: no checkpoint\n", printable(path));
  }
  Table table({">NUMBER", ">TIME", "SAVED", ">RANKS", ">SIZE", ">WRITTEN", ""});
  for (const Listed& one : all) {
    if (one.is_absent()) {
      table.add({"?", number_text(one.time), "?", "?", "?", "?", "NOT READ: not drained"});
      continue;
    }
    const std::string state = one.is_good() ? "good" : "DAMAGED: " + printable(one.why);
    if (one.number == 0) {
      table.add(
          {"?", std::isnan(one.time) ? "?" : number_text(one.time), "?", "?", "?", "?", state});
      continue;
    }
    table.add({std::to_string(one.number), number_text(one.time),
               date_text(static_cast<std::int64_t>(one.saved_s * 1e9)), std::to_string(one.ranks),
               bytes_text(one.bytes), bytes_text(one.bytes - one.shared_bytes), state});
  }
  return table.text();
}

Json list_json(const std::string& path, const std::vector<Listed>& all) {
  Json list = Json::array();
  for (const Listed& one : all) {
    const bool known = one.number != 0;
    list.push_back({{"number", known ? Json(one.number) : Json()},
                    {"time", std::isnan(one.time) ? Json() : Json(one.time)},
                    {"saved", known ? Json(one.saved_s) : Json()},
                    {"ranks", known ? Json(one.ranks) : Json()},
                    {"bytes", known ? Json(one.bytes) : Json()},
                    {"written", known ? Json(one.bytes - one.shared_bytes) : Json()},
                    {"good", one.is_absent() ? Json() : Json(one.is_good())},
                    {"why", one.is_good() ? Json() : Json(one.why)}});
  }
  return {{"file", path}, {"checkpoints", std::move(list)}};
}

std::string absence_text(const std::string& path, const Listed& one) {
  const std::string folder = one.absent_part.substr(0, one.absent_part.rfind('/'));
  return fmt::format(
      "{}: the checkpoint of time {} is not drained, and its scratch folder {} cannot be "
      "read here: ask on the nodes of the run",
      printable(path), number_text(one.time), printable(folder));
}

int checkpoints(const Context& context, const CheckpointsOptions& options) {
  const std::vector<Listed> all = list(context, options.file);
  if (context.is_root()) {
    if (options.json) {
      show_json(list_json(options.file, all));
    } else {
      show(stdout, list_text(options.file, all));
    }
  }
  int answer = all.empty() ? differs : fine;
  for (const Listed& one : all) {
    if (one.is_absent()) {
      if (context.is_root()) {
        show_error(absence_text(options.file, one));
      }
      answer = bad_input;
    } else if (!one.is_good()) {
      answer = std::max<int>(answer, differs);
    }
  }
  return answer;
}

}  // namespace

void add_checkpoints(CLI::App& app, Run& run) {
  const auto options = std::make_shared<CheckpointsOptions>();
  CLI::App* verb =
      add_verb(app, "checkpoints", "which checkpoints does a file hold?",
               "Lists the checkpoints of a file of sluice::Checkpoint, the newest\n"
               "first: its number, the time given to save(), when and by how many\n"
               "ranks it was saved, its size, how much of that it wrote (the rest lies\n"
               "in earlier ones, whose values it shares), and whether it is good:\n"
               "every value is read and compared with its checksum.\n"
               "A checkpoint that is still on the scratch folder of a node (and not\n"
               "drained) can be read there only: elsewhere the others are listed, and\n"
               "stderr names the folder.\n"
               "Exit code: 0 all are good, 1 one is damaged or there is none, 2 bad\n"
               "input (no file of checkpoints, ...), or one cannot be read here.\n",
               R"help(
Examples:
  sluice checkpoints state.h5
  sluice checkpoints state.h5 --json | jq '.checkpoints[].time'
  mpirun -n 8 sluice checkpoints large.h5)help");
  verb->add_option("FILE", options->file, "a file of checkpoints")->required();
  verb->add_flag("--json", options->json, "for programs");
  verb->callback([&run, options] {
    run = [options](const Context& context) { return checkpoints(context, *options); };
  });
}

}  // namespace sluice::cli
