// The environment of a behaviour: one cell of (strategy x storage x ranks x layout), on virtual or
// on real ranks.
//
// A behaviour is written once, with SLUICE_BEHAVIOUR, and registered as one test for each cell. The
// linked file defines the cells: local_cells.cpp (virtual ranks in one process) or mpi_cells.cpp
// (under mpirun, where every rank runs the body of every test).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <sluice/sluice.hpp>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "layout/formats/formats.hpp"
#include "storage/storage.hpp"

namespace sluice::test {

struct Cell {
  std::string strategy;         ///< a name of docs/strategies.md
  std::string storage;          ///< memory | posix | direct | mpiio
  int ranks = 1;                ///< 0: as many as mpirun started
  std::string layout = "hdf5";  ///< name of a format: layout::formats()
  /// A variant of zarr: chunks are the blocks of the ranks, however small.
  bool is_rectilinear = false;
  /// As test_name() makes one.
  std::string name() const;
  /// Options for opening in the cell's layout, unless the behaviour asks for one itself.
  Options in_layout(Mode mode, Options options) const;
};

/// Opens files for one rank, on the cell's strategy and storage.
class Rank {
 public:
  using Opener = std::function<File(const std::string&, Mode, const Options&)>;
  Rank(exec::Transport& transport, std::string strategy, Opener opener)
      : transport_(transport), strategy_(std::move(strategy)), opener_(std::move(opener)) {}

  int rank() const { return transport_.rank(); }
  int ranks() const { return transport_.size(); }
  bool is(int which) const { return rank() == which % ranks(); }
  exec::Transport& transport() { return transport_; }
  /// Options for most behaviours: fast (nothing is synced), with a short deadline.
  Options options() const;
  File open(const std::string& path, Mode mode) { return open(path, mode, options()); }
  File open(const std::string& path, Mode mode, const Options& options) {
    return opener_(path, mode, options);
  }

 private:
  exec::Transport& transport_;
  std::string strategy_;
  Opener opener_;
};

/// The error of a rank.
struct Caught {
  Code code = Code::ok;
  std::string text;
  int rank = -1;  ///< as the Error names it
};

class World {
 public:
  using Body = std::function<void(Rank&)>;
  virtual ~World() = default;

  int ranks() const { return cell().ranks; }
  /// Another number of ranks, for reading back what ranks() wrote.
  int other_ranks() const;
  /// Runs `body` on `ranks` ranks (0: all of the cell) and returns when all have returned.
  virtual void run(const Body& body, int ranks = 0) = 0;
  /// The same, but catches each rank's Error: one entry a rank, known on every real rank.
  virtual std::vector<Caught> run_catching(const Body& body, int ranks = 0) = 0;
  /// Runs `work` once, on one real rank, while the others wait.
  virtual void once(const std::function<void()>& work) = 0;

  virtual const Cell& cell() const = 0;

  // -- what the cell's layout can hold ---------------------------------------------------------
  const layout::Format& format() const { return layout::format_named(cell().layout); }
  /// The file of a variable among others: `path`, or one beside it if a file holds one variable.
  std::string path_of(const std::string& path, const std::string& variable) const {
    return format().many ? path : path + "." + variable;
  }
  /// The requested durability if the layout leaves a choice.
  Shape chunk(const Shape& wish) const { return format().tiled ? wish : Shape{}; }
  /// Are the times of steps a variable of the file?
  bool has_time_variable() const { return cell().layout == "hdf5" || cell().layout == "netcdf4"; }
  /// The number of variables of `in`, except that one.
  std::size_t count_variables(const File& in) const;
  /// Guarantees that the layout can give.
  std::vector<Durability> durabilities() const;
  /// Does the strategy write a set of parts beside the file?
  bool has_parts() const { return cell().strategy.rfind("file-per-", 0) == 0; }

  /// Was anything refused with Error unsupported, on this process?
  bool has_refused() const { return has_refused_; }
  /// The storage under the files, for reading them from outside.
  virtual storage::Storage& storage() = 0;
  /// A path for a file of that name in a folder of this test's own.
  virtual std::string path(const std::string& name) const = 0;

  bool exists(const std::string& path) { return storage().exists(path); }
  /// The files that hold the data of what was written as `path`: itself, its parts, or the objects
  /// of the variable v in a store.
  std::vector<std::string> data_files(const std::string& path);
  std::vector<std::byte> bytes_of(const std::string& path);
  void put_bytes(const std::string& path, const std::vector<std::byte>& bytes);

 protected:
  void note(const Error& error) {
    has_refused_ = has_refused_ || error.code() == Code::unsupported;
  }

 private:
  std::atomic<bool> has_refused_ = false;
};

/// Every rank got `code`, with one text that contains each of `parts`; failures are reported.
void expect_same_error(const std::vector<Caught>& caught, Code code,
                       const std::vector<std::string>& parts = {});

using BehaviourBody = void (*)(World&);
/// Registers the behaviour as a test of every cell; called before main by SLUICE_BEHAVIOUR.
bool register_behaviour(const char* group, const char* name, const char* file, int line,
                        BehaviourBody body);

/// For a program that runs the suite over its own formats and strategies: adds them, once. Null if
/// a program has none.
[[gnu::weak]] void register_additions();

/// Runs a behaviour in its cell: normally; or, if the layout is declared not to support it
/// (unsupported.cpp), expecting that it is refused.
void run_behaviour(World& world, const std::string& behaviour, BehaviourBody body);

/// SLUICE_LONG=1: many more cases.
bool is_long();
/// `quick` of them, `sanitized` under the sanitizers (many times slower), `many` in long runs.
int case_count(int quick, int sanitized, int many);

#define SLUICE_BEHAVIOUR(group, name)                                                        \
  static void group##_##name(::sluice::test::World& world);                                  \
  static const bool group##_##name##_is_registered =                                         \
      ::sluice::test::register_behaviour(#group, #name, __FILE__, __LINE__, group##_##name); \
  static void group##_##name(::sluice::test::World& world)

}  // namespace sluice::test
