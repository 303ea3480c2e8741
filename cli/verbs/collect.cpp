// collect: bring the parts of a set into one folder. On all ranks together.
#include "commit/tools/collect.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "help.hpp"
#include "model/clock.hpp"
#include "text/progress.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct CollectVerb {
  std::string file;
  commit::CollectOptions options;
  bool json = false;
};

std::string done_text(const CollectVerb& verb, const commit::Collected& done, double seconds) {
  const std::string name = printable(verb.file);
  if (done.moved == 0) {
    return fmt::format("{}: all {} are there already\n", name, count_text(done.parts, "part"));
  }
  const std::string rate = rate_text(done.bytes, seconds);
  return fmt::format("{}: {} of {} {}, {} in {}{}\n", name, done.moved,
                     count_text(done.parts, "part"), verb.options.keep ? "copied" : "moved",
                     bytes_text(done.bytes), seconds_text(seconds),
                     rate.empty() ? "" : ", " + rate) +
         (done.left == 0
              ? ""
              : fmt::format("{}: {} of the old parts stay where they were: they belong to an "
                            "index at another path\n",
                            name, done.left));
}

int collect(const Context& context, const CollectVerb& verb) {
  const double began_s = model::now_s();
  commit::Collected done;
  {
    Progress progress("collect " + verb.file, context.is_root());
    done = commit::collect(
        context.transport, context.storage, verb.file, verb.options,
        [&](std::uint64_t bytes, std::uint64_t total) { progress.update(bytes, total); });
  }
  const double seconds = model::now_s() - began_s;
  if (context.is_root() && verb.json) {
    const Json json{{"file", verb.file},   {"parts", done.parts}, {"moved", done.moved},
                    {"bytes", done.bytes}, {"left", done.left},   {"seconds", seconds}};
    show_json(json);
  } else if (context.is_root()) {
    tell("{}", done_text(verb, done, seconds));
  }
  return fine;
}

}  // namespace

void add_collect(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<CollectVerb>();
  CLI::App* command =
      add_verb(app, "collect", "bring the parts of a set together",
               "Copies every part of a set (strategies file-per-process and file-per-node) into\n"
               "one folder, rewrites the index, and removes the old parts. Old parts that\n"
               "belong to an index at another path stay. A part is copied by a rank that can\n"
               "read it: for node-local disks, start one rank on each node. If the verb is\n"
               "interrupted, the old set is complete; start it again.\n"
               "Exit code: 0 all parts are in the folder, 2 bad input (such as a missing part).\n",
               R"help(
Examples:
  sluice collect spins.h5                      # into spins.h5.parts/ beside it
  sluice collect spins.h5 --to /archive/run7 --keep
  mpirun --map-by node sluice collect spins.h5)help");
  command->add_option("FILE", verb->file, "the index of the set")->required();
  command->add_option("--to", verb->options.to, "folder for the parts (default: FILE.parts)")
      ->type_name("DIR");
  command->add_flag("--keep", verb->options.keep, "leave the old parts where they are, too");
  command->add_flag("--json", verb->json, "print JSON");
  command->callback(
      [&run, verb] { run = [verb](const Context& context) { return collect(context, *verb); }; });
}

}  // namespace sluice::cli
