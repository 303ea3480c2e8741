// Shared by the benchmark programs: ranks, jobs read from stdin, timing, the test pattern.
//
// A program holds contestants and runs jobs. Rank 0 reads one job a line from stdin,
//   <contestant> TAB key=value TAB key=value ...
// all ranks execute it, and rank 0 answers with one line of JSON on stdout. Between jobs the ranks
// sleep, so that a waiting program does not disturb the one being measured.
//
// Invariants: times run from a barrier, and a mark is passed when the last rank passes it. Nothing
// but the contestant's own work happens between the barrier and the last mark. Every element of
// the pattern differs from every other of the file, so that no displaced block goes unnoticed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mpi.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

/// Direct I/O needs offsets, lengths and addresses that are multiples of this.
constexpr std::size_t page_bytes = 4096;

/// One measurement: its parameters as they were on the line.
class Job {
 public:
  Job() = default;
  /// Throws std::runtime_error on a line that is not of the form above.
  explicit Job(const std::string& line);

  const std::string& contestant() const { return contestant_; }
  /// The value of a key; without `fallback`, a missing key throws std::runtime_error.
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  std::uint64_t number(const std::string& key) const;
  std::uint64_t number(const std::string& key, std::uint64_t fallback) const;

 private:
  std::string contestant_;
  std::map<std::string, std::string> values_;
};

/// Doubles a rank, as `elements` says, else as many as `mib` MiB hold.
std::uint64_t elements_of(const Job& job);

/// The results of a job: names, with the unit at their end, and figures.
using Values = std::vector<std::pair<std::string, double>>;

/// The ranks of this program and the memory that they write from.
class World {
 public:
  explicit World(MPI_Comm comm);

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// `elements` doubles of this rank's pattern, page-aligned; kept and used again from job to job.
  std::span<const double> data(std::uint64_t elements);

 private:
  struct Free {
    void operator()(double* memory) const;
  };
  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  std::unique_ptr<double[], Free> memory_;
  std::uint64_t elements_ = 0;
};

/// The pattern: element `index` of what `rank` writes.
double pattern(int rank, std::uint64_t index);

/// Seconds since a barrier. Constructor and finish() are collective.
class Stopwatch {
 public:
  explicit Stopwatch(MPI_Comm comm);
  /// Notes the time on this rank. Local; every rank makes the same marks.
  void mark(const std::string& name);
  /// The marks, each at the time when the last rank passed it (on every rank).
  Values finish();

 private:
  MPI_Comm comm_;
  double start_s_;
  Values marks_;
};

/// Reads `count` elements that `writer` wrote, from its element `first` on.
using ReadSample =
    std::function<void(int writer, std::uint64_t first, std::uint64_t count, double* out)>;

/// Compares samples (the ends and places spread over the whole) of what the next rank wrote
/// (`elements` a rank) with the pattern. Throws std::runtime_error that names the first difference.
void verify(const World& world, std::uint64_t elements, const ReadSample& read);

/// Rank 0 removes `path`, a file or a folder (with its parts, if they exist), and waits until the
/// file system has settled; then all continue. Not part of any time.
void start_afresh(const World& world, const std::string& path);

/// Throws std::runtime_error `what: path: text of errno`.
[[noreturn]] void fail(const std::string& what, const std::string& path);

/// Throws if an MPI call failed.
void check_mpi(int status, const char* call, const std::string& path);

/// fsync of a file by its path. Local.
void sync_file(const std::string& path);
/// The file is on the disk, and its pages leave the cache. Local.
void settle_file(const std::string& path);

using Run = std::function<Values(World&, const Job&)>;
using Contestants = std::map<std::string, Run>;

/// The whole of main(): runs jobs until stdin ends. With `--list` it prints the contestants' names
/// and leaves MPI alone. A job that fails ends the program: one line on stderr, exit code 1.
int serve(int argc, char** argv, const Contestants& contestants);

}  // namespace sluice::bench
