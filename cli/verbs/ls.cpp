// ls: what a file holds, in any format that the library reads; of files of Sluice also steps, times
// and commits.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "codec/quantise.hpp"
#include "commit/read/rows_by_step.hpp"
#include "compare/stored.hpp"
#include "help.hpp"
#include "layout/formats/formats.hpp"
#include "layout/times.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "text/values.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct LsOptions {
  std::string file;
  bool attributes = false;
  bool json = false;
};

/// All that is told of a file.
struct Contents {
  std::string path;
  std::uint64_t bytes = 0;
  Stored stored;
  Catalog* catalog = nullptr;
  std::vector<model::Attribute> attributes;
  std::vector<StoredVariable> variables;  ///< by name
  /// Of varying variables, by name: the rows of every step.
  std::map<std::string, std::vector<std::uint64_t>> rows;

  const layout::Format& format() const { return layout::format_named(catalog->format()); }
  const model::AttributeValue* find(const std::string& owner, const std::string& name) const {
    for (const model::Attribute& attribute : attributes) {
      if (attribute.owner == owner && attribute.name == name) {
        return &attribute.value;
      }
    }
    return nullptr;
  }
  std::string unit_of(const std::string& variable) const {
    const auto* value = find(variable, "units");
    const std::string* text = value != nullptr ? model::text_of(*value) : nullptr;
    return text != nullptr ? *text : "";
  }
  std::uint64_t bytes_of(const StoredVariable& variable) const {
    const model::Definition& d = variable.definition;
    if (const auto found = rows.find(d.name); found != rows.end()) {
      const std::uint64_t row_bytes = d.shape.without_front().volume() * d.type.bytes;
      return row_bytes * std::accumulate(found->second.begin(), found->second.end(), 0ULL);
    }
    return d.bytes_per_step() * (d.stepped ? catalog->steps() : 1);
  }
  /// Of one step. The definition of a varying variable has only a bound, which may be any number.
  model::Dims most_of_shape(const model::Definition& d) const {
    const auto found = rows.find(d.name);
    if (found == rows.end()) {
      return d.shape;
    }
    const auto& steps = found->second;
    return d.shape_of(steps.empty() ? 0 : *std::max_element(steps.begin(), steps.end()));
  }
  /// "30 x 3", and "0..7 x 3" where steps differ.
  std::string shape_of(const model::Definition& d) const {
    const auto found = rows.find(d.name);
    if (found == rows.end() || found->second.empty()) {
      return found == rows.end() ? shape_text(d.shape) : "varying";
    }
    const auto [least, most] = std::minmax_element(found->second.begin(), found->second.end());
    const std::string text = shape_text(most_of_shape(d));
    return *least == *most ? text : fmt::format("{}..{}", *least, text);
  }
};

/// The times of the first and the last step; NaN where none was told.
std::pair<double, double> time_range(const Catalog& catalog) {
  std::pair<double, double> range{std::nan(""), std::nan("")};
  for (const CommitRow& row : catalog.commits()) {
    if (row.step != CommitRow::no_step) {
      range.first = row.step == 0 ? row.time : range.first;
      range.second = row.time;
    }
  }
  return range;
}

/// "contiguous", "8000 x 3", "8000 x 3 deflate"
std::string chunk_text(const StoredVariable& stored) {
  const std::string chunked = "chunked";
  if (stored.storage.rfind(chunked, 0) != 0) {
    return stored.storage;
  }
  std::string filters = stored.storage.substr(chunked.size());
  if (!filters.empty()) {
    filters = " " + filters.substr(2);
  }
  if (const auto rounding = codec::parse_compression(stored.definition.compress).rounding) {
    filters += ", " + rounding->text();
  }
  return (stored.tile.empty() ? "1" : shape_text(stored.tile)) + filters;
}

std::string headline(const Contents& contents) {
  const Catalog& catalog = *contents.catalog;
  std::string text = fmt::format("{}: {}, {}", printable(contents.path), bytes_text(contents.bytes),
                                 catalog.title());
  if (catalog.set() != nullptr) {
    text += ", a set of " + count_text(catalog.set()->parts.size(), "part");
  } else if (catalog.is_part()) {
    text += ", a part of a set";
  }
  if (!catalog.ours()) {
    // A format without a log does not say who wrote a file.
    text += contents.format().checksums ? ", not written by Sluice\n" : "\n";
    return catalog.steps() == 0 ? text : text + count_text(catalog.steps(), "step") + "\n";
  }
  text += " written by Sluice\n" + count_text(catalog.steps(), "step");
  const auto [first, last] = time_range(catalog);
  if (!std::isnan(first) || !std::isnan(last)) {
    // The unit of a variable of the caller's is not that of the times given to begin_step.
    const bool is_own = layout::has_own_time(catalog);
    const std::string unit = is_own ? "" : contents.unit_of(time_variable);
    text += fmt::format(", {} {} to {}{}", is_own ? "step times" : "time", time_text(first),
                        time_text(last), unit.empty() ? "" : " " + printable(unit));
  }
  text += ", " + count_text(catalog.commits().size(), "commit");
  if (!catalog.commits().empty()) {
    text += ", the last on " + date_text(catalog.commits().back().modified_ns);
  }
  text += "\n";
  return contents.stored.is_unfinished ? text + unfinished_text(contents.path) : text;
}

std::string variables_text(const Contents& contents) {
  const Catalog& catalog = *contents.catalog;
  if (contents.variables.empty() && catalog.unreadable().empty()) {
    return "\nno variables\n";
  }
  Table table({"VARIABLE", "TYPE", "SHAPE", ">STEPS", "UNIT", ">SIZE", "CHUNK"});
  for (const StoredVariable& stored : contents.variables) {
    const model::Definition& d = stored.definition;
    table.add({printable(d.name), type_name(d.type) + (stored.big_endian ? " BE" : ""),
               contents.shape_of(d), d.stepped ? std::to_string(catalog.steps()) : "-",
               shortened(printable(contents.unit_of(d.name)), 16),
               bytes_text(contents.bytes_of(stored)), chunk_text(stored)});
  }
  std::string text = fmt::format("\n{}", table.text());
  if (!catalog.unreadable().empty()) {
    text += "\nWhat Sluice does not read:\n";
    Table others({"", ""});
    for (const auto& dataset : catalog.unreadable()) {
      others.add({printable(dataset.name), printable(dataset.type)});
    }
    text += others.text(2);
  }
  if (!catalog.unread_attributes().empty()) {
    text += "\nAttributes that Sluice does not read as they are:\n";
    Table others({"", ""});
    for (const auto& attribute : catalog.unread_attributes()) {
      others.add({printable(attribute.name), printable(attribute.type)});
    }
    text += others.text(2);
  }
  return text;
}

std::string attributes_text(const Contents& contents, bool all) {
  constexpr std::size_t columns = 80;
  std::string text;
  std::size_t hidden = 0;
  for (std::size_t at = 0; at < contents.attributes.size();) {
    const std::string owner = contents.attributes[at].owner;
    std::size_t end = at;
    std::size_t widest = 0;
    for (; end < contents.attributes.size() && contents.attributes[end].owner == owner; ++end) {
      widest = std::max(widest, width_of(printable(contents.attributes[end].name)));
    }
    if (!owner.empty() && !all) {
      hidden += end - at;
      at = end;
      continue;
    }
    text += fmt::format("\nAttributes of {}:\n", owner.empty() ? "the file" : printable(owner));
    Table table({"", ""});
    for (; at < end; ++at) {
      const model::Attribute& attribute = contents.attributes[at];
      const std::size_t left = columns > widest + 24 ? columns - widest - 4 : 20;
      const std::string value = attribute_text(attribute.value);
      table.add({printable(attribute.name), all ? value : shortened(value, left)});
    }
    text += table.text(2);
  }
  if (hidden != 0) {
    text += fmt::format("\n{} of variables and groups: --attributes shows them.\n",
                        count_text(hidden, "attribute"));
  }
  return text;
}

Json attributes_json(const Contents& contents, const std::string& owner) {
  Json json = Json::object();
  for (const model::Attribute& attribute : contents.attributes) {
    if (attribute.owner == owner) {
      json[attribute.name] = attribute_json(attribute.value);
    }
  }
  return json;
}

Json variable_json(const Contents& contents, const StoredVariable& stored) {
  const model::Definition& d = stored.definition;
  Json json;
  json["name"] = d.name;
  json["type"] = type_name(d.type);
  json["big_endian"] = stored.big_endian;
  const model::Dims shape = contents.most_of_shape(d);
  json["shape"] = std::vector<std::uint64_t>(shape.begin(), shape.end());
  json["steps"] = d.stepped ? Json(contents.catalog->steps()) : Json();
  const auto rows = contents.rows.find(d.name);
  json["rows"] = rows == contents.rows.end() ? Json() : Json(rows->second);
  json["unit"] = contents.unit_of(d.name);
  json["bytes"] = contents.bytes_of(stored);
  json["storage"] = stored.storage;
  const auto rounding = codec::parse_compression(d.compress).rounding;
  json["rounding"] = rounding ? Json(rounding->text()) : Json();
  const bool is_chunked = stored.storage.rfind("chunked", 0) == 0;
  json["chunk"] = is_chunked
                      ? Json(std::vector<std::uint64_t>(stored.tile.begin(), stored.tile.end()))
                      : Json();
  json["attributes"] = attributes_json(contents, d.name);
  return json;
}

/// Of a set of files, else null.
Json parts_json(const Contents& contents) {
  if (contents.catalog->set() == nullptr) {
    return {};
  }
  Json parts = Json::array();
  for (const layout::Part& part : contents.catalog->set()->parts) {
    parts.push_back({{"path", part.path}, {"bytes", part.bytes}});
  }
  return parts;
}

Json contents_json(const Contents& contents) {
  const Catalog& catalog = *contents.catalog;
  Json json;
  json["file"] = contents.path;
  json["bytes"] = contents.bytes;
  json["format"] = contents.format().name;
  json["title"] = catalog.title();
  json["written_by_sluice"] =
      catalog.ours() || contents.format().checksums ? Json(catalog.ours()) : Json();
  json["parts"] = parts_json(contents);
  json["unfinished"] = contents.stored.is_unfinished;
  json["steps"] = catalog.steps();
  Json times = Json::array();
  for (const CommitRow& row : catalog.commits()) {
    if (row.step != CommitRow::no_step) {
      times.push_back(time_json(row.time));
    }
  }
  json["times"] = std::move(times);
  json["commits"] = catalog.commits().size();
  json["attributes"] = attributes_json(contents, "");
  json["variables"] = Json::array();
  for (const StoredVariable& stored : contents.variables) {
    json["variables"].push_back(variable_json(contents, stored));
  }
  json["unreadable"] = Json::array();
  for (const auto& dataset : catalog.unreadable()) {
    json["unreadable"].push_back({{"name", dataset.name}, {"type", dataset.type}});
  }
  json["unread_attributes"] = Json::array();
  for (const auto& attribute : catalog.unread_attributes()) {
    json["unread_attributes"].push_back({{"name", attribute.name}, {"type", attribute.type}});
  }
  return json;
}

int ls(const Context& context, const LsOptions& options) {
  if (!context.is_root()) {
    return fine;
  }
  Contents contents;
  contents.path = options.file;
  contents.stored = open_stored(context.storage, options.file, [&](Catalog& catalog) {
    contents.attributes = catalog.attributes();
    layout::show_owners(catalog.variables(), contents.attributes);
    contents.variables = catalog.variables();
    contents.rows.clear();
    auto rows = commit::rows_by_step(context.storage, options.file, catalog);
    for (std::uint32_t v = 0; v < contents.variables.size(); ++v) {
      model::Definition& d = contents.variables[v].definition;
      d.name = layout::shown_name(catalog.variables()[v]);
      if (d.varying) {
        contents.rows[d.name] = std::move(rows[v]);
      }
    }
  });
  contents.catalog = contents.stored.catalog.get();
  contents.bytes = bytes_on_disk(context.storage, options.file);
  if (const auto* const set = contents.catalog->set()) {
    contents.bytes += layout::bytes_of(*set);
  }
  std::sort(contents.variables.begin(), contents.variables.end(),
            [](auto& a, auto& b) { return a.definition.name < b.definition.name; });
  if (options.json) {
    show_json(contents_json(contents));
    return fine;
  }
  tell("{}{}{}", headline(contents), variables_text(contents),
       attributes_text(contents, options.attributes));
  return fine;
}

}  // namespace

void add_ls(CLI::App& app, Run& run) {
  const auto options = std::make_shared<LsOptions>();
  CLI::App* verb =
      add_verb(app, "ls", "list the contents of a file",
               "SHAPE is the shape of one step (4..9 x 3: of 4 to 9 rows), SIZE the bytes of all\n"
               "steps, CHUNK the shape of the pieces in which a step is stored.\n",
               R"help(
Examples:
  sluice ls spins.h5
  sluice ls spins.h5 --attributes
  sluice ls trajectory.dcd
  sluice ls spins.h5 --json | jq '.variables[].name')help");
  verb->add_option("FILE", options->file, "of any format that Sluice reads")->required();
  verb->add_flag("--attributes", options->attributes, "print all attributes, in full");
  verb->add_flag("--json", options->json, "print everything as JSON");
  verb->callback([&run, options] {
    run = [options](const Context& context) { return ls(context, *options); };
  });
}

}  // namespace sluice::cli
