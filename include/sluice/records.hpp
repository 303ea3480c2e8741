// Records: what each rank writes value by value, as one stream a rank, found again by as many or by
// other ranks. For programs that wrote a formatted file a rank.
//
//   sluice::Records out(comm, "traj.rec", sluice::Mode::write);
//   for (...) {
//     for (const Particle& p : mine) {
//       out.write(p.id);                    // copies into memory, nothing else
//       out.write(p.x, 3);
//     }
//     out.commit();                         // one record group: every rank's values, one write
//     each
//   }
//   out.close();
//
//   sluice::Records in(comm, "traj.rec", sluice::Mode::read);
//   while (in.fetch()) {
//     while (!in.at_end()) {
//       in.read(&id); in.read(x, 3);
//     }
//   }
//
// A group has one part a writing rank, of any length, also none. Where M ranks read what P ranks
// wrote, rank r gets the parts r*P/M to (r+1)*P/M - 1, one after the other. Values come back in the
// order and with the types in which they were written; arrays and single values are the same.
// "Collective" as in sluice.hpp.
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

class Records {
 public:
  /// Collective over `comm`, which is duplicated. Mode::append goes on with a file that is there.
  /// Options as for File, but `format` is records and `check` off; the strategies that write
  /// several files are refused with Error unsupported. Error format where a file that is opened is
  /// not one of records.
  Records(const Comm& comm, const std::string& path, Mode mode, const Options& options = {});
  /// This process alone, without MPI, in place of `parts` ranks: each of them is a number in the
  /// calls below.
  Records(const std::string& path, Mode mode, int parts, const Options& options = {});
  explicit Records(std::unique_ptr<detail::RecordsImpl> impl);
  Records(Records&&) noexcept;
  Records& operator=(Records&&) noexcept;
  /// Closes, and reports what fails to stderr.
  ~Records();

  /// Streams of this process: 1, or the number given; 0 of Records that were moved from.
  int parts() const noexcept;
  /// Record groups that are in the file.
  std::uint64_t groups() const;

  // -- writing ------------------------------------------------------------------------------------
  /// A text about the file, as File::set_attribute: alike on every rank, there after the next
  /// commit.
  void set_text(const std::string& name, const std::string& text);
  /// Copies values into memory. Local, without I/O. Error over_budget where there is no memory.
  template <class T>
  requires(!std::is_array_v<T> && !std::is_pointer_v<T>) void write(const T& value, int part = 0) {
    write_raw(&value, type_of<T>(), 1, part);
  }
  template <class T>
  void write(const T* values, std::uint64_t count, int part = 0) {
    write_raw(values, type_of<T>(), count, part);
  }
  void write_raw(const void* values, Type type, std::uint64_t count, int part);
  /// Appends everything written since the last commit as one record group. Collective. On failure
  /// every rank throws the same Error, the file holds the groups before, and what was written for
  /// this one is gone.
  Ticket commit();

  // -- reading ------------------------------------------------------------------------------------
  /// Brings the next record group into memory, this rank's parts of it; false where there is none.
  /// Collective.
  bool fetch();
  /// The same for group number `group`; the next fetch() goes on behind it. Error out_of_bounds.
  void fetch(std::uint64_t group);
  /// Copies the next values out. Local. Error type_mismatch, naming both types, where the next ones
  /// are of another type; out_of_bounds where there are no more.
  template <class T>
  void read(T* values, std::uint64_t count = 1, int part = 0) {
    read_raw(values, type_of<T>(), count, part);
  }
  void read_raw(void* values, Type type, std::uint64_t count, int part);
  /// Has everything of this group been read?
  bool at_end(int part = 0);

  /// Collective. What was written since the last commit is dropped. A second close is Error
  /// wrong_state.
  void close();

 private:
  detail::RecordsImpl& impl() const;

  std::unique_ptr<detail::RecordsImpl> impl_;  ///< nullptr: moved from
};

}  // namespace sluice
