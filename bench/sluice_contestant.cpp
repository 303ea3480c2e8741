// Sluice as a contestant, through its public interface alone.
#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "contestants.hpp"
#include "hdf5_check.hpp"
#include "sluice/sluice.hpp"

namespace sluice::bench {
namespace {

constexpr const char* dataset_name = "field";

// The value of `key` among `choices`, which are pairs of name and meaning.
template <class T>
T chosen(const Job& job, const std::string& key, T fallback,
         const std::map<std::string, T>& choices) {
  const std::string name = job.text(key, "");
  if (name.empty()) return fallback;
  const auto found = choices.find(name);
  if (found == choices.end()) throw std::runtime_error("job: " + key + "=" + name + " is unknown");
  return found->second;
}

Options options_of(const Job& job) {
  Options options;
  options.strategy = job.text("strategy", options.strategy);
  options.storage = job.text("storage", options.storage);
  options.writers = static_cast<int>(job.number("writers", 0));
  options.durability = chosen(
      job, "durability", options.durability,
      {{"none", Durability::none}, {"close", Durability::close}, {"step", Durability::step}});
  options.check = chosen(job, "check", options.check,
                         {{"off", Check::off}, {"volume", Check::volume}, {"full", Check::full}});
  options.checksum = job.number("checksum", options.checksum) != 0;
  options.budget_bytes = job.number("budget_mib", options.budget_bytes >> 20) << 20;
  options.stripe_bytes = job.number("stripe_kib", options.stripe_bytes >> 10) << 10;
  return options;
}

Values write_sluice(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t elements = elements_of(job);
  const auto data = world.data(elements);
  const auto rank = static_cast<std::uint64_t>(world.rank());
  const auto ranks = static_cast<std::uint64_t>(world.ranks());
  const Options options = options_of(job);
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  File file(world.comm(), path, Mode::create, options);
  const Variable field =
      file.define<double>(dataset_name, {elements * ranks}, {.steps = true, .unit = "1"});
  watch.mark("create_s");
  {
    Step step = file.begin_step({.time = 0});
    step.put(field, data.data(), {.start = {elements * rank}, .count = {elements}});
    step.end();
  }
  watch.mark("write_s");
  file.close();
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_hdf5(world, path, dataset_name, elements);
  return values;
}

Values step_sluice(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t variables = job.number("variables");
  const std::uint64_t steps = job.number("steps") + job.number("warm_up");
  const std::uint64_t elements = job.number("elements");
  const auto data = world.data(elements);
  const auto rank = static_cast<std::uint64_t>(world.rank());
  const auto ranks = static_cast<std::uint64_t>(world.ranks());
  start_afresh(world, path);

  File file(world.comm(), path, Mode::create, options_of(job));
  std::vector<Variable> fields;
  for (std::uint64_t v = 0; v < variables; ++v) {
    fields.push_back(
        file.define<double>("field" + std::to_string(v), {elements * ranks}, {.steps = true}));
  }
  const Selection mine{.start = {elements * rank}, .count = {elements}};
  StepTimes times(world.comm(), job.number("warm_up"), job.number("pause_ms", 0));
  double put_s = 0;
  for (std::uint64_t s = 0; s < steps; ++s) {
    times.time([&] {
      const double start_s = MPI_Wtime();
      Step step = file.begin_step({.time = static_cast<double>(s)});
      for (const Variable field : fields) step.put(field, data.data(), mine);
      put_s += MPI_Wtime() - start_s;
      step.end();
    });
  }
  file.close();
  if (job.number("verify", 0)) verify_hdf5(world, path, "field0", elements);
  Values values = times.finish();
  // The local half of a step; the rest is end(). Mean of the slowest rank.
  MPI_Allreduce(MPI_IN_PLACE, &put_s, 1, MPI_DOUBLE, MPI_MAX, world.comm());
  values.emplace_back("put_s", put_s / static_cast<double>(steps));
  return values;
}

/// A file for each snapshot: opened, written, durable and closed.
Values snapshot_sluice(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t files = job.number("steps") + job.number("warm_up");
  const std::uint64_t elements = job.number("elements");
  const auto data = world.data(elements);
  const auto rank = static_cast<std::uint64_t>(world.rank());
  const std::uint64_t all = elements * static_cast<std::uint64_t>(world.ranks());
  StepTimes times(world.comm(), job.number("warm_up"));
  for (std::uint64_t f = 0; f < files; ++f) {
    start_afresh(world, path);
    times.time([&] {
      File file(world.comm(), path, Mode::create, options_of(job));
      Step step = file.begin_step({.time = 0});
      for (std::uint64_t v = 0; v < job.number("variables"); ++v) {
        step.put(file.define<double>("field" + std::to_string(v), {all}, {.steps = true}),
                 data.data(), {.start = {elements * rank}, .count = {elements}});
      }
      step.end();
      file.close();
    });
  }
  if (job.number("verify", 0)) verify_hdf5(world, path, "field0", elements);
  return times.finish();
}

/// Of every bucket of steps: the median time, and the mean growth of the file in bytes.
Values history_of(const std::vector<double>& seconds, const std::vector<std::uint64_t>& sizes,
                  std::size_t bucket) {
  Values values;
  for (std::size_t i = 0; (i + 1) * bucket <= seconds.size(); ++i) {
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(i * bucket);
    std::vector<double> part(first, first + static_cast<std::ptrdiff_t>(bucket));
    std::nth_element(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(bucket / 2),
                     part.end());
    const std::string number = std::to_string(i);
    values.emplace_back("median" + number + "_s", part[bucket / 2]);
    values.emplace_back("bytes" + number,
                        static_cast<double>(sizes[i + 1] - sizes[i]) / static_cast<double>(bucket));
  }
  return values;
}

Values history_sluice(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t steps = job.number("steps");
  const std::uint64_t bucket = job.number("bucket");
  const std::uint64_t elements = job.number("elements");
  const auto data = world.data(elements);
  const auto rank = static_cast<std::uint64_t>(world.rank());
  start_afresh(world, path);

  File file(world.comm(), path, Mode::create, options_of(job));
  std::vector<Variable> fields;
  for (std::uint64_t v = 0; v < job.number("variables"); ++v) {
    fields.push_back(file.define<double>("field" + std::to_string(v),
                                         {elements * static_cast<std::uint64_t>(world.ranks())},
                                         {.steps = true}));
  }
  StepTimes times(world.comm(), 1);  // the first step makes the file
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t s = 0; s <= steps; ++s) {
    times.time([&] {
      Step step = file.begin_step({.time = static_cast<double>(s)});
      for (const Variable field : fields) {
        step.put(field, data.data(), {.start = {elements * rank}, .count = {elements}});
      }
      step.end();
    });
    if (s % bucket == 0) sizes.push_back(std::filesystem::file_size(path));
  }
  file.close();
  if (job.number("verify", 0)) verify_hdf5(world, path, "field0", elements);
  return history_of(times.seconds(), sizes, bucket);
}

}  // namespace

void add_sluice(Contestants& contestants) {
  contestants["write/sluice"] = write_sluice;
  contestants["vampire/sluice"] = write_sluice;
  contestants["step/sluice"] = step_sluice;
  contestants["step/snapshot-sluice"] = snapshot_sluice;
  contestants["history/sluice"] = history_sluice;
}

}  // namespace sluice::bench
