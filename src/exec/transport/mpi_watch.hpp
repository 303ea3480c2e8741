// Notices by which waiting ranks find out which ranks are missing, and by which all of them hear of
// a failure.
//
// Invariants: one for a transport and all parts that are split from it, for a rank may wait in one
// of them for a rank that waits in another; ranks are those of the transport itself, and texts name
// them so; a failure of one of them is a failure of all; no rank waits for a notice. A rank that
// has left is no failure: only collectives of the transport itself that it has not entered throw,
// so that what it has taken part in is completed.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exec/transport/mpi_batch.hpp"
#include "exec/transport/mpi_options.hpp"
#include "exec/transport/waiting.hpp"
#include "mpi/process.hpp"

namespace sluice::exec {

/// "MPI failed: ...", of a result that is not mpi::success.
std::string mpi_failure_text(int result);

/// Where this rank waits at present. Calls MPI.
using Here = std::function<Place()>;

class MpiWatch {
 public:
  /// For `comm`, where nothing else has the tag.
  MpiWatch(mpi::Comm comm, int notice_tag, const MpiOptions& options);

  /// How many collectives of the transport itself this rank has entered.
  std::int64_t calls() const noexcept { return calls_; }
  /// Another one. Throws if a rank has left before it.
  void enter();

  /// Processes notices of other ranks, without waiting. Throws the failure of another rank, and if
  /// this one waits in a collective that another does not enter any more.
  void listen(const Here& here);
  /// Asks where the ranks are that are waited for, since `started_s`, and throws what comes of it;
  /// returns if `done` meanwhile.
  void expire(const std::function<bool()>& done, const Here& here, double started_s);

  /// The same before the limit: says, on one rank or a few, for which ranks it waits. Throws if the
  /// ranks wait in different calls. Each rank says one line at most.
  void say_missing(const std::function<bool()>& done, const Here& here, double started_s);

  /// Makes all transports of the watch unusable, notifies the other ranks and throws.
  [[noreturn]] void fail(Code code, const std::string& text);
  bool failed() const noexcept { return failed_; }
  /// After a failure. `prefix`: of the call that is not possible.
  [[noreturn]] void throw_failure(const std::string& prefix) const;

  /// This rank enters no collective of the transport itself any more; tells the others why.
  void leave(const Error& why);
  /// Has a rank left, as far as this one has heard?
  bool has_left() const noexcept { return left_.last_call != never; }
  /// The error of a rank that has left; null: none.
  std::exception_ptr left() const;

 private:
  struct Notice;
  enum class Kind : std::int32_t { ask, here, gone, left };
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  /// The rank that has left first.
  struct Left {
    std::int64_t last_call = never;  ///< the last collective that it has entered
    Error why{Code::ok, ""};
  };

  bool ask_until(const std::function<bool()>& done, const Here& here);
  void ask_around(const Place& here);
  void hear(const Notice& notice, int from, const Here& here);
  void become_failed(Code code, int rank, const std::string& text);
  void note_left(const Left& left);
  void require_all(std::int64_t call) const;
  void tell(int to, Kind kind, const Place& here, const std::string& text);
  void tell_others(Kind kind, const Place& here, const std::string& text);
  void check(int result);

  const mpi::Comm comm_;
  const int notice_tag_;
  const MpiOptions options_;
  bool has_said_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::int64_t calls_ = 0;

  bool failed_ = false;
  Code code_ = Code::ok;
  int error_rank_ = -1;
  std::string text_;
  Left left_;

  std::map<int, Place> reports_;  // since the last expiry; at most one a rank
  std::set<int> asked_;           // by this rank, since the last expiry
  std::set<int> askers_;          // ranks that asked this one and may still wait
  std::deque<Batch> outbox_;      // notices under way, at most max_outbox
};

}  // namespace sluice::exec
