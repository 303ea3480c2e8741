// Sluice in the case checkpoint.
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <time.h>
#include <unistd.h>

#include "checkpoint.hpp"
#include "sluice/checkpoint.hpp"
#include "timing.hpp"

namespace sluice::bench {
namespace {

constexpr const char* field_name = "field";

/// The doubles from `first` to `end` of the whole.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t count() const { return end - first; }
};

Share share_of(std::uint64_t total, int rank, int ranks) {
  const auto at = [&](int r) {
    return total * static_cast<std::uint64_t>(r) / static_cast<std::uint64_t>(ranks);
  };
  return {at(rank), at(rank + 1)};
}

CheckpointOptions options_of(const Job& job) {
  CheckpointOptions options;
  options.keep = job.number("keep", 2);
  options.scratch = job.text("scratch", "");
  options.signals = false;
  options.incremental = job.number("incremental", 0) != 0;
  options.file.strategy = job.text("strategy", "auto");
  options.file.storage = job.text("storage", options.file.storage);
  options.file.checksum = job.number("checksum", options.file.checksum) != 0;
  options.file.log = Log::off;
  return options;
}

/// A state of one array and the number of the step.
class State {
 public:
  State(const Comm& comm, const Job& job, std::uint64_t total, Share mine, double* data)
      : checkpoint_(comm, job.text("path"), options_of(job)) {
    checkpoint_.array(field_name, data, {total}, {.start = {mine.first}, .count = {mine.count()}});
    checkpoint_.value("step", step_);
  }
  Checkpoint& checkpoint() { return checkpoint_; }
  void save() {
    const Saved saved = checkpoint_.save(static_cast<double>(++step_));
    if (!saved) throw std::runtime_error("checkpoint: " + saved.why);
  }

 private:
  Checkpoint checkpoint_;
  std::int64_t step_ = 0;
};

/// The pattern may only be read; save() does no more.
double* unchanged(std::span<const double> data) { return const_cast<double*>(data.data()); }

class SluiceSaves final : public Background {
 public:
  SluiceSaves(World& world, const Job& job)
      : state_(world.comm(), job, total_of(world, job),
               share_of(total_of(world, job), world.rank(), world.ranks()),
               unchanged(world.data(elements_of(job)))) {}
  void begin(std::span<const double> data) override {
    (void)data;  // it is registered
    state_.save();
  }
  void finish() override {
    if (!state_.checkpoint().drain(1e6)) throw std::runtime_error("checkpoint: not drained");
  }
  void close() { state_.checkpoint().close(); }

  static std::uint64_t total_of(const World& world, const Job& job) {
    return elements_of(job) * static_cast<std::uint64_t>(world.ranks());
  }

 private:
  State state_;
};

void check_values(const World& world, std::uint64_t elements, Share mine,
                  std::span<const double> values) {
  for (std::uint64_t i = 0; i < mine.count(); i += 997) {
    const std::uint64_t element = mine.first + i;
    const double wanted = pattern(static_cast<int>(element / elements), element % elements);
    if (values[i] != wanted) {
      throw std::runtime_error("checkpoint: rank " + std::to_string(world.rank()) +
                               " restored a wrong value");
    }
  }
}

/// The first `ranks` ranks, and what they do while the others sleep: a rank that waits in a call of
/// MPI would take a core from them.
class Restarting {
 public:
  Restarting(World& world, int ranks)
      : world_(world), ranks_(ranks), takes_part_(world.rank() < ranks) {
    MPI_Comm_split(world.comm(), takes_part_ ? 0 : MPI_UNDEFINED, world.rank(), &comm_);
  }
  ~Restarting() {
    if (takes_part_) MPI_Comm_free(&comm_);
  }
  Restarting(const Restarting&) = delete;
  Restarting& operator=(const Restarting&) = delete;

  MPI_Comm comm() const { return comm_; }
  Share share(std::uint64_t total) const {
    return takes_part_ ? share_of(total, world_.rank(), ranks_) : Share{};
  }
  /// Seconds on the slowest of them, on every rank.
  template <class Body>
  double time(Body&& body) const {
    double seconds = takes_part_ ? Timing(comm_)(body) : 0;
    MPI_Request done = MPI_REQUEST_NULL;
    MPI_Ibarrier(world_.comm(), &done);
    for (int is_done = 0; is_done == 0;) {
      constexpr timespec moment{0, 1'000'000};
      MPI_Test(&done, &is_done, MPI_STATUS_IGNORE);
      if (is_done == 0) nanosleep(&moment, nullptr);
    }
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, world_.comm());
    return seconds;
  }

 private:
  World& world_;
  int ranks_;
  bool takes_part_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// The file that holds the bytes: the one part of the checkpoint.
std::string part_of_checkpoint(const std::string& path) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(path + ".parts")) {
    if (!found.empty()) throw std::runtime_error(path + ": has more than one part");
    found = entry.path().string();
  }
  return found;
}

/// As many bytes as the state has, each rank its share of the file, by requests of 4 MiB.
void read_bare(const std::string& path, Share mine, double* to) {
  constexpr std::size_t request_bytes = 4 << 20;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  const std::size_t bytes = mine.count() * sizeof(double);
  auto* place = reinterpret_cast<char*>(to);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = pread(descriptor, place + done, std::min(request_bytes, bytes - done),
                              static_cast<off_t>(mine.first * sizeof(double) + done));
    if (got <= 0) fail("pread", path);
    done += static_cast<std::size_t>(got);
  }
  close(descriptor);
}

Values restart(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t elements = elements_of(job);
  const std::uint64_t total = SluiceSaves::total_of(world, job);
  start_afresh(world, path);
  {
    State state(world.comm(), job, total, share_of(total, world.rank(), world.ranks()),
                unchanged(world.data(elements)));
    state.save();
    state.checkpoint().close();
  }
  const Restarting some(world, static_cast<int>(job.number("to")));
  const Share mine = some.share(total);
  std::vector<double> values(mine.count(), 1.0);
  const std::string part = part_of_checkpoint(path);
  const bool cold = job.number("cold") != 0;
  const auto prepare = [&] {
    if (cold && world.rank() == 0) {
      settle_file(part);
      settle_file(path);
    }
  };
  std::vector<double> restores;
  std::vector<double> bares;
  std::vector<double> of_bare;
  for (std::uint64_t i = 0; i <= job.number("rereads"); ++i) {
    prepare();
    const double bare_s = some.time([&] { read_bare(part, mine, values.data()); });
    std::fill(values.begin(), values.end(), 1.0);
    prepare();
    const double restore_s = some.time([&] {
      State state(some.comm(), job, total, mine, values.data());
      if (!state.checkpoint().restore()) throw std::runtime_error("checkpoint: none was restored");
    });
    check_values(world, elements, mine, values);
    if (i == 0) continue;  // it makes memory, and in a warm job warms the cache
    bares.push_back(bare_s);
    restores.push_back(restore_s);
    of_bare.push_back(bare_s / restore_s);
  }
  return {{"restore_s", median(restores)},
          {"bare_s", median(bares)},
          {"restore_of_bare", median(of_bare)}};
}

/// The newest checkpoint, read back from the disk by as many ranks as saved it.
void verify_checkpoint(World& world, const Job& job) {
  const std::uint64_t total = SluiceSaves::total_of(world, job);
  const Share mine = share_of(total, world.rank(), world.ranks());
  std::vector<double> values(mine.count());
  State state(world.comm(), job, total, mine, values.data());
  const Restored restored = state.checkpoint().restore();
  if (restored.number != job.number("saves") + 1) {
    throw std::runtime_error("checkpoint: the newest is not there");
  }
  check_values(world, elements_of(job), mine, values);
}

/// A state of ten arrays, of which some change between two saves.
class PartlyChanging {
 public:
  static constexpr std::uint64_t arrays = 10;

  PartlyChanging(World& world, const Job& job)
      : each_(elements_of(job) / arrays), values_(each_ * arrays) {
    const auto data = world.data(elements_of(job));
    std::copy_n(data.begin(), values_.size(), values_.begin());
    const auto rank = static_cast<std::uint64_t>(world.rank());
    for (std::uint64_t a = 0; a < arrays; ++a) {
      state_.emplace_back("field" + std::to_string(a), &values_[a * each_]);
    }
    shape_ = {each_ * static_cast<std::uint64_t>(world.ranks())};
    mine_ = {.start = {each_ * rank}, .count = {each_}};
  }
  void add_to(Checkpoint& checkpoint) {
    for (const auto& [name, data] : state_) {
      checkpoint.array(name, data, shape_, mine_);
    }
  }
  void change(std::uint64_t percent) {
    const std::uint64_t end = values_.size() / 100 * percent;
    for (std::uint64_t i = 0; i < end; ++i) values_[i] += 1;
  }
  std::vector<double>& values() { return values_; }

 private:
  std::uint64_t each_;
  std::vector<double> values_;
  std::vector<std::pair<std::string, double*>> state_;
  Shape shape_;
  Selection mine_;
};

Values save_partly(World& world, const Job& job) {
  constexpr std::uint64_t unshared_saves = 2;  // before anything can be left out
  start_afresh(world, job.text("path"));
  const Timing timed(world.comm());
  PartlyChanging state(world, job);
  std::vector<double> visible;
  std::vector<double> durable;
  {
    Checkpoint checkpoint(world.comm(), job.text("path"), options_of(job));
    state.add_to(checkpoint);
    for (std::uint64_t i = 0; i < unshared_saves + job.number("saves") + 1; ++i) {
      state.change(job.number("changes"));
      const double visible_s = timed([&] {
        const Saved saved = checkpoint.save(static_cast<double>(i));
        if (!saved) throw std::runtime_error("checkpoint: " + saved.why);
      });
      const double left_s = timed([&] { checkpoint.drain(1e6); });
      if (i <= unshared_saves) continue;
      visible.push_back(visible_s);
      durable.push_back(visible_s + left_s);
    }
    checkpoint.close();
  }
  if (job.number("verify")) {
    const std::vector<double> saved = state.values();
    std::fill(state.values().begin(), state.values().end(), -1.0);
    Checkpoint checkpoint(world.comm(), job.text("path"), options_of(job));
    state.add_to(checkpoint);
    if (!checkpoint.restore() || state.values() != saved) {
      throw std::runtime_error("checkpoint: other values were restored");
    }
  }
  return {{"visible_s", median(visible)}, {"durable_s", median(durable)}};
}

Values save_sluice(World& world, const Job& job) {
  start_afresh(world, job.text("path"));
  SluiceSaves saves(world, job);
  Values values = run_saves(world, job, saves);
  saves.close();
  if (job.number("verify")) verify_checkpoint(world, job);
  return values;
}

}  // namespace

void add_checkpoint(Contestants& contestants) {
  contestants["checkpoint/sluice"] = save_sluice;
  contestants["checkpoint/partly"] = save_partly;
  contestants["checkpoint/restart"] = restart;
}

}  // namespace sluice::bench
