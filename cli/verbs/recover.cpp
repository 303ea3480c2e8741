// recover: brings a file that a crash left half-written to its last durable step.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commit/publish/agreed_path.hpp"
#include "commit/publish/atomic_file.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"
#include "help.hpp"
#include "session.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;
using commit::Recovery;

struct RecoverOptions {
  std::vector<std::string> files;
  bool dry_run = false;
  bool json = false;
};

const char* found_name(Recovery::Found found) {
  switch (found) {
    case Recovery::Found::nothing:
      return "no journal";
    case Recovery::Found::incomplete:
      return "incomplete journal";
    case Recovery::Found::complete:
      return "complete journal";
  }
  return "unknown";
}

/// What was found and done, and the last good step.
struct Recovered {
  Recovery recovery;
  std::uint64_t steps = 0;
  std::uint64_t parts = 0;  ///< of a set: those with a journal (rank 0)
  bool would = false;       ///< dry run: nothing was done
  bool has_new = false;     ///< a file that was to replace it is left (rank 0)
};

std::string last_step_text(std::uint64_t steps) {
  return steps == 0 ? "it has no steps" : fmt::format("last good step {}", steps - 1);
}

std::string outcome_text(const std::string& path, const Recovered& outcome) {
  const Recovery& recovery = outcome.recovery;
  const std::string last = last_step_text(outcome.steps);
  if (outcome.parts != 0) {
    return fmt::format("{}: {} {} brought to the last commit; {}\n", printable(path),
                       count_text(outcome.parts, "part"), outcome.would ? "would be" : "were",
                       last);
  }
  if (recovery.there < recovery.counted) {
    return fmt::format("{}: {} whose values were lost in a crash {} dropped; {}\n", printable(path),
                       count_text(recovery.counted - recovery.there, "step"),
                       outcome.would ? "would be" : "are", last);
  }
  if (recovery.found == Recovery::Found::nothing) {
    return fmt::format("{}: nothing to recover; {}\n", printable(path), last);
  }
  if (recovery.found == Recovery::Found::incomplete) {
    return fmt::format(
        "{}: a commit was under way and never became durable: its journal {} removed; {}\n",
        printable(path), outcome.would ? "would be" : "was", last);
  }
  if (recovery.changed == 0 && !recovery.guarded) {
    return fmt::format("{}: complete; the journal of its last commit {} removed; {}\n",
                       printable(path), outcome.would ? "would be" : "was", last);
  }
  return fmt::format("{}: a durable commit was not in place: {} of {} {} written; {}\n",
                     printable(path), recovery.changed, count_text(recovery.runs, "change"),
                     outcome.would ? "would be" : "were", last);
}

Json outcome_json(const std::string& path, const Recovered& outcome) {
  const Recovery& recovery = outcome.recovery;
  const bool is_done = (recovery.found != Recovery::Found::nothing || outcome.parts != 0 ||
                        recovery.there < recovery.counted) &&
                       !outcome.would;
  return {{"file", path},
          {"found", found_name(recovery.found)},
          {"changes", recovery.runs},
          {"changes_not_in_place", recovery.changed},
          {"refused_by_plain_tools", recovery.guarded},
          {"recovered", is_done},
          {"parts_with_journals", outcome.parts},
          {"steps_without_values", recovery.counted - recovery.there},
          {"left_new_file", outcome.has_new},
          {"steps", outcome.steps}};
}

std::string new_file_text(const std::string& path) {
  return fmt::format(
      "{}: left by a program that ended before its first commit; it may be removed\n",
      printable(commit::building_path(path)));
}

/// Error not_found, if only the file is there that was to get the name.
void refuse_unnamed(storage::Storage& storage, const std::string& path) {
  if (!storage.exists(path) && storage.exists(commit::building_path(path))) {
    throw Error(Code::not_found, path + ": is not there, but " + commit::building_path(path) +
                                     " is: a program writes it, or ended before its first commit; "
                                     "then there is nothing to recover, and it may be removed");
  }
}

/// The parts of a set have journals of their own. Collective.
void recover_parts(const Context& context, const std::string& path, const layout::PartSet& set,
                   Recovered& outcome) {
  std::unique_ptr<storage::Lease> lease;
  exec::on_root(context.transport, [&] {
    if (!outcome.would) {
      lease = context.storage.lease(path);
    }
    for (const layout::Part& part : set.parts) {
      const std::string name = commit::journal_path(layout::part_path(path, part.path));
      outcome.parts += context.storage.exists(name) ? 1 : 0;
    }
  });
  if (!outcome.would) {
    commit::check_parts(context.transport, context.storage, path, set, true);
  }
}

/// Rank 0 recovers; the steps are counted by the reader, which sees the same before and after.
Recovered recover_one(const Context& context, const std::string& given_path, bool dry_run) {
  const std::string path = commit::agreed_path(context.transport, context.storage, given_path);
  Recovered outcome;
  outcome.would = dry_run;
  const auto message = exec::on_root(context.transport, [&] {
    refuse_unnamed(context.storage, path);
    outcome.recovery = commit::recover_unattended(context.storage, path, dry_run);
    // In this order: a writer has the lease before it makes the file.
    outcome.has_new = context.storage.exists(commit::building_path(path)) &&
                      !commit::has_lease(context.storage, path);
    return std::vector<std::byte>{
        std::byte{dry_run && outcome.recovery.there < outcome.recovery.counted}};
  });
  if (message[0] != std::byte{0}) {
    outcome.steps = outcome.recovery.there;  // a reader refuses the file in its present state
    return outcome;
  }
  Options options;
  options.checksum = false;
  const commit::Input input(context.transport, context.storage, path, options);
  outcome.steps = input.steps();
  if (input.set() != nullptr) {
    recover_parts(context, path, *input.set(), outcome);
  }
  return outcome;
}

int recover(const Context& context, const RecoverOptions& options) {
  int code = fine;
  Json all = Json::array();
  for (const std::string& path : options.files) {
    try {
      const Recovered outcome = recover_one(context, path, options.dry_run);
      if (options.json) {
        all.push_back(outcome_json(path, outcome));
      } else if (context.is_root()) {
        tell("{}{}", outcome_text(path, outcome), outcome.has_new ? new_file_text(path) : "");
      }
    } catch (const Error& e) {
      code = bad_input;  // whatever it is; the other files may be good
      if (context.is_root()) {
        std::fflush(stdout);
        show_error(message_of(e));
        all.push_back({{"file", path}, {"found", "error"}, {"why", message_of(e)}});
      }
    }
  }
  if (options.json && context.is_root()) {
    show_json(all);
  }
  return code;
}

}  // namespace

void add_recover(CLI::App& app, Run& run) {
  const auto options = std::make_shared<RecoverOptions>();
  CLI::App* verb =
      add_verb(app, "recover", "bring a file to its last durable step after a crash",
               "Reads the journal that a crash left beside a file, and writes the changes of\n"
               "the last durable step that are not in place yet. A step that never became\n"
               "durable is dropped. Sluice does the same whenever it opens the file for\n"
               "writing, and its readers take the journal into account; other programs need\n"
               "this verb once. A file that is being written is left unchanged.\n"
               "Exit code: 0 all files are at their last durable step, 2 a file could not be\n"
               "recovered.\n",
               R"help(
Examples:
  sluice recover spins.h5
  sluice recover --dry-run run-*/spins.h5
  sluice recover spins.h5 && h5dump -H spins.h5)help");
  verb->add_option("FILE", options->files, "files that Sluice wrote")->required();
  verb->add_flag("--dry-run", options->dry_run, "say what would be done, and change nothing");
  verb->add_flag("--json", options->json, "print JSON");
  verb->callback([&run, options] {
    run = [options](const Context& context) { return recover(context, *options); };
  });
}

}  // namespace sluice::cli
