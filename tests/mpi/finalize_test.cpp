// Files that are still open at MPI_Finalize: each is reported, committed data is in it, and
// destroying it afterwards makes no MPI call.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mpi.h>
#include <optional>
#include <sluice/checkpoint.hpp>
#include <sluice/session.hpp>
#include <sluice/sluice.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "api/file/file_impl.hpp"
#include "exec/transport/at_finalize.hpp"
#include "exec/transport/solo_transport.hpp"

namespace {

using namespace sluice;  // NOLINT: a program of its own

constexpr std::uint64_t width = 1000;
int g_failures = 0;
int g_rank = 0;
std::vector<std::string> g_messages;

void expect(bool is_right, const std::string& what) {
  if (!is_right) {
    ++g_failures;
    std::fprintf(stderr, "[rank %d] FAILED: %s\n", g_rank, what.c_str());
  }
}

/// A file that the program forgets to close.
struct Left {
  std::string path;
  const char* message;  ///< part of the expected message; null: there is none
  std::uint64_t steps;  ///< that are in it afterwards
  std::optional<File> file = {};
  std::optional<Step> step = {};
  int speakers = 1;  ///< ranks below this one have the message
};

class Program {
 public:
  explicit Program(std::string folder) : folder_(std::move(folder)) {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    mine_.assign(width, g_rank);
  }

  void leave_open(const std::string& strategy, const std::string& storage, const char* format) {
    Left& left =
        add(strategy + storage + format, "was still open at MPI_Finalize, where it was", 2);
    write(left, strategy, storage, format);
  }

  void leave_in_a_step() {
    Left& left = add("in_a_step", "was still open at MPI_Finalize: what was put since", 2);
    write(left, "shared", "posix", "hdf5");
    left.step.emplace(left.file->begin_step());
    std::vector<double> gone(width, -1);  // its memory ends before MPI_Finalize
    put(*left.step, left.file->find("v"), gone);
  }

  /// One rank only has put something that is not committed.
  void leave_a_put() {
    Left& left = add("a_put", "was still open at MPI_Finalize: what was put since", 2);
    write(left, "collective", "posix", "hdf5");
    const Variable fixed = left.file->define<double>("fixed", {width});
    if (g_rank == ranks_ - 1) {
      left.file->put(fixed, mine_.data());
    }
  }

  /// One rank does not have it any more when the others come to MPI_Finalize.
  void leave_dropped() {
    if (ranks_ == 1) {
      return;
    }
    Left& left = add("dropped", "was still open at MPI_Finalize, and is not closed: ", 0);
    left.speakers = 2;
    Options options;
    options.timeout_s = 1;
    options.durability = Durability::none;
    auto impl = std::make_unique<detail::FileImpl>(MPI_COMM_WORLD, left.path, Mode::write, options);
    detail::FileImpl& known = *impl;
    left.file.emplace(std::move(impl));
    left.file->define<double>("v", {width});
    left.file->flush();
    if (g_rank == ranks_ - 1) {
      known.drop();
    }
  }

  void leave_reading() {
    Left& left = add("read", nullptr, 2);
    write(left, "shared", "posix", "hdf5");
    left.file->close();
    left.file.emplace(MPI_COMM_WORLD, left.path, Mode::read);
  }

  void leave_closed() {
    Left& left = add("closed", nullptr, 2);
    write(left, "shared", "posix", "hdf5");
    left.file->close();
  }

  void leave_sessions() {
    sessions_.emplace(MPI_COMM_WORLD, folder_ + "/sessions.bin", Mode::write);
    if (g_rank == 0) {
      sessions_->start(0, 1 << 20);
    }
  }

  void check() {
    for (Left& left : left_) {
      if (left.file) {
        try {
          left.file->flush();
          expect(false, left.path + ": flush worked after MPI_Finalize");
        } catch (const Error& error) {
          expect(error.code() == Code::wrong_state, error.what());
        }
      }
      left.step.reset();
      left.file.reset();
      check_message(left);
      if (g_rank == 0) {
        const File in(std::make_unique<detail::FileImpl>(exec::make_solo(), left.path, Mode::read,
                                                         Options{}));
        expect(in.steps() == left.steps, left.path + ": " + std::to_string(in.steps()) + " steps");
        expect(!std::filesystem::exists(left.path + ".sluice-lease"), left.path + ": has a lease");
      }
    }
    try {
      sessions_->poll();
      expect(false, "sessions polled after MPI_Finalize");
    } catch (const Error& error) {
      expect(error.code() == Code::wrong_state, error.what());
    }
    sessions_.reset();
    const auto of_sessions = std::count_if(
        g_messages.begin(), g_messages.end(),
        [](const std::string& text) { return text.find("sessions.bin") != std::string::npos; });
    expect(of_sessions == 1, "messages of sessions: " + std::to_string(of_sessions));
  }

 private:
  Left& add(const std::string& name, const char* message, std::uint64_t steps) {
    return left_.emplace_back(Left{folder_ + "/" + name, message, steps});
  }

  void put(Step& step, Variable v, const std::vector<double>& values) const {
    step.put(v, values.data(),
             {.start = {static_cast<std::uint64_t>(g_rank), 0}, .count = {1, width}});
  }

  void write(Left& left, const std::string& strategy, const std::string& storage,
             const std::string& format) const {
    Options options;
    options.strategy = strategy;
    options.storage = storage;
    options.format = format;
    options.log = Log::automatic;
    left.file.emplace(MPI_COMM_WORLD, left.path, Mode::write, options);
    const Variable v = left.file->define<double>("v", {static_cast<std::uint64_t>(ranks_), width},
                                                 {.steps = true});
    for (int s = 0; s < 2; ++s) {
      Step step = left.file->begin_step();
      put(step, v, mine_);
      step.end();
    }
  }

  void check_message(const Left& left) const {
    const bool is_due = left.message != nullptr && g_rank < left.speakers;
    int found = 0;
    for (const std::string& text : g_messages) {
      const bool is_of_it = text.find(left.path + ":") != std::string::npos &&
                            text.find("MPI_Finalize") != std::string::npos;
      found += is_of_it ? 1 : 0;
      expect(!is_of_it || (is_due && text.find(left.message) != std::string::npos), text);
    }
    expect(found == (is_due ? 1 : 0), left.path + ": messages: " + std::to_string(found));
  }

  std::string folder_;
  int ranks_ = 1;
  std::vector<double> mine_;
  std::vector<Left> left_;
  std::optional<SessionFile> sessions_;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  set_message_handler([](const std::string& text) { g_messages.push_back(text); });
  int id = static_cast<int>(getpid());
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sluice-finalize-" + std::to_string(id));
  std::filesystem::create_directories(folder);
  {
    Program program(folder);
    for (const char* strategy : {"shared", "collective", "serial", "forward", "file-per-process"}) {
      program.leave_open(strategy, "posix", "hdf5");
    }
    program.leave_open("shared", "mpiio", "hdf5");
    program.leave_open("forward", "posix", "zarr");
    program.leave_in_a_step();
    program.leave_a_put();
    program.leave_dropped();
    program.leave_reading();
    program.leave_closed();
    program.leave_sessions();
    Checkpoint closed(MPI_COMM_WORLD, (folder / "closed.h5").string());
    closed.close();
    // Threads may open files in another order on each rank; here one does.
    std::string order;
    std::optional<exec::AtFinalize> first;
    std::optional<exec::AtFinalize> second;
    const bool is_even = g_rank % 2 == 0;
    const auto register_one = [&](const char* path) { return [&order, path] { order += path; }; };
    first.emplace(is_even ? "y" : "x", register_one(is_even ? "y" : "x"));
    second.emplace(is_even ? "x" : "y", register_one(is_even ? "x" : "y"));
    MPI_Finalize();
    expect(order == "xy", "closed in the order " + order);
    program.check();
  }
  if (g_rank == 0) {
    std::filesystem::remove_all(folder);
  }
  return g_failures == 0 ? 0 : 1;
}
