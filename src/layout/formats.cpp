#include "layout/formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/filter.hpp"
#include "layout/dcd/catalog.hpp"
#include "layout/dcd/planner.hpp"
#include "layout/dcd/rules.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/library.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/signature.hpp"
#include "layout/namdbin/namdbin.hpp"
#include "layout/netcdf4/rules.hpp"
#include "layout/npy/catalog.hpp"
#include "layout/npy/planner.hpp"
#include "layout/records/catalog.hpp"
#include "layout/records/planner.hpp"
#include "layout/zarr/catalog.hpp"
#include "layout/zarr/planner.hpp"
#include "model/name.hpp"

namespace sluice::layout {

namespace {

constexpr std::array<Format, 8> all{{
    {.name = "hdf5",
     .option = "hdf5",
     .endings = ".h5 .hdf5 .hdf .he5 .h5md",
     .many = true,
     .names = true,
     .attributes = true,
     .times = true,
     .checksums = true,
     .tiled = true,
     .varying = true,
     .length_variable = true,
     .complex = true,
     .compress = true,
     .index = true},
    {.name = "hdf5-grouped",
     .option = "hdf5",
     .form = "grouped",
     .many = true,
     .names = true,
     .attributes = true,
     .times = true,
     .checksums = true,
     .varying = true,
     .complex = true,
     .instead = "use form stacked"},
    {.name = "netcdf4",
     .option = "netcdf4",
     .endings = ".nc .nc4 .cdf",
     .many = true,
     .names = true,
     .attributes = true,
     .times = true,
     .checksums = true,
     .tiled = true,
     .varying = true,
     .length_variable = true,
     .compress = true,
     .index = true,
     .instead = "use format hdf5"},
    {.name = "npy",
     .option = "npy",
     .endings = ".npy",
     .complex = true,
     .unchecked = "everything",
     .instead = "use format hdf5 or netcdf4"},
    {.name = "zarr",
     .option = "zarr",
     .endings = ".zarr",
     .many = true,
     .names = true,
     .attributes = true,
     .times = true,
     .checksums = true,
     .tiled = true,
     .complex = true,
     .compress = true,
     .store = true,
     .most_tile_bytes = 16ULL << 20,
     .instead = "use format hdf5 or netcdf4"},
    {.name = "dcd",
     .option = "dcd",
     .endings = ".dcd",
     .best = Durability::close,
     .many = true,
     .names = true,
     .attributes = true,
     .tiled = true,
     .has_grammar = true,
     .unchecked = "everything",
     .instead = "use format hdf5 or netcdf4"},
    {.name = "namdbin",
     .option = "namdbin",
     .endings = ".coor .vel",
     .best = Durability::close,
     .has_grammar = true,
     .unchecked = "everything",
     .instead = "use format hdf5 or netcdf4"},
    {.name = "records",
     .option = "records",
     .endings = ".rec",
     .many = true,
     .names = true,
     .attributes = true,
     .times = true,
     .checksums = true,
     .varying = true,
     .complex = true,
     .instead = "use format hdf5"},
}};

[[noreturn]] void refuse(const Format& format, const std::string& what, const std::string& why) {
  throw Error(Code::unsupported,
              what + ": format " + format.name + " " + why + ": " + format.instead);
}

const Format* find(const std::string& option, const std::string& form) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Format& format) {
    return format.option == option && format.form == form;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string option_names() {
  std::string names = "auto";
  for (const Format& format : all) {
    if (names.find(format.option) == std::string::npos) {
      names += std::string(", ") + format.option;
    }
  }
  return names;
}

}  // namespace

std::span<const Format> formats() { return all; }

std::string ending_of(const std::string& path) {
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
  const auto found = std::find_if(all.begin(), all.end(), [&](const Format& format) {
    return !ending.empty() &&
           (" " + std::string(format.endings) + " ").find(" " + ending + " ") != std::string::npos;
  });
  return found == all.end() ? nullptr : &*found;
}

const Format& format_of(const std::string& path, const Options& options) {
  std::string option = options.format;
  if (option == "auto") {
    const Format* named = format_of_ending(path);
    option = named == nullptr ? all[0].option : named->option;
  }
  if (find(option, "stacked") == nullptr) {
    throw Error(Code::invalid_argument,
                "format \"" + option + "\" is not known: use one of " + option_names());
  }
  if (options.form != "stacked" && options.form != "grouped") {
    throw Error(Code::invalid_argument,
                "form \"" + options.form + "\" is not known: use stacked or grouped");
  }
  const Format* format = find(option, options.form);
  if (format == nullptr) {
    throw Error(Code::unsupported, path + ": form " + options.form + ": format " + option +
                                       " has no such form: use form stacked, or format hdf5");
  }
  return *format;
}

const Format& format_named(const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Format& format) { return format.name == name; });
  if (found == all.end()) {
    throw Error(Code::internal, "format " + name + " is not in the list");
  }
  return *found;
}

const Format& format_in(storage::File& file, const std::string& wanted) {
  hdf5::note_file(file.path());
  const Format* found = nullptr;
  if (zarr::is_zarr(file)) {
    found = find("zarr", "stacked");
  } else if (npy::is_npy(file)) {
    found = find("npy", "stacked");
  } else if (records::is_log(file)) {
    found = find("records", "stacked");
  } else if (hdf5::has_signature(file)) {
    found = &all[0];  // which of its forms it is, its catalog tells
  } else if (dcd::is_dcd(file)) {
    found = find("dcd", "stacked");
  } else if (namdbin::shape_in(file)) {
    found = find("namdbin", "stacked");
  } else {
    throw Error(Code::format, file.path() +
                                  ": not an HDF5 file (no signature), and no other format that is "
                                  "known: " +
                                  option_names());
  }
  const bool is_hdf5 = wanted == "hdf5" || wanted == "netcdf4";
  const bool is_wanted = wanted == "auto" || wanted == found->option ||
                         (is_hdf5 && std::string(found->option) == "hdf5");
  if (!is_wanted) {
    throw Error(Code::format, file.path() + ": is of format " + found->option + ", not " + wanted +
                                  ": use format auto");
  }
  return *found;
}

bool begins_as_known(storage::File& file) {
  return hdf5::begins_with_superblock(file) || npy::is_npy(file) || zarr::is_zarr(file) ||
         dcd::is_dcd(file) || records::is_log(file);
}

StepCount count_steps(storage::File& file) {
  if (!npy::is_npy(file)) {
    return {};
  }
  const npy::StepCount count = npy::count_steps(file);
  return {count.counted, count.there};
}

void set_step_count(storage::File& file, std::uint64_t steps) { npy::set_step_count(file, steps); }

void check_form(const Format& format, const Options& options, const std::string& path) {
  if (options.form != "stacked" && options.form != format.form) {
    throw Error(Code::unsupported, path + ": form " + options.form +
                                       ": the file is there in form " + format.form +
                                       ": append in that form, or write a new file");
  }
}

codec::Pipeline pipeline_in(const Format& format, const model::Definition& definition) {
  return format.store ? zarr::pipeline_in_zarr(pipeline_of(definition)) : pipeline_of(definition);
}

std::vector<Document> stale_documents(storage::File& file) { return zarr::stale_documents(file); }

Durability durability_of(const Format& format, Durability asked) {
  if (asked == Durability::automatic) {
    return format.best;
  }
  if (asked == Durability::step && format.best != Durability::step) {
    refuse(format, "durability step", "can be made durable at close only (durability close)");
  }
  return asked;
}

void check_definition(const Format& format, const model::Definition& definition,
                      const std::vector<model::Definition>& others) {
  const std::string what = "define " + definition.name;
  if (definition.type.bytes > model::most_element_bytes) {
    refuse(format, what,
           "has elements of up to " + std::to_string(model::most_element_bytes) + " bytes");
  }
  if (!format.many && !others.empty()) {
    refuse(format, what, "holds one variable, and there is " + others[0].name + " already");
  }
  if (!definition.chunk.empty() && (!format.tiled || format.has_grammar)) {
    refuse(format, what + ", chunk " + definition.chunk.text(), "keeps each step in one piece");
  }
  if (!codec::parse_pipeline(definition.compress, 1).empty() && !format.compress) {
    refuse(format, what + ", compress " + definition.compress, "holds no compressed data");
  }
  if (definition.varying && !format.varying) {
    refuse(format, what, "has the same shape in every step");
  }
  const std::string why = std::strcmp(format.name, "dcd") == 0       ? dcd::refusal(definition)
                          : std::strcmp(format.name, "namdbin") == 0 ? namdbin::refusal(definition)
                                                                     : "";
  if (!why.empty()) {
    refuse(format, what, why);
  }
  if (std::strcmp(format.name, "hdf5-grouped") == 0 && definition.name.rfind("step_", 0) == 0) {
    throw Error(Code::bad_name, what +
                                    ": format hdf5-grouped keeps names that begin with step_ "
                                    "for the groups of steps: choose another");
  }
  if (std::strcmp(format.name, "netcdf4") == 0) {
    netcdf4::check_definition(definition, others);
  }
  if (format.store && definition.type.kind == Kind::string) {
    refuse(format, what, "holds no text in variables, only in attributes");
  }
  if (format.store && (definition.name + "/").rfind("sluice/", 0) == 0) {
    throw Error(Code::bad_name, what + ": format zarr keeps the group sluice: choose another name");
  }
}

void settle_tile(const Format& format, model::Definition& definition) {
  if (std::strcmp(format.name, "dcd") == 0) {
    definition.chunk = dcd::tile_of(definition);
  }
}

void check_attribute(const Format& format, const model::Attribute& attribute) {
  if (!format.attributes) {
    refuse(format, "attribute " + attribute.name,
           "holds no attributes (units and descriptions too)");
  }
  if (std::strcmp(format.name, "netcdf4") == 0) {
    netcdf4::check_attribute(attribute);
  }
  const std::string why =
      std::strcmp(format.name, "dcd") == 0 ? dcd::refusal(attribute) : std::string();
  if (!why.empty()) {
    refuse(format, "attribute " + attribute.name, why);
  }
  if (format.store && attribute.owner.empty() && attribute.name == "sluice") {
    throw Error(Code::bad_name, "attribute sluice: format zarr keeps this name: choose another");
  }
}

void check_time(const Format& format, double time) {
  if (!format.times && !std::isnan(time)) {
    refuse(format, "begin_step", "holds no times");
  }
}

std::unique_ptr<Planner> make_planner(const Format& format, storage::File& file, Start start,
                                      const PlannerOptions& options) {
  const std::string name = format.name;
  if (name == "npy") {
    return start == Start::fresh ? npy::NpyPlanner::create(file)
                                 : npy::NpyPlanner::append(file, model::stem_of(file.path()));
  }
  if (name == "dcd") {
    return start == Start::fresh ? dcd::DcdPlanner::create(file) : dcd::DcdPlanner::append(file);
  }
  if (name == "namdbin") {
    if (start == Start::append) {
      throw Error(
          Code::unsupported,
          file.path() + ": format namdbin: holds one array, which is whole: write a new file");
    }
    return namdbin::NamdbinPlanner::create(file);
  }
  if (name == "records") {
    return start == Start::fresh ? records::RecordsPlanner::create(file, options)
                                 : records::RecordsPlanner::append(file, options);
  }
  if (name == "zarr") {
    return start == Start::fresh ? zarr::ZarrPlanner::create(file, options)
                                 : zarr::ZarrPlanner::append(file, options);
  }
  if (start == Start::append) {
    return hdf5::Hdf5Planner::append(file, options);
  }
  const hdf5::Profile profile = name == "hdf5-grouped" ? hdf5::Profile::grouped
                                : name == "netcdf4"    ? hdf5::Profile::netcdf4
                                                       : hdf5::Profile::stacked;
  return hdf5::Hdf5Planner::create(file, options, profile);
}

namespace {

std::unique_ptr<Catalog> open_unchecked(const Format& format, storage::File& file) {
  if (std::strcmp(format.name, "npy") == 0) {
    return npy::NpyCatalog::open(file);
  }
  if (std::strcmp(format.name, "dcd") == 0) {
    return dcd::DcdCatalog::open(file);
  }
  if (std::strcmp(format.name, "namdbin") == 0) {
    return namdbin::NamdbinCatalog::open(file);
  }
  if (std::strcmp(format.name, "records") == 0) {
    return records::RecordsCatalog::open(file);
  }
  if (format.store) {
    return zarr::ZarrCatalog::open(file);
  }
  return hdf5::Catalog::open(file);
}

}  // namespace

std::unique_ptr<Catalog> open_catalog(const Format& format, storage::File& file) {
  auto catalog = open_unchecked(format, file);
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
  return format.store || hdf5::takes_several_threads();
}

}  // namespace sluice::layout
