// report: one HTML page about a file, which needs nothing else: sizes, statistics, pictures,
// health.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "commit/tools/verify.hpp"
#include "compare/stored.hpp"
#include "draw/series.hpp"
#include "exec/transport/solo_transport.hpp"
#include "help.hpp"
#include "model/base64.hpp"
#include "model/name.hpp"
#include "new_file.hpp"
#include "sluice/error.hpp"
#include "text/text.hpp"
#include "text/values.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

constexpr std::size_t most_rows = 200;
constexpr int thumbnail_width = 240;
constexpr int thumbnail_height = 160;

struct ReportVerb {
  std::string file;
  std::string to;
  std::uint64_t steps = 24;
  bool has_no_check = false;
};

/// Text from a file: shown, never obeyed.
std::string html(std::string_view text) {
  std::string out;
  for (const char c : model::escaped(std::string(text), model::Shown::line)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string image(const Picture& picture, const std::string& what) {
  const auto png = encode_png(picture.bytes(), picture.width(), picture.height());
  return fmt::format("<img width=\"{}\" height=\"{}\" alt=\"{}\" src=\"data:image/png;base64,{}\">",
                     picture.width(), picture.height(), html(what), model::base64(png));
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string text = "<tr>";
  for (const std::string& cell : cells) {
    text += fmt::format("<{}>{}</{}>", tag, cell, tag);
  }
  return text + "</tr>\n";
}

std::string number(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); }

const char* const style = R"css(
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em;
       color: #222; background: #fff; }
h1 { font-size: 1.5em; margin-bottom: .2em; overflow-wrap: anywhere; }
h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #ccc; }
h3 { font-size: 1em; margin: 1.6em 0 .3em; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .5em 0; }
th, td { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
th { font-weight: 600; color: #555; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
.good { color: #176b2c; } .bad { color: #a11; } .quiet { color: #666; }
figure { display: inline-block; margin: .4em 1.2em .4em 0; }
figcaption { color: #666; font-size: .85em; max-width: 240px; }
img { border: 1px solid #ddd; image-rendering: pixelated; }
)css";

class Report {
 public:
  Report(const Context& context, const ReportVerb& verb)
      : context_(context),
        verb_(verb),
        alone_(exec::make_solo()),
        input_(*alone_, context.storage, verb.file, Options{}) {}

  std::string page() {
    const std::string name = html(verb_.file);
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    out += "<title>" + name + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n";
    out += "<h1>" + name + "</h1>\n" + head() + health() + overview();
    for (std::uint32_t v = 0; v < input_.variables().size(); ++v) {
      out += variable(v);
    }
    return out + commits() + attributes() + "</body>\n</html>\n";
  }

  /// As that of verify, once the page is made.
  int code() const { return code_; }

 private:
  std::string head() {
    layout::Catalog& catalog = input_.catalog();
    std::uint64_t bytes = bytes_on_disk(context_.storage, verb_.file);
    std::string text = html(catalog.title());
    if (input_.set() != nullptr) {
      bytes += layout::bytes_of(*input_.set());
      text += ", a set of " + count_text(input_.set()->parts.size(), "part");
    }
    text =
        fmt::format("<p>{}, {}, {}", text, bytes_text(bytes), count_text(input_.steps(), "step"));
    text += times();
    return text + "</p>\n";
  }

  std::string times() {
    try {
      StepTimes times(input_);
      const double first = input_.steps() != 0 ? times.of(0) : std::nan("");
      return std::isnan(first)
                 ? ""
                 : fmt::format(", time {} to {} {}", time_text(first),
                               time_text(times.of(input_.steps() - 1)), html(times.unit()));
    } catch (const Error&) {
      return "";  // health() tells it
    }
  }

  std::string health() {
    std::string text = "<h2>Health</h2>\n";
    if (verb_.has_no_check) {
      return text + "<p class=\"quiet\">Not checked.</p>\n";
    }
    const commit::Verdict verdict = commit::verify(*alone_, context_.storage, verb_.file);
    if (verdict.state == commit::State::not_ours) {
      return text + "<p class=\"quiet\">The file has no checksums of Sluice: not checked.</p>\n";
    }
    const bool is_fine = verdict.finding_count == 0 && verdict.state == commit::State::ok;
    const bool is_outside = verdict.state == commit::State::changed_outside;
    const char* const state = is_fine ? "Every byte that has a checksum matches it."
                              : is_outside
                                  ? "Does not match, and another program wrote to the file."
                                  : "Damaged.";
    text += fmt::format("<p class=\"{}\">{}</p>\n", is_fine ? "good" : "bad", state);
    if (input_.written_by_sluice()) {
      text += fmt::format("<p>{} compared with {}.</p>\n", bytes_text(verdict.bytes),
                          count_text(verdict.records, "checksum"));
    }
    code_ = is_fine ? fine : is_outside ? changed_outside : differs;
    return text + findings(verdict);
  }

  std::string findings(const commit::Verdict& verdict) {
    std::string text;
    if (input_.is_unfinished()) {
      text += "<p class=\"bad\">It is being written, or its writer did not close it.</p>\n";
    }
    if (verdict.finding_count != 0) {
      text += "<ul>\n";
      for (const commit::Finding& finding : verdict.findings) {
        const bool has_step = finding.step != commit::Finding::no_step;
        text += fmt::format("<li>{}{} {} {}</li>\n", html(finding.variable),
                            has_step ? fmt::format(", step {},", finding.step) : "",
                            html(finding.place), html(finding.what));
      }
      if (verdict.finding_count > verdict.findings.size()) {
        text +=
            fmt::format("<li>and {} more</li>\n", verdict.finding_count - verdict.findings.size());
      }
      text += "</ul>\n";
    }
    if (verdict.uncovered_count != 0) {
      text += fmt::format("<p class=\"quiet\">{} without checksums.</p>\n",
                          count_text(verdict.uncovered_count, "place"));
    }
    return text;
  }

  std::uint64_t bytes_of(std::uint32_t v) {
    const model::Definition& d = input_.variables()[v].definition;
    std::uint64_t bytes = 0;
    for (std::uint64_t step = 0; step < (d.stepped ? input_.steps() : 1); ++step) {
      bytes += input_.shape_or_most(v, step).volume() * d.type.bytes;
    }
    return bytes;
  }

  std::string overview() {
    std::string text =
        "<h2>Variables</h2>\n<div class=\"scroll\"><table>\n" +
        row({"Name", "Type", "Shape of a step", "Steps", "Unit", "Values", "Stored"}, "th");
    for (std::uint32_t v = 0; v < input_.variables().size(); ++v) {
      const model::Definition& d = input_.variables()[v].definition;
      const std::uint64_t last = d.stepped && input_.steps() != 0 ? input_.steps() - 1 : 0;
      text += row({html(d.name), html(type_name(d.type)), shape_text(input_.shape_or_most(v, last)),
                   d.stepped ? std::to_string(input_.steps()) : "-", html(unit_of(input_, d.name)),
                   bytes_text(bytes_of(v)),
                   html(input_.catalog().variables()[input_.number_in_catalog(v)].storage)});
    }
    return text + "</table></div>\n";
  }

  std::string variable(std::uint32_t v) {
    const model::Definition& d = input_.variables()[v].definition;
    const bool is_there = !d.stepped || input_.steps() != 0;
    if (!can_draw(d) || !is_there || d.name == time_variable) {
      return "";
    }
    std::string text = "<h3>" + html(d.name) + "</h3>\n";
    try {
      if (!d.stepped) {
        const StepStats stats = stats_of(input_, v, 0);
        return text + thumbnail(v, 0, stats) + table({{"", stats}});
      }
      const Series series = series_of(input_, v, verb_.steps);
      const std::uint64_t last = series.steps.back();
      text += thumbnail(v, last, series.stats.back());
      text += course(d.name, series);
      std::vector<std::pair<std::string, StepStats>> rows;
      for (std::size_t i = 0; i < series.steps.size(); ++i) {
        rows.emplace_back(std::to_string(series.steps[i]), series.stats[i]);
      }
      return text + table(rows);
    } catch (const Error& e) {
      note_damage(e);
      return text + "<p class=\"bad\">Cannot be read: " + html(e.what()) + "</p>\n";
    }
  }

  /// What health() has not told: with --no-check, or where no checksum covers it.
  void note_damage(const Error& error) {
    const bool is_outside = error.code() == Code::changed_outside;
    const bool is_damage = error.code() == Code::damaged || error.code() == Code::truncated;
    if (code_ == fine && (is_outside || is_damage)) {
      code_ = is_outside ? changed_outside : differs;
    }
  }

  static std::string table(const std::vector<std::pair<std::string, StepStats>>& rows) {
    const bool has_steps = !rows.front().first.empty();
    const auto count = [](std::uint64_t values) {
      return values == 0 ? "-" : std::to_string(values);
    };
    std::string text =
        "<div class=\"scroll\"><table>\n" +
        row({has_steps ? "Step" : "", "Least", "Mean", "Most", "Missing, NaN", "Infinite"}, "th");
    for (const auto& [step, stats] : rows) {
      text += row({step, number(stats.least), number(stats.mean), number(stats.most),
                   count(stats.missing), count(stats.infinite)});
    }
    return text + "</table></div>\n";
  }

  std::string thumbnail(std::uint32_t v, std::uint64_t step, const StepStats& stats) {
    const model::Definition& d = input_.variables()[v].definition;
    const model::Dims shape = input_.shape(v, step);
    if (shape.volume() <= 1 || stats.finite == 0 || !can_encode_png()) {
      return "";
    }
    Frame frame;
    frame.width = thumbnail_width;
    frame.height = thumbnail_height;
    frame.is_bare = true;
    const Grid grid =
        grid_of(input_, v, step, slice_box(shape, ""), thumbnail_width, thumbnail_height);
    set_range(frame, stats.least, stats.most);
    const std::string what =
        fmt::format("{}{}", printable(d.name), d.stepped ? fmt::format(", step {}", step) : "");
    if (shape.rank() > 1) {
      frame.y_is_upwards = rows_go_up(input_, v);
      return figure(draw_field(grid, frame), what);
    }
    Curve curve;
    for (std::uint64_t i = 0; i < grid.columns; ++i) {
      curve.points.push_back({static_cast<double>(i), grid.values[i]});
    }
    frame.x_high = std::max(1.0, static_cast<double>(grid.columns - 1));
    return figure(draw_curves({curve}, frame), what);
  }

  static std::string course(const std::string& name, const Series& series) {
    if (series.steps.size() < 2 || !can_encode_png()) {
      return "";
    }
    Frame frame;
    frame.width = thumbnail_width;
    frame.height = thumbnail_height;
    frame.is_bare = true;
    set_range(frame, series.least(), series.most());
    series.set_times(frame);
    return figure(draw_curves(series.curves(), frame),
                  printable(name) + ": least to most, and mean, over " + series.x_title);
  }

  static std::string figure(const Picture& picture, const std::string& what) {
    return "<figure>" + image(picture, what) + "<figcaption>" + html(what) +
           "</figcaption></figure>\n";
  }

  std::string commits() {
    const auto& all = input_.catalog().commits();
    if (all.empty()) {
      return "";
    }
    std::string text = "<h2>Commits</h2>\n";
    const std::size_t first = all.size() > most_rows ? all.size() - most_rows : 0;
    if (first != 0) {
      text += fmt::format("<p class=\"quiet\">The last {} of {}.</p>\n", most_rows, all.size());
    }
    text += "<div class=\"scroll\"><table>\n" + row({"Commit", "Step", "Time", "On"}, "th");
    for (std::size_t i = first; i < all.size(); ++i) {
      const bool is_step = all[i].step != CommitRow::no_step;
      text += row({std::to_string(i), is_step ? std::to_string(all[i].step) : "-",
                   is_step && !std::isnan(all[i].time) ? time_text(all[i].time) : "-",
                   date_text(all[i].modified_ns)});
    }
    return text + "</table></div>\n";
  }

  std::string attributes() {
    if (input_.attributes().empty()) {
      return "";
    }
    std::string text =
        "<h2>Attributes</h2>\n<div class=\"scroll\"><table>\n" + row({"Of", "Name", "Value"}, "th");
    for (const model::Attribute& attribute : input_.attributes()) {
      text += row({attribute.owner.empty() ? "the file" : html(attribute.owner),
                   html(attribute.name), html(shortened(attribute_text(attribute.value), 200))});
    }
    return text + "</table></div>\n";
  }

  const Context& context_;
  const ReportVerb& verb_;
  std::unique_ptr<exec::Transport> alone_;
  commit::Input input_;
  int code_ = fine;
};

int report(const Context& context, const ReportVerb& verb) {
  if (!context.is_root()) {
    return fine;
  }
  const std::string to = verb.to.empty() ? verb.file + ".html" : verb.to;
  require_new(context.storage, to);
  Report made(context, verb);
  const std::string page = made.page();
  write_new_file(context.storage, to, std::as_bytes(std::span(page)));
  tell("{}: {}\n", printable(to), bytes_text(page.size()));
  return made.code();
}

}  // namespace

void add_report(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<ReportVerb>();
  CLI::App* command =
      add_verb(app, "report", "make one HTML page about a file",
               "Writes a page that needs no network and no script: what FILE holds, whether its\n"
               "bytes match their checksums, statistics and pictures of its variables, its\n"
               "commits and attributes. Default name: FILE with .html behind it; for a\n"
               "store at s3:// give one.\n"
               "Exit code: 0 done, 1 FILE is damaged, 2 bad input, 3 changed outside Sluice. The\n"
               "page of a damaged file is made, too, unless nothing in it can be read.\n",
               R"help(
Examples:
  sluice report field.h5
  sluice report field.h5 field.html --steps 100 --no-check)help");
  command->add_option("FILE", verb->file, "of any format that Sluice reads")->required();
  command->add_option("TO", verb->to, "the page to make; must not exist");
  command->add_option("--steps", verb->steps, "statistics of so many steps (24)")
      ->type_name("N")
      ->check(CLI::Range(2, 100'000).description(""));
  command->add_flag("--no-check", verb->has_no_check, "compare no checksums");
  command->callback([&run, verb] {
    run =
        with_truncated_as_damage([verb](const Context& context) { return report(context, *verb); });
  });
}

}  // namespace sluice::cli
