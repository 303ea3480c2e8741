// diff: compares the contents of two files. On all ranks together.
#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "commit/publish/damage.hpp"
#include "commit/tools/fills.hpp"
#include "commit/tools/unread.hpp"
#include "compare/diff_report.hpp"
#include "compare/stored.hpp"
#include "compare/variable_pair.hpp"
#include "exec/transport/agree.hpp"
#include "help.hpp"
#include "layout/hdf5/profile.hpp"
#include "model/clock.hpp"
#include "text/progress.hpp"
#include "text/text.hpp"
#include "text/values.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using commit::Input;

struct DiffOptions {
  std::string a;
  std::string b;
  Tolerance tolerance;
  std::vector<std::string> variables;
  bool json = false;
};

std::optional<std::uint32_t> find(const Input& input, const std::string& name) {
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    if (input.variables()[v].definition.name == name) {
      return v;
    }
  }
  return std::nullopt;
}

/// The names to compare: all of both, sorted; or the chosen ones.
std::vector<std::string> names_of(const Input& a, const Input& b,
                                  const std::vector<std::string>& chosen) {
  std::vector<std::string> names;
  for (const auto& variable : a.variables()) {
    names.push_back(variable.definition.name);
  }
  for (const auto& variable : b.variables()) {
    if (!find(a, variable.definition.name)) {
      names.push_back(variable.definition.name);
    }
  }
  if (chosen.empty()) {
    std::sort(names.begin(), names.end());
    return names;
  }
  for (const std::string& name : chosen) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(Code::not_found,
                  fmt::format("{} and {}: neither has a variable {} (there are: {})", a.path(),
                              b.path(), name, fmt::join(names, ", ")));
    }
  }
  return chosen;
}

std::string against(const std::string& what, const std::string& a, const std::string& b) {
  return what + ": " + a + " against " + b;
}

void compare_fills(const Side& a, const Side& b, VariableResult& result) {
  if (a.is_partial() && b.is_partial() && a.fill() != b.fill()) {
    std::string left;
    std::string right;
    append_value(left, a.fill().data(), a.type(), Style::text);
    append_value(right, b.fill().data(), b.type(), Style::text);
    result.structure.push_back(against("fill value", left, right));
  }
}

/// A variable with steps against an array: its first dimension represents the steps if the rest
/// fits.
void match_steps(Side& a, Side& b) {
  const auto match = [](Side& stepped, Side& array) {
    const model::Dims shape = array.shape();
    if (stepped.has_steps() && !array.has_steps() && shape.rank() == stepped.shape().rank() + 1 &&
        shape.without_front() == stepped.shape()) {
      array.lead_by_steps();
    }
  };
  match(a, b);
  match(b, a);
}

/// Steps of a varying variable with different extents; their common part is still compared.
void compare_extents(const Side& a, const Side& b, std::uint64_t steps, VariableResult& result) {
  std::uint64_t others = 0;
  std::uint64_t first = 0;
  for (std::uint64_t step = steps; step-- > 0;) {
    if (!(a.shape(step) == b.shape(step))) {
      ++others;
      first = step;
    }
  }
  if (others != 0) {
    const std::string more = others == 1 ? "" : fmt::format(" (and of {} more)", others - 1);
    result.structure.push_back(against(fmt::format("shape of step {}{}", first, more),
                                       shape_text(a.shape(first)), shape_text(b.shape(first))));
  }
}

class Diff {
 public:
  Diff(const Context& context, const DiffOptions& options, Input& a, Input& b)
      : context_(context), options_(options), a_(a), b_(b), progress_("diff", context.is_root()) {}

  DiffReport run();

 private:
  struct Task {
    VariableResult result;
    std::optional<Side> a;
    std::optional<Side> b;
    std::uint64_t steps = 0;
  };

  Task make_task(const std::string& name);
  void compare_structure(Task& task) const;
  void compare_values(Task& task, const Advance& advance) const;
  static std::uint64_t bytes_of(const Task& task);
  std::vector<model::Attribute> attributes_of(const Input& input) const;
  bool is_of_the_format(const model::Attribute& attribute) const;

  const Context& context_;
  const DiffOptions& options_;
  Input& a_;
  Input& b_;
  Progress progress_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

Diff::Task Diff::make_task(const std::string& name) {
  Task task;
  task.result.name = name;
  const auto in_a = find(a_, name);
  const auto in_b = find(b_, name);
  if (!in_a || !in_b) {
    task.result.structure.push_back(in_a ? "only in A" : "only in B");
    return task;
  }
  task.a.emplace(a_, *in_a);
  task.b.emplace(b_, *in_b);
  match_steps(*task.a, *task.b);
  compare_structure(task);
  return task;
}

void Diff::compare_structure(Task& task) const {
  VariableResult& result = task.result;
  const Side& a = *task.a;
  const Side& b = *task.b;
  result.is_stepped = a.has_steps();
  bool is_comparable = true;
  if (!(a.type() == b.type())) {
    result.structure.push_back(against("type", type_name(a.type()), type_name(b.type())));
    is_comparable = false;
  } else {
    compare_fills(a, b, result);
  }
  if (a.has_steps() != b.has_steps()) {
    const auto kind = [](const Side& side) { return side.has_steps() ? "with steps" : "without"; };
    result.structure.push_back(against("steps", kind(a), kind(b)));
    is_comparable = false;
  } else if (a.steps() != b.steps()) {
    result.structure.push_back(
        against("steps", std::to_string(a.steps()), std::to_string(b.steps())));
  }
  if (!(a.shape() == b.shape())) {
    result.structure.push_back(against("shape", shape_text(a.shape()), shape_text(b.shape())));
    is_comparable = false;
  }
  task.steps = is_comparable ? std::min(a.steps(), b.steps()) : 0;
  if (a.is_varying() || b.is_varying()) {
    compare_extents(a, b, task.steps, result);
  }
}

/// Of each of the two.
std::uint64_t Diff::bytes_of(const Task& task) {
  const auto bytes_of_step = [&task](std::uint64_t step) {
    const auto common = common_box(*task.a, *task.b, step);
    return common ? common->volume() * task.a->type().bytes : 0;
  };
  if (!task.a->is_varying() && !task.b->is_varying()) {
    return task.steps * bytes_of_step(0);
  }
  std::uint64_t bytes = 0;
  for (std::uint64_t step = 0; step < task.steps; ++step) {
    bytes += bytes_of_step(step);
  }
  return bytes;
}

std::vector<model::Attribute> Diff::attributes_of(const Input& input) const {
  std::vector<model::Attribute> wanted;
  const auto& chosen = options_.variables;
  for (const model::Attribute& attribute : input.attributes()) {
    const std::string& owner = attribute.owner;
    // For a variable that only one file has, this is sufficient.
    const bool is_lone = find(a_, owner).has_value() != find(b_, owner).has_value();
    if (!is_lone && !is_of_the_format(attribute) &&
        (chosen.empty() || std::find(chosen.begin(), chosen.end(), owner) != chosen.end())) {
      wanted.push_back(attribute);
    }
  }
  return wanted;
}

/// Formats have their own ways to say the fill value and the type, which are compared with the
/// structure, and netCDF wants a unit of the times of steps where nobody has given one.
bool Diff::is_of_the_format(const model::Attribute& attribute) const {
  const auto of_a = find(a_, attribute.owner);
  const auto of_b = find(b_, attribute.owner);
  if (of_a && of_b) {
    const model::Definition& a = a_.variables()[*of_a].definition;
    const model::Definition& b = b_.variables()[*of_b].definition;
    if ((commit::is_fill(attribute, a) && commit::is_fill(attribute, b)) ||
        (layout::hdf5::says_kind(attribute, a.type.kind) && a.type.kind == b.type.kind)) {
      return true;
    }
  }
  const auto is_unit = [](const model::Attribute& other) {
    return other.owner == time_variable && other.name == "units";
  };
  const auto has_none = [&](const Input& input) {
    return std::none_of(input.attributes().begin(), input.attributes().end(), is_unit);
  };
  return is_unit(attribute) && same_value(attribute.value, std::string("1")) &&
         (has_none(a_) || has_none(b_));
}

/// A variable of another program's file that cannot be read is one, and the others are compared.
void Diff::compare_values(Task& task, const Advance& advance) const {
  try {
    task.result.differences = compare_sides(context_.transport, *task.a, *task.b, task.steps,
                                            options_.tolerance, advance);
  } catch (const Error& e) {
    const bool is_of_others = !a_.written_by_sluice() || !b_.written_by_sluice();
    if (!is_of_others || !commit::may_be_of_variable(e.code())) {
      throw;
    }
    task.result.structure.push_back("not compared, as it cannot be read: " +
                                    exec::text_without_rank(e));
  }
}

DiffReport Diff::run() {
  const double began_s = model::now_s();
  DiffReport report;
  report.a = a_.path();
  report.b = b_.path();
  report.tolerance = options_.tolerance;
  std::vector<Task> tasks;
  for (const std::string& name : names_of(a_, b_, options_.variables)) {
    tasks.push_back(make_task(name));
    if (tasks.back().steps != 0) {
      total_bytes_ += bytes_of(tasks.back());
    }
  }
  const auto advance = [this](std::uint64_t bytes) {
    done_bytes_ += bytes;
    progress_.update(done_bytes_, total_bytes_);
  };
  for (Task& task : tasks) {
    if (task.a && task.b) {
      compare_values(task, advance);
    }
    report.variables.push_back(std::move(task.result));
  }
  report.attributes =
      compare_attributes(attributes_of(a_), attributes_of(b_), report.attributes_compared);
  report.bytes = total_bytes_;
  report.seconds = model::now_s() - began_s;
  return report;
}

/// All is listed; what only one of the files has is a difference, too. On rank 0.
void compare_unread(Input& a, Input& b, DiffReport& report) {
  const std::vector<std::string> in_a = commit::unread_data_of(a.catalog());
  const std::vector<std::string> in_b = commit::unread_data_of(b.catalog());
  const auto has = [](const std::vector<std::string>& all, const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  const auto add = [&](const std::string& name, const char* where) {
    report.variables.emplace_back().name = name;
    report.variables.back().structure.emplace_back(where);
  };
  report.not_compared = in_a;
  for (const std::string& name : in_a) {
    if (!has(in_b, name)) {
      add(name, "only in A");
    }
  }
  for (const std::string& name : in_b) {
    if (!has(in_a, name)) {
      add(name, "only in B");
      report.not_compared.push_back(name);
    }
  }
}

int diff(const Context& context, const DiffOptions& options) {
  Options reading;
  reading.checksum = false;  // differences are requested, not damage
  Input a(context.transport, context.storage, options.a, reading);
  Input b(context.transport, context.storage, options.b, reading);
  DiffReport report = Diff(context, options, a, b).run();
  if (!context.is_root()) {
    return fine;
  }
  if (options.variables.empty()) {
    compare_unread(a, b, report);
  }
  if (options.json) {
    show_json(report.json());
  } else {
    tell("{}", report.text());
  }
  return report.is_equal() ? fine : differs;
}

}  // namespace

void add_diff(CLI::App& app, Run& run) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* verb =
      add_verb(app, "diff", "compare two files",
               "Compares variables, types, shapes, steps and attributes; the group /sluice is\n"
               "ignored. Values are equal if their bits are equal (NaN equals the same NaN, 0.0\n"
               "differs from -0.0); with a tolerance (0.0 equals -0.0), if |a - b| <= ABS or\n"
               "|a - b| <= R * max(|a|, |b|). Checksums are not checked: use `sluice verify`.\n"
               "Data of types that Sluice does not read is not compared, but listed; it is a\n"
               "difference if only one of the files has it. A variable of another program's\n"
               "file that cannot be read here is a difference, and the others are compared.\n"
               "Exit code: 0 equal, 1 different, 2 bad input.\n",
               R"help(
Examples:
  sluice diff before.h5 after.h5
  sluice diff before.h5 after.h5 --relative 1e-12
  sluice diff a.h5 b.h5 --variables spins,time --tolerance 1e-9
  mpirun -n 8 sluice diff large-a.h5 large-b.h5)help");
  verb->add_option("A", options->a, "of any format that Sluice reads")->required();
  verb->add_option("B", options->b, "the other one")->required();
  verb->add_option("--tolerance", options->tolerance.absolute, "largest difference that is equal")
      ->type_name("ABS")
      ->check(number_between(0, std::numeric_limits<double>::max()));
  verb->add_option("--relative", options->tolerance.relative, "the same as a share of the values")
      ->type_name("R")
      ->check(number_between(0, std::numeric_limits<double>::max()));
  verb->add_option("--variables", options->variables, "only these, separated by commas")
      ->type_name("NAME,..")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  verb->add_flag("--json", options->json, "print JSON");
  verb->callback([&run, options] {
    run = [options](const Context& context) { return diff(context, *options); };
  });
}

}  // namespace sluice::cli
