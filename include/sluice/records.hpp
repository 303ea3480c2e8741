/// @file
/// Records: what each rank writes value by value, as one stream for each rank, read back by the
/// same or another number of ranks. For programs that wrote one formatted file for each rank.
///
///     sluice::Records out(comm, "traj.rec", sluice::Mode::write);
///     for (...) {
///       for (const Particle& p : mine) {
///         out.write(p.id);                    // copies into memory, nothing else
///         out.write(p.x, 3);
///       }
///       out.commit();                         // one record group: the values of all ranks
///     }
///     out.close();
///
///     sluice::Records in(comm, "traj.rec", sluice::Mode::read);
///     while (in.fetch()) {
///       while (!in.at_end()) {
///         in.read(&id); in.read(x, 3);
///       }
///     }
///
/// A record group has one part for each writing rank, of any length, 0 too. Where M ranks read what
/// P ranks wrote, rank r gets the parts r*P/M to (r+1)*P/M - 1, one after the other. Values come
/// back in the order and with the types in which they were written; arrays and single values are
/// the same. Collective, errors and threads: as in sluice.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "sluice/sluice.hpp"

namespace sluice {

namespace detail {
class RecordsImpl;
}

/// An open file of records. The destructor closes it and reports a failure to stderr.
class Records {
 public:
  /// Opens a file of records. Collective.
  /// @param comm     the ranks that use the file; it is duplicated
  /// @param path     the file, the same on every rank; copied
  /// @param mode     Mode::append adds record groups to a file that is there
  /// @param options  as for File, but `format` is records and `check` is off
  /// @throws Error as File(); `format` (the file holds no records), `unsupported` (a strategy that
  ///         writes several files).
  Records(const Comm& comm, const std::string& path, Mode mode, const Options& options = {});
  /// Opens a file for this process alone, which stands for `parts` ranks. Local; without MPI.
  /// @param path     the file; copied
  /// @param mode     as above
  /// @param parts    number of streams, at least 1; each is a number in the calls below
  /// @param options  as above
  /// @throws Error as above.
  Records(const std::string& path, Mode mode, int parts, const Options& options = {});
  /// Records over an open implementation; for the library.
  explicit Records(std::unique_ptr<detail::RecordsImpl> impl);
  /// Takes the file over; every call on the other object is then Error `wrong_state`.
  Records(Records&&) noexcept;
  /// Closes this file and takes the other over.
  Records& operator=(Records&&) noexcept;
  /// Closes the file. Collective.
  ~Records();

  /// Number of streams of this process: 1, or what the constructor got; 0 after a move. Local.
  int parts() const noexcept;
  /// Number of record groups in the file. Local.
  std::uint64_t groups() const;

  /// @name Writing
  /// @{

  /// Sets a text about the file, which the next commit() writes. Alike.
  /// @param name  name of the text, none that begins with `sluice_` (but `sluice_template`: see
  ///              docs/formats/records.md); copied
  /// @param text  its value; copied
  /// @throws Error `invalid_argument` (a name of the library).
  void set_text(const std::string& name, const std::string& text);
  /// Writes one value: copies it into memory. Local, without I/O.
  /// @param value  the value
  /// @param part   the stream, 0 unless the constructor got a number of parts
  /// @throws Error `over_budget` (no memory), `invalid_argument` (no such part).
  template <class T>
  requires(!std::is_array_v<T> && !std::is_pointer_v<T>) void write(const T& value, int part = 0) {
    write_raw(&value, type_of<T>(), 1, part);
  }
  /// Writes `count` dense values: copies them into memory. Local, without I/O.
  template <class T>
  void write(const T* values, std::uint64_t count, int part = 0) {
    write_raw(values, type_of<T>(), count, part);
  }
  /// write() of values whose type is known at run time. Local, without I/O.
  void write_raw(const void* values, Type type, std::uint64_t count, int part);
  /// Appends what all ranks have written since the last commit as one record group. Collective.
  ///
  /// On failure every rank throws the same Error, the file holds the groups before, and what was
  /// written for this one is dropped.
  /// @return the receipt of the group
  /// @throws Error `no_space`, `io`, and as Step::end().
  Ticket commit();
  /// Waits until every group that was committed is on disk, at most `seconds`. Local; between nodes
  /// every rank calls it. For strategy `forward`: a checkpoint that counts the groups may then be
  /// saved.
  /// @param seconds  the longest wait
  /// @return whether all groups are on disk
  /// @throws Error the failure of a group in flight.
  bool drain(double seconds);

  /// @}
  /// @name Reading
  /// @{

  /// Reads the next record group into memory, of it the parts of this rank. Collective.
  /// @return false where there is no further group
  /// @throws Error `damaged`, `truncated`, `io`.
  bool fetch();
  /// Reads record group `group`; the next fetch() continues behind it. Collective.
  /// @throws Error `out_of_bounds`, and as above.
  void fetch(std::uint64_t group);
  /// Copies the next values out. Local.
  /// @param values  room for `count` values of the type in which they were written
  /// @param count   number of values
  /// @param part    the stream, as for write()
  /// @throws Error `type_mismatch` (names both types), `out_of_bounds` (there are no more).
  template <class T>
  void read(T* values, std::uint64_t count = 1, int part = 0) {
    read_raw(values, type_of<T>(), count, part);
  }
  /// read() into memory whose type is known at run time. Local.
  void read_raw(void* values, Type type, std::uint64_t count, int part);
  /// Whether everything of this group has been read. Local.
  bool at_end(int part = 0);

  /// @}

  /// Closes the file. Collective. What was written since the last commit is dropped.
  /// @throws Error `wrong_state` (closed already), `io`.
  void close();

 private:
  detail::RecordsImpl& impl() const;

  std::unique_ptr<detail::RecordsImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
