// ADIOS2's engine BP5 as a peer of the strategies, of cold reads and of output beside computing.
// Its file is a folder. `aggregation`: AggregationType, where it is not the engine's own choice.
#include <adios2.h>
#include <filesystem>
#include <utility>

#include "cold.hpp"
#include "contestants.hpp"
#include "overlap.hpp"
#include "partition.hpp"

namespace sluice::bench {
namespace {

template <class Call>
void for_each_file(const std::string& folder, Call&& call) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.file_size() > 0) call(entry.path().string());
  }
}

/// Every file of the engine, and its folder. Collective.
void sync_all(const World& world, const std::string& folder) {
  MPI_Barrier(world.comm());
  if (world.rank() == 0) {
    for_each_file(folder, sync_file);
    sync_file(folder);
  }
  MPI_Barrier(world.comm());
}

adios2::Dims dims(const std::array<std::uint64_t, 3>& of) { return {of.begin(), of.end()}; }

/// One field in a file, and what is set of the engine.
class Bp5 {
 public:
  Bp5(const World& world, const Job& job, std::string path)
      : path_(std::move(path)), adios_(world.comm()), io_(adios_.DeclareIO("bench")) {
    io_.SetEngine("BP5");
    if (const std::string type = job.text("aggregation", ""); !type.empty()) {
      io_.SetParameter("AggregationType", type);
    }
    if (job.number("async", 0) != 0) io_.SetParameter("AsyncWrite", "On");
  }
  void define(const Part& part) {
    field_ = io_.DefineVariable<double>("field", dims(part.shape), dims(part.start),
                                        dims(part.count), adios2::ConstantDims);
  }
  void create() { engine_ = io_.Open(path_, adios2::Mode::Write); }
  /// One step. Returns when the engine needs `data` no more.
  void write(std::span<const double> data) {
    engine_.BeginStep();
    engine_.Put(field_, data.data(), adios2::Mode::Deferred);
    engine_.EndStep();
  }
  void open() { engine_ = io_.Open(path_, adios2::Mode::ReadRandomAccess); }
  void read(const Part& part, double* into) {
    auto field = io_.InquireVariable<double>("field");
    field.SetSelection({dims(part.start), dims(part.count)});
    engine_.Get(field, into, adios2::Mode::Sync);
  }
  void close() { engine_.Close(); }

 private:
  const std::string path_;
  adios2::ADIOS adios_;
  adios2::IO io_;
  adios2::Variable<double> field_;
  adios2::Engine engine_;
};

void verify_bp5(const World& world, const Job& job, const std::string& path,
                const std::string& pattern) {
  const std::uint64_t mib = job.number("mib");
  const Part part = part_of(pattern, world.rank(), world.ranks(), mib);
  Bp5 file(world, job, path);
  file.open();
  verify_rows(world, pattern, mib, [&](const auto& start, std::uint64_t count, double* out) {
    file.read({part.shape, start, {1, 1, count}}, out);
  });
  file.close();
}

Values write_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::string pattern = job.text("pattern");
  const Part part = part_of(pattern, world.rank(), world.ranks(), job.number("mib"));
  const auto data = world.data(part.elements());
  start_afresh(world, path);
  Bp5 file(world, job, path);
  file.define(part);

  Stopwatch watch(world.comm());
  file.create();
  watch.mark("create_s");
  file.write(data);
  watch.mark("write_s");
  file.close();
  watch.mark("close_s");
  sync_all(world, path);
  watch.mark("sync_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_bp5(world, job, path, pattern);
  return values;
}

Values read_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t mib = job.number("mib");
  const Part slab = part_of("contiguous", world.rank(), world.ranks(), mib);
  start_afresh(world, path);
  {
    Bp5 file(world, job, path);
    file.define(slab);
    file.create();
    file.write(world.data(slab.elements()));
    file.close();
  }
  MPI_Barrier(world.comm());
  for_each_file(path, [&](const std::string& name) { make_cold(world, name); });
  const Part part = part_to_read(world, job.text("pattern"), mib);
  std::vector<double> values(part.elements());
  Bp5 file(world, job, path);

  Stopwatch watch(world.comm());
  file.open();
  watch.mark("open_s");
  file.read(part, values.data());
  watch.mark("read_s");
  const Values marks = watch.finish();
  file.close();
  check_read(world, part, mib, values);
  return marks;
}

/// A file a step: what was written is known to be in a file when that was closed.
class Bp5Output final : public Background {
 public:
  Bp5Output(World& world, const Job& job)
      : world_(world),
        job_(job),
        part_(part_of("contiguous", world.rank(), world.ranks(), job.number("mib"))) {}

  void begin(std::span<const double> data) override {
    path_ = job_.text("path") + "/" + std::to_string(steps_++) + ".bp";
    file_ = std::make_unique<Bp5>(world_, job_, path_);
    file_->define(part_);
    file_->create();
    file_->write(data);
  }
  void finish() override {
    file_->close();
    sync_all(world_, path_);
  }
  /// Of the last file.
  const std::string& path() const { return path_; }

 private:
  World& world_;
  const Job& job_;
  const Part part_;
  std::string path_;
  int steps_ = 0;
  std::unique_ptr<Bp5> file_;
};

Values overlap_bp5(World& world, const Job& job) {
  const std::string path = job.text("path");
  start_afresh(world, path);
  if (world.rank() == 0) std::filesystem::create_directory(path);
  MPI_Barrier(world.comm());
  Bp5Output output(world, job);
  Values values = run_overlap(world, job, output);
  if (job.number("verify")) verify_bp5(world, job, output.path(), "contiguous");
  return values;
}

}  // namespace

void add_adios2(Contestants& contestants) {
  contestants["strategies/adios2-bp5"] = write_field;
  contestants["read/adios2-bp5"] = read_field;
  contestants["overlap/adios2-bp5"] = overlap_bp5;
}

}  // namespace sluice::bench
