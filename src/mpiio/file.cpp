#include "mpiio/file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#include "model/round_up.hpp"
#include "mpiio/pending.hpp"
#include "sluice/error.hpp"

namespace sluice::mpiio {

namespace {

/// Open files, by the address that programs have, and by Fortran's numbers.
struct OpenFiles {
  std::mutex mutex;
  std::map<const void*, File*> by_handle;
  std::map<int, File*> by_number;
  int next = 1;

  /// Most files are here too, so that a small write takes no lock: entries of `by_handle`, each in
  /// the place that its address says, unless that was taken.
  std::array<std::atomic<const void*>, 64> quick{};
  std::atomic<const void*>& quick_of(const void* handle) {
    constexpr int alignment_log2 = 4;
    return quick[(reinterpret_cast<std::uintptr_t>(handle) >> alignment_log2) % quick.size()];
  }
};
OpenFiles& open_files() {
  static auto* const all = new OpenFiles;  // programs close files when they end
  return *all;
}

}  // namespace

File::File(MPI_Comm duplicate) : comm(duplicate), handler(default_handler()) {
  check(mpi.Comm_rank(comm, &rank), "asking for the rank");
  check(mpi.Comm_size(comm, &ranks), "asking for the number of ranks");
  types.element = KeptType(MPI_BYTE);
  types.file = KeptType(MPI_BYTE);
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  all.by_handle[this] = this;
  const void* nothing = nullptr;
  all.quick_of(this).compare_exchange_strong(nothing, this);
}

File::~File() {
  {
    OpenFiles& all = open_files();
    const std::lock_guard lock(all.mutex);
    all.by_handle.erase(this);
    const void* own = this;
    all.quick_of(this).compare_exchange_strong(own, nullptr);
    std::erase_if(all.by_number, [this](const auto& entry) { return entry.second == this; });
  }
  mpi.Comm_free(&comm);
}

File* file_of(MPI_File handle) {
  if (handle == MPI_FILE_NULL) {
    return nullptr;
  }
  OpenFiles& all = open_files();
  if (all.quick_of(handle).load() == handle) {
    return reinterpret_cast<File*>(handle);
  }
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_handle.find(handle);
  return found == all.by_handle.end() ? nullptr : found->second;
}

MPI_File handle_of(File* file) {
  return file == nullptr ? MPI_FILE_NULL : reinterpret_cast<MPI_File>(file);
}

int fortran_of(File* file) {
  if (file == nullptr) {
    return 0;
  }
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  for (const auto& [number, open] : all.by_number) {
    if (open == file) {
      return number;
    }
  }
  all.by_number[all.next] = file;
  return all.next++;
}

File* file_of_fortran(int index) {
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_number.find(index);
  return found == all.by_number.end() ? nullptr : found->second;
}

int agree(const File& file, int error_class) {
  if (file.ranks == 1) {
    return error_class;
  }
  int worst = error_class;
  check(mpi.Allreduce(&error_class, &worst, 1, MPI_INT, MPI_MAX, file.comm), "agreeing");
  return worst;
}

int gather_worst(const File& file, int error_class) {
  if (file.ranks == 1) {
    return error_class;
  }
  int worst = error_class;
  check(mpi.Reduce(&error_class, &worst, 1, MPI_INT, MPI_MAX, 0, file.comm), "agreeing");
  return worst;
}

void fail_together(File& file, int error_class, std::span<const Failure> own) {
  // For each code the lowest rank that failed with it: the largest of these numbers.
  const int number = file.ranks - file.rank;
  std::array<int, Failure::codes> mine{};
  for (const Failure& failure : own) {
    if (!failure.is_usual) {
      mine[static_cast<std::size_t>(failure.code)] = number;
    }
  }
  std::array<int, Failure::codes> most = mine;
  if (file.ranks > 1 && mpi.Allreduce(mine.data(), most.data(), Failure::codes, MPI_INT, MPI_MAX,
                                      file.comm) != MPI_SUCCESS) {
    most = mine;
  }
  for (const Failure& failure : own) {
    if (most[static_cast<std::size_t>(failure.code)] == number) {
      file.report.printed.print_first(failure);
    }
  }
  throw AgreedFault(error_class);
}

void hear_from_first(const File& file, void* value, std::size_t bytes) {
  if (file.ranks > 1) {
    check(mpi.Bcast(value, static_cast<int>(bytes), MPI_BYTE, 0, file.comm), "agreeing");
  }
}

namespace {

void check_resizing(const File& file, std::int64_t bytes) {
  if (bytes < 0) {
    throw Fault(MPI_ERR_ARG, "a negative size");
  }
  if (!file.may_write()) {
    throw Fault(MPI_ERR_READ_ONLY, "the file is open for reading only");
  }
}

}  // namespace

void set_size(File& file, std::int64_t bytes) {
  each_then_first(
      file, [&] { check_resizing(file, bytes); },
      [&] {
        check_resizing(file, bytes);
        wait_for_all_pending(file.identity);
        file.storage->resize(static_cast<std::uint64_t>(bytes));
      });
}

void preallocate(File& file, std::int64_t bytes) {
  each_then_first(
      file, [&] { check_resizing(file, bytes); },
      [&] {
        check_resizing(file, bytes);
        wait_for_all_pending(file.identity);
        const auto wanted = static_cast<std::uint64_t>(bytes);
        file.storage->preallocate(0, wanted);
        if (file.straight().size() < wanted) {
          // The file system cannot reserve. To set the size would cut what a program that is not of
          // these ranks has written meanwhile.
          constexpr std::byte zero{};
          file.straight().write(wanted - 1, {&zero, 1});
        }
      });
}

namespace {

/// Is this the lowest rank of its node? Collective.
bool leads_node(File& file) {
  if (!file.node.leads) {
    MPI_Comm node = MPI_COMM_NULL;
    int rank_on_node = 0;
    check(mpi.Comm_split_type(file.comm, MPI_COMM_TYPE_SHARED, file.rank, MPI_INFO_NULL, &node),
          "finding the ranks of a node");
    check(mpi.Comm_rank(node, &rank_on_node), "asking for the rank");
    check(mpi.Comm_free(&node), "freeing a communicator");
    file.node.leads = rank_on_node == 0;
  }
  return *file.node.leads;
}

void prepare_sync(File& file) {
  if (file.behind) {
    file.behind->wait_own();
    file.behind->rethrow();
  }
  // Ranks come to a sync one after the other: the disk works while the others still write.
  if (file.may_write()) {
    file.storage->begin_sync();
  }
}

void sync_storage(File& file) {
  wait_for_all_pending(file.identity);
  if (file.may_write()) {
    file.storage->sync();
  }
}

}  // namespace

void sync(File& file) {
  // All bytes are in the file when their write has returned, or nothing is pending any more; one
  // sync on a node covers them.
  const Stopwatch watch(&file.report.sync_s);
  file.report.pattern.end_step();
  if (file.node.is_only) {
    each_then_first(
        file, [&] { prepare_sync(file); }, [&] { sync_storage(file); });
    return;
  }
  const bool leads = leads_node(file);
  check(mpi.Barrier(file.comm), "synchronising the ranks");
  together(file, [&] {
    prepare_sync(file);
    if (leads) {
      sync_storage(file);
    }
  });
}

void set_atomicity(File& file, bool is_atomic) {
  const bool is_first_atomic = each_then_hear(
      file, [&] { wait_for_all_pending(file.identity); }, [&] { return is_atomic; });
  together(file, [&] {
    if (is_atomic != is_first_atomic) {
      throw Fault(MPI_ERR_NOT_SAME, "another mode than rank 0's");
    }
  });
  file.atomicity.is_on = is_atomic;
}

namespace {

Representation representation_of(const char* name) {
  if (name == nullptr || std::strcmp(name, "native") == 0) {
    return Representation::native;
  }
  if (std::strcmp(name, "internal") == 0) {
    return Representation::internal;
  }
  if (std::strcmp(name, "external32") == 0) {
    return Representation::external32;
  }
  throw Fault(MPI_ERR_UNSUPPORTED_DATAREP, "an unknown data representation");
}

// The classes of errors are ROMIO's, for which programs test.
void check_file_type(const File& file, const Flat& type, std::int64_t element_bytes) {
  if (element_bytes <= 0) {
    throw Fault(MPI_ERR_ARG, "an elementary datatype without bytes");
  }
  if (type.size % element_bytes != 0) {
    throw Fault(MPI_ERR_ARG, "a file type that is not a multiple of the elementary datatype");
  }
  for (std::size_t i = 0; i < type.runs.size(); ++i) {
    if (type.runs[i].offset < 0) {
      throw Fault(MPI_ERR_IO, "a file type with negative displacements");
    }
    if (i > 0 && type.runs[i].offset < type.runs[i - 1].offset) {
      throw Fault(MPI_ERR_IO, "a file type with descending displacements");
    }
    if (i > 0 && file.may_write() && type.runs[i].offset < type.runs[i - 1].end()) {
      throw Fault(MPI_ERR_IO, "a file type with overlapping parts, in a file opened for writing");
    }
  }
  if (file.may_write() && type.size > 0 && type.extent <= 0) {
    throw Fault(MPI_ERR_IO, "a file type without extent, in a file opened for writing");
  }
}

}  // namespace

namespace {

/// The shared pointer when all ranks have come, and none of them moves it any more. Collective.
std::int64_t settled_position(File& file) {
  return each_then_hear(
      file, [] {}, [&] { return file.shared_position.get(); });
}

}  // namespace

void set_view(File& file, std::int64_t displacement, MPI_Datatype element, MPI_Datatype type,
              const char* representation, MPI_Info info) {
  View view;
  KeptType kept_element;
  KeptType kept_type;
  Representation wanted = Representation::native;
  Steering steering;
  // Whatever this rank's displacement is: all ranks know that the file is sequential.
  const std::int64_t current = file.is_sequential() ? settled_position(file) : 0;
  const auto make = [&] {
    wanted = representation_of(representation);
    if (displacement == MPI_DISPLACEMENT_CURRENT && file.is_sequential()) {
      displacement =
          file.view.is_empty() ? file.view.displacement() : file.view.file_offset(current);
    }
    if (displacement < 0) {
      throw Fault(MPI_ERR_ARG, "a negative displacement");
    }
    const bool is_external = wanted == Representation::external32;
    const auto flat_element = is_external ? external_flat_of(element) : flat_of(element);
    const auto flat = is_external ? external_flat_of(type) : flat_of(type);
    check_file_type(file, *flat, flat_element->size);
    view = View(displacement, flat, flat_element->size);
    kept_element = KeptType(element);
    kept_type = KeptType(type);
    steering = file.hints.steering_with(info);
  };
  file.hints.follow(each_then_hear(file, make, [&] { return steering; }));
  file.view = view;
  file.types.element = std::move(kept_element);
  file.types.file = std::move(kept_type);
  file.types.representation = wanted;
  file.position = 0;
  file.shared_position.restart();
  file.hints.add(info);
}

void set_info(File& file, MPI_Info info) {
  Steering steering;
  file.hints.follow(each_then_hear(
      file, [&] { steering = file.hints.steering_with(info); }, [&] { return steering; }));
  file.hints.add(info);
}

namespace {

void check_whence(int whence) {
  if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR && whence != MPI_SEEK_END) {
    throw Fault(MPI_ERR_ARG, "an unknown whence");
  }
}

}  // namespace

void seek_shared(File& file, std::int64_t offset, int whence) {
  // It is read on rank 0 when no rank moves it any more.
  const std::int64_t to = each_then_hear(
      file, [&] { check_whence(whence); },
      [&] { return sought(file, offset, whence, file.shared_position.get()); });
  together(file, [&] {
    if (file.rank == 0) {
      file.shared_position.set(to);
    }
  });
}

std::int64_t sought(File& file, std::int64_t offset, int whence, std::int64_t current) {
  check_whence(whence);
  std::int64_t to = product_of(offset, file.view.element_bytes());
  std::int64_t from = whence == MPI_SEEK_CUR ? current : 0;
  if (whence == MPI_SEEK_END) {
    wait_for_all_pending(file.identity);
    const auto bytes = static_cast<std::int64_t>(file.straight().size());
    // The end is that of the last element that begins in the file.
    const std::int64_t element = file.view.element_bytes();
    const std::int64_t seen = file.view.stream_below(bytes);
    from = model::round_up(seen, element);
  }
  if (__builtin_add_overflow(to, from, &to) || to < 0) {
    throw Fault(MPI_ERR_ARG, "a position before the start of the file, or beyond 2^63 bytes");
  }
  return to;
}

}  // namespace sluice::mpiio
