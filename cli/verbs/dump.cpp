// dump: prints the values of one variable.
//
// Invariants: only what is shown is read; at most one portion of values is held at a time, except
// for the corners of an array that is shown in part.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commit/read/input.hpp"
#include "help.hpp"
#include "layout/portion.hpp"
#include "text/array_printer.hpp"
#include "text/selection.hpp"
#include "text/text.hpp"
#include "text/values.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using commit::Input;
using model::Box;
using model::Dims;
using Json = nlohmann::ordered_json;

struct DumpOptions {
  std::string file;
  std::string variable;
  std::optional<std::int64_t> step;
  std::string steps;
  BoxRequest box;
  std::uint64_t limit = 1000;
  bool all = false;
  bool csv = false;
  bool json = false;
  bool no_check = false;
};

void print(std::string_view text) { show(stdout, text); }

/// The number of elements shown at each end of a dimension that is cut.
constexpr std::uint64_t edge = 3;

/// Collects output and writes it in large pieces.
class Output {
 public:
  explicit Output(void (*print)(std::string_view)) : print_(print) {}
  ~Output() { flush(); }
  std::string& text() { return text_; }
  void flush_if_large() {
    if (text_.size() > (1 << 16)) {
      flush();
    }
  }
  void flush() {
    print_(text_);
    text_.clear();
  }

 private:
  void (*print_)(std::string_view);
  std::string text_;
};

class Dump {
 public:
  Dump(Input& input, const DumpOptions& options);
  void run();

 private:
  using Visit = std::function<void(const std::byte*)>;

  void enter(std::uint64_t step);
  void choose_steps(const std::optional<std::int64_t>& step, const std::string& steps);
  void read(std::uint64_t step, const Box& box, const Box& memory_box, std::vector<std::byte>& out);
  void for_each(std::uint64_t step, const Visit& visit);
  std::vector<std::byte> read_corners(std::uint64_t step, const Dims& shown);

  void print_text();
  void print_array(std::uint64_t step);
  void print_csv();
  void print_csv_step(std::uint64_t step, Output& out);
  void print_json();
  void print_json_values(std::uint64_t step, Output& out);
  std::string time_text(std::uint64_t step) const;

  Input& input_;
  const DumpOptions& options_;
  std::uint32_t variable_;
  const model::Definition& definition_;
  Range steps_{0, 1};
  Dims shape_;  ///< of the step that is shown
  Box box_;
  std::vector<std::byte> buffer_;
};

Dump::Dump(Input& input, const DumpOptions& options)
    : input_(input),
      options_(options),
      variable_(input.find(options.variable)),
      definition_(input.variables()[variable_].definition),
      shape_(definition_.shape) {
  if (!definition_.varying) {
    box_ = parse_box(options.box, shape_);
  }
  choose_steps(options.step, options.steps);
}

/// Steps of a varying variable have their own numbers of rows: the selection is resolved in each.
void Dump::enter(std::uint64_t step) {
  if (definition_.varying) {
    shape_ = input_.shape(variable_, step);
    box_ = parse_box(options_.box, shape_);
  }
}

void Dump::choose_steps(const std::optional<std::int64_t>& step, const std::string& steps) {
  if (!definition_.stepped) {
    if (step || !steps.empty()) {
      throw Error(Code::invalid_argument,
                  definition_.name + " has no steps: leave out " + (step ? "--step" : "--steps"));
    }
    return;
  }
  if (!steps.empty()) {
    steps_ = parse_range(steps, input_.steps(), "--steps");
    return;
  }
  if (!step && input_.steps() == 0) {
    steps_ = {0, 0};
    return;
  }
  steps_.first = parse_index(step.value_or(-1), input_.steps(), "--step");
  steps_.end = steps_.first + 1;
}

void Dump::run() {
  if (options_.json) {
    print_json();
  } else if (options_.csv) {
    print_csv();
  } else {
    print_text();
  }
}

void Dump::read(std::uint64_t step, const Box& box, const Box& memory_box,
                std::vector<std::byte>& out) {
  const model::Memory memory{out.data(), definition_.type, memory_box.count, memory_box.start};
  input_.get({variable_, step, box, memory});
}

void Dump::for_each(std::uint64_t step, const Visit& visit) {
  if (box_.empty()) {
    return;
  }
  if (input_.variables()[variable_].placeable) {
    input_.locate({variable_, step, box_});  // once for all portions
  }
  const std::size_t stride_bytes = definition_.type.bytes;
  layout::for_each_part(box_, stride_bytes, layout::portion_bytes, [&](const Box& part) {
    buffer_.resize(part.volume() * stride_bytes);
    read(step, part, {Dims::filled(part.start.rank(), 0), part.count}, buffer_);
    for (std::size_t at = 0; at < buffer_.size(); at += stride_bytes) {
      visit(&buffer_[at]);
    }
  });
}

/// The shape of what is shown of an array that is too large: the ends of each dimension.
Dims corner_shape(const Dims& count) {
  Dims shown = count;
  for (int d = 0; d < count.rank(); ++d) {
    shown[d] = std::min(count[d], 2 * edge + 1) == count[d] ? count[d] : 2 * edge;
  }
  return shown;
}

std::vector<std::byte> Dump::read_corners(std::uint64_t step, const Dims& shown) {
  std::vector<std::byte> values(shown.volume() * definition_.type.bytes);
  // Which end of each dimension: one bit a dimension, only of those that are cut.
  for (unsigned corner = 0; corner < 1U << shown.rank(); ++corner) {
    Box from = box_;
    Dims to = Dims::filled(shown.rank(), 0);
    bool is_wanted = true;
    for (int d = 0; d < shown.rank(); ++d) {
      const bool is_far = (corner >> d & 1U) != 0;
      const bool is_cut = shown[d] != box_.count[d];
      is_wanted = is_wanted && (is_cut || !is_far);
      if (is_cut) {
        from.count[d] = edge;
        from.start[d] = is_far ? box_.end(d) - edge : box_.start[d];
        to[d] = is_far ? edge : 0;
      }
    }
    if (is_wanted) {
      const model::Memory memory{values.data(), definition_.type, shown, to};
      input_.get({variable_, step, from, memory});
    }
  }
  return values;
}

std::string Dump::time_text(std::uint64_t step) const {
  const double time = input_.time(step);
  return std::isnan(time) ? "" : ", time " + number_text(time);
}

void Dump::print_text() {
  const std::string shape = !definition_.varying ? shape_text(definition_.shape)
                            : definition_.shape.rank() == 1
                                ? "varying"
                                : "varying x " + shape_text(definition_.shape.without_front());
  std::string head =
      fmt::format("{}: {}, {}", printable(definition_.name), type_name(definition_.type), shape);
  for (const model::Attribute& attribute : input_.attributes()) {
    if (attribute.owner == definition_.name && attribute.name == "units") {
      head += ", unit " + attribute_text(attribute.value);
    }
  }
  const auto selection = [&] {
    return box_ != model::whole(shape_) ? "elements from " + box_.text() + "\n" : std::string();
  };
  print(head + "\n" + (definition_.varying ? "" : selection()));
  if (definition_.stepped && steps_.first == steps_.end) {
    print("no steps\n");
  }
  for (std::uint64_t step = steps_.first; step < steps_.end; ++step) {
    enter(step);
    if (definition_.stepped) {
      print(fmt::format("step {} of {}{}{}\n", step,
                        input_.steps() == 1 ? "0" : fmt::format("0..{}", input_.steps() - 1),
                        time_text(step),
                        definition_.varying ? ", " + count_text(shape_[0], "row") : ""));
    }
    print(definition_.varying ? selection() : "");
    print_array(step);
  }
}

void Dump::print_array(std::uint64_t step) {
  const Type& type = definition_.type;
  const Dims none = Dims::filled(box_.count.rank(), 0);
  Fields fields(type);
  std::string value;
  const auto text_of = [&](const std::byte* element) -> const std::string& {
    value.clear();
    append_value(value, element, type, Style::text);
    return value;
  };
  if (options_.all || box_.volume() <= options_.limit) {
    for_each(step, [&](const std::byte* element) { fields.measure(text_of(element)); });
    ArrayPrinter printer(box_.count, none, fields, print);
    for_each(step, [&](const std::byte* element) { printer.add(text_of(element)); });
    printer.finish();
    return;
  }
  const Dims shown = corner_shape(box_.count);
  Dims cut = none;
  for (int d = 0; d < shown.rank(); ++d) {
    cut[d] = shown[d] != box_.count[d] ? edge : 0;
  }
  const std::vector<std::byte> values = read_corners(step, shown);
  for (std::size_t at = 0; at < values.size(); at += type.bytes) {
    fields.measure(text_of(&values[at]));
  }
  ArrayPrinter printer(shown, cut, fields, print);
  for (std::size_t at = 0; at < values.size(); at += type.bytes) {
    printer.add(text_of(&values[at]));
  }
  printer.finish();
}

/// With up to this many columns, the last dimension is printed side by side in CSV.
constexpr std::uint64_t most_csv_columns = 64;

bool is_wide(const Dims& count) {
  return count.rank() >= 2 && count[count.rank() - 1] <= most_csv_columns;
}

void Dump::print_csv() {
  Output out(print);
  if (definition_.varying && steps_.first != steps_.end) {
    enter(steps_.first);  // the columns are those of every step
  }
  const int rank = box_.count.rank();
  const bool wide = is_wide(box_.count);
  std::string head = definition_.stepped ? "step,time," : "";
  for (int d = 0; d < rank - (wide ? 1 : 0); ++d) {
    head += fmt::format("i{},", d);
  }
  if (wide) {
    for (std::uint64_t i = 0; i < box_.count[rank - 1]; ++i) {
      head += csv_text(fmt::format("{}[{}]", definition_.name, box_.start[rank - 1] + i)) + ",";
    }
    head.pop_back();
  } else {
    head += csv_text(definition_.name);
  }
  out.text() += head + "\n";
  for (std::uint64_t step = steps_.first; step < steps_.end; ++step) {
    enter(step);
    print_csv_step(step, out);
  }
}

void Dump::print_csv_step(std::uint64_t step, Output& out) {
  const int rank = box_.count.rank();
  const bool wide = is_wide(box_.count);
  Odometer odometer(box_.count);
  const std::string lead =
      definition_.stepped ? fmt::format("{},{},", step, number_text(input_.time(step))) : "";
  for_each(step, [&](const std::byte* element) {
    if (!wide || odometer.opening() > 0) {
      out.text() += lead;
      for (int d = 0; d < rank - (wide ? 1 : 0); ++d) {
        out.text() += std::to_string(box_.start[d] + odometer.at()[d]) + ",";
      }
    }
    append_value(out.text(), element, definition_.type, Style::csv);
    out.text() += !wide || odometer.closing() > 0 ? '\n' : ',';
    odometer.advance();
    out.flush_if_large();
  });
}

void Dump::print_json_values(std::uint64_t step, Output& out) {
  const int rank = box_.count.rank();
  if (box_.empty()) {
    out.text() += "[]";
    return;
  }
  Odometer odometer(box_.count);
  bool is_first = true;
  for_each(step, [&](const std::byte* element) {
    const int opening = odometer.opening();
    if (!is_first) {
      out.text() += opening > 0 ? ",\n" : ", ";
    }
    is_first = false;
    if (rank > 0) {
      out.text().append(static_cast<std::size_t>(opening), '[');
    }
    append_value(out.text(), element, definition_.type, Style::json);
    if (rank > 0) {
      out.text().append(static_cast<std::size_t>(odometer.closing()), ']');
    }
    odometer.advance();
    out.flush_if_large();
  });
}

void Dump::print_json() {
  const auto list = [](const Dims& dims) {
    return std::vector<std::uint64_t>(dims.begin(), dims.end());
  };
  Json head;
  head["variable"] = definition_.name;
  head["type"] = type_name(definition_.type);
  head["shape"] = list(definition_.shape);
  if (!definition_.varying) {
    head["start"] = list(box_.start);
    head["count"] = list(box_.count);
  }
  Output out(show_json_text);
  out.text() += head.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.text().pop_back();  // the closing brace
  if (!definition_.stepped) {
    out.text() += ",\n\"values\":";
    print_json_values(0, out);
    out.text() += "}\n";
    return;
  }
  out.text() += ",\n\"steps\":[";
  for (std::uint64_t step = steps_.first; step < steps_.end; ++step) {
    enter(step);
    const double time = input_.time(step);
    out.text() += fmt::format("{}\n{{\"step\":{},\"time\":{},", step == steps_.first ? "" : ",",
                              step, time_json(time).dump());
    if (definition_.varying) {
      out.text() += fmt::format("\"start\":{},\"count\":{},", Json(list(box_.start)).dump(),
                                Json(list(box_.count)).dump());
    }
    out.text() += "\"values\":";
    print_json_values(step, out);
    out.text() += "}";
  }
  out.text() += "]}\n";
}

int dump(const Context& context, const DumpOptions& options) {
  // One rank is enough, and prints; the others wait at the end.
  const auto alone = context.transport.split(context.is_root() ? 0 : -1);
  if (!alone) {
    return fine;
  }
  Options reading;
  reading.checksum = !options.no_check;
  try {
    Input input(*alone, context.storage, options.file, reading);
    Dump(input, options).run();
  } catch (const Error& e) {
    if (e.code() == Code::damaged || e.code() == Code::changed_outside) {
      throw Error(e.code(), std::string(e.what()) + " (--no-check shows it anyway)");
    }
    throw;
  }
  return fine;
}

}  // namespace

void add_dump(CLI::App& app, Run& run) {
  const auto options = std::make_shared<DumpOptions>();
  CLI::App* verb =
      add_verb(app, "dump", "print the values of a variable",
               "Prints the last step of a variable with steps, unless --step or --steps selects\n"
               "others. Large arrays are shown by their corners; --csv and --json write all\n"
               "elements. Numbers are printed with the digits that give the same bits back.\n",
               R"help(
Examples:
  sluice dump spins.h5 spins
  sluice dump spins.h5 spins --step 0 --rows 100:110
  sluice dump grid.h5 temperature --start 0,16,16 --count 1,8,8
  sluice dump spins.h5 spins --steps :3 --csv > spins.csv
  sluice dump spins.h5 spins --steps -2: --json | jq '.steps[0].values[0]')help");
  verb->add_option("FILE", options->file, "of any format that Sluice reads")->required();
  verb->add_option("VARIABLE", options->variable, "its name, as ls shows it")->required();
  auto* step =
      verb->add_option("--step", options->step, "one step, from 0; -1 is the last")->type_name("K");
  verb->add_option("--steps", options->steps, "steps a to b - 1; a: and :b work too")
      ->type_name("A:B")
      ->excludes(step);
  auto* rows =
      verb->add_option("--rows", options->box.rows, "elements a to b - 1 of the first dimension")
          ->type_name("A:B");
  verb->add_option("--start", options->box.start, "first element, one number a dimension")
      ->type_name("I,J")
      ->excludes(rows);
  verb->add_option("--count", options->box.count, "how many elements from there")
      ->type_name("N,M")
      ->excludes(rows);
  verb->add_option("--limit", options->limit, "show larger arrays by their corners [1000]")
      ->type_name("N");
  verb->add_flag("--all", options->all, "show every element");
  auto* csv = verb->add_flag("--csv", options->csv, "a table with indices, for spreadsheets");
  verb->add_flag("--json", options->json, "print JSON")->excludes(csv);
  verb->add_flag("--no-check", options->no_check, "do not compare checksums");
  verb->callback([&run, options] {
    run = [options](const Context& context) { return dump(context, *options); };
  });
}

}  // namespace sluice::cli
