// convert: a file written anew, in another format or compressed in another way. On all ranks.
#include "commit/convert.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "commit/output.hpp"
#include "convert_records.hpp"
#include "dialect/voxfe/model.hpp"
#include "help.hpp"
#include "progress.hpp"
#include "sluice/error.hpp"
#include "text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct ConvertVerb {
  std::string file;
  std::string to;
  std::string compress;
  bool is_compress_given = false;
  std::string format = "auto";
  std::string grid;
  bool json = false;
};

/// "148,148,48" as voxels in x, y, z; zeros where nothing is said.
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

/// A VOX-FE model as the variable `material` (z, y, x).
commit::Converted convert_voxels(const Context& context, const ConvertVerb& verb,
                                 const Options& options) {
  const auto planes =
      dialect::voxfe::read_model(context.transport, context.storage, verb.file, grid_of(verb.grid));
  Options own = options;
  own.compress = verb.compress;
  const auto output = commit::open_output(context.transport, context.storage, verb.to,
                                          commit::Opening::create, own);
  model::Definition d;
  d.name = "material";
  d.type = type_of<std::uint8_t>();
  d.shape = {planes.grid[2], planes.grid[1], planes.grid[0]};
  d.dimensions = {"z", "y", "x"};
  d.compress = verb.compress;
  const std::uint32_t variable = output->define(d);
  output->set_attribute({"material", "long_name", std::string("material of a voxel, 0: none")});
  output->set_attribute({"", "voxels", static_cast<std::int64_t>(planes.voxels)});
  if (!planes.voxel_size.empty()) {
    output->set_attribute({"", "voxel_size", planes.voxel_size});
  }
  if (planes.count != 0) {
    const model::Dims count{planes.count, planes.grid[1], planes.grid[0]};
    const auto* bytes = reinterpret_cast<const std::byte*>(planes.materials.data());
    output->put({variable,
                 {{planes.first, 0, 0}, count},
                 {bytes, d.type, count, model::Dims::filled(3, 0)},
                 false});
  }
  output->close();
  return {1, 0, d.bytes_per_step()};
}

/// Wave functions of MFDn: without sizes of files, for one side is a folder.
int convert_records(const Context& context, const ConvertVerb& verb, bool is_to_folder) {
  Options options;
  options.strategy = "shared";
  options.format = is_to_folder ? "auto" : verb.format;
  options.compress = verb.compress;
  const commit::Converted done = is_to_folder
                                     ? convert_to_records(context, verb.file, verb.to)
                                     : convert_from_records(context, verb.file, verb.to, options);
  if (context.is_root() && verb.json) {
    const Json json{{"file", verb.to}, {"variables", done.variables}, {"bytes", done.bytes}};
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  } else if (context.is_root()) {
    fmt::print("{}: {} of {}\n", printable(verb.to), count_text(done.variables, "wave function"),
               bytes_text(done.bytes));
  }
  return fine;
}

int convert(const Context& context, const ConvertVerb& verb) {
  const bool is_to_folder = verb.format == "mfdn";
  if (is_to_folder || is_record_folder(context, verb.file)) {
    return convert_records(context, verb, is_to_folder);
  }
  const auto began = std::chrono::steady_clock::now();
  Options options;
  options.strategy = "shared";  // who has read it writes it
  options.format = verb.format;
  const bool has_voxels = verb.file.ends_with(".model");
  commit::Converted done;
  {
    Progress progress("convert " + verb.file, context.is_root());
    done = has_voxels
               ? convert_voxels(context, verb, options)
               : commit::convert(
                     context.transport, context.storage, verb.file, verb.to,
                     verb.is_compress_given ? std::optional(verb.compress) : std::nullopt, options,
                     [&](std::uint64_t bytes, std::uint64_t all) { progress.update(bytes, all); });
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!context.is_root()) {
    return fine;
  }
  const std::uint64_t before = context.storage.open(verb.file, storage::Access::read)->size();
  const std::uint64_t after = context.storage.open(verb.to, storage::Access::read)->size();
  if (verb.json) {
    const Json json{{"file", verb.to},     {"variables", done.variables}, {"steps", done.steps},
                    {"bytes", done.bytes}, {"bytes_before", before},      {"bytes_after", after},
                    {"seconds", seconds}};
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    const std::string rate = rate_text(done.bytes, seconds);
    fmt::print(
        "{}: {} of {} in {}{}; the file has {}, {} had {} ({:.1f} times as much)\n",
        printable(verb.to), count_text(done.variables, "variable"), bytes_text(done.bytes),
        seconds_text(seconds), rate.empty() ? "" : ", " + rate, bytes_text(after),
        printable(verb.file), bytes_text(before),
        static_cast<double>(before) / static_cast<double>(std::max<std::uint64_t>(1, after)));
  }
  return fine;
}

}  // namespace

void add_convert(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<ConvertVerb>();
  CLI::App* command =
      add_verb(app, "convert", "write a file anew: compressed, or in another format",
               "Writes all variables, attributes, times and fill values of FILE into the new file\n"
               "TO, every checksum checked on the way. Without --compress each variable stays as\n"
               "it is. FILE may be any that sluice reads; one that ends in .model is a VOX-FE\n"
               "model (text), which becomes a grid of bytes, `material` (z, y, x). A folder of\n"
               "MFDn's files mfdn_smwf001, ... (a Fortran record a state) becomes its tree of\n"
               "vectors, and --format mfdn makes such a folder of it again.\n"
               "Memory: a step, shared out among the processes.\n"
               "Exit code: 0 done, 1 FILE is damaged, 2 bad input, 3 changed outside Sluice.\n",
               R"help(
Examples:
  sluice convert spins.h5 small.h5 --compress deflate:9
  mpirun -n 8 sluice convert spins.h5 spins.nc --compress zstd:3
  sluice convert small.h5 plain.h5 --compress none
  sluice convert bone.model bone.nc --compress deflate:9
  sluice convert run7/ states.h5                          mfdn_smwf001, ...
  sluice convert states.h5 again/ --format mfdn)help");
  command->add_option("FILE", verb->file, "what to convert")->required();
  command->add_option("TO", verb->to, "the file to make; must not exist")->required();
  command->add_option("--compress", verb->compress,
                      "none, deflate:1 to deflate:12, zstd:1 to zstd:19; with +noshuffle");
  command->add_option("--format", verb->format,
                      "hdf5, netcdf4, npy, mfdn, or auto: by TO's ending");
  command->add_option("--grid", verb->grid, "X,Y,Z of a VOX-FE model; else as large as needed");
  command->add_flag("--json", verb->json, "for programs");
  command->callback([&run, verb, command] {
    verb->is_compress_given = command->count("--compress") != 0;
    run = [verb](const Context& context) { return convert(context, *verb); };
  });
}

}  // namespace sluice::cli
