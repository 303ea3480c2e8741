#include "layout/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <sstream>
#include <string_view>

#include "codec/plugins.hpp"
#include "layout/dcd/format.hpp"
#include "layout/hdf5/filter_plugins.hpp"
#include "layout/hdf5/format.hpp"
#include "layout/icechunk/format.hpp"
#include "layout/namdbin/format.hpp"
#include "layout/npy/format.hpp"
#include "layout/plausible.hpp"
#include "layout/records/format.hpp"
#include "layout/zarr/format.hpp"
#include "model/name.hpp"
#include "model/reserved_name.hpp"
#include "model/word.hpp"

namespace sluice::layout {

namespace {

/// A new format is a line here.
constexpr std::array<const Format*, 11> built_in{
    &hdf5::stacked_format, &hdf5::grouped_format, &hdf5::netcdf4_format, &hdf5::vtkhdf_format,
    &hdf5::openpmd_format, &npy::format_row,      &zarr::format_row,     &icechunk::format_row,
    &dcd::format_row,      &namdbin::format_row,  &records::format_row,
};

struct Registry {
  Registry() { codec::set_plugin_finder(hdf5::find_plugin_method); }
  std::mutex mutex;
  std::vector<const Format*> rows{built_in.begin(), built_in.end()};
};

Registry& registry() {
  static auto* const only = new Registry;  // files of static lifetime are closed after main()
  return *only;
}

[[noreturn]] void refuse(const Format& format, const std::string& what, const std::string& why) {
  throw Error(Code::unsupported,
              what + ": format " + format.name + " " + why + ": " + format.instead);
}

template <class Is>
const Format* find_row(Is&& is) {
  const std::vector<const Format*> all = formats();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Format* row) { return is(*row); });
  return found == all.end() ? nullptr : *found;
}

const Format* find_option(const std::string& option, const std::string& layout) {
  return find_row(
      [&](const Format& row) { return row.option == option && row.hdf5_layout == layout; });
}

bool has_ending(const Format& row, const std::string& ending) {
  return (" " + std::string(row.endings) + " ").find(" " + ending + " ") != std::string::npos;
}

void check_row(const Format& row, const std::vector<const Format*>& all) {
  const auto refuse_row = [&](const std::string& why) {
    throw Error(Code::invalid_argument, std::string("register_format: ") +
                                            (row.name != nullptr ? row.name : "(no name)") + ": " +
                                            why);
  };
  if (row.name == nullptr || row.option == nullptr || row.hdf5_layout == nullptr ||
      !model::is_word(row.name) || !model::is_word(row.option) ||
      row.option == std::string("auto")) {
    refuse_row("its name must be a word of lower-case letters, digits and dashes, and not auto");
  }
  const Format& reader = row.reader();
  if (row.create == nullptr || reader.append == nullptr || reader.open == nullptr ||
      reader.match == nullptr) {
    refuse_row("create, append, open and match must be there");
  }
  for (const Format* other : all) {
    const auto clashes = [&](const char* a, const char* b) { return std::string_view(a) == b; };
    if (clashes(row.name, other->name) ||
        (clashes(row.option, other->option) && clashes(row.hdf5_layout, other->hdf5_layout))) {
      refuse_row("there is a format of that name");
    }
    std::istringstream endings(row.endings);
    for (std::string ending; endings >> ending;) {
      if (has_ending(*other, ending)) {
        refuse_row("the ending " + ending + " means " + other->name);
      }
    }
    if (row.is_store() && other->is_store() && clashes(row.manifest, other->manifest)) {
      refuse_row(std::string("the manifest ") + row.manifest + " means " + other->name);
    }
  }
}

/// The format of `file`; null if it is of none.
const Format* recognise(storage::File& file) {
  const Format* possible = nullptr;
  for (const Format* row : formats()) {
    if (row->same_files != nullptr) {
      continue;
    }
    const Match match = row->match(file);
    if (match == Match::certain) {
      return row;
    }
    possible = possible == nullptr && match == Match::possible ? row : possible;
  }
  return possible;
}

const Format* begin_of(storage::File& file) {
  return find_row([&](const Format& row) {
    return row.same_files == nullptr && row.match(file) == Match::certain;
  });
}

}  // namespace

std::vector<const Format*> formats() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.rows;
}

void register_format(const Format& row) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  check_row(row, all.rows);
  all.rows.push_back(&row);
}

namespace {

/// The values of `field` in the rows, each once.
std::string listed(const char* Format::*field, const std::string& separator) {
  std::string text;
  std::vector<std::string> seen;
  for (const Format* row : formats()) {
    const std::string word = row->*field;
    if (std::find(seen.begin(), seen.end(), word) == seen.end()) {
      text += (text.empty() ? "" : separator) + word;
      seen.push_back(word);
    }
  }
  return text;
}

}  // namespace

std::string format_names(const std::string& separator) {
  return listed(&Format::option, separator);
}

std::string format_options(const std::string& separator) {
  return "auto" + separator + format_names(separator);
}

std::string hdf5_layout_options(const std::string& separator) {
  return listed(&Format::hdf5_layout, separator);
}

std::string ending_of(const std::string& given) {
  const std::string path = given.substr(0, given.find_last_not_of('/') + 1);
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot + 1 == path.size()) {
    return "";
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  const bool is_ending =
      is_letter(path[dot + 1]) &&
      std::all_of(path.begin() + static_cast<std::ptrdiff_t>(dot) + 1, path.end(), is_part);
  return is_ending ? path.substr(dot) : "";
}

const Format* format_of_ending(const std::string& path) {
  const std::string ending = ending_of(path);
  return find_row([&](const Format& row) { return !ending.empty() && has_ending(row, ending); });
}

const Format& format_of(const std::string& path, const Options& options) {
  std::string option = options.format;
  if (option == "auto") {
    const Format* named = format_of_ending(path);
    option = named == nullptr ? formats().front()->option : named->option;
  }
  if (find_row([&](const Format& row) { return row.option == option; }) == nullptr) {
    throw Error(Code::invalid_argument,
                "format \"" + option + "\" is not known: use one of " + format_options(", "));
  }
  const Format* of_layout =
      find_row([&](const Format& row) { return row.hdf5_layout == options.hdf5_layout; });
  if (of_layout == nullptr) {
    throw Error(Code::invalid_argument, "hdf5_layout \"" + options.hdf5_layout +
                                            "\" is not known: use " + hdf5_layout_options(" or "));
  }
  const Format* format = find_option(option, options.hdf5_layout);
  if (format == nullptr) {
    throw Error(Code::unsupported, path + ": hdf5_layout " + options.hdf5_layout + ": format " +
                                       option + " has no such layout: use " +
                                       Options{}.hdf5_layout + ", or format " + of_layout->option);
  }
  return *format;
}

void require_folder_format(const std::string& path, const Format& format) {
  if (!format.is_store()) {
    throw Error(Code::bad_name,
                path + ": the name ends in \"/\", as that of a folder, and format " +
                    format.option + " writes a file: leave the \"/\" out, or set format zarr");
  }
}

const Format& format_named(const std::string& name) {
  const Format* found = find_row([&](const Format& row) { return row.name == name; });
  if (found == nullptr) {
    throw Error(Code::internal, "format " + name + " is not registered");
  }
  return *found;
}

namespace {

/// Is it a file of netCDF's own formats of before netCDF-4?
bool is_classic(storage::File& file) {
  std::array<std::byte, 4> begin{};
  const bool is_long = file.read(0, begin) == begin.size();
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), 3);
  const auto version = std::to_integer<int>(begin[3]);
  return is_long && text == "CDF" && (version == 1 || version == 2 || version == 5);
}

}  // namespace

const Format& format_in(storage::File& file, const std::string& wanted) {
  const Format* found = recognise(file);
  if (found == nullptr && is_classic(file)) {
    throw Error(Code::format, file.path() +
                                  ": is netCDF classic, which is not HDF5: convert it by nccopy -k "
                                  "nc4 OLD NEW");
  }
  if (found == nullptr) {
    throw Error(Code::format, file.path() +
                                  ": not an HDF5 file (no signature), and no other format that is "
                                  "known: " +
                                  format_names(", "));
  }
  const bool is_wanted =
      wanted == "auto" || find_row([&](const Format& row) {
                            return row.option == wanted && &row.reader() == found;
                          }) != nullptr;
  if (!is_wanted) {
    throw Error(Code::format, file.path() + ": is of format " + found->option + ", not " + wanted +
                                  ": use format auto");
  }
  return *found;
}

bool begins_as_known(storage::File& file) { return begin_of(file) != nullptr; }

StepCount count_steps(storage::File& file) {
  const Format* format = begin_of(file);
  return format != nullptr && format->count_steps != nullptr ? format->count_steps(file)
                                                             : StepCount{};
}

void set_step_count(storage::File& file, std::uint64_t steps) {
  const Format* format = begin_of(file);
  if (format == nullptr || format->set_step_count == nullptr) {
    throw Error(Code::internal, file.path() + ": its format has no count of steps");
  }
  format->set_step_count(file, steps);
}

void check_hdf5_layout(const Format& format, const Options& options, const std::string& path) {
  if (options.hdf5_layout != Options{}.hdf5_layout && options.hdf5_layout != format.hdf5_layout) {
    throw Error(Code::unsupported, path + ": hdf5_layout " + options.hdf5_layout +
                                       ": the existing file is " + format.hdf5_layout +
                                       ": append to it as that, or write a new file");
  }
}

void check_history(const Format& format, const Options& options, const std::string& path) {
  const Options defaults;
  const bool is_branch = options.branch != defaults.branch;
  if (!format.has_history && (is_branch || options.tags != defaults.tags)) {
    const Format* other = find_row([](const Format& row) { return row.has_history; });
    throw Error(Code::unsupported,
                path + ": format " + format.name + " has no history: leave out the setting " +
                    (is_branch ? "branch" : "tags") +
                    (other != nullptr ? std::string(", or use format ") + other->option : ""));
  }
}

codec::Pipeline pipeline_in(const Format& format, const model::Definition& definition) {
  return format.filters != nullptr ? format.filters(pipeline_of(definition))
                                   : pipeline_of(definition);
}

codec::Pipeline settled_in(const Format& format, const model::Definition& definition,
                           const model::Dims& tile) {
  return format.settle_filters != nullptr ? format.settle_filters(definition, tile)
                                          : pipeline_in(format, definition);
}

std::vector<Document> stale_documents(storage::File& file) {
  const Format* format = begin_of(file);
  return format != nullptr && format->stale_documents != nullptr ? format->stale_documents(file)
                                                                 : std::vector<Document>{};
}

Durability durability_of(const Format& format, Durability asked) {
  if (asked == Durability::automatic) {
    return format.best;
  }
  if (asked == Durability::step && format.best != Durability::step) {
    refuse(format, "durability step", "can be made durable at close only (durability close)");
  }
  return asked;
}

namespace {

/// What cannot be written for want of a plugin is refused before anything is.
void check_plugins(const Format& format, const model::Definition& definition,
                   const std::string& what) {
  const codec::Pipeline filters = codec::parse_pipeline(definition.compress, 1);
  if (!codec::has_plugin(filters)) {
    return;
  }
  if (format.settle_filters == nullptr) {
    refuse(format, what + ", compress " + definition.compress,
           "holds no data that went through plugins of HDF5");
  }
  codec::require_plugins(filters);
}

}  // namespace

Definitions::Definitions(const Format& format)
    : format_(&format), rules_(format.rules != nullptr ? format.rules() : nullptr) {}

void Definitions::add(const model::Definition& definition) {
  first_ = first_ ? first_ : definition.name;
  if (rules_) {
    rules_->add(definition);
  }
}

void Definitions::settle() {
  if (rules_) {
    rules_->settle();
  }
}

void Definitions::check(const model::Definition& definition) const {
  const Format& format = *format_;
  const std::string what = "define " + definition.name;
  if (definition.type.bytes > model::most_element_bytes) {
    refuse(format, what,
           "has elements of up to " + std::to_string(model::most_element_bytes) + " bytes");
  }
  if (!format.many && first_) {
    refuse(format, what, "holds one variable, and there is " + *first_ + " already");
  }
  if (!definition.chunk.empty() && (!format.tiled || format.has_grammar)) {
    refuse(format, what + ", chunk " + definition.chunk.text(), "keeps each step in one piece");
  }
  if (!definition.chunk.empty() && !definition.varying && definition.shape.volume() != 0 &&
      definition.chunk.rank() == definition.shape.rank()) {
    check_tiles(format, definition, definition.shape, bounded_chunk(definition));
  }
  if (!codec::parse_pipeline(definition.compress, 1).empty() && !format.compress) {
    refuse(format, what + ", compress " + definition.compress, "holds no compressed data");
  }
  check_plugins(format, definition, what);
  if (definition.varying && !format.varying) {
    refuse(format, what, "has the same shape in every step");
  }
  const std::string why =
      format.refuse_definition != nullptr ? format.refuse_definition(definition) : std::string();
  if (!why.empty()) {
    refuse(format, what, why);
  }
  if (rules_) {
    rules_->check(definition);
  }
  if (!format.float16 && definition.type.kind == Kind::f16) {
    refuse(format, what, "holds no float16");
  }
  if (!format.text && definition.type.kind == Kind::string) {
    refuse(format, what, "holds no text in variables, only in attributes");
  }
}

void check_tiles(const Format& format, const model::Definition& definition,
                 const model::Dims& shape, const Tiling& tiling) {
  // Elsewhere an index has an entry for each tile, by which a reader knows that there are so many.
  const bool is_bounded = format.tiled && (format.is_store() || definition.partial);
  const std::uint64_t count = is_bounded ? tiles_in(tiling, model::whole(shape)) : 0;
  if (count > most_tiles_of_a_step) {
    throw Error(Code::unsupported,
                definition.name + ": shape " + shape.text() + " has " + std::to_string(count) +
                    " chunks of " + tiling.tile().text() + ", and at most " +
                    std::to_string(most_tiles_of_a_step) +
                    " can be read: choose larger chunks, or define several variables");
  }
}

bool Definitions::accept(const model::Definition& definition) const {
  try {
    check(definition);
  } catch (const Error&) {
    return false;
  }
  const auto& dimensions = definition.dimensions;
  return model::is_name(definition.name) && !model::is_reserved(definition.name) &&
         std::all_of(dimensions.begin(), dimensions.end(), model::is_name);
}

void check_definition(const Format& format, const model::Definition& definition) {
  Definitions(format).check(definition);
}

bool accepts(const Format& format, const model::Definition& definition) {
  return Definitions(format).accept(definition);
}

void settle_tile(const Format& format, model::Definition& definition) {
  if (format.fixed_tile != nullptr) {
    definition.chunk = format.fixed_tile(definition);
  }
}

void check_attribute(const Format& format, const model::Attribute& attribute) {
  if (!format.attributes) {
    refuse(format, "attribute " + attribute.name,
           "holds no attributes (units and descriptions too)");
  }
  const std::string why =
      format.refuse_attribute != nullptr ? format.refuse_attribute(attribute) : std::string();
  if (!why.empty()) {
    refuse(format, "attribute " + attribute.name, why);
  }
}

void choose_steps(std::vector<model::Attribute>& attributes, const model::ChosenSteps& chosen) {
  for (const Format* row : formats()) {
    if (row->choose_steps != nullptr) {
      row->choose_steps(attributes, chosen);
    }
  }
}

void check_time(const Format& format, double time) {
  if (!format.times && !std::isnan(time)) {
    refuse(format, "begin_step", "holds no times");
  }
}

std::unique_ptr<Planner> make_planner(const Format& format, storage::File& file, Start start,
                                      const PlannerOptions& options) {
  return start == Start::fresh ? format.create(file, options)
                               : format.reader().append(file, options);
}

std::unique_ptr<Catalog> open_catalog(const Format& format, storage::File& file) {
  auto catalog = format.reader().open(file);
  if (catalog->ours()) {
    for (const StoredVariable& variable : catalog->variables()) {
      model::check_read_name(variable.definition.name, file.path());
    }
    for (const model::Attribute& attribute : catalog->attributes()) {
      if (!attribute.owner.empty()) {
        model::check_read_name(attribute.owner, file.path());
      }
    }
  }
  return catalog;
}

bool plans_beside_threads(const Format& format) {
  return format.plans_beside_threads == nullptr || format.plans_beside_threads();
}

}  // namespace sluice::layout
