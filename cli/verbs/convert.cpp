// convert: rewrites a file, in another format or with another compression. On all ranks.
#include "commit/tools/convert.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "codec/filter.hpp"
#include "commit/read/input.hpp"
#include "compare/stored.hpp"
#include "guard.hpp"
#include "help.hpp"
#include "layout/formats/formats.hpp"
#include "layout/records/format.hpp"
#include "layout/vtkhdf/rules.hpp"
#include "model/clock.hpp"
#include "new_file.hpp"
#include "records/convert_lines.hpp"
#include "records/convert_records.hpp"
#include "records/record_lines.hpp"
#include "sluice/error.hpp"
#include "spins/convert_spins.hpp"
#include "text/progress.hpp"
#include "text/selection.hpp"
#include "text/text.hpp"
#include "verb.hpp"
#include "voxels/convert_voxfe.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct ConvertVerb {
  std::string file;
  std::string to;
  std::string compress;
  bool is_compress_given = false;
  std::vector<std::string> given;  ///< options of some kinds of conversion only, but for spins'
  std::vector<std::string> given_of_spins;
  std::string format = "auto";
  std::string grid;
  std::optional<std::int64_t> step;
  std::string steps;
  std::vector<std::string> variables;
  bool records = false;
  bool drop = false;
  std::uint64_t budget_mib = 256;
  bool json = false;
  SpinWish spins;
};

/// Error invalid_argument if an option was given that this kind of conversion would ignore.
void require_options(const ConvertVerb& verb, const std::string& kind,
                     const std::vector<std::string>& taken, bool takes_spins = false) {
  std::string ignored;
  for (const std::string& option : takes_spins ? std::vector<std::string>{} : verb.given_of_spins) {
    ignored += (ignored.empty() ? "" : ", ") + option;
  }
  for (const std::string& option : verb.given) {
    if (std::find(taken.begin(), taken.end(), option) == taken.end()) {
      ignored += (ignored.empty() ? "" : ", ") + option;
    }
  }
  if (!ignored.empty()) {
    throw Error(Code::invalid_argument, verb.file + ": a conversion of " + kind + " takes no " +
                                            ignored +
                                            ": leave that out, or name another kind by --format");
  }
}

/// Those that belong to some kinds of conversion only.
void take_given(const CLI::App& command, ConvertVerb& verb) {
  const std::set<std::string> of_kinds{"--compress", "--grid",    "--step",
                                       "--steps",    "--records", "--variables"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const std::string& group = option->get_group();
    const bool is_of_spins = group == spin_writing_group || group == spin_choice_group;
    if (option->count() != 0 && is_of_spins) {
      verb.given_of_spins.push_back(name);
    } else if (option->count() != 0 && of_kinds.count(name) != 0) {
      verb.given.push_back(name);
    }
  }
}

constexpr const char* by_option =
    ", or name one by --format: these, text, lines, h5md, mfdn, vampire, xyz, vtu, vtkhdf";

bool is_text_name(const std::string& path) {
  return path.ends_with(".txt") || path.ends_with(".model");
}

/// "148,148,48" as voxels in x, y, z; zeros if it is empty.
dialect::voxfe::Grid grid_of(const std::string& text) {
  dialect::voxfe::Grid grid{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < grid.size() && !text.empty(); ++i) {
    const auto result = std::from_chars(at, end, grid[i]);
    const bool is_last = i + 1 == grid.size();
    if (result.ec != std::errc{} || (is_last ? result.ptr != end : *result.ptr != ',')) {
      throw Error(Code::invalid_argument, "--grid " + text + ": use X,Y,Z, such as 148,148,48");
    }
    at = is_last ? end : result.ptr + 1;
  }
  return grid;
}

/// VOX-FE's texts, in both directions; empty if the file is not one of them.
std::optional<commit::Converted> convert_voxfe(const Context& context, const ConvertVerb& verb,
                                               const Options& options) {
  VoxfeWish wish{verb.file,    verb.to, verb.compress, grid_of(verb.grid),
                 verb.records, options, verb.step};
  if (verb.format == "text" || (verb.format == "auto" && is_text_name(verb.to))) {
    require_options(verb, "arrays to a text of VOX-FE", {"--step"});
    return voxfe_to_text(context, wish);
  }
  const VoxfeText kind = voxfe_text_of(context.storage, verb.file);
  if (kind == VoxfeText::none) {
    require_options(verb, "arrays", {"--compress", "--step", "--steps", "--variables"});
    return std::nullopt;
  }
  require_options(verb, "a text of VOX-FE", {"--compress", "--grid", "--records"});
  if (!verb.is_compress_given) {
    wish.compress = codec::default_compressor();
  }
  return voxfe_to_file(context, kind, wish);
}

/// Does a file have spins, so that --format text does not mean VOX-FE's? Collective.
bool holds_spins(const Context& context, const ConvertVerb& verb) {
  if (verb.format != "text" && !is_text_name(verb.to)) {
    return true;  // no other format name has two meanings
  }
  try {
    return open_spins(context, verb.file) != nullptr;
  } catch (const Error& e) {
    if (e.code() == Code::unsupported) {
      throw;  // it has spins, of a kind that cannot be written
    }
    return false;  // VOX-FE's own reader reports the error
  }
}

std::unique_ptr<commit::Input> open_unchecked(const Context& context, const std::string& path) {
  Options options;
  options.checksum = false;  // the conversion checks
  try {
    return std::make_unique<commit::Input>(context.transport, context.storage, path, options);
  } catch (const Error&) {
    return nullptr;  // the reader of spins reports the error
  }
}

/// Does a file hold arrays by VTK's names, so that it becomes VTKHDF as it is? Error unsupported if
/// they are cells whose parts cannot be told. Collective.
bool holds_vtk_arrays(const Context& context, const std::string& path) {
  const auto input = open_unchecked(context, path);
  if (!input) {
    return false;
  }
  const auto& attributes = input->attributes();
  const auto type = std::find_if(attributes.begin(), attributes.end(), [](const auto& a) {
    return a.owner == layout::vtkhdf::group && a.name == layout::vtkhdf::type_attribute;
  });
  if (type == attributes.end()) {
    return false;
  }
  const auto& variables = input->variables();
  const bool has_lists = std::any_of(variables.begin(), variables.end(), [](const auto& v) {
    return v.definition.name.starts_with(layout::vtkhdf::prefix) &&
           v.definition.name.ends_with("/Offsets");
  });
  const auto* text = std::get_if<std::string>(&type->value);
  if (has_lists && text != nullptr && *text == "PolyData") {
    throw Error(Code::unsupported, path +
                                       ": cells of PolyData do not become VTKHDF again: which "
                                       "of them are a part is not in their arrays; copy the "
                                       "file instead");
  }
  return true;
}

/// Spins of atoms; empty if it has none. Collective.
std::optional<commit::Converted> try_spins(const Context& context, const ConvertVerb& verb,
                                           const Options& options) {
  SpinWish wish = verb.spins;
  wish.from = verb.file;
  wish.to = verb.to;
  wish.options = options;
  wish.options.compress = verb.compress;
  wish.format = spin_format(verb.format, verb.to);
  const bool is_folder = is_vampire_folder(context, verb.file);
  if (!is_folder && (wish.format.empty() || !holds_spins(context, verb))) {
    return std::nullopt;
  }
  if (!is_folder && wish.format == "vtkhdf" && holds_vtk_arrays(context, verb.file)) {
    return std::nullopt;
  }
  if (wish.format.empty()) {
    require_known_ending(verb.to, verb.format, by_option);
  }
  if (verb.step || !verb.steps.empty()) {
    throw Error(Code::invalid_argument, verb.file +
                                            ": holds spins, of which --frames A:B says the "
                                            "frames: leave --step and --steps out");
  }
  require_options(verb, "spins", {"--compress"}, true);
  return convert_spins(context, wish);
}

void tell_what_is_not_kept(const Context& context, const ConvertVerb& verb,
                           const commit::Converted& done) {
  if (!context.is_root()) {
    return;
  }
  for (const std::string& name : done.unnamed) {
    fmt::print(stderr,
               "sluice: {}: the names of the dimensions of {} are left out: this "
               "format cannot hold them beside the others\n",
               printable(verb.to), printable(name));
  }
  for (const std::string& change : done.changes) {
    fmt::print(stderr, "sluice: {}: changed: {}\n", printable(verb.to), change);
  }
  for (const std::string& what : done.left_out) {
    fmt::print(stderr, "sluice: {}: left out: {}\n", printable(verb.to), printable(what));
  }
}

/// The exit code.
int code_after(const ConvertVerb& verb, const commit::Converted& done) {
  return done.left_out.empty() || verb.drop ? fine : differs;
}

/// Wave functions of MFDn: without file sizes, because one side is a folder.
int convert_records(const Context& context, const ConvertVerb& verb, bool is_to_folder) {
  Options options;
  options.strategy = "shared";
  options.format = is_to_folder ? "auto" : verb.format;
  if (!is_to_folder) {
    require_known_ending(verb.to, verb.format, by_option);
  }
  options.compress = verb.compress;
  require_options(
      verb, "wave functions of MFDn",
      is_to_folder ? std::vector<std::string>{} : std::vector<std::string>{"--compress"});
  const commit::Converted done = is_to_folder
                                     ? convert_to_records(context, verb.file, verb.to)
                                     : convert_from_records(context, verb.file, verb.to, options);
  tell_what_is_not_kept(context, verb, done);
  if (context.is_root() && verb.json) {
    show_json(Json{{"file", verb.to},
                   {"variables", done.variables},
                   {"bytes", done.bytes},
                   {"left_out", done.left_out}});
  } else if (context.is_root()) {
    tell("{}: {} of {}\n", printable(verb.to), count_text(done.variables, "wave function"),
         bytes_text(done.bytes));
  }
  return code_after(verb, done);
}

int report_spins(const Context& context, const ConvertVerb& verb, const commit::Converted& done,
                 double seconds) {
  tell_what_is_not_kept(context, verb, done);
  if (context.is_root() && verb.json) {
    show_json(Json{{"file", verb.to},
                   {"steps", done.steps},
                   {"bytes", done.bytes},
                   {"left_out", done.left_out},
                   {"seconds", seconds}});
  } else if (context.is_root()) {
    const std::string rate = rate_text(done.bytes, seconds);
    tell("{}: {} of {} in {}{}\n", printable(verb.to), count_text(done.steps, "frame"),
         bytes_text(done.bytes), seconds_text(seconds), rate.empty() ? "" : ", " + rate);
  }
  return code_after(verb, done);
}

/// Texts become records whatever the name, unless its ending belongs to another format.
void require_records(const ConvertVerb& verb) {
  const layout::Format* named = layout::format_of_ending(verb.to);
  const layout::Format& records = layout::records::format_row;
  if (verb.format != records.option &&
      (verb.format != "auto" || (named != nullptr && named != &records))) {
    throw Error(Code::invalid_argument, verb.to + ": texts of a template become records: use the " +
                                            "ending " + records.endings + " or none, or --format " +
                                            records.option);
  }
}

/// Records and the texts that a program may write instead; empty if neither side is one.
/// Collective.
std::optional<commit::Converted> try_lines(const Context& context, const ConvertVerb& verb,
                                           const Options& options) {
  if (verb.file.ends_with(".template")) {
    require_records(verb);
    require_options(verb, "texts of a template", {});
    return convert_from_lines(context, verb.file, verb.to);
  }
  if (verb.format == "lines") {
    require_options(verb, "records to texts", {});
    return convert_to_lines(context, verb.file, verb.to);
  }
  if (verb.format == "h5md") {
    require_options(verb, "records to H5MD", {"--compress"});
    Options as_hdf5 = options;
    as_hdf5.format = "hdf5";
    as_hdf5.compress = verb.compress;
    return convert_to_h5md(context, verb.file, verb.to, as_hdf5);
  }
  return std::nullopt;
}

int report_lines(const Context& context, const ConvertVerb& verb, const commit::Converted& done) {
  tell_what_is_not_kept(context, verb, done);
  if (context.is_root() && verb.json) {
    show_json(Json{{"file", verb.to},
                   {"variables", done.variables},
                   {"steps", done.steps},
                   {"bytes", done.bytes},
                   {"left_out", done.left_out}});
  } else if (context.is_root()) {
    const std::string parts =
        verb.format == "h5md" ? "" : " of " + count_text(done.variables, "part");
    tell("{}: {}{}, {}\n", printable(verb.to), count_text(done.steps, "record group"), parts,
         bytes_text(done.bytes));
  }
  return code_after(verb, done);
}

void require_a_name(const std::string& to) {
  if (to == "-") {
    throw Error(Code::invalid_argument,
                "TO: a file is made, and nothing is written to standard output: name the file "
                "(./- if that is its name)");
  }
}

commit::Conversion conversion_of(const ConvertVerb& verb, const Options& options) {
  commit::Conversion wanted{verb.file, verb.to, options};
  if (verb.is_compress_given) {
    wanted.compress = verb.compress;
  }
  wanted.only_step = verb.step;
  if (!verb.steps.empty()) {
    wanted.steps = parse_steps(verb.steps, "--steps");
  }
  wanted.variables = verb.variables;
  return wanted;
}

int convert(const Context& context, const ConvertVerb& verb) {
  require_a_name(verb.to);
  const bool is_to_folder = verb.format == "mfdn";
  if (is_to_folder || is_record_folder(context, verb.file)) {
    return convert_records(context, verb, is_to_folder);
  }
  const double began_s = model::now_s();
  Options options;
  options.strategy = "shared";  // who has read it writes it
  options.format = verb.format;
  options.budget_bytes = verb.budget_mib << 20;
  if (const auto lines = try_lines(context, verb, options)) {
    return report_lines(context, verb, *lines);
  }
  if (const auto spins = try_spins(context, verb, options)) {
    return report_spins(context, verb, *spins, model::now_s() - began_s);
  }
  commit::Converted done;
  {
    Progress progress("convert " + verb.file, context.is_root());
    const bool is_text = verb.format == "auto" && is_text_name(verb.to);
    require_known_ending(verb.to, is_text ? "text" : verb.format, by_option);
    const auto voxels = convert_voxfe(context, verb, options);
    done = voxels
               ? *voxels
               : commit::convert(
                     context.transport, context.storage, conversion_of(verb, options),
                     [&](std::uint64_t bytes, std::uint64_t all) { progress.update(bytes, all); });
  }
  const double seconds = model::now_s() - began_s;
  if (!context.is_root()) {
    return fine;
  }
  tell_what_is_not_kept(context, verb, done);
  const std::uint64_t before = bytes_on_disk(context.storage, verb.file) + done.part_bytes;
  const std::uint64_t after = bytes_on_disk(context.storage, verb.to);
  if (verb.json) {
    const Json json{
        {"file", verb.to},         {"variables", done.variables}, {"steps", done.steps},
        {"bytes", done.bytes},     {"bytes_before", before},      {"bytes_after", after},
        {"changes", done.changes}, {"left_out", done.left_out},   {"seconds", seconds}};
    show_json(json);
  } else {
    const std::string rate = rate_text(done.bytes, seconds);
    const double times =
        static_cast<double>(before) / static_cast<double>(std::max<std::uint64_t>(1, after));
    tell("{}: {} of {} in {}{}; the file has {}, {} had {} ({} times as much)\n",
         printable(verb.to), count_text(done.variables, "variable"), bytes_text(done.bytes),
         seconds_text(seconds), rate.empty() ? "" : ", " + rate, bytes_text(after),
         printable(verb.file), bytes_text(before),
         times < 0.1 ? fmt::format("{:.2g}", times) : fmt::format("{:.1f}", times));
  }
  return code_after(verb, done);
}

void add_choices(CLI::App& command, ConvertVerb& verb) {
  CLI::Option* const step =
      command.add_option("--step", verb.step, "this step alone, without steps; -1: the last one");
  command.add_option("--steps", verb.steps, "A:B[:K] steps A to B - 1, one of K; else all")
      ->excludes(step);
  command
      .add_option("--variables", verb.variables, "NAME,... these and their coordinates; else all")
      ->delimiter(',')
      ->allow_extra_args(false);
}

const char* const convert_examples = R"help(
Examples:
  sluice convert spins.h5 small.h5 --compress deflate:9
  mpirun -n 8 sluice convert spins.h5 spins.nc --compress zstd:3
  sluice convert run.h5 thin.nc --steps 0:1000:10 --variables u,pressure
  sluice convert bone.model bone.nc --compress deflate:9
  sluice convert bone.nc again.model
  sluice convert run7/ states.h5                          mfdn_smwf001, ...
  sluice convert states.h5 again/ --format mfdn
  sluice convert traj again/ --format lines               1.traj, 2.traj, ...
  sluice convert again/traj.template traj2
  sluice convert traj traj.h5 --format h5md
  sluice convert run8/ spins.h5                           atoms-coords.meta, ...
  sluice convert run8/ spins.vtu --frames 0:10 --where 'sz < 0'
  sluice convert spins.h5 again/ --format vampire --mode file-per-node --files 4)help";

}  // namespace

void add_convert(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<ConvertVerb>();
  CLI::App* command =
      add_verb(app, "convert", "write a file in another format or compression",
               "Writes all variables, attributes, times and fill values of FILE into a new file\n"
               "TO, and checks every checksum. Without --compress each variable keeps its\n"
               "compression, if TO can have one; plugins of HDF5 too (HDF5_PLUGIN_PATH).\n"
               "--steps and --variables choose what TO has; bounds count from the end if < 0.\n"
               "The ending of TO selects its format; one that belongs to no format is an error.\n"
               "FILE may be any file that sluice reads, or a file of one of these codes:\n"
               "VOX-FE: a model becomes a grid of bytes, `material` (z, y, x), displacements\n"
               "become `displacement` (node, 3), both with a description for ParaView, TO.xdmf.\n"
               "A TO that ends in .txt or .model is such a text again (txt2hdf5, hdf52txt).\n"
               "MFDn: a folder of files mfdn_smwf001, ... (one Fortran record for each state)\n"
               "becomes a tree of vectors; --format mfdn makes such a folder again.\n"
               "VAMPIRE: a folder (any output mode) becomes a file of spins, or text, xyz, vtu\n"
               "or vtkhdf by the ending of TO (several frames: one file each, with its number);\n"
               "--format vampire makes such a folder again, with the same files, or by --mode.\n"
               "Records with a template (attribute sluice_template): --format lines makes the\n"
               "texts that the template describes in the folder TO, one file for each part;\n"
               "FOLDER/x.template makes records of the texts beside it. --format h5md makes a\n"
               "trajectory of records, in the order of the particles.\n"
               "From HDF5 to plain HDF5 everything is kept, links too. Variables and attributes\n"
               "that another format cannot hold are left out and listed; the exit code is 1\n"
               "then, or 0 with --drop. Names of dimensions that it cannot hold beside others\n"
               "are listed, and leave the exit code 0. A format of one variable (npy) takes a\n"
               "FILE that has one: which of several is meant cannot be said, also not by --drop.\n"
               "Formats: " +
                   layout::format_options(" ") +
                   ",\n"
                   "of the codes: text lines h5md mfdn vampire xyz vtu vtkhdf.\n"
                   "Exit code: 0 done, 1 FILE is damaged or something was left out, 2 bad input,\n"
                   "3 changed outside Sluice.\n",
               convert_examples);
  command->add_option("FILE", verb->file, "what to convert")->required();
  command->add_option("TO", verb->to, "the file to make; must not exist")->required();
  command->add_option("--compress", verb->compress, codec::compressor_names() + "none; +noshuffle");
  command->add_option("--format", verb->format, "of TO, where its ending does not say it");
  command->add_option("--grid", verb->grid, "X,Y,Z of a VOX-FE model; else as large as needed");
  add_choices(*command, *verb);
  command->add_flag("--records", verb->records, "a VOX-FE model's voxels as records too");
  command->add_flag("--drop", verb->drop, "exit code 0 although something is left out");
  command->add_option("--budget-mib", verb->budget_mib, "staging memory of a process (256)")
      ->check(number_between(1, 1 << 20));
  command->add_flag("--json", verb->json, "print JSON");
  add_spin_wish(*command, verb->spins);
  command->callback([&run, verb, command] {
    verb->is_compress_given = command->count("--compress") != 0;
    take_given(*command, *verb);
    run = with_truncated_as_damage([verb](const Context& context) {
      const LeftToParent unfinished(unfinished_path(context, verb->to));
      return convert(context, *verb);
    });
  });
}

}  // namespace sluice::cli
