// The run: sample, time loop, output, and a table on the terminal.
//
// Invariant: on any error, one rank prints one line, and all ranks exit with code 2.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mpi.h>
#include <optional>

#include "comm.hpp"
#include "integrator.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "output.hpp"
#include "sluice/checkpoint.hpp"
#include "sluice/text.hpp"
#include "start.hpp"

namespace vampire {
namespace {

class Run {
 public:
  Run(MPI_Comm comm, const Options& options)
      : comm_(comm),
        options_(options),
        talks_(rank_of(comm) == 0),
        began_s_(MPI_Wtime()),
        sample_(make_sample(comm, options)),
        sampled_s_(MPI_Wtime()),
        integrator_(comm, sample_, options.physics),
        ready_s_(MPI_Wtime()) {}

  void introduce() {
    const auto pairs = static_cast<std::int64_t>(integrator_.neighbours().index.size());
    const std::int64_t all = reduce(comm_, pairs, MPI_SUM);
    const std::int64_t ghosts =
        reduce(comm_, static_cast<std::int64_t>(integrator_.halo().ghosts()), MPI_SUM);
    const double atoms_s = reduce(comm_, sampled_s_ - began_s_, MPI_MAX);
    const double neighbours_s = reduce(comm_, ready_s_ - sampled_s_, MPI_MAX);
    set_up_s_ = reduce(comm_, ready_s_ - began_s_, MPI_MAX);
    if (!talks_) {
      return;
    }
    for (const std::string& note : sample_.notes) {
      std::printf("note: %s\n", note.c_str());
    }
    std::printf("%s\n", sample_.described.c_str());
    std::printf(
        "%llu atoms on %d ranks, %.2f neighbours each within %.4g A; %lld spins travel in "
        "each sub-step\n",
        static_cast<unsigned long long>(sample_.total), size_of(comm_),
        static_cast<double>(all) / static_cast<double>(sample_.total), sample_.cutoff,
        static_cast<long long>(ghosts));
    std::printf(
        "set-up: %.3f s: atoms, their materials and ranks %.3f s, neighbours and halo %.3f s\n\n",
        set_up_s_, atoms_s, neighbours_s);
    std::printf("%10s %12s %10s %10s %10s %10s %14s\n", "step", "time (ps)", "|m|", "mx", "my",
                "mz", "E/atom (meV)");
  }

  void simulate() {
    const double began_s = MPI_Wtime();
    restore();
    const auto output = open_output(comm_, sample_, options_, outputs_);
    if (done_ == 0) {
      report_if_wanted(*output);
    }
    while (done_ < options_.equilibration + options_.steps && !(state_ && state_->ending())) {
      advance(++done_);
      report_if_wanted(*output);
      if (state_ && state_->due()) {
        output->settle();  // the checkpoint says how many outputs there are
        state_->save(done_ * options_.physics.dt_fs * 1e-3);
      }
    }
    if (state_) {
      state_->close();
    }
    const OutputCost cost = output->close();
    const double run_s = reduce(comm_, MPI_Wtime() - began_s, MPI_MAX);
    const double steps_s = reduce(comm_, steps_s_, MPI_MAX);
    if (talks_) {
      const double step_s = steps_s / std::max(1U, done_ - began_at_);
      std::printf("\nintegration: a step takes %.6f s; the set-up took as long as %.1f of them",
                  step_s, set_up_s_ / step_s);
      const double megabytes = static_cast<double>(cost.bytes) / 1e6;
      std::printf(
          "\noutput: %.2f MB in %llu steps to %s cost %.3f s, %.1f %% of the run's %.2f s: "
          "%.0f MB/s\n",
          megabytes, static_cast<unsigned long long>(cost.steps), options_.output.c_str(),
          cost.seconds, 100 * cost.seconds / run_s, run_s, megabytes / cost.seconds);
    }
  }

  void show_digest() {
    const std::uint64_t value = digest(comm_, sample_.atoms, integrator_.spins());
    if (talks_) {
      std::printf("digest: %016llx\n", static_cast<unsigned long long>(value));
    }
  }

 private:
  /// The state of an earlier run: its spins, its step, the number of its outputs.
  void restore() {
    if (options_.checkpoint.empty()) {
      return;
    }
    state_.emplace(comm_, options_.checkpoint,
                   sluice::CheckpointOptions{
                       .interval_calls = options_.checkpoint_every,
                       .file = {.strategy = options_.strategy, .writers = options_.writers}});
    state_->rows("spins", sample_.atoms.id.data(), sample_.atoms.size(), &integrator_.spins()->x,
                 {sample_.total, 3});
    state_->value("step", done_);
    state_->value("outputs", outputs_);
    const sluice::Restored restored = state_->restore();
    if (restored && talks_) {
      std::printf("goes on from checkpoint %llu, of step %u, written by %d ranks\n",
                  static_cast<unsigned long long>(restored.number), done_, restored.ranks);
      for (const sluice::RejectedCheckpoint& one : restored.newer) {
        std::printf("note: not from a newer one: %s\n", one.why.c_str());
      }
    }
    began_at_ = done_;
  }

  void report_if_wanted(Output& output) {
    if (done_ < options_.equilibration) {
      return;
    }
    const std::uint32_t step = done_ - options_.equilibration;
    const bool is_due = options_.only_last ? step == options_.steps : step % options_.every == 0;
    if (step == 0 ? options_.writes_start : is_due) {
      report(step, output);
      ++outputs_;
    }
  }

  void advance(std::uint32_t number) {
    const double began_s = MPI_Wtime();
    integrator_.step(number);
    steps_s_ += MPI_Wtime() - began_s;
  }

  void report(std::uint32_t step, Output& output) {
    const Measured now = measure(comm_, sample_, integrator_.spins(), integrator_.energies());
    const double time_ps = step * options_.physics.dt_fs * 1e-3;
    if (!std::isfinite(now.length) || !std::isfinite(now.energy_mev)) {
      throw Error(Code::invalid_argument, "the spins are no longer finite at step " +
                                              std::to_string(step) + ": use a smaller --dt");
    }
    if (talks_) {
      std::printf("%10u %12.6f %10.6f %10.6f %10.6f %10.6f %14.6f\n", step, time_ps, now.length,
                  now.magnetisation.x, now.magnetisation.y, now.magnetisation.z, now.energy_mev);
      std::fflush(stdout);
    }
    output.write(time_ps, integrator_.spins(), now.magnetisation);
  }

  MPI_Comm comm_;
  const Options& options_;
  bool talks_;
  double began_s_;
  Sample sample_;
  double sampled_s_;
  Integrator integrator_;
  double ready_s_;
  double set_up_s_ = 0;         ///< of the slowest rank
  double steps_s_ = 0;          ///< in steps of the integration, so far
  std::uint32_t done_ = 0;      ///< steps, those of the equilibration included
  std::uint32_t began_at_ = 0;  ///< steps of the run before
  std::int64_t outputs_ = 0;
  std::optional<sluice::Checkpoint> state_;
};

int run(MPI_Comm comm, int argc, char** argv) {
  const Parsed parsed = parse(
      argc, argv, [comm](const std::string& path) { return sluice::read_on_root(comm, path); });
  if (!parsed.help.empty()) {
    if (rank_of(comm) == 0) {
      std::printf("%s", parsed.help.c_str());
    }
    return 0;
  }
  for (const std::string& note : parsed.notes) {
    if (rank_of(comm) == 0) {
      std::printf("note: %s\n", note.c_str());
    }
  }
  Run it(comm, parsed.options);
  it.introduce();
  it.simulate();
  if (parsed.options.digest) {
    it.show_digest();
  }
  return 0;
}

}  // namespace
}  // namespace vampire

int main(int argc, char** argv) { return app::run_program(argc, argv, "vampire", vampire::run); }
