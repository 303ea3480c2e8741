// merge: makes one plain file from a set of parts. On all ranks together.
#include "commit/tools/merge.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compare/stored.hpp"
#include "guard.hpp"
#include "help.hpp"
#include "model/clock.hpp"
#include "new_file.hpp"
#include "text/progress.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct MergeVerb {
  std::string file;
  std::string to;
  bool json = false;
};

int merge(const Context& context, const MergeVerb& verb) {
  require_known_ending(verb.to, "auto", "");
  const LeftToParent unfinished(unfinished_path(context, verb.to));
  const double began_s = model::now_s();
  Options options;
  options.strategy = "shared";  // who has read it writes it
  commit::Merged done;
  {
    Progress progress("merge " + verb.file, context.is_root());
    done = commit::merge(
        context.transport, context.storage, verb.file, verb.to, options,
        [&](std::uint64_t bytes, std::uint64_t total) { progress.update(bytes, total); });
  }
  const double seconds = model::now_s() - began_s;
  if (context.is_root()) {
    for (const std::string& what : done.left_out) {
      fmt::print(stderr, "sluice: {}: left out: {}\n", printable(verb.to), printable(what));
    }
  }
  if (context.is_root() && verb.json) {
    const Json json{{"file", verb.to},     {"parts", done.parts},       {"steps", done.steps},
                    {"bytes", done.bytes}, {"left_out", done.left_out}, {"seconds", seconds}};
    show_json(json);
  } else if (context.is_root()) {
    const std::string rate = rate_text(done.bytes, seconds);
    tell("{}: {} of {} in {}: {} in {}{}\n", printable(verb.to), count_text(done.steps, "step"),
         count_text(done.parts, "part"), "one file", bytes_text(done.bytes), seconds_text(seconds),
         rate.empty() ? "" : ", " + rate);
  }
  return done.left_out.empty() ? fine : differs;
}

}  // namespace

void add_merge(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<MergeVerb>();
  CLI::App* command =
      add_verb(app, "merge", "make one plain file of a set of parts",
               "Writes the data, times and attributes of a set (strategies file-per-process and\n"
               "file-per-node) into one new HDF5 file, and checks every checksum. The set is\n"
               "not changed. Memory does not grow with the size of the set. Attributes that the\n"
               "format of TO cannot hold are left out and listed.\n"
               "Exit code: 0 done, 1 a part is damaged or something was left out, 2 bad input,\n"
               "3 changed outside Sluice.\n",
               R"help(
Examples:
  sluice merge spins.h5 whole.h5
  mpirun -n 8 sluice merge spins.h5 whole.h5
  sluice diff spins.h5 whole.h5                # equal, bit for bit)help");
  command->add_option("FILE", verb->file, "the index of the set")->required();
  command->add_option("TO", verb->to, "the file to make; must not exist")->required();
  command->add_flag("--json", verb->json, "print JSON");
  command->callback([&run, verb] {
    run =
        with_truncated_as_damage([verb](const Context& context) { return merge(context, *verb); });
  });
}

}  // namespace sluice::cli
