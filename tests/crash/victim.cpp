// The program that the kill test kills: under mpirun, adds steps to a file until it is stopped.
//
//   victim FILE STRATEGY SEED KILL_CALL PID_FOLDER
//
// Values of step k depend on k alone. Rank 0 prints `opened N`; after each end() `begun K`; and,
// once the step is durable, `step K`. SLUICE_VICTIM_TIMEOUT_S: the limit of a collective wait.
// SLUICE_VICTIM_STEPS: how many to add. SLUICE_VICTIM_VARIABLES: how many more variables than
// `density` have its values (v1, v2, ...). SLUICE_VICTIM_PAUSE_MS: between two steps.
// SLUICE_VICTIM_SYNC_MS: how much longer a sync takes, so that steps of forward are on their way.
// SLUICE_VICTIM_WAIT: 1: every rank waits for the ticket of each step.
// SLUICE_VICTIM_RANKS_PER_NODE: how many ranks a node is said to have. SLUICE_VICTIM_FORMAT,
// SLUICE_VICTIM_KEEP, SLUICE_VICTIM_SPLIT: options of the file (split: steps). Every rank leaves
// its process number in PID_FOLDER. KILL_CALL > 0: the rank SEED % size kills itself at its
// KILL_CALL-th storage call, in front of it or behind it.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mpi.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "api/file/file_impl.hpp"
#include "commit/read/input.hpp"
#include "crash/victim_values.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "storage/forwarding.hpp"

namespace sluice::test {
namespace {

/// Kills its process at the Nth call of all its Files and of itself.
class KillingStorage final : public storage::Storage {
 public:
  KillingStorage(std::shared_ptr<storage::Storage> inner, long at, bool before, double sync_ms)
      : inner_(std::move(inner)), at_(at), before_(before), sync_ms_(sync_ms) {}

  void delay_sync() const {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(sync_ms_));
  }

  template <class Call>
  auto pass(Call&& call) {
    const long number = ++calls_;
    if (number == at_ && before_) {
      ::kill(::getpid(), SIGKILL);
    }
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      die_behind(number);
    } else {
      auto result = call();
      die_behind(number);
      return result;
    }
  }

  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override;
  bool exists(const std::string& path) override {
    return pass([&] { return inner_->exists(path); });
  }
  void rename(const std::string& from, const std::string& to) override {
    pass([&] { inner_->rename(from, to); });
  }
  void remove(const std::string& path) override {
    pass([&] { inner_->remove(path); });
  }
  void remove_folder(const std::string& path) override {
    pass([&] { inner_->remove_folder(path); });
  }
  void make_folder(const std::string& path) override {
    pass([&] { inner_->make_folder(path); });
  }
  void sync_directory(const std::string& path) override {
    pass([&] { inner_->sync_directory(path); });
  }
  std::unique_ptr<storage::Lease> lease(const std::string& path) override {
    return inner_->lease(path);
  }
  bool in_background() const override { return inner_->in_background(); }
  const char* name() const override { return "killing"; }

 private:
  void die_behind(long number) {
    if (number == at_ && !before_) {
      ::kill(::getpid(), SIGKILL);
    }
  }

  const std::shared_ptr<storage::Storage> inner_;
  const long at_;
  const bool before_;
  const double sync_ms_;
  std::atomic<long> calls_ = 0;
};

class KillingFile final : public storage::ForwardingFile {
 public:
  KillingFile(std::unique_ptr<storage::File> file, KillingStorage& owner)
      : ForwardingFile(std::move(file)), owner_(owner) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    owner_.pass([&] { inner().write(offset, bytes); });
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    owner_.pass([&] { inner().preallocate(offset, length); });
  }
  void sync() override {
    owner_.delay_sync();
    owner_.pass([&] { inner().sync(); });
  }
  void resize(std::uint64_t bytes) override {
    owner_.pass([&] { inner().resize(bytes); });
  }

 private:
  KillingStorage& owner_;
};

std::unique_ptr<storage::File> KillingStorage::open(const std::string& path,
                                                    storage::Access access) {
  return std::make_unique<KillingFile>(pass([&] { return inner_->open(path, access); }), *this);
}

double told(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

/// The number of the next step; in a file of the last steps only, it is derived from the times.
std::uint64_t next_number(const commit::Input& in, const Options& options) {
  const std::uint64_t steps = in.steps();
  const bool is_counted = options.keep_last == 0 || steps == 0;
  return is_counted ? steps : static_cast<std::uint64_t>(in.time(steps - 1)) + 1;
}

Options options_of(const char* strategy, double deadline_s) {
  Options options;
  options.strategy = strategy;
  options.timeout_s = deadline_s;
  options.ranks_per_node = static_cast<int>(told("SLUICE_VICTIM_RANKS_PER_NODE", 0));
  options.keep_last = static_cast<std::uint64_t>(told("SLUICE_VICTIM_KEEP", 0));
  options.split_steps = static_cast<std::uint64_t>(told("SLUICE_VICTIM_SPLIT", 0));
  if (const char* format = std::getenv("SLUICE_VICTIM_FORMAT")) {
    options.format = format;
  }
  return options;
}

/// A line for the parent, at once.
void say(const char* word, std::uint64_t number) {
  std::printf("%s %lu\n", word, static_cast<unsigned long>(number));
  std::fflush(stdout);
}

/// Puts this rank's rows of step `number` of all variables, and ends it.
Ticket write_step(File& out, const std::vector<Variable>& variables, std::uint64_t number,
                  std::uint64_t first, std::uint64_t count, bool has_times) {
  std::vector<double> own(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    own[i] = victim_value(number, first + i);
  }
  StepOptions about;
  if (has_times) {
    about.time = static_cast<double>(number);
  }
  Step step = out.begin_step(about);
  for (const Variable v : variables) {
    step.put<double>(v, own.data(), {.start = {first}, .count = {count}});
  }
  return step.end();
}

int run(char** arguments) {
  const std::string path = arguments[1];
  const auto seed = std::strtoul(arguments[3], nullptr, 10);
  const long kill_call = std::strtol(arguments[4], nullptr, 10);
  const double deadline_s = told("SLUICE_VICTIM_TIMEOUT_S", 30);
  const auto transport = exec::make_mpi(MPI_COMM_WORLD, deadline_s);
  const int rank = transport->rank();
  std::ofstream(std::string(arguments[5]) + "/" + std::to_string(rank)) << ::getpid() << std::endl;
  std::shared_ptr<storage::Storage> storage = storage::make_posix();
  const bool is_chosen = static_cast<int>(seed % static_cast<unsigned>(transport->size())) == rank;
  storage = std::make_shared<KillingStorage>(storage, is_chosen ? kill_call : 0, seed / 4 % 2 == 0,
                                             told("SLUICE_VICTIM_SYNC_MS", 0));
  const Options options = options_of(arguments[2], deadline_s);
  std::vector<std::byte> there(1);
  if (rank == 0) {
    there[0] = std::byte{is_victim_there(*storage, path)};
  }
  transport->broadcast(there, 0);
  const bool is_there = there[0] != std::byte{0};
  std::uint64_t step_number = 0;
  if (is_there) {
    step_number = next_number(commit::Input(*transport, *storage, path, options), options);
  }
  File out(
      detail::open_on(*transport, storage, path, is_there ? Mode::append : Mode::write, options));
  std::vector<Variable> variables{out.define<double>("density", {victim_rows}, {.steps = true})};
  for (int more = static_cast<int>(told("SLUICE_VICTIM_VARIABLES", 0)); more > 0; --more) {
    variables.push_back(
        out.define<double>("v" + std::to_string(more), {victim_rows}, {.steps = true}));
  }
  if (rank == 0) {
    say("opened", step_number);
  }
  const auto ranks = static_cast<std::uint64_t>(transport->size());
  const std::uint64_t first = victim_rows * static_cast<std::uint64_t>(rank) / ranks;
  const std::uint64_t count = victim_rows * static_cast<std::uint64_t>(rank + 1) / ranks - first;
  const std::uint64_t most_steps =
      step_number + static_cast<std::uint64_t>(told("SLUICE_VICTIM_STEPS", 400));
  const std::chrono::duration<double, std::milli> pause(told("SLUICE_VICTIM_PAUSE_MS", 0));
  const bool waits = told("SLUICE_VICTIM_WAIT", 0) != 0;
  std::uint64_t acknowledged = step_number;
  std::deque<Ticket> under_way;  // more than one with strategy forward
  for (; step_number < most_steps; ++step_number) {
    // npy holds no times.
    under_way.push_back(
        write_step(out, variables, step_number, first, count, options.format != "npy"));
    if (rank == 0) {
      say("begun", step_number);  // not the ticket's: dropped steps are not counted there
    }
    if (waits) {
      under_way.back().wait();
    }
    for (; rank == 0 && !under_way.empty() && under_way.front().durable(); under_way.pop_front()) {
      say("step", acknowledged++);
    }
    std::this_thread::sleep_for(pause);
  }
  out.close();
  return 0;
}

}  // namespace
}  // namespace sluice::test

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int result = 1;
  try {
    result = count == 6 ? sluice::test::run(arguments) : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "victim: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return result;
}
