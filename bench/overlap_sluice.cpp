// Sluice in the case overlap.
#include "hdf5_check.hpp"
#include "overlap.hpp"
#include "sluice/sluice.hpp"

namespace sluice::bench {
namespace {

class SluiceOutput final : public Background {
 public:
  SluiceOutput(World& world, const Job& job, std::uint64_t elements)
      : world_(world),
        elements_(elements),
        file_(world.comm(), job.text("path"), Mode::create, options_of(job)),
        field_(file_.define<double>("field", {elements * static_cast<std::uint64_t>(world.ranks())},
                                    {.steps = true})) {}

  void begin(std::span<const double> data) override {
    Step step = file_.begin_step({.time = time_++});
    const auto rank = static_cast<std::uint64_t>(world_.rank());
    step.put(field_, data.data(), {.start = {elements_ * rank}, .count = {elements_}});
    ticket_ = step.end();
  }
  void progress() override { file_.poll(); }
  bool is_durable() override { return ticket_.durable(); }
  void finish() override { ticket_.wait(); }
  void close() { file_.close(); }

 private:
  static Options options_of(const Job& job) {
    Options options;
    options.strategy = job.text("strategy", "forward");
    options.storage = job.text("storage", options.storage);
    options.writers = static_cast<int>(job.number("writers", 0));
    options.ranks_per_node = static_cast<int>(job.number("ranks_per_node", 0));
    options.checksum = job.number("checksum", options.checksum) != 0;
    options.budget_bytes = job.number("budget_mib", options.budget_bytes >> 20) << 20;
    options.durability = Durability::step;
    options.log = Log::off;
    options.compress = job.text("compress", options.compress);
    options.coalesce = job.number("coalesce", 1) != 0;
    options.coalesce_bytes = job.number("coalesce_bytes", 0);
    return options;
  }

  World& world_;
  std::uint64_t elements_;
  File file_;
  Variable field_;
  Ticket ticket_;
  double time_ = 0;
};

Values overlap_sluice(World& world, const Job& job) {
  start_afresh(world, job.text("path"));
  const std::uint64_t elements = job.number("mib") * (1 << 20) / sizeof(double);
  SluiceOutput output(world, job, elements);
  Values values = run_overlap(world, job, output);
  output.close();
  if (job.number("verify")) verify_hdf5(world, job.text("path"), "field", elements);
  return values;
}

}  // namespace

void add_overlap_sluice(Contestants& contestants) {
  contestants["overlap/sluice"] = overlap_sluice;
}

}  // namespace sluice::bench
