// The variables of a behaviour that may also be in files of their own: they share one file, or have
// one each in layouts that hold one variable in a file.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "support/world.hpp"

namespace sluice::test {

/// Invariant: every rank requests the same variables in the same order, so that the files are
/// opened, committed and closed in the same order too.
class Files {
 public:
  Files(const World& world, Rank& rank, std::string path, Mode mode)
      : world_(world), rank_(rank), path_(std::move(path)), mode_(mode) {}

  /// Collective if it is the first for its file.
  File& of(const std::string& variable) {
    const std::string path = world_.path_of(path_, variable);
    const auto found = open_.find(path);
    return found != open_.end()
               ? found->second.file
               : open_.emplace(path, One{rank_.open(path, mode_), {}}).first->second.file;
  }

  /// A step in each file that has a variable with steps.
  void begin_step(const StepOptions& options = {}) {
    for (auto& [path, one] : open_) {
      for (const VariableInfo& variable : one.file.variables()) {
        if (variable.steps && !one.step) {
          one.step.emplace(one.file.begin_step(options));
        }
      }
    }
  }
  /// Calls put(target): the current step of the variable's file, or else the file.
  template <class Put>
  void into(const std::string& variable, Put&& put) {
    One& one = open_.at(world_.path_of(path_, variable));
    one.step ? put(*one.step) : put(one.file);
  }
  /// Commits all files.
  void end_step() {
    for (auto& [path, one] : open_) {
      if (one.step) {
        one.step->end();
        one.step.reset();
      } else {
        one.file.flush();
      }
    }
  }
  void close() {
    for (auto& [path, one] : open_) {
      one.file.close();
    }
  }

 private:
  struct One {
    File file;
    std::optional<Step> step;
  };
  const World& world_;
  Rank& rank_;
  std::string path_;
  Mode mode_;
  std::map<std::string, One> open_;
};

/// Commits what put(target) puts: in a step for variables with steps; without one for others, which
/// not every layout accepts in a step.
template <class Put>
void commit(File& out, bool steps, Put&& put) {
  if (steps) {
    Step step = out.begin_step();
    put(step);
    step.end();
  } else {
    put(out);
    out.flush();
  }
}

}  // namespace sluice::test
