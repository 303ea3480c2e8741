#include "mpiio/access.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "mpiio/caller_memory.hpp"
#include "mpiio/choice.hpp"
#include "mpiio/independent.hpp"
#include "mpiio/pending.hpp"
#include "mpiio/two_phase.hpp"
#include "storage/foreign_file.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

void check_call(const File& file, const Call& call) {
  if (call.count < 0) {
    throw Fault(MPI_ERR_COUNT, "a negative count");
  }
  if (call.where == Where::offset && call.offset < 0) {
    throw Fault(MPI_ERR_ARG, "a negative offset");
  }
  if (call.is_write && !file.may_write()) {
    throw Fault(MPI_ERR_READ_ONLY, "the file is open for reading only");
  }
  if (!call.is_write && !file.may_read()) {
    throw Fault(MPI_ERR_ACCESS, "the file is open for writing only");
  }
  if (file.is_sequential() && call.where != Where::shared) {
    throw Fault(MPI_ERR_UNSUPPORTED_OPERATION, "the file is open for sequential access");
  }
}

void check_range(const File& file, std::int64_t stream, std::int64_t bytes) {
  if (bytes > 0 && file.view.is_empty()) {
    throw Fault(MPI_ERR_ARG, "the view of this rank has no bytes");
  }
  if (bytes > std::numeric_limits<std::int64_t>::max() - stream ||
      (bytes > 0 && !file.view.reaches(stream + bytes))) {
    throw Fault(MPI_ERR_ARG, "beyond the largest file");
  }
}

/// The range of the file from the first byte to the end of the last one.
Run range_of(const View& view, std::int64_t stream, std::int64_t bytes) {
  const std::int64_t first = view.file_offset(stream);
  return {first, view.file_offset(stream + bytes - 1) + 1 - first};
}

/// The same, as far as it is known: of a view that does not ascend everything.
Run reach_of(const View& view, std::int64_t stream, std::int64_t bytes) {
  return view.is_ascending() ? range_of(view, stream, bytes)
                             : Run{0, std::numeric_limits<std::int64_t>::max()};
}

/// Until nothing that is pending is in the way of an access at once.
void wait_for_others(const File& file, bool is_write, std::int64_t stream, std::int64_t bytes) {
  if (bytes == 0 || Boards::all().is_empty()) {
    return;
  }
  const Run range = reach_of(file.view, stream, bytes);
  if (is_write) {
    wait_for_pending(file.identity, range);
  } else {
    wait_to_read(file.identity, range, *file.storage);
  }
}

/// What the thread could not write is told by the rank's next collective call.
void rethrow_behind(File& file) {
  if (file.behind) {
    file.behind->rethrow();
  }
}

bool is_behind(const File& file, bool is_write) {
  return is_write && file.behind && !file.atomicity.is_on;
}

/// One rank's bytes of a collective write, staged.
std::int64_t stage_own(File& file, std::int64_t stream, const Memory& memory) {
  file.behind->stage(memory.bytes(), [&] {
    if (memory.bytes() > 0) {
      write_own(*file.behind, file.view, stream, memory);
    }
  });
  return memory.bytes();
}

/// One rank's bytes, under a lock in atomic mode.
std::int64_t move_own(File& file, bool is_write, std::int64_t stream, const Memory& memory) {
  const std::int64_t bytes = memory.bytes();
  if (bytes == 0) {
    return 0;
  }
  wait_for_others(file, is_write, stream, bytes);
  std::unique_lock<std::mutex> guard;
  std::unique_ptr<storage::RangeLock> lock;
  if (file.atomicity.is_on) {
    guard = std::unique_lock(file.atomicity.mutex);
    const Run range = reach_of(file.view, stream, bytes);
    lock = storage::lock_range(
        *file.storage,
        {static_cast<std::uint64_t>(range.offset), static_cast<std::uint64_t>(range.length)},
        is_write);
  }
  Straight straight = lock ? Straight(*file.storage, Straight::Locks::none) : file.straight();
  if (is_write) {
    write_own(straight, file.view, stream, memory);
    return bytes;
  }
  return read_own(straight, file.view, stream, memory);
}

std::int64_t begin_of(File& file, const Call& call, std::int64_t bytes) {
  switch (call.where) {
    case Where::offset:
      return product_of(call.offset, file.view.element_bytes());
    case Where::individual:
      return file.position;
    case Where::shared:
      return file.shared_position.add(bytes);
  }
  return 0;
}

Summary summary_of(File& file, bool is_write, std::int64_t stream, const Memory& memory) {
  const std::int64_t bytes = memory.bytes();
  Summary own;
  if (!is_behind(file, is_write)) {
    wait_for_others(file, is_write, stream, bytes);
  }
  if (!is_write) {
    own.file_bytes = static_cast<std::int64_t>(file.straight().size());
  }
  if (bytes > 0) {
    const Run range = range_of(file.view, stream, bytes);
    own.ranks = 1;
    own.bytes = bytes;
    own.runs = file.view.runs_in(bytes);
    own.low = range.offset;
    own.high = range.end();
    own.most_scattered = memory.is_contiguous() ? 0 : bytes;
    own.least_alignment_log2 = alignment_log2(range.offset);
    own.is_ascending = file.view.is_ascending() ? 1 : 0;
  }
  return own;
}

/// The part of a read that is inside the file, if the view ascends.
std::int64_t bytes_in_file(const File& file, std::int64_t stream, std::int64_t bytes,
                           std::int64_t file_bytes) {
  return std::clamp<std::int64_t>(file.view.stream_below(file_bytes) - stream, 0, bytes);
}

void write_exchanged(File& file, std::int64_t stream, const Memory& memory, const Choice& choice,
                     const Domains& domains, bool on_node) {
  const auto write_to = [&](Sink& sink) {
    if (on_node) {
      write_on_node(file.comm, sink, file.view, stream, memory, domains, choice.ranges(),
                    file.node.windows);
    } else {
      write_together(file.comm, sink, file.view, stream, memory, domains, choice.ranges());
    }
  };
  if (is_behind(file, true)) {
    file.behind->stage(domains.domain_bytes, [&] { write_to(*file.behind); });
  } else {
    Straight straight = file.straight();
    write_to(straight);
  }
}

/// Everything between the meeting and the last agreement.
std::int64_t exchange(File& file, bool is_write, std::int64_t stream, const Memory& memory,
                      const Choice& choice) {
  const Domains domains = choice.domains(file);
  try {
    const bool on_node =
        file.node.is_only && file.node.windows.prepare(file.comm, file.rank, domains);
    Straight straight = file.straight();
    if (is_write) {
      write_exchanged(file, stream, memory, choice, domains, on_node);
    } else if (on_node) {
      read_on_node(file.comm, straight, file.view, stream, memory, domains, choice.ranges(),
                   file.node.windows);
    } else {
      read_together(file.comm, straight, file.view, stream, memory, domains, choice.ranges());
    }
  } catch (const std::bad_alloc&) {
    // The others wait for messages of this rank.
    storage::say_before_abort(file.path + ": no memory for a collective call on rank " +
                              std::to_string(file.rank));
    mpi.Abort(file.comm, MPI_ERR_NO_MEM);
  }
  return memory.bytes();
}

/// A collective access at a known offset; `failure` is that of this rank so far.
std::int64_t move_together(File& file, bool is_write, std::int64_t stream, const Memory& memory,
                           Failure failure) {
  Summary own;
  if (failure.error_class == MPI_SUCCESS) {
    failure = failure_after(file, [&] {
      rethrow_behind(file);
      check_range(file, stream, memory.bytes());
      own = summary_of(file, is_write, stream, memory);
    });
  }
  own.error_class = failure.error_class;
  const Summary all = summary_of_all(file, own);
  if (all.error_class != MPI_SUCCESS) {
    fail_together(file, static_cast<int>(all.error_class), {&failure, 1});
  }
  const Choice choice(file, is_write, own, all);
  if (is_write && file.report.is_wanted()) {
    file.report.pattern.note(choice.written());
  }
  std::int64_t moved = 0;
  together(file, [&] {
    if (!choice.exchanges()) {
      moved = is_behind(file, is_write) ? stage_own(file, stream, memory)
                                        : move_own(file, is_write, stream, memory);
      return;
    }
    Memory wanted = memory;
    if (!is_write) {
      wanted = memory.first(bytes_in_file(file, stream, memory.bytes(), all.file_bytes));
    }
    moved = exchange(file, is_write, stream, wanted, choice);
  });
  file.report.count(is_write, choice.exchanges() ? Way::together : Way::own, moved,
                    file.view.runs_in(moved));
  return moved;
}

/// The start of each rank, in the order of the ranks. Collective, even if a rank has failed.
std::int64_t begin_in_order(File& file, std::int64_t bytes, Failure& failure) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(file.ranks));
  const bool has_failed = failure.error_class != MPI_SUCCESS;
  const std::int64_t mine = has_failed ? -1 : bytes;
  check(mpi.Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, file.comm),
        "exchanging the accessed ranges");
  if (*std::min_element(all.begin(), all.end()) < 0) {
    return 0;  // the call fails on all ranks
  }
  std::int64_t before = 0;
  std::int64_t total = 0;
  bool is_countable = true;
  for (int rank = 0; rank < file.ranks; ++rank) {
    before = rank == file.rank ? total : before;
    const std::int64_t next = all[static_cast<std::size_t>(rank)];
    is_countable = !__builtin_add_overflow(total, next, &total) && is_countable;
  }
  std::int64_t base[2] = {0, MPI_SUCCESS};
  if (file.rank == 0) {
    failure = failure_after(file, [&] {
      if (!is_countable) {
        throw Fault(MPI_ERR_ARG, "beyond the largest file");
      }
      base[0] = file.shared_position.add(total);
    });
    base[1] = failure.error_class;
  }
  check(mpi.Bcast(base, 2, MPI_INT64_T, 0, file.comm), "broadcasting the shared pointer");
  if (failure.error_class == MPI_SUCCESS) {
    failure.error_class = static_cast<int>(base[1]);
  }
  return base[0] + before;
}

}  // namespace

namespace {

std::int64_t access_own(File& file, const Call& call, bool is_collective) {
  const Stopwatch watch(file.report.sum_of(call.is_write));
  check_call(file, call);
  CallerMemory memory(file, call);
  const std::int64_t bytes = memory.memory().bytes();
  const std::int64_t stream = begin_of(file, call, bytes);
  check_range(file, stream, bytes);
  if (is_collective && call.is_write && bytes > 0) {
    const std::int64_t first = range_of(file.view, stream, bytes).offset;
    file.report.pattern.note({bytes, file.view.runs_in(bytes), false, alignment_log2(first)});
  }
  const bool is_later = is_collective && is_behind(file, call.is_write);
  const std::int64_t moved = is_later ? stage_own(file, stream, memory.memory())
                                      : move_own(file, call.is_write, stream, memory.memory());
  file.report.count(call.is_write, Way::independent, moved, file.view.runs_in(moved));
  if (call.where == Where::individual) {
    file.position += bytes;  // what was asked for, as MPI says, also where the file ends before
  }
  return memory.finish(call, moved);
}

}  // namespace

std::int64_t access_alone(File& file, const Call& call) { return access_own(file, call, false); }

std::int64_t access_together(File& file, const Call& call) {
  if (file.ranks == 1) {
    rethrow_behind(file);
    return access_own(file, call, true);
  }
  const Stopwatch watch(file.report.sum_of(call.is_write));
  CallerMemory memory;
  std::int64_t stream = 0;
  Failure failure = failure_after(file, [&] {
    check_call(file, call);
    memory = CallerMemory(file, call);
    stream = call.where == Where::shared ? 0 : begin_of(file, call, memory.memory().bytes());
  });
  if (call.where == Where::shared) {
    stream = begin_in_order(file, memory.memory().bytes(), failure);
  }
  const std::int64_t moved = move_together(file, call.is_write, stream, memory.memory(), failure);
  if (call.where == Where::individual) {
    file.position += memory.memory().bytes();
  }
  return memory.finish(call, moved);
}

void begin_split(File& file, const Call& call, int operation) {
  // A program that has seen the failure of a begin may leave out its end.
  if (file.split && file.split->error_class == MPI_SUCCESS) {
    throw Fault(MPI_ERR_IO, "a split collective has not ended yet");
  }
  file.split.reset();
  try {
    file.split = Split{operation, access_together(file, call), MPI_SUCCESS};
  } catch (...) {
    file.split = Split{operation, 0, failure_of_current(file.path).error_class};
    throw;
  }
}

std::int64_t end_split(File& file, int operation) {
  if (!file.split || file.split->operation != operation) {
    throw Fault(MPI_ERR_IO, "no split collective of that kind has begun");
  }
  const Split ended = *file.split;
  file.split.reset();
  if (ended.error_class != MPI_SUCCESS) {
    throw AgreedFault(ended.error_class);  // printed when it began
  }
  return ended.bytes;
}

}  // namespace sluice::mpiio
