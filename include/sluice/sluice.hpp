// Sluice for C++: parallel arrays of an MPI simulation in plain HDF5.
//
//   sluice::File out(comm, "spins.h5", sluice::Mode::write);
//   auto spins = out.define<double>("spins", {atoms, 3}, {.steps = true, .unit = "1"});
//   for (...) {
//     auto step = out.begin_step({.time = t});
//     step.put(spins, mine, {.start = {first, 0}, .count = {n, 3}});
//     step.end();                                    // the caller's buffers are free again
//   }
//   out.close();
//
// Conventions. Dimensions are in C order, slowest first. "Collective" means that every rank of the
// file's communicator must call it, in the same order; everything else is local. Memory handed to
// put() belongs to Sluice until the step's end() (outside a step: flush() or close()) returns.
// Failures throw sluice::Error; what one rank meets in a collective is thrown on every rank. A File
// and its steps are used by one thread of a rank at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sluice/comm.hpp"
#include "sluice/error.hpp"
#include "sluice/fill.hpp"
#include "sluice/options.hpp"
#include "sluice/types.hpp"

namespace sluice {

namespace detail {
class FileImpl;
}
namespace commit {
class PendingCommit;
}

/// Where messages go (option `log`, SLUICE_EXPLAIN), each a line without its end: to `handler`, or,
/// where that is empty, to stderr, as at the start. One for the whole process. It is called on rank
/// 0 of a file, by the thread that uses the file, within calls and destructors; what it throws is
/// swallowed, and the message goes to stderr. Local.
void set_message_handler(std::function<void(const std::string&)> handler);

enum class Mode : std::uint8_t {
  read,
  write,   ///< built under a temporary name; replaces an old file at the first commit
  create,  ///< as write, but Error exists where the file is there already
  append,  ///< adds steps and variables to a file that is there
};

using Shape = std::vector<std::uint64_t>;

/// The value of an attribute.
using Value = std::variant<bool, std::int32_t, std::int64_t, float, double, std::string,
                           std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<float>,
                           std::vector<double>, std::vector<std::string>>;

struct VariableOptions {
  bool steps = false;     ///< a value for every step: the file's leading dimension is unlimited
  std::string unit = {};  ///< attribute `units`
  std::string description = {};  ///< attribute `long_name`
  bool partial = false;          ///< steps may leave elements out; they read as `fill`
  Fill fill = {};                ///< for partial variables
  /// Names of the dimensions, without the step. One of a 1-D variable's own name makes it the
  /// coordinates of that dimension.
  std::vector<std::string> dimensions = {};
  Shape chunk = {};  ///< tile of the file in elements; empty: chosen from the first step
  /// Each step has its own number of rows (elements of the first dimension): Step::resize. The
  /// shape given to define() is the most. With steps only.
  bool varying = false;
  /// "deflate:1" to "deflate:12", "zstd:1" to "zstd:19" (readers then need HDF5's zstd plugin),
  /// "none"; empty: as the file's option `compress` says. Bytes of elements are shuffled before,
  /// unless it ends in "+noshuffle". Lossless; hdf5 (stacked) and netcdf4 only.
  std::string compress = {};
};

/// Which part of a variable, and where it stands in memory.
struct Selection {
  Shape start = {};             ///< empty: zeros
  Shape count = {};             ///< empty: up to the end of the shape
  Shape memory_shape = {};      ///< the whole array in memory (ghost cells); empty: count
  Shape memory_start = {};      ///< where the block begins in it; empty: zeros
  bool allow_overflow = false;  ///< narrowing conversions may lose values
};

struct StepOptions {
  double time = std::numeric_limits<double>::quiet_NaN();  ///< stored in dataset `time`
};

/// A handle, valid as long as its File.
class Variable {
 public:
  Variable() = default;
  explicit Variable(std::uint32_t index) : index_(index) {}
  std::uint32_t index() const noexcept { return index_; }

 private:
  std::uint32_t index_ = std::numeric_limits<std::uint32_t>::max();
};

/// What is known of a variable.
struct VariableInfo {
  std::string name;
  Type type;
  Shape shape;  ///< without the step dimension
  bool steps = false;
  bool partial = false;
  Fill fill = {};  ///< of the variable's type
  bool varying = false;
  std::vector<std::string> dimensions =
      {};  ///< names, without the step; empty where there are none
};

/// The receipt of a step. Copies share one state. With strategy forward the step may still be on
/// its way when its end() returns; then a ticket is asked by the thread that uses the file.
class Ticket {
 public:
  Ticket() = default;
  Ticket(std::uint64_t step, bool durable, bool skipped = false)
      : step_(step), durable_(durable), skipped_(skipped) {}
  Ticket(std::uint64_t step, std::shared_ptr<commit::PendingCommit> pending)
      : step_(step), pending_(std::move(pending)) {}
  std::uint64_t step() const noexcept { return step_; }
  /// Does the step survive kill -9, a node's loss, a power cut?
  bool durable() const;
  /// Was it left out (OnError::skip_step)? The file is as before, the next step gets its number.
  bool skipped() const noexcept { return skipped_; }
  /// Returns when durable() will not change any more; throws the Error of a step that failed on its
  /// way. Local; between nodes the other ranks must call into the library meanwhile (File::poll).
  /// Error timeout after Options::timeout_s.
  void wait() const;

 private:
  std::uint64_t step_ = 0;
  bool durable_ = false;
  bool skipped_ = false;
  std::shared_ptr<commit::PendingCommit> pending_;
};

/// One step under way. Destroying it without end() leaves the step out: the other ranks' end()
/// fails instead of hanging. While an exception unwinds that is all; otherwise it is taken for a
/// mistake, and the file's close() fails on every rank, after it has closed the file.
class Step {
 public:
  Step(Step&& other) noexcept;
  Step& operator=(Step&&) = delete;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step();

  /// This rank's part of a variable; any number of times, zero-size parts too, none at all. Local.
  /// data: row-major, of Selection.count elements (or memory_shape). Must not change before end().
  template <class T>
  void put(Variable variable, const T* data, const Selection& selection = {}) {
    put_raw(variable, data, type_of<T>(), selection);
  }
  void put_raw(Variable variable, const void* data, Type type, const Selection& selection);

  /// One element, which is copied: step.put_value(energy, e, {i}). Elements that follow one another
  /// in the variable are joined; ten million of them are no burden. Local, without allocation.
  template <class T>
  void put_value(Variable variable, const T& value, std::initializer_list<std::uint64_t> at) {
    put_value_raw(variable, &value, type_of<T>(), at.begin(), at.size());
  }
  void put_value_raw(Variable variable, const void* value, Type type, const std::uint64_t* at,
                     std::size_t rank);

  /// Rows by global index: row i of `data` (all dimensions but the first, row-major) goes to row
  /// ids[i]. Rows may come from any rank in any order; each exactly once, unless the variable is
  /// partial: then missing rows read as fill. Local; ids and data must not change before end().
  template <class T>
  void put_rows(Variable variable, const std::uint64_t* ids, std::uint64_t rows, const T* data) {
    put_rows_raw(variable, ids, rows, data, type_of<T>());
  }
  void put_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                    const void* data, Type type);

  /// How many rows a varying variable has in this step, before anything of it is put; without the
  /// call it has as many as its shape says. Local, but every rank must say the same: Error
  /// divergent at the end otherwise. Error out_of_bounds above the shape.
  void resize(Variable variable, std::uint64_t rows);

  /// Writes and commits the step. Collective. On failure every rank throws the same Error, and
  /// the file holds the steps before this one. With strategy forward it returns when the caller's
  /// buffers are free; what the step meets later is thrown by its ticket's wait(), and on every
  /// rank by the next collective call, after which the file holds the steps before the failed one.
  Ticket end();
  /// Instead of end() where this rank cannot go on with the step: every rank's end() fails with
  /// `why`, and the file holds the steps before this one. Collective with the other ranks' end().
  void abandon(const std::string& why = {});

 private:
  friend class File;
  explicit Step(detail::FileImpl* file);
  detail::FileImpl& open_file(const char* call) const;

  detail::FileImpl* file_;    ///< nullptr: ended, or moved from
  std::weak_ptr<void> life_;  ///< of *file_
  int exceptions_;            ///< under way when the step began
};

/// An open file. Closing is collective; the destructor closes, and reports what fails to stderr.
/// One that is still open at MPI_Finalize is closed there, without what was put since its last
/// commit, and reported. Every call on a File that was moved from is Error wrong_state.
/// While an exception unwinds it commits nothing more, but every step that has ended is kept, also
/// those of strategy forward that are still on their way (it waits for them, at most timeout_s).
class File {
 public:
  /// Collective over `comm`, which is duplicated.
  File(const Comm& comm, const std::string& path, Mode mode, const Options& options = {});
  explicit File(std::unique_ptr<detail::FileImpl> impl);
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  ~File();

  // -- describing (collective in the sense that every rank says the same in the same order; no
  //    communication until the next commit, which compares) -------------------------------------
  /// A variable of file type T. `/` in the name makes groups.
  template <class T>
  Variable define(const std::string& name, const Shape& shape,
                  const VariableOptions& options = {}) {
    return define_raw(name, type_of<T>(), shape, options);
  }
  Variable define_raw(const std::string& name, Type type, const Shape& shape,
                      const VariableOptions& options);
  /// An attribute of the file (owner ""), a group or a variable (owner: its name), or of the times
  /// of the steps (owner "time": their `units`).
  void set_attribute(const std::string& owner, const std::string& name, const Value& value);

  // -- writing ----------------------------------------------------------------------------------
  Step begin_step(const StepOptions& options = {});
  /// A fixed variable (not of steps), outside any step; committed by flush(), the next step or
  /// close(). Otherwise as Step::put.
  template <class T>
  void put(Variable variable, const T* data, const Selection& selection = {}) {
    put_raw(variable, data, type_of<T>(), selection);
  }
  void put_raw(Variable variable, const void* data, Type type, const Selection& selection);
  template <class T>
  void put_value(Variable variable, const T& value, std::initializer_list<std::uint64_t> at) {
    put_value_raw(variable, &value, type_of<T>(), at.begin(), at.size());
  }
  void put_value_raw(Variable variable, const void* value, Type type, const std::uint64_t* at,
                     std::size_t rank);
  template <class T>
  void put_rows(Variable variable, const std::uint64_t* ids, std::uint64_t rows, const T* data) {
    put_rows_raw(variable, ids, rows, data, type_of<T>());
  }
  void put_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                    const void* data, Type type);
  /// Commits what was put outside steps. Collective.
  Ticket flush();
  /// Strategy forward: moves on what is on its way between nodes, without waiting. Within a node it
  /// moves by itself. Local, cheap; nothing for other strategies.
  void poll();
  /// Waits until every step that has ended is there for good, at most so many seconds; true if all
  /// are. For a job that is about to be killed: what is not there then is lost, nothing else.
  /// Local; between nodes every rank calls it. Throws what a step met on its way. Not in a signal
  /// handler.
  bool drain(double seconds);
  /// Commits, and closes. Collective. A second close is Error wrong_state.
  void close();

  // -- what is there (variables also while writing) -----------------------------------------------
  std::uint64_t steps() const;  ///< committed ones
  /// The time given to begin_step, NaN where none was.
  double time(std::uint64_t step) const;
  std::vector<VariableInfo> variables() const;
  Variable find(const std::string& name) const;  ///< Error not_found
  VariableInfo info(Variable variable) const;
  /// The shape of one step: info().shape but for varying variables, which may have fewer rows.
  Shape shape(Variable variable, std::uint64_t step) const;

  // -- reading (a file opened with Mode::read) ----------------------------------------------------
  bool has_attribute(const std::string& owner, const std::string& name) const;
  Value attribute(const std::string& owner, const std::string& name) const;
  /// Names of the attributes of the file (owner ""), a group or a variable, in the file's order.
  std::vector<std::string> attribute_names(const std::string& owner) const;
  /// Looks again at a file that another program is still writing: its newest steps, variables and
  /// attributes. Variables stay valid; Error changed_outside where one of them is gone or another
  /// one, and the old state stays. Collective.
  void refresh();
  /// The newest step of which every value can be read and matches its checksum, where there is one
  /// (they are checked whatever Options::checksum says); nothing where no step does. For programs
  /// that go on from it: Options::restart_after. Reads one step, more only if that is damaged.
  /// Collective.
  std::optional<std::uint64_t> latest_good();

  /// Reads a selection (each rank its own; count 0 is fine) of one step (ignored for fixed
  /// variables) into `data`, converted to T. Collective.
  template <class T>
  void get(Variable variable, T* data, const Selection& selection = {}, std::uint64_t step = 0) {
    get_raw(variable, data, type_of<T>(), selection, step);
  }
  void get_raw(Variable variable, void* data, Type type, const Selection& selection,
               std::uint64_t step);
  /// Notes a get() for perform_gets(): `data` stays the caller's, must live until then, and holds
  /// nothing before. Throws what is wrong with it; perform_gets() then fails on every rank. Local.
  template <class T>
  void defer_get(Variable variable, T* data, const Selection& selection = {},
                 std::uint64_t step = 0) {
    defer_get_raw(variable, data, type_of<T>(), selection, step);
  }
  void defer_get_raw(Variable variable, void* data, Type type, const Selection& selection,
                     std::uint64_t step);
  /// Reads all that was deferred. The ranks wait for each other as often as in one get(), so
  /// several variables come faster than one after the other. Every rank has deferred the same
  /// variables and steps in the same order (Error divergent), each its own selections. Collective.
  void perform_gets();
  /// Reads rows by global index, each rank its own ids, repeats allowed. Collective.
  template <class T>
  void get_rows(Variable variable, const std::uint64_t* ids, std::uint64_t rows, T* data,
                std::uint64_t step = 0) {
    get_rows_raw(variable, ids, rows, data, type_of<T>(), step);
  }
  void get_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows, void* data,
                    Type type, std::uint64_t step);

 private:
  detail::FileImpl& impl() const;

  std::unique_ptr<detail::FileImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
