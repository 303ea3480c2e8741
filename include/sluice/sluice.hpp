/// @file
/// Sluice for C++: parallel arrays of an MPI simulation in plain HDF5, netCDF-4, Zarr and VTKHDF
/// files.
///
///     sluice::File out(comm, "spins.h5", sluice::Mode::write);
///     auto spins = out.define<double>("spins", {atoms, 3}, {.steps = true, .unit = "1"});
///     for (...) {
///       auto step = out.begin_step({.time = t});
///       step.put(spins, mine, {.start = {first, 0}, .count = {n, 3}});
///       step.end();                                    // the caller's buffers are free again
///     }
///     out.close();
///
/// **Dimensions** are in C order, slowest first. Indices count elements from 0. The dimension of
/// the steps is never part of a shape.
///
/// **Collective** calls are made by every rank of the file's communicator, in the same order.
/// **Alike** means that every rank makes the same call; nothing is exchanged until the next
/// collective call, which compares. Every other call is **local**. The values of attributes (units
/// and descriptions, too) and the times of steps are not compared, so that a rank's clock may be in
/// them: those of rank 0 are stored.
///
/// **Ownership.** Data given to put() and put_rows() is not copied: it belongs to Sluice until
/// Step::end() returns, outside a step until File::flush() or File::close() returns, whether the
/// call fails or not. put_value(), names and options are copied.
///
/// **Memory** is given by a pointer, or as something that knows its size: a vector, an array or a
/// span (concepts SizedMemory, SizedRoom to read into, and SizedIds). The size is then compared
/// with what the call says. A temporary vector is refused by the compiler where it is needed later.
///
/// **Errors.** Calls that fail throw sluice::Error. An error of one rank in a collective call is
/// thrown on every rank, with the same code and text. If a local call on a file that is being
/// written fails, within a step or outside, the next commit (Step::end(), File::flush() or
/// File::close()) fails on every rank, once. Besides the codes that are listed with a call:
/// - any call may throw `wrong_state` (the File is closed or was moved from), `invalid_argument` (a
///   handle of another file, a null pointer) and `internal`;
/// - any collective call may throw `divergent` (the ranks do not make the same call), `timeout` (a
///   rank did not come), `mpi`, and the failures of other ranks.
///
/// **Threads.** A File, its steps, variables and tickets are used by one thread of a rank at a
/// time. Different files may be used by different threads where MPI was initialised with
/// MPI_THREAD_MULTIPLE.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
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

/// Sets where the library's messages go (option `log`, SLUICE_EXPLAIN). One for the whole process.
///
/// Local. The handler is called on rank 0 of a file, by the thread that uses the file, inside calls
/// and destructors. An exception that it throws is swallowed, and the message goes to stderr.
/// @param handler  gets one line without its end; empty: stderr, as at the start
void set_message_handler(std::function<void(const std::string&)> handler);

/// How a file is opened.
enum class Mode : std::uint8_t {
  read,    ///< Reads a file.
  write,   ///< Writes a file under a temporary name; it replaces an old one at the first commit.
  create,  ///< As write, but Error `exists` where the file is there already.
  append,  ///< Adds steps and variables to a file that is there.
};

/// Numbers of elements, slowest dimension first.
using Shape = std::vector<std::uint64_t>;

/// As a step that is read: the newest. See File::refresh().
inline constexpr std::uint64_t last_step = std::numeric_limits<std::uint64_t>::max();

/// The value of an attribute. Files keep its type.
using Value =
    std::variant<bool, std::int32_t, std::int64_t, float, double, std::string,
                 std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<double>, std::vector<std::string>, std::int8_t, std::int16_t,
                 std::uint8_t, std::uint16_t, std::vector<std::int8_t>, std::vector<std::int16_t>,
                 std::vector<std::uint8_t>, std::vector<std::uint16_t>>;

/// What File::define() takes beside name, type and shape.
struct VariableOptions {
  /// Whether the variable has a value for every step. The file's leading dimension is then
  /// unlimited. Default: false, one value for the whole file.
  bool steps = false;
  /// The unit, such as `m/s`; stored as attribute `units`, the name that netCDF's CF conventions,
  /// xarray and many tools use. Default: none.
  std::string unit = {};
  /// A description of the variable; stored as attribute `long_name`. Default: none.
  std::string description = {};
  /// Whether elements may be left out of a step; they read as `fill`. Default: false, a missing
  /// element is Error `hole`.
  bool partial = false;
  /// Value of elements that no rank put, which the file says (`_FillValue`). Of a variable that is
  /// not partial it says which value is missing: rounding leaves it as it is, and a missing element
  /// is an error all the same. Default: zero of a partial variable, else none.
  Fill fill = {};
  /// Names of the dimensions, without the step, as many as the shape has. A 1-D variable whose
  /// dimension has the variable's own name holds that dimension's coordinates. Default: none.
  std::vector<std::string> dimensions = {};
  /// Tile (HDF5: chunk) of the file in elements, as many numbers as the shape has. Default: empty,
  /// chosen from the first step's decomposition. Set it for a known pattern of reading.
  Shape chunk = {};
  /// Whether each step has its own number of rows (elements of the first dimension), which
  /// Step::resize() sets; the shape given to define() is the most. With `steps` only. A step takes
  /// whole chunks, which are chosen by the rows of the first step. Default: false.
  bool varying = false;
  /// `deflate:1` to `deflate:12`, `zstd:1` to `zstd:19` (readers of HDF5 then need its zstd
  /// plugin), a plugin of HDF5 (`lz4`, `zfp:accuracy=0.001`, ...; hdf5 and netcdf4 only) or `none`.
  /// Bytes of elements are shuffled first, unless it ends in `+noshuffle`. `round:N+` or
  /// `digits:N+` in front rounds floats to N bits or decimal digits. For formats hdf5 (stacked),
  /// netcdf4, vtkhdf, zarr and icechunk. Default: empty, what Options::compress says. See
  /// docs/compression.md.
  std::string compress = {};
};

/// Which part of a variable a call means, and where it lies in memory.
struct Selection {
  Shape start = {};             ///< First element of the part. Default: zeros.
  Shape count = {};             ///< Elements of the part; 0: none. Default: up to the shape's end.
  Shape memory_shape = {};      ///< The whole array in memory, with ghost cells. Default: count.
  Shape memory_start = {};      ///< Where the part begins in that array. Default: zeros.
  bool allow_overflow = false;  ///< Narrowing conversions may lose values. Default: false.
};

/// Memory of elements that knows its size, and that outlives the call: a vector, an array, a span.
/// An array of C is a pointer here: give `std::span(array)`.
template <class R>
concept SizedMemory = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && !std::is_array_v<std::remove_cvref_t<R>>;
/// SizedMemory that can be written.
template <class R>
concept SizedRoom =
    SizedMemory<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
/// SizedMemory of global indices.
template <class R>
concept SizedIds = SizedMemory<R> && std::same_as<std::ranges::range_value_t<R>, std::uint64_t>;

/// What File::begin_step() takes.
struct StepOptions {
  /// Time of the step in the simulation's unit, stored in dataset `time`; rank 0's counts. Default:
  /// NaN, none.
  double time = std::numeric_limits<double>::quiet_NaN();
};

/// A variable of one File: a plain value, valid as long as that File. Another file refuses it.
class Variable {
 public:
  /// No variable.
  Variable() = default;
  /// The variable of that number, of whatever file it is given to; for bindings of other languages.
  explicit Variable(std::uint32_t index) : index_(index) {}
  /// A variable of the file of that number; for the library.
  Variable(std::uint32_t index, std::uint32_t file) : index_(index), file_(file) {}
  /// Its number in the file, from 0 in the order of File::variables().
  std::uint32_t index() const noexcept { return index_; }
  /// The number of its file among those that this process has opened, from 1; 0: of any file.
  std::uint32_t file() const noexcept { return file_; }

 private:
  std::uint32_t index_ = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t file_ = 0;
};

/// The properties of a variable, from File::info().
struct VariableInfo {
  std::string name;      ///< Name, with `/` between groups.
  Type type;             ///< Type in the file.
  Shape shape;           ///< Shape without the step; of a varying variable the most.
  bool steps = false;    ///< Whether it has a value for every step.
  bool partial = false;  ///< Whether elements may be left out.
  Fill fill = {};        ///< Value of elements left out, of the variable's type.
  bool varying = false;  ///< Whether each step has its own number of rows: File::shape().
  std::vector<std::string> dimensions =
      {};  ///< Names of the dimensions, without the step; empty where there are none.
};

/// The receipt of a commit. Copies share one state. With strategy `forward` a step may still be on
/// its way when its end() returns; its ticket then reports when it has arrived. It is used by the
/// thread that uses the file, and may be asked after the file is closed.
class Ticket {
 public:
  /// A ticket of no step.
  Ticket() = default;
  /// A ticket of a step that is settled; for the library.
  Ticket(std::uint64_t step, bool durable, bool skipped = false)
      : step_(step), durable_(durable), skipped_(skipped) {}
  /// A ticket of a step that is on its way; for the library.
  Ticket(std::uint64_t step, std::shared_ptr<commit::PendingCommit> pending)
      : step_(step), pending_(std::move(pending)) {}
  /// Number of the step. Local.
  std::uint64_t step() const noexcept { return step_; }
  /// Whether the step survives kill -9, the loss of a node and a power cut. Local.
  bool durable() const;
  /// Whether the step was left out (OnError::skip_step). The file is then as before, and the next
  /// step gets its number. Local.
  bool skipped() const noexcept { return skipped_; }
  /// Waits until durable() will not change any more.
  ///
  /// Local. Between nodes the other ranks must call into the library meanwhile: File::poll().
  /// @throws Error the failure of the step in flight; `timeout` after Options::timeout_s.
  void wait() const;

 private:
  std::uint64_t step_ = 0;
  bool durable_ = false;
  bool skipped_ = false;
  std::shared_ptr<commit::PendingCommit> pending_;
};

/// A step that is being written, from File::begin_step() to end().
///
/// A Step that is destroyed without end() leaves the step out; the other ranks' end() fails instead
/// of waiting. Where no exception is the reason, this counts as a mistake: File::close() then
/// throws Error `wrong_state` on every rank, after it has closed the file.
class Step {
 public:
  /// Takes the step over; the other object then has none.
  Step(Step&& other) noexcept;
  Step& operator=(Step&&) = delete;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  /// Leaves the step out unless it has ended.
  ~Step();

  /// Puts this rank's part of a variable. Local; any number of times, or never.
  /// @param variable   a variable of this file
  /// @param data       row-major, of Selection::count elements (or of memory_shape); it must not
  ///                   change before end(). May be null where the part has no elements.
  /// @param selection  the part; default: the whole variable
  /// @throws Error `out_of_bounds`, `type_mismatch`, `over_budget`, `invalid_argument` (another
  ///         number of dimensions). `overlap`, `hole` and, as the values are converted there,
  ///         `overflow` (a value does not fit, unless Selection::allow_overflow) come from end().
  template <class T>
  void put(Variable variable, const T* data, const Selection& selection = {}) {
    put_raw(variable, data, type_of<T>(), selection);
  }
  /// put() of data whose type is known at run time. Local.
  void put_raw(Variable variable, const void* data, Type type, const Selection& selection);
  /// Puts the memory of a vector, an array or a span, which must have as many elements as the
  /// selection says. Local.
  ///
  ///     step.put(energy, mine, {.start = {first}});
  /// @param variable   a variable of this file
  /// @param data       as above
  /// @param selection  as above; in one dimension a start without a count means as many elements as
  ///                   `data` has
  /// @throws Error as above; `invalid_argument` also for another number of elements.
  template <SizedMemory R>
  void put(Variable variable, R&& data, const Selection& selection = {}) {
    put_sized(variable, std::ranges::data(data), std::ranges::size(data),
              type_of<std::ranges::range_value_t<R>>(), selection);
  }
  /// put() of `size` elements whose type is known at run time. Local.
  void put_sized(Variable variable, const void* data, std::uint64_t size, Type type,
                 const Selection& selection);

  /// Puts one element, which is copied. Local, without allocation. Elements that follow one another
  /// in the variable are joined, so that ten million calls are cheap.
  ///
  ///     step.put_value(energy, e, {i});
  /// @param variable  a variable of this file
  /// @param value     the element
  /// @param at        its place, one index for each dimension
  /// @throws Error as put().
  template <class T>
  void put_value(Variable variable, const T& value, std::initializer_list<std::uint64_t> at) {
    put_value_raw(variable, &value, type_of<T>(), at.begin(), at.size());
  }
  /// put_value() of a type that is known at run time; `at` has `rank` indices. Local.
  void put_value_raw(Variable variable, const void* value, Type type, const std::uint64_t* at,
                     std::size_t rank);

  /// Puts rows by global index: row i of `data` becomes row `ids[i]` of the variable. Local.
  ///
  /// Rows may come from any rank in any order. Each must come exactly once, unless the variable is
  /// partial: rows that are missing then read as fill.
  /// @param variable  a variable with at least one dimension
  /// @param ids       global indices of `rows` rows; they must not change before end()
  /// @param rows      number of rows, 0 too
  /// @param data      `rows` rows, row-major, each of all dimensions but the first; it must not
  ///                  change before end()
  /// @throws Error `type_mismatch`, `invalid_argument` (a scalar). `duplicate_row`, `missing_row`
  ///         and `out_of_bounds` come from end().
  template <class T>
  void put_rows(Variable variable, const std::uint64_t* ids, std::uint64_t rows, const T* data) {
    put_rows_raw(variable, ids, rows, data, type_of<T>());
  }
  /// put_rows() of data whose type is known at run time. Local.
  void put_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                    const void* data, Type type);
  /// Puts rows from vectors, arrays or spans, of which `data` must have the elements of the rows
  /// that `ids` names. Local.
  ///
  ///     step.put_rows(positions, ids, places);
  /// @param variable  a variable with at least one dimension
  /// @param ids       as above
  /// @param data      as above
  /// @throws Error as above; `invalid_argument` also for another number of elements.
  template <SizedIds I, SizedMemory R>
  void put_rows(Variable variable, I&& ids, R&& data) {
    put_rows_sized(variable, std::ranges::data(ids), std::ranges::size(ids),
                   std::ranges::data(data), std::ranges::size(data),
                   type_of<std::ranges::range_value_t<R>>());
  }
  /// put_rows() of `size` elements whose type is known at run time. Local.
  void put_rows_sized(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                      const void* data, std::uint64_t size, Type type);

  /// Puts this rank's rows of a varying variable behind those of the ranks before it. Local.
  ///
  /// For sizes that nobody knows beforehand: the step has as many rows as all ranks put together.
  /// Where a rank's rows begin is found in end(), without a further collective call. A rank without
  /// rows need not call it, unless no rank has any: then one must, with 0 rows. Rows of several
  /// calls follow one another.
  /// @param variable  a variable with VariableOptions::varying, of which resize() and put() are not
  ///                  called in this step
  /// @param data      `rows` rows, row-major, each of all dimensions but the first; it must not
  ///                  change before end()
  /// @param rows      number of rows, 0 too
  /// @throws Error `type_mismatch`, `invalid_argument` (not varying), `wrong_state` (after resize()
  ///         or put()), `out_of_bounds` (more than the shape). `out_of_bounds` also comes from
  ///         end(), where the ranks together have more.
  template <class T>
  void put_joined(Variable variable, const T* data, std::uint64_t rows) {
    put_joined_raw(variable, data, rows, type_of<T>());
  }
  /// put_joined() of data whose type is known at run time. Local.
  void put_joined_raw(Variable variable, const void* data, std::uint64_t rows, Type type);
  /// Puts all rows of a vector, an array or a span behind those of the ranks before it. Local.
  /// @param variable  as above
  /// @param data      as above, whole rows
  /// @throws Error as above; `invalid_argument` also where the last row is not whole.
  template <SizedMemory R>
  void put_joined(Variable variable, R&& data) {
    put_joined_sized(variable, std::ranges::data(data), std::ranges::size(data),
                     type_of<std::ranges::range_value_t<R>>());
  }
  /// put_joined() of `size` elements whose type is known at run time. Local.
  void put_joined_sized(Variable variable, const void* data, std::uint64_t size, Type type);

  /// Sets how many rows a varying variable has in this step. Alike; before the first put() of it.
  ///
  /// Without the call a step has as many rows as the variable's shape.
  /// @param variable  a variable with VariableOptions::varying
  /// @param rows      number of rows, 0 too
  /// @throws Error `out_of_bounds` (more than the shape), `invalid_argument` (not varying),
  ///         `wrong_state` (after a put). `divergent` comes from end().
  void resize(Variable variable, std::uint64_t rows);

  /// Writes and commits the step. Collective.
  ///
  /// On failure every rank throws the same Error, and the file holds the steps before this one; the
  /// next step may be tried. With strategy `forward` the call returns when the caller's buffers are
  /// free; later failures of it are thrown by Ticket::wait() and by the next collective call on
  /// every rank.
  /// @return the receipt of the step
  /// @throws Error the failure of a put() on any rank; `overlap`, `hole`, `duplicate_row`,
  ///         `missing_row`, `no_space`, `io`, `over_budget`.
  Ticket end();
  /// Ends the step without committing it, on a rank that cannot go on. Collective with the other
  /// ranks' end(), which fail with `why`; the file holds the steps before this one. What was put
  /// before the step, to variables without steps, is kept for the next commit.
  /// @param why  the reason, for the message
  /// @throws Error `timeout`, `mpi`; `wrong_state` if what was put before the step could not be
  ///         kept: put it again.
  void abandon(const std::string& why = {});

 private:
  friend class File;
  explicit Step(detail::FileImpl* file);
  detail::FileImpl& open_file(const char* call) const;

  detail::FileImpl* file_;    ///< nullptr: ended, or moved from
  std::weak_ptr<void> life_;  ///< of *file_
  int exceptions_;            ///< under way when the step began
};

/// An open file.
///
/// The destructor closes the file (collective) and reports a failure to stderr. While an exception
/// unwinds, it commits nothing more, but keeps every step that has ended; for steps of strategy
/// `forward` that are still on their way it waits, at most Options::timeout_s. Commits of the other
/// ranks then fail with Error `wrong_state`, now and later: each has to open the file anew. A file
/// that is still open at MPI_Finalize is closed and reported there; what was put since its last
/// commit is lost.
class File {
 public:
  /// Opens a file. Collective.
  /// @param comm     the ranks that use the file, an intracommunicator; it is duplicated
  /// @param path     the file, the same on every rank; copied
  /// @param mode     how it is opened
  /// @param options  how it is written and read; `sluice.toml` and the environment override them
  /// @throws Error `not_found`, `exists`, `permission`, `locked` (another process writes it),
  ///         `format`, `version`, `truncated`, `damaged`, `bad_name` (the path), `invalid_argument`
  ///         (an option), `unsupported`, `io`, `mpi`.
  File(const Comm& comm, const std::string& path, Mode mode, const Options& options = {});
  /// A File over an open implementation; for the library.
  explicit File(std::unique_ptr<detail::FileImpl> impl);
  /// Takes the file over; every call on the other object is then Error `wrong_state`.
  File(File&&) noexcept;
  /// Closes this file and takes the other over.
  File& operator=(File&&) noexcept;
  /// Closes the file: see above. Collective.
  ~File();

  /// @name Describing what is written
  /// @{

  /// Defines a variable of file type T. Alike.
  ///
  /// The same definition again gives the same variable. What it leaves out (unit, description,
  /// dimensions, chunk, compress) is then as before. A variable of an appended file keeps its unit,
  /// description, chunk and compress, whatever is given; how it rounds is compared.
  /// @param name     name in the file; `/` makes groups; copied
  /// @param shape    elements in each dimension without the step; at most 8 dimensions, with
  ///                 VariableOptions::steps 7; empty: a scalar
  /// @param options  steps, unit, dimensions, ...
  /// @return the variable
  /// @throws Error `exists` (with another type, shape or option), `bad_name`, `invalid_argument`
  ///         (fill, chunk, dimensions), `unsupported` (by the format).
  template <class T>
  Variable define(const std::string& name, const Shape& shape,
                  const VariableOptions& options = {}) {
    return define_raw(name, type_of<T>(), shape, options);
  }
  /// define() of a type that is known at run time, also of strings. Alike.
  Variable define_raw(const std::string& name, Type type, const Shape& shape,
                      const VariableOptions& options);
  /// Sets an attribute, which the next commit writes. Alike.
  /// @param owner  `""`: the file; a group; a variable; `"time"`: the times of the steps
  /// @param name   name of the attribute; copied
  /// @param value  its value, of one type on every rank; rank 0's is stored; copied
  /// @throws Error `bad_name`, `unsupported` (by the format).
  void set_attribute(const std::string& owner, const std::string& name, const Value& value);

  /// @}
  /// @name Writing
  /// @{

  /// Begins a step. Local. Only one step is open at a time.
  /// @param options  the step's time
  /// @return the step; end it with Step::end()
  /// @throws Error `wrong_state` (the step before has not ended), `unsupported` (the format stores
  ///         no times).
  [[nodiscard]] Step begin_step(const StepOptions& options = {});
  /// Puts this rank's part of a variable without steps. Local; inside or outside a step.
  ///
  /// flush(), the next step's end or close() commits it; `data` must not change before. Otherwise
  /// as Step::put().
  template <class T>
  void put(Variable variable, const T* data, const Selection& selection = {}) {
    put_raw(variable, data, type_of<T>(), selection);
  }
  /// put() of data whose type is known at run time. Local.
  void put_raw(Variable variable, const void* data, Type type, const Selection& selection);
  /// Puts the memory of a vector, an array or a span: Step::put(). Local.
  template <SizedMemory R>
  void put(Variable variable, R&& data, const Selection& selection = {}) {
    put_sized(variable, std::ranges::data(data), std::ranges::size(data),
              type_of<std::ranges::range_value_t<R>>(), selection);
  }
  /// put() of `size` elements whose type is known at run time. Local.
  void put_sized(Variable variable, const void* data, std::uint64_t size, Type type,
                 const Selection& selection);
  /// Puts one element of a variable without steps: Step::put_value(). Local.
  template <class T>
  void put_value(Variable variable, const T& value, std::initializer_list<std::uint64_t> at) {
    put_value_raw(variable, &value, type_of<T>(), at.begin(), at.size());
  }
  /// put_value() of a type that is known at run time; `at` has `rank` indices. Local.
  void put_value_raw(Variable variable, const void* value, Type type, const std::uint64_t* at,
                     std::size_t rank);
  /// Puts rows of a variable without steps by global index: Step::put_rows(). Local.
  template <class T>
  void put_rows(Variable variable, const std::uint64_t* ids, std::uint64_t rows, const T* data) {
    put_rows_raw(variable, ids, rows, data, type_of<T>());
  }
  /// put_rows() of data whose type is known at run time. Local.
  void put_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                    const void* data, Type type);
  /// Puts rows from vectors, arrays or spans: Step::put_rows(). Local.
  template <SizedIds I, SizedMemory R>
  void put_rows(Variable variable, I&& ids, R&& data) {
    put_rows_sized(variable, std::ranges::data(ids), std::ranges::size(ids),
                   std::ranges::data(data), std::ranges::size(data),
                   type_of<std::ranges::range_value_t<R>>());
  }
  /// put_rows() of `size` elements whose type is known at run time. Local.
  void put_rows_sized(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                      const void* data, std::uint64_t size, Type type);
  /// Commits what was defined and put outside steps. Collective.
  /// @return the receipt
  /// @throws Error as Step::end(); `wrong_state` inside a step.
  Ticket flush();
  /// Moves on what is on its way between nodes, without waiting. Local and cheap.
  ///
  /// For strategy `forward`; call it now and then in long computations. Within a node data moves by
  /// itself. With other strategies it does nothing.
  void poll();
  /// Waits until every step that has ended is on disk, at most `seconds`. Local; between nodes
  /// every rank calls it.
  ///
  /// For a job that is about to be killed: steps that are on disk survive, later ones are lost. Not
  /// for signal handlers.
  /// @param seconds  the longest wait
  /// @return whether all steps are on disk
  /// @throws Error the failure of a step in flight.
  bool drain(double seconds);
  /// Commits what is not committed, and closes. Collective. A close that fails closes too.
  /// @throws Error as Step::end(); `wrong_state` inside a step, after a step that was destroyed
  ///         without end(), or where the file is closed already.
  void close();

  /// @}
  /// @name What is in the file
  /// @{

  /// Number of committed steps. Local; reading and writing.
  std::uint64_t steps() const;
  /// Time of a step as begin_step() got it, NaN where none was given. Local; reading.
  /// @throws Error `out_of_bounds`.
  double time(std::uint64_t step = last_step) const;
  /// All variables, as they were defined (reading: as docs/formats.md says). Local; both modes.
  std::vector<VariableInfo> variables() const;
  /// The variable of that name. Local; reading and writing.
  /// @throws Error `not_found`, which names the variables that there are.
  Variable find(const std::string& name) const;
  /// What is known of a variable. Local; reading and writing.
  VariableInfo info(Variable variable) const;
  /// Shape of one step, without the step dimension. Local; reading.
  ///
  /// It is info().shape, but for varying variables, which may have fewer rows.
  /// @throws Error `out_of_bounds` (no such step).
  Shape shape(Variable variable, std::uint64_t step = last_step) const;

  /// @}
  /// @name Reading
  /// Of a file opened with Mode::read.
  /// @{

  /// Whether there is such an attribute; owner as in set_attribute(). Local.
  bool has_attribute(const std::string& owner, const std::string& name) const;
  /// The value of an attribute; owner as in set_attribute(). Local.
  /// @throws Error `not_found`.
  Value attribute(const std::string& owner, const std::string& name) const;
  /// Names of all attributes of an owner, in the file's order. Local.
  std::vector<std::string> attribute_names(const std::string& owner) const;
  /// Looks again at a file that another program is writing: newer steps, variables and attributes
  /// become visible. Collective.
  ///
  /// Variables stay valid. On failure the old state stays.
  /// @throws Error `changed_outside` (a variable is gone, or is another one), and as File().
  void refresh();
  /// The newest step of which every value can be read and matches its checksum. Collective.
  ///
  /// For programs that continue from it: Options::restart_after. Checksums are checked whatever
  /// Options::checksum says. The call reads one step, and earlier ones only where that is damaged.
  /// @return the step; nothing where no step is good
  std::optional<std::uint64_t> latest_good();

  /// Reads a part of one step, converted to T. Collective; each rank reads its own part.
  /// @param variable   a variable of this file, the same on every rank
  /// @param data       room for the part, row-major; the caller's
  /// @param selection  the part, a count of 0 too; default: the whole variable
  /// @param step       the step, the same on every rank; default: the newest; ignored for variables
  ///                   without steps
  /// @throws Error `out_of_bounds`, `type_mismatch`, `overflow` (a value does not fit, unless
  ///         Selection::allow_overflow), `damaged`, `truncated`, `changed_outside`, `io`,
  ///         `unsupported` (a filter that is not known).
  template <class T>
  void get(Variable variable, T* data, const Selection& selection = {},
           std::uint64_t step = last_step) {
    get_raw(variable, data, type_of<T>(), selection, step);
  }
  /// get() into memory whose type is known at run time. Collective.
  void get_raw(Variable variable, void* data, Type type, const Selection& selection,
               std::uint64_t step);
  /// Reads into a vector, an array or a span, which must have as many elements as the selection
  /// says. Collective; each rank reads its own part.
  ///
  ///     in.get(energy, mine, {.start = {first}});
  /// @param variable   as above
  /// @param data       as above
  /// @param selection  as above; in one dimension a start without a count means as many elements as
  ///                   `data` has
  /// @param step       as above
  /// @throws Error as above; `invalid_argument` (another number of elements).
  template <SizedRoom R>
  void get(Variable variable, R&& data, const Selection& selection = {},
           std::uint64_t step = last_step) {
    get_sized(variable, std::ranges::data(data), std::ranges::size(data),
              type_of<std::ranges::range_value_t<R>>(), selection, step);
  }
  /// get() into room for `size` elements whose type is known at run time. Collective.
  void get_sized(Variable variable, void* data, std::uint64_t size, Type type,
                 const Selection& selection, std::uint64_t step);
  /// Notes a get() for perform_gets(). Local.
  ///
  /// `data` must live until then, and holds nothing before. Otherwise as get(). An error here makes
  /// perform_gets() fail on every rank.
  template <class T>
  void defer_get(Variable variable, T* data, const Selection& selection = {},
                 std::uint64_t step = last_step) {
    defer_get_raw(variable, data, type_of<T>(), selection, step);
  }
  /// defer_get() into memory whose type is known at run time. Local.
  void defer_get_raw(Variable variable, void* data, Type type, const Selection& selection,
                     std::uint64_t step);
  /// Notes a get() into a vector, an array or a span, which must not move until perform_gets().
  /// Local.
  template <SizedRoom R>
  void defer_get(Variable variable, R&& data, const Selection& selection = {},
                 std::uint64_t step = last_step) {
    defer_get_sized(variable, std::ranges::data(data), std::ranges::size(data),
                    type_of<std::ranges::range_value_t<R>>(), selection, step);
  }
  /// defer_get() into room for `size` elements whose type is known at run time. Local.
  void defer_get_sized(Variable variable, void* data, std::uint64_t size, Type type,
                       const Selection& selection, std::uint64_t step);
  /// Reads all parts that defer_get() noted. Collective.
  ///
  /// The ranks wait for each other as often as in one get(), so reading several variables together
  /// is faster. Every rank must have deferred the same variables and steps in the same order, each
  /// its own parts.
  /// @throws Error `divergent`, and as get().
  void perform_gets();
  /// Reads rows by global index. Collective; each rank reads its own rows.
  /// @param variable  a variable with at least one dimension, the same on every rank
  /// @param ids       indices of the rows, in any order, repeats allowed; not kept
  /// @param rows      number of rows, 0 too
  /// @param data      room for `rows` rows, row-major; the caller's
  /// @param step      the step, the same on every rank; default: the newest; ignored for variables
  ///                  without steps
  /// @throws Error as get().
  template <class T>
  void get_rows(Variable variable, const std::uint64_t* ids, std::uint64_t rows, T* data,
                std::uint64_t step = last_step) {
    get_rows_raw(variable, ids, rows, data, type_of<T>(), step);
  }
  /// get_rows() into memory whose type is known at run time. Collective.
  void get_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows, void* data,
                    Type type, std::uint64_t step);
  /// Reads rows into a vector, an array or a span, which must have the elements of the rows that
  /// `ids` names. Collective; each rank reads its own rows.
  /// @param variable  as above
  /// @param ids       as above
  /// @param data      as above
  /// @param step      as above
  /// @throws Error as get().
  template <SizedIds I, SizedRoom R>
  void get_rows(Variable variable, I&& ids, R&& data, std::uint64_t step = last_step) {
    get_rows_sized(variable, std::ranges::data(ids), std::ranges::size(ids),
                   std::ranges::data(data), std::ranges::size(data),
                   type_of<std::ranges::range_value_t<R>>(), step);
  }
  /// get_rows() into room for `size` elements whose type is known at run time. Collective.
  void get_rows_sized(Variable variable, const std::uint64_t* ids, std::uint64_t rows, void* data,
                      std::uint64_t size, Type type, std::uint64_t step);

  /// @}

 private:
  detail::FileImpl& impl() const;

  std::unique_ptr<detail::FileImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
