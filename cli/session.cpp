#include "session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "api/config/settings.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "exec/transport/solo_transport.hpp"
#include "mpi/process.hpp"
#include "sluice/error.hpp"
#include "storage/object/by_path.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

/// Each of the common launchers sets one of these for the processes that it starts.
constexpr std::array launcher_variables{
    "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",   "PMI_RANK",      "PMI_SIZE",
    "MPI_LOCALRANKID",      "PALS_RANKID", "FLUX_TASK_RANK"};

/// Numbers of ranks, of the launchers that say it to their processes alone.
constexpr std::array size_variables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
/// Others, which may also be those of a job or a step around the launcher.
constexpr std::array outer_size_variables{"SLURM_STEP_NUM_TASKS", "FLUX_JOB_SIZE"};
/// The number of this rank.
constexpr std::array rank_variables{"OMPI_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
                                    "PALS_RANKID",          "FLUX_TASK_RANK", "SLURM_PROCID"};

std::optional<std::string_view> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

/// Does the launcher say that there is one rank? A launcher may run in a rank of another one, whose
/// variables are still there: each of them has to say so.
bool is_single() {
  const auto is_one = [](const char* name) { return variable(name) == "1"; };
  const auto is_one_or_absent = [&](const char* name) { return !variable(name) || is_one(name); };
  return std::any_of(size_variables.begin(), size_variables.end(), is_one) &&
         std::all_of(size_variables.begin(), size_variables.end(), is_one_or_absent) &&
         std::all_of(outer_size_variables.begin(), outer_size_variables.end(), is_one_or_absent);
}

/// By the variables of the launcher: for what must not need MPI.
bool is_first_rank() {
  return std::all_of(rank_variables.begin(), rank_variables.end(),
                     [](const char* name) { return !variable(name) || variable(name) == "0"; });
}

/// The result of a rank's body.
struct RankEnd {
  int code = fine;
  std::optional<std::string> failure;
};

RankEnd attempt(const Run& body, const Context& context) {
  try {
    return {body(context), std::nullopt};
  } catch (const std::exception& e) {
    return {exit_code(e), message_of(e)};
  }
}

void say(const std::string& failure) { show_error(failure); }

/// Output that could not be written (a full disk behind `> file`) is a failure too.
void check_output(RankEnd& outcome) {
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && !outcome.failure) {
    outcome = {bad_input, "writing the output failed: is there space left?"};
  }
}

/// How long a failed rank waits for the others, which may be waiting for it elsewhere.
constexpr std::chrono::seconds patience{10};

/// All ranks synchronise at the end. The lowest failed rank prints, and all get the most serious
/// code.
int end_together(const RankEnd& outcome) {
  mpi::Comms& comms = mpi::comms();
  const int rank = comms.rank(comms.world());
  const int size = comms.size(comms.world());
  // Bad input is more serious than a difference, and that more than a change from outside.
  const bool is_bad = outcome.code == bad_input;
  const int grave = is_bad ? 10 : outcome.code == differs ? 5 : outcome.code;
  std::array<int, 2> mine{grave, outcome.failure ? size - rank : 0};
  std::array<int, 2> all{};
  mpi::Request request;
  comms.start_all_max(mine, all, comms.world(), request);
  const auto limit = std::chrono::steady_clock::now() + patience;
  bool is_done = false;
  mpi::messages().test(request, is_done);
  while (!is_done) {
    if (outcome.failure && std::chrono::steady_clock::now() > limit) {
      say("rank " + std::to_string(rank) + ": " + *outcome.failure);
      comms.abort(outcome.code);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    mpi::messages().test(request, is_done);
  }
  if (outcome.failure && all[1] == size - rank) {
    say(*outcome.failure);
  }
  return all[0] == 10 ? bad_input : all[0] == 5 ? differs : all[0];
}

/// Shorter than that of a program, which waits for its steps: somebody sits and waits here.
constexpr double object_stores_s = 120;

/// Error invalid_argument names the variable.
double limit_of_object_stores_s() {
  Options options;
  options.timeout_s = object_stores_s;
  for (const settings::Override& one : settings::overrides_of_environment(environ)) {
    if (one.name == "timeout_s") {
      settings::override_with({one}, options);
    }
  }
  return options.timeout_s;
}

int run_alone(const Run& body, storage::Storage& storage) {
  const auto alone = exec::make_solo();
  RankEnd outcome = attempt(body, {*alone, storage});
  check_output(outcome);
  if (outcome.failure) {
    say(*outcome.failure);
  }
  return outcome.code;
}

}  // namespace

bool has_launcher() {
  return std::any_of(launcher_variables.begin(), launcher_variables.end(),
                     [](const char* name) { return variable(name).has_value(); });
}

bool is_mpi_declined() { return variable("SLUICE_MPI") == "none"; }

int exit_code(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  if (known != nullptr && known->code() == Code::damaged) {
    return differs;
  }
  if (known != nullptr && known->code() == Code::changed_outside) {
    return changed_outside;
  }
  return bad_input;
}

std::string message_of(const std::exception& error) {
  std::string text =
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
  // Errors of rank 0, which does the work of one rank for all, need no number.
  const std::string root = "rank 0: ";
  while (text.rfind(root, 0) == 0) {
    text.erase(0, root.size());
  }
  return text;
}

int run_session(int* argc, char*** argv, bool needs_mpi, const Run& body) {
  const auto storage = storage::make_by_path(limit_of_object_stores_s);
  if (!has_launcher() || is_single() || is_mpi_declined()) {
    return run_alone(body, *storage);
  }
  try {
    mpi::load();
  } catch (const Error& e) {
    if (needs_mpi) {
      say(message_of(e) + "; SLUICE_MPI=none: this process alone");
      return bad_input;
    }
    return is_first_rank() ? run_alone(body, *storage) : fine;
  }
  mpi::comms().init(argc, argv);
  RankEnd outcome;
  try {
    const Comm world(sluice_comm{SLUICE_COMM_WORLD, 0, 0});
    const auto transport = exec::make_mpi(world, exec::MpiOptions{});
    outcome = attempt(body, {*transport, *storage});
    check_output(outcome);
  } catch (const std::exception& e) {
    outcome = {exit_code(e), message_of(e)};
  }
  const int code = end_together(outcome);
  mpi::comms().finalize();
  return code;
}

}  // namespace sluice::cli
