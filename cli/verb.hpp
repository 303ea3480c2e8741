// The interface of the verbs of the command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>

#include "exec/transport/transport.hpp"
#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::cli {

/// The exit codes of every verb. Of several files the most serious counts: bad input, then differs,
/// then changed outside.
enum Exit : int {
  fine = 0,
  differs = 1,    ///< diff: not equal; verify, dump: damaged; convert, watch, checkpoints: less
                  ///< than what was asked for
  bad_input = 2,  ///< also: a part of the input cannot be read, and the answer is of the rest
  changed_outside = 3,  ///< verify, dump: does not match, but another program wrote to the file
};

struct Context {
  exec::Transport& transport;
  storage::Storage& storage;
  bool is_root() const { return transport.rank() == 0; }
};

/// The work of a verb: on every rank; the exit code of rank 0 is that of the command.
using Run = std::function<int(const Context&)>;

/// The same, for verbs that exit with 1 where FILE is damaged: one that is shorter than its
/// metadata says is damaged.
inline Run with_truncated_as_damage(Run body) {
  return [body = std::move(body)](const Context& context) {
    try {
      return body(context);
    } catch (const Error& e) {
      if (e.code() == Code::truncated) {
        throw Error(Code::damaged, e.what(), e.rank());
      }
      throw;
    }
  };
}

/// Each adds its verb to the command line; if the user chose it, parsing sets `run`.
void add_ls(CLI::App& app, Run& run);
void add_dump(CLI::App& app, Run& run);
void add_diff(CLI::App& app, Run& run);
void add_verify(CLI::App& app, Run& run);
void add_checkpoints(CLI::App& app, Run& run);
void add_recover(CLI::App& app, Run& run);
void add_collect(CLI::App& app, Run& run);
void add_merge(CLI::App& app, Run& run);
void add_virtualize(CLI::App& app, Run& run);
void add_watch(CLI::App& app, Run& run);
void add_convert(CLI::App& app, Run& run);
void add_plot(CLI::App& app, Run& run);
void add_report(CLI::App& app, Run& run);
void add_render(CLI::App& app, Run& run);
void add_stats(CLI::App& app, Run& run);
void add_bench(CLI::App& app, Run& run);
void add_plan(CLI::App& app, Run& run);
void add_run(CLI::App& app, Run& run);
void add_env(CLI::App& app, Run& run);
void add_doctor(CLI::App& app, Run& run);

}  // namespace sluice::cli
