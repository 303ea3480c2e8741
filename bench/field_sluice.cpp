// Sluice's strategies, on one step or several of a stepped variable (or, form=fixed, a variable
// without steps).
#include "api/config/settings.hpp"
#include "contestants.hpp"
#include "hdf5_field.hpp"
#include "sluice/sluice.hpp"

namespace sluice::bench {
namespace {

Options options_of(const Job& job) {
  Options options;
  for (const char* key : {"strategy", "files", "storage", "tiles", "durability"}) {
    const std::string value = job.text(key, "");
    if (!value.empty()) options = parse_options(std::string(key) + " = \"" + value + '"', options);
  }
  for (const char* key : {"writers", "tile_bytes", "budget_bytes", "checksum", "autotune"}) {
    const std::string value = job.text(key, "");
    if (!value.empty()) options = parse_options(std::string(key) + " = " + value, options);
  }
  return options;
}

Values write_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::string pattern = job.text("pattern");
  const bool stepped = job.text("form", "stepped") == "stepped";
  const Part part = part_of(pattern, world.rank(), world.ranks(), job.number("mib"));
  const auto data = world.data(part.elements());
  const Options options = options_of(job);
  const Selection mine{.start = {part.start.begin(), part.start.end()},
                       .count = {part.count.begin(), part.count.end()}};
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  File file(world.comm(), path, Mode::create, options);
  const Variable field =
      file.define<double>("field", {part.shape.begin(), part.shape.end()}, {.steps = stepped});
  watch.mark("create_s");
  if (stepped) {
    for (std::uint64_t s = 0; s < job.number("steps", 1); ++s) {
      Step step = file.begin_step({.time = static_cast<double>(s)});
      step.put(field, data.data(), mine);
      step.end();
    }
  } else {
    file.put(field, data.data(), mine);
    file.flush();
  }
  watch.mark("write_s");
  file.close();
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_field_hdf5(world, path, "field", pattern, job.number("mib"));
  return values;
}

}  // namespace

void add_field_sluice(Contestants& contestants) { contestants["strategies/sluice"] = write_field; }

}  // namespace sluice::bench
