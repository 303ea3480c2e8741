// The command `sluice`: one verb a call.
//
// Invariant: on any error, one rank prints one line on stderr, and all ranks exit with the same
// code (see Exit).
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <hdf5.h>

#include "api/config/option_table.hpp"
#include "guard.hpp"
#include "help.hpp"
#include "session.hpp"
#include "sluice/error.hpp"
#include "verbs/run.hpp"

namespace sluice::cli {

namespace {

const char* const about =
    "sluice: inspect, compare, verify and convert files: HDF5, netCDF-4, Zarr, VTKHDF";

const char* const examples = R"help(Examples:
  sluice ls spins.h5                     list the contents
  sluice dump spins.h5 spins --step -1   the values of the last step
  sluice diff before.h5 after.h5         elements that differ, and by how much
  sluice verify spins.h5                 check every byte
  sluice recover spins.h5                finish an interrupted commit
  sluice merge spins.h5 whole.h5         one file of many parts
  sluice watch spins.h5                  steps as a run writes them
  sluice convert a.h5 a.nc               another format; --compress deflate:6
  sluice render spins.h5 spins.png       a picture of atoms and their spins
  mpirun -n 8 sluice bench --on DIR      measure a file system
  sluice plan --ranks 4096 --shape 1024x1024x1024   predict a run
  sluice doctor /scratch/run7            what is slow or missing
  mpirun -n 8 sluice verify spins.h5     with 8 processes (diff too)
  sluice run -- python script.py         run an HDF5 program crash-safe
  sluice VERB --help                     options and examples of a verb

Exit codes: 0 success; 1 the files differ, data is damaged, or convert, watch,
checkpoints or verify --latest-good did less than was asked for; 2 bad input or
usage; 3 data does not match its checksums, and another program changed it.)help";

std::string version_text() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("sluice {} (libhdf5 {}.{}.{})", SLUICE_VERSION, major, minor, release);
}

/// The error of the command line, as one line.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string verb;
  for (const CLI::App* chosen : app.get_subcommands()) {
    verb = " " + chosen->get_name();
  }
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + " (see: sluice" + verb + " --help)";
}

/// The verbs, and the one that `word` is probably a misspelling of.
std::string no_verb_text(CLI::App& app, const std::string& word) {
  std::string all;
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = verb->get_name();
    all += (all.empty() ? "" : ", ") + name;
    const std::size_t distance = settings::edit_distance(word, name);
    // A prefix of at least two letters counts as a match.
    const bool begins = word.size() > 1 && name.starts_with(word);
    if ((begins ? std::min<std::size_t>(distance, 1) : distance) < least) {
      least = begins ? 1 : distance;
      nearest = name;
    }
  }
  const std::string what = word.empty() ? "no verb is given" : "there is no verb " + word;
  return nearest.empty() ? what + "; the verbs are " + all + " (see: sluice --help)"
                         : what + "; did you mean " + nearest + "? (see: sluice --help)";
}

/// If it is called by the name of a converter, the command is `sluice convert`; `help VERB` is
/// `VERB --help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::string called = argc == 0 ? "" : argv[0];
  const std::string name = called.substr(called.rfind('/') + 1);
  if (name == "hdf52txt") {
    words.insert(words.begin(), {"convert", "--format", "text"});
  } else if (name == "txt2hdf5") {
    words.insert(words.begin(), "convert");
  } else if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

/// Help, versions, and what examines the MPI.
bool needs_mpi(const std::vector<std::string>& words) {
  return (words.empty() || words.front() != "doctor") &&
         std::none_of(words.begin(), words.end(), [](const std::string& word) {
           return word == "--help" || word == "-h" || word == "--version";
         });
}

int run_command(int argc, char** argv, const Context& context) {
  CLI::App app(about, "sluice");
  app.formatter(make_formatter());
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", version_text(), "print the versions of sluice and libhdf5");
  app.footer(examples);
  Run run;
  add_ls(app, run);
  add_dump(app, run);
  add_diff(app, run);
  add_verify(app, run);
  add_checkpoints(app, run);
  add_recover(app, run);
  add_collect(app, run);
  add_merge(app, run);
  add_virtualize(app, run);
  add_watch(app, run);
  add_convert(app, run);
  add_plot(app, run);
  add_report(app, run);
  add_render(app, run);
  add_stats(app, run);
  add_bench(app, run);
  add_plan(app, run);
  add_run(app, run);
  add_env(app, run);
  add_doctor(app, run);
  app.require_subcommand(0, 1);
  app.allow_extras();  // reported below, with a better text
  try {
    std::vector<std::string> words = words_of(argc, argv);
    std::reverse(words.begin(), words.end());  // in the order that CLI11 expects
    app.parse(std::move(words));
  } catch (const CLI::Success& asked) {
    return context.is_root() ? app.exit(asked) : fine;
  } catch (const CLI::ParseError& error) {
    throw Error(Code::invalid_argument, usage_error(app, error));
  }
  if (!run) {
    throw Error(Code::invalid_argument,
                no_verb_text(app, app.remaining_size() == 0 ? "" : app.remaining()[0]));
  }
  if (app.remaining_size() != 0) {
    throw Error(Code::invalid_argument, "there is no option " + app.remaining()[0] +
                                            " before the verb (see: sluice --help)");
  }
  return run(context);
}

}  // namespace

}  // namespace sluice::cli

int main(int argc, char** argv) {
  if (const auto words = sluice::cli::program_words(argc, argv); !words.empty()) {
    return sluice::cli::run_program(words);
  }
  return sluice::cli::run_guarded([&] {
    // After damaged metadata libhdf5 cannot close cleanly, and would report that at exit. Only
    // files opened for reading are open here: there is nothing to save.
    H5dont_atexit();
    // The file size limit becomes an error of the write, even if the output is a file opened by the
    // shell.
    std::signal(SIGXFSZ, SIG_IGN);
    const bool needs_mpi = sluice::cli::needs_mpi(sluice::cli::words_of(argc, argv));
    return sluice::cli::run_session(&argc, &argv, needs_mpi,
                                    [&](const sluice::cli::Context& context) {
                                      return sluice::cli::run_command(argc, argv, context);
                                    });
  });
}
