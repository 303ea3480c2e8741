// verify: checks every byte against its checksum. On all ranks together.
#include "commit/tools/verify.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "commit/publish/recovery.hpp"
#include "commit/read/latest_good.hpp"
#include "help.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "session.hpp"
#include "text/progress.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "verb.hpp"
#include "verbs/verify_blocks.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;
using commit::Finding;
using commit::State;
using commit::Verdict;

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
  bool latest_good = false;
};

/// Limit of a list in the text; --json prints the whole verdict.
constexpr std::size_t most_lines = 20;

std::string what_text(const Finding& finding) {
  return finding.rank < 0 ? finding.what
                          : fmt::format("{}, written by rank {}", finding.what, finding.rank);
}

std::string list_text(const Verdict& verdict) {
  Table table({"VARIABLE", "STEP", "ELEMENTS", ""});
  bool has_place = false;
  for (std::size_t i = 0; i < verdict.findings.size() && i < most_lines; ++i) {
    const Finding& finding = verdict.findings[i];
    has_place = has_place || !finding.variable.empty() || !finding.place.empty();
    table.add({finding.variable.empty() ? "?" : printable(finding.variable),
               finding.step == Finding::no_step ? "-" : std::to_string(finding.step),
               finding.place.empty() ? "-" : finding.place, what_text(finding)});
  }
  if (!has_place) {
    return fmt::format("  {}\n", verdict.findings.front().what);
  }
  std::string text = table.text(2);
  if (verdict.finding_count > most_lines) {
    text += fmt::format("  ... and {} more\n", verdict.finding_count - most_lines);
  }
  return text;
}

std::string uncovered_text(const Verdict& verdict) {
  if (verdict.uncovered_count == 0) {
    return "";
  }
  std::string text =
      "  not covered by checksums (added by others, written without, or never put):\n";
  for (std::size_t i = 0; i < verdict.uncovered.size() && i < most_lines; ++i) {
    text += "    " + printable(verdict.uncovered[i]) + "\n";
  }
  if (verdict.uncovered_count > most_lines) {
    text += fmt::format("    ... and {} more\n", verdict.uncovered_count - most_lines);
  }
  return text;
}

/// For a file of another program.
std::string unread_text(const Verdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < verdict.uncovered.size() && i < most_lines; ++i) {
    text += "    " + printable(verdict.uncovered[i]) + "\n";
  }
  if (verdict.uncovered_count > most_lines) {
    text += fmt::format("    ... and {} more\n", verdict.uncovered_count - most_lines);
  }
  return text.empty() ? "" : "  not readable here:\n" + text;
}

std::string proven_text(const Verdict& verdict) {
  std::string text =
      fmt::format("{} in {}, {}", bytes_text(verdict.bytes),
                  count_text(verdict.records, "checksum"), seconds_text(verdict.seconds));
  const std::string rate = rate_text(verdict.bytes, verdict.seconds);
  return text + (rate.empty() ? "" : ", " + rate);
}

/// "; verified 96 MiB in ...", "" if the file could not be opened.
std::string verified_text(const Verdict& verdict) {
  return verdict.records == 0 ? "" : "; verified " + proven_text(verdict);
}

/// How far the verdict on an unclosed file goes.
std::string as_far_as_text(const std::string& path, const Verdict& verdict) {
  if (!verdict.unfinished) {
    return "";
  }
  const std::string last =
      verdict.steps == 0 ? "no step" : fmt::format("step {}", verdict.steps - 1);
  return fmt::format("  verified up to {}\n{}", last, unfinished_text(path));
}

/// The data for which its format has no checksum; "" if there is none. Rank 0.
std::string unchecked_by_format(storage::Storage& storage, const std::string& path) {
  std::string text;
  // As of its last commit: the file itself is not HDF5 while its writer changes it in place.
  commit::open_committed(storage, path, [&](storage::File& file) {
    text = layout::format_in(file, "auto").unchecked;
  });
  return text;
}

std::string verdict_text(const std::string& path, const Verdict& verdict,
                         const std::string& unchecked) {
  const std::string name = printable(path);
  const std::string also =
      unchecked.empty() ? "" : fmt::format("  not under checksum: {}\n", unchecked);
  switch (verdict.state) {
    case State::not_ours:
      return unchecked == "everything"
                 ? fmt::format("{}: cannot be verified\n{}", name, also)
                 : fmt::format("{}: not written by Sluice: it has no checksums to verify it by\n{}",
                               name, unread_text(verdict));
    case State::ok: {
      const bool is_empty = verdict.records == 0 && verdict.uncovered_count != 0;
      std::string text =
          is_empty ? fmt::format("{}: nothing to verify: no checksum covers its values\n", name)
                   : fmt::format("{}: ok: {}\n", name, proven_text(verdict));
      if (verdict.modified && !is_empty) {
        text +=
            "  changed or copied outside Sluice since its last commit; what Sluice wrote is\n"
            "  there unchanged\n";
      }
      return text + as_far_as_text(path, verdict) + uncovered_text(verdict) +
             (is_empty ? "" : also);
    }
    case State::damaged:
      return fmt::format("{}: DAMAGED: {}{}\n{}{}{}", name,
                         count_text(verdict.finding_count, "fault"), verified_text(verdict),
                         list_text(verdict), as_far_as_text(path, verdict),
                         uncovered_text(verdict));
    case State::not_readable:
      return fmt::format(
          "{}: not readable here: {}\n"
          "  It was made for a newer library, or it is damaged.\n",
          name, printable(verdict.findings.empty() ? "" : verdict.findings[0].what));
    case State::changed_outside:
      break;
  }
  return fmt::format(
      "{}: CHANGED OUTSIDE SLUICE: {}{}\n{}"
      "  The time of modification is not that of the last commit: another program changed\n"
      "  these values, or the file is a copy and was damaged on the way.\n{}",
      name, count_text(verdict.finding_count, "fault"), verified_text(verdict), list_text(verdict),
      uncovered_text(verdict));
}

/// Where the table beside a file is not of the file as it is.
std::string stale_text(const std::string& path) {
  return fmt::format(
      "  {}.sluice-checksums is of another state of it: it was changed without\n"
      "  Sluice's HDF5 driver since, or a program that wrote it was killed\n",
      printable(path));
}

const char* state_name(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::damaged:
      return "damaged";
    case State::changed_outside:
      return "changed outside";
    case State::not_ours:
      return "not written by Sluice";
    case State::not_readable:
      return "not readable here";
  }
  return "unknown";
}

int code_of(State state) {
  switch (state) {
    case State::ok:
      return fine;
    case State::damaged:
      return differs;
    case State::changed_outside:
      return changed_outside;
    case State::not_ours:
    case State::not_readable:
      return bad_input;
  }
  return bad_input;
}

Json verdict_json(const std::string& path, const Verdict& verdict, const std::string& unchecked,
                  bool is_stale) {
  Json json;
  json["file"] = path;
  json["state"] = state_name(verdict.state);
  json["modified_since_commit"] = verdict.modified;
  json["unfinished"] = verdict.unfinished;
  json["findings"] = Json::array();
  for (const Finding& finding : verdict.findings) {
    json["findings"].push_back(
        {{"variable", finding.variable},
         {"step", finding.step == Finding::no_step ? Json() : Json(finding.step)},
         {"elements", finding.place},
         {"rank", finding.rank < 0 ? Json() : Json(finding.rank)},
         {"what", finding.what}});
  }
  json["finding_count"] = verdict.finding_count;
  json["uncovered"] = verdict.uncovered;
  json["uncovered_count"] = verdict.uncovered_count;
  json["not_under_checksum"] = unchecked.empty() ? Json() : Json(unchecked);
  json["checksums"] = verdict.records;
  json["bytes"] = verdict.bytes;
  json["commits"] = verdict.commits;
  json["steps"] = verdict.steps;
  json["seconds"] = verdict.seconds;
  json["stale_block_checksums"] = is_stale;
  return json;
}

/// By the checksums in the file, or those of its blocks beside it.
Verdict verify_file(const Context& context, const std::string& path, bool& is_stale) {
  Progress progress("verify " + path, context.is_root());
  const commit::VerifyProgress update = [&](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  BlockVerdict blocks = verify_blocks(context, path, update);
  is_stale = blocks.is_stale;
  // Where bytes are damaged, HDF5 may be wrong about all else.
  if (blocks.verdict && blocks.verdict->state != State::ok) {
    return *blocks.verdict;
  }
  Verdict verdict = commit::verify(context.transport, context.storage, path, update);
  return verdict.state == State::not_ours && blocks.verdict ? *blocks.verdict : verdict;
}

/// Of several files the most serious counts.
int graver(int a, int b) {
  const auto weight = [](int code) {
    return code == bad_input ? 3 : code == differs ? 2 : code == changed_outside ? 1 : 0;
  };
  return weight(a) >= weight(b) ? a : b;
}

/// Runs `work` on the file. Of several files, the others may be good where one cannot be read: then
/// that is told and counts in `code`, and false is returned.
template <class Work>
bool can_read(const Context& context, const VerifyOptions& options, const std::string& path,
              int& code, Json& all, Work&& work) {
  try {
    work();
    return true;
  } catch (const Error& e) {
    if (options.files.size() == 1) {
      throw;
    }
    code = graver(code, bad_input);
    if (context.is_root()) {
      std::fflush(stdout);
      show_error(message_of(e));
      all.push_back({{"file", path}, {"state", "cannot be read"}, {"why", message_of(e)}});
    }
    return false;
  }
}

/// The newest good step of each file: one line, or one JSON object, each.
int find_latest_good(const Context& context, const VerifyOptions& options) {
  int code = fine;
  Json all = Json::array();
  for (const std::string& path : options.files) {
    std::vector<std::string> damaged;
    std::optional<std::uint64_t> good;
    const auto note = [&](std::uint64_t, const std::string& why) {
      if (!why.empty()) {
        damaged.push_back(why);
      }
    };
    if (!can_read(context, options, path, code, all, [&] {
          good = commit::latest_good(context.transport, context.storage, path, note);
        })) {
      continue;
    }
    code = graver(code, good ? fine : differs);
    all.push_back(
        {{"file", path}, {"latest_good", good ? Json(*good) : Json()}, {"damaged", damaged}});
    if (!options.json && context.is_root()) {
      for (const std::string& why : damaged) {
        show_error(why);
      }
      tell("{}: {}\n", printable(path),
           good ? fmt::format("step {} is good", *good) : "no step is good");
    }
  }
  if (options.json && context.is_root()) {
    show_json(all);
  }
  return code;
}

int verify(const Context& context, const VerifyOptions& options) {
  int code = fine;
  Json all = Json::array();
  for (const std::string& path : options.files) {
    Verdict verdict;
    bool is_stale = false;
    if (!can_read(context, options, path, code, all,
                  [&] { verdict = verify_file(context, path, is_stale); })) {
      continue;
    }
    code = graver(code, code_of(verdict.state));
    if (!context.is_root()) {
      continue;
    }
    const bool is_bad = verdict.state == State::not_ours;
    const bool is_read = is_bad || verdict.state == State::ok;
    const std::string unchecked =
        is_read ? unchecked_by_format(context.storage, path) : std::string();
    if (options.json) {
      all.push_back(verdict_json(path, verdict, unchecked, is_stale));
    } else {
      show(is_bad ? stderr : stdout,
           (is_bad ? "sluice: " : "") + verdict_text(path, verdict, unchecked) +
               (is_stale ? stale_text(path) : ""),
           verdict.state == State::ok ? Colour::good : Colour::bad);
    }
  }
  if (options.json && context.is_root()) {
    show_json(all);
  }
  return code;
}

}  // namespace

void add_verify(CLI::App& app, Run& run) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* verb =
      add_verb(app, "verify", "check every byte against its checksum",
               "Reads every byte that Sluice wrote and compares it with the checksums in the\n"
               "file. Elements of partial variables that no rank put are compared with the fill\n"
               "value. Variables and attributes are compared with what was committed. Values\n"
               "that do not match are reported as damage, with the rank that wrote them. If the\n"
               "modification time shows that another program wrote to the file, they are\n"
               "reported as changed outside. A file that is being written is verified up to its\n"
               "last step. A file that an HDF5 program wrote under Sluice's driver is verified\n"
               "by its blocks, where checksums=on was set.\n"
               "Exit code: 0 ok, 1 damaged, 2 bad input (such as a file that Sluice did not\n"
               "write), 3 changed outside Sluice. Of several files the most serious counts: 2,\n"
               "1, 3, 0.\n",
               R"help(
Examples:
  sluice verify spins.h5
  sluice verify run-*/spins.h5 --json | jq '.[] | select(.state != "ok")'
  mpirun -n 8 sluice verify large.h5)help");
  verb->add_option("FILE", options->files, "files that Sluice wrote")->required();
  verb->add_flag("--json", options->json, "print JSON");
  verb->add_flag("--latest-good", options->latest_good,
                 "only find the newest good step (exit code 1: none)");
  verb->callback([&run, options] {
    run = [options](const Context& context) {
      return options->latest_good ? find_latest_good(context, *options) : verify(context, *options);
    };
  });
}

}  // namespace sluice::cli
