// virtualize: references to the chunks of a file, by which readers of Zarr open it.
#include "commit/tools/virtualize.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "help.hpp"
#include "new_file.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

struct VirtualizeVerb {
  std::string file;
  std::string to;
  std::string url;
};

int virtualize(const Context& context, const VirtualizeVerb& verb) {
  if (!context.is_root()) {
    return fine;
  }
  const std::string here = storage::is_object_path(verb.file)
                               ? verb.file
                               : std::filesystem::absolute(verb.file).lexically_normal().string();
  const std::string url = verb.url.empty() ? here : verb.url;
  const commit::Virtualized made = commit::virtualize(context.storage, verb.file, url);
  write_new_file(context.storage, verb.to, std::as_bytes(std::span(made.text)));
  for (const auto& [name, why] : made.left_out) {
    show(stderr, fmt::format("not referred to: {}: {}\n", printable(name), printable(why)));
  }
  tell("{}: {}, {} of {}\n", printable(verb.to), count_text(made.variables, "variable"),
       count_text(made.chunks, "chunk"), printable(verb.file));
  return fine;
}

}  // namespace

void add_virtualize(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<VirtualizeVerb>();
  CLI::App* command =
      add_verb(app, "virtualize", "references to a file, for readers of Zarr",
               "Writes a reference file (JSON of kerchunk, version 1) that describes FILE as a\n"
               "Zarr store: fsspec, zarr-python and xarray open it without copying FILE. What\n"
               "references cannot say is listed by name: text of any length, filters that\n"
               "numcodecs lacks, compact and virtual datasets, chunks without their filters.\n"
               "Make it anew after FILE has changed.\n"
               "Exit code: 0 written, 2 bad input.\n",
               R"help(
Examples:
  sluice virtualize run.h5 -o run.json
  sluice virtualize run.h5 -o remote.json --url s3://bucket/run.h5
  python -c 'import xarray; print(xarray.open_dataset("reference://",
    engine="zarr", backend_kwargs={"consolidated": False,
    "storage_options": {"fo": "run.json"}}))')help");
  command->add_option("FILE", verb->file, "an HDF5 or netCDF-4 file")->required();
  command->add_option("-o,--output", verb->to, "the reference file")->required()->type_name("JSON");
  command->add_option("--url", verb->url, "how it names FILE (default: its absolute path)")
      ->type_name("URL");
  command->callback([&run, verb] {
    run = [verb](const Context& context) { return virtualize(context, *verb); };
  });
}

}  // namespace sluice::cli
