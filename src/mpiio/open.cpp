// Opening and deleting files.
//
// Invariants: rank 0 follows links and creates, and the others open what exists, where rank 0 found
// it; its result is broadcast before they do, so that a failure is the same on all ranks.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "mpiio/file.hpp"
#include "mpiio/hooks.hpp"
#include "mpiio/pending.hpp"
#include "mpiio/settings.hpp"
#include "sluice/error.hpp"
#include "storage/calls.hpp"
#include "storage/file_system.hpp"
#include "storage/foreign_file.hpp"
#include "storage/lease_record.hpp"

namespace sluice::mpiio {

namespace {

/// The storage of the setting. `chosen`: where that leaves it open.
std::shared_ptr<storage::Storage> storage_of_settings(const char* chosen) {
  const std::string name = asked_storage();
  return storage::make(name.empty() ? chosen : name);
}

/// For the calls of the program, which wait until the bytes are in the page cache only.
std::shared_ptr<storage::Storage> storage_of_calls() {
  static const std::shared_ptr<storage::Storage> files = storage_of_settings("writeback");
  return files;
}

/// For threads that write to `path` in the background, unless a setting says otherwise: on disks of
/// the node by direct I/O, which leaves the cores to the program.
std::shared_ptr<storage::Storage> storage_of_threads(const std::string& path) {
  static const std::shared_ptr<storage::Storage> disk = storage_of_settings("direct");
  static const std::shared_ptr<storage::Storage> others = storage_of_settings("writeback");
  return storage::file_system_facts(path).reach == storage::Reach::node ? disk : others;
}

/// The file system prefix that ROMIO accepts before a path.
std::string without_prefix(std::string_view name) {
  for (const std::string_view prefix :
       {"ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:", "daos:"}) {
    if (name.substr(0, prefix.size()) == prefix) {
      return std::string(name.substr(prefix.size()));
    }
  }
  return std::string(name);
}

void check_mode(int mode) {
  const int read = (mode & MPI_MODE_RDONLY) != 0 ? 1 : 0;
  const int write = (mode & MPI_MODE_WRONLY) != 0 ? 1 : 0;
  const int both = (mode & MPI_MODE_RDWR) != 0 ? 1 : 0;
  if (read + write + both != 1) {
    throw Fault(MPI_ERR_AMODE, "needs one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR");
  }
  if (read != 0 && (mode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) {
    throw Fault(MPI_ERR_AMODE, "MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL");
  }
  if (both != 0 && (mode & MPI_MODE_SEQUENTIAL) != 0) {
    throw Fault(MPI_ERR_AMODE, "MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL");
  }
}

/// "RDWR|CREATE"
std::string mode_text(int mode) {
  constexpr std::array<std::pair<int, const char*>, 9> flags{
      {{MPI_MODE_RDONLY, "RDONLY"},
       {MPI_MODE_WRONLY, "WRONLY"},
       {MPI_MODE_RDWR, "RDWR"},
       {MPI_MODE_CREATE, "CREATE"},
       {MPI_MODE_EXCL, "EXCL"},
       {MPI_MODE_APPEND, "APPEND"},
       {MPI_MODE_SEQUENTIAL, "SEQUENTIAL"},
       {MPI_MODE_UNIQUE_OPEN, "UNIQUE_OPEN"},
       {MPI_MODE_DELETE_ON_CLOSE, "DELETE_ON_CLOSE"}}};
  std::string text;
  for (const auto& [flag, name] : flags) {
    if ((mode & flag) != 0) {
      text += (text.empty() ? "" : "|") + std::string(name);
    }
  }
  return text;
}

std::unique_ptr<storage::File> open_existing(storage::Storage& files, const std::string& path,
                                             int mode) {
  if ((mode & MPI_MODE_RDONLY) != 0) {
    return files.open(path, storage::Access::read);
  }
  try {
    return files.open(path, storage::Access::read_write);
  } catch (const Error& e) {
    if (e.code() != Code::permission || (mode & MPI_MODE_WRONLY) == 0) {
      throw;
    }
    return storage::open_to_write(path);
  }
}

std::unique_ptr<storage::File> open_or_create(storage::Storage& files, const std::string& path,
                                              int mode) {
  if ((mode & MPI_MODE_CREATE) == 0) {
    return open_existing(files, path, mode);
  }
  try {
    return files.open(path, storage::Access::create);
  } catch (const Error& e) {
    if (e.code() != Code::exists || (mode & MPI_MODE_EXCL) != 0) {
      throw;
    }
    return open_existing(files, path, mode);
  }
}

/// Throws the classes that MPI has for what the storage's codes do not tell apart.
std::unique_ptr<storage::File> open_first(storage::Storage& files, const std::string& path,
                                          int mode) {
  try {
    return open_or_create(files, path, mode);
  } catch (const Error& e) {
    if (e.code() == Code::io && storage::is_folder(path)) {
      throw Fault(MPI_ERR_BAD_FILE, "is a folder");
    }
    if (e.code() == Code::permission && (mode & MPI_MODE_RDONLY) == 0 &&
        storage::is_mounted_read_only(path)) {
      throw Fault(MPI_ERR_READ_ONLY, "its file system is mounted for reading only");
    }
    if (e.code() == Code::not_found && (mode & MPI_MODE_CREATE) != 0) {
      throw Fault(MPI_ERR_NO_SUCH_FILE, "cannot be created: its folder does not exist");
    }
    throw;
  }
}

/// The node, to find out whether all ranks are on one. Containers on several hosts may have one
/// name: each host has its own boot.
std::int64_t node_number(int rank) {
  if (const char* const text = std::getenv("SLUICE_RANKS_PER_NODE")) {  // nodes for tests
    const int ranks = std::atoi(text);
    return ranks > 0 ? rank / ranks : 0;
  }
  char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
  int length = 0;
  check(mpi.Get_processor_name(name, &length), "asking for the node's name");
  const std::string node = name + ('\n' + storage::own_holder(false).kernel);
  return static_cast<std::int64_t>(std::hash<std::string_view>{}(node) >> 2);
}

/// Does this rank's environment ask for writing behind?
bool asks_for_behind() { return is_switched_on("SLUICE_MPIIO_WRITE_BEHIND", false); }

/// What the ranks exchange before anything is opened.
struct Meeting {
  int error_class = MPI_SUCCESS;
  bool is_one_node = true;
  bool is_behind = true;  ///< do all ask for it?
  int lowest_mode = 0;
  int highest_mode = 0;
};

Meeting meet(File& file, int error_class) {
  Meeting meeting;
  meeting.error_class = error_class;
  if (file.ranks == 1) {
    meeting.is_behind = file.hints.writes_behind(asks_for_behind());
    return meeting;
  }
  const std::int64_t node = node_number(file.rank);
  const std::int64_t mode = file.mode;
  const std::array<std::int64_t, 7> mine{mode,
                                         -mode,
                                         node,
                                         -node,
                                         error_class,
                                         file.report.is_wanted() ? 1 : 0,
                                         file.hints.writes_behind(asks_for_behind()) ? 0 : 1};
  std::array<std::int64_t, 7> all{};
  check(mpi.Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_MAX,
                      file.comm),
        "agreeing on the mode");
  meeting.highest_mode = static_cast<int>(all[0]);
  meeting.lowest_mode = static_cast<int>(-all[1]);
  meeting.is_one_node = all[2] == -all[3];
  meeting.error_class = static_cast<int>(all[4]);
  if (meeting.error_class == MPI_SUCCESS && all[0] != -all[1]) {
    meeting.error_class = MPI_ERR_NOT_SAME;
  }
  file.report.want(all[5] != 0);
  meeting.is_behind = all[6] == 0;
  return meeting;
}

/// The result of rank 0, sent to all.
struct First {
  std::int64_t error_class = MPI_SUCCESS;
  storage::FileIdentity identity;
  std::uint64_t name = 0;         ///< a number made of the name that the program gave there
  std::int64_t path_bytes = 0;    ///< of where links lead from it
  std::int64_t stripe_bytes = 0;  ///< of the file system; 0: it has none, or does not tell
  Steering steering;
  SharedPointerKey key;
};

/// The size of the stripes if the file lies on several servers: its own, else its folder's.
std::int64_t stripes_of(const std::filesystem::path& path) {
  for (const auto& place : {path, path.parent_path()}) {
    const storage::FileSystemFacts facts = storage::file_system_facts(place.string());
    if (facts.stripes > 1) {
      return static_cast<std::int64_t>(facts.stripe_bytes);
    }
  }
  return 0;
}

std::uint64_t number_of(const std::string& name) { return std::hash<std::string_view>{}(name); }

/// Where links lead from the name on rank 0, on every rank: they are followed once. Empty: this
/// rank was given another name, which must lead to the same file. Collective.
std::string path_of_first(const File& file, const First& first) {
  std::string path = file.path;
  path.resize(static_cast<std::size_t>(first.path_bytes));
  if (file.ranks > 1) {
    check(mpi.Bcast(path.data(), static_cast<int>(path.size()), MPI_BYTE, 0, file.comm),
          "broadcasting the path");
  }
  return first.name == number_of(file.path) || file.rank == 0 ? path : std::string();
}

/// Opens the file by this rank's own name for it.
void open_by_own_name(File& file, bool is_named_alike) {
  try {
    file.path = file.files->real_path(file.path);
    file.storage = open_existing(*file.files, file.path, file.mode);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) {
      throw;
    }
    if (!is_named_alike) {
      throw Fault(MPI_ERR_NOT_SAME, "another name than rank 0's, and no such file is there");
    }
    throw Fault(MPI_ERR_NO_SUCH_FILE, "is not there on this rank, but on rank 0");
  }
}

/// On another rank than rank 0. Where the node has no such path, its own way to the file counts:
/// folders may be mounted at other places there.
void open_other(File& file, const std::string& found) {
  if (!found.empty()) {
    try {
      file.storage = open_existing(*file.files, found, file.mode);
      file.path = found;
      return;
    } catch (const Error& e) {
      if (e.code() != Code::not_found) {
        throw;
      }
    }
  }
  open_by_own_name(file, !found.empty());
}

/// Opens the file on the other ranks, and their part of the shared pointer's memory. All agree: on
/// a failure, and on what is true where it is on any rank. On one node: does it lack the memory? On
/// several: is the file on NFS there? It may be a server's own disk on one of them. Collective.
bool open_others(File& file, const First& first, bool is_one_node) {
  const std::string path = path_of_first(file, first);
  bool is_so = false;
  const Failure own = failure_after(file, [&] {
    if (file.rank != 0) {
      open_other(file, path);
      // Nodes may number one file system differently.
      if (is_one_node && path.empty() && file.storage->identity() != first.identity) {
        throw Fault(MPI_ERR_NOT_SAME, "is another file than rank 0's");
      }
      is_so = !file.shared_position.attach(first.key);
    }
    if (!is_one_node) {
      is_so = is_on_nfs(file.path);
    }
    file.identity = file.storage->identity();
  });
  // Classes are small numbers: the answer travels below them.
  const int agreed = agree(file, 2 * own.error_class + (is_so ? 1 : 0));
  if (agreed / 2 != MPI_SUCCESS) {
    fail_together(file, agreed / 2, {&own, 1});
  }
  return agreed % 2 != 0;
}

/// Why a file cannot be written behind; empty: it can.
std::string obstacle_of(const File& file, bool is_one_node) {
  int all_ranks = 0;
  check(mpi.Comm_size(MPI_COMM_WORLD, &all_ranks), "asking for the number of ranks");
  if (!is_one_node) {
    return "its ranks are on several nodes";
  }
  if (file.ranks != all_ranks) {
    return "not all ranks of the program have it open";
  }
  return "";
}

std::shared_ptr<Board> make_board(File& file, storage::SharedMemory::Key& key) {
  auto memory = storage::SharedMemory::make(Board::bytes_for(file.ranks));
  memory->reserve(0, memory->bytes());
  key = memory->key();
  return std::make_shared<Board>(std::move(memory), file.ranks, file.rank);
}

/// The thread's own way to the file, of which `File` says that one thread at a time uses it.
std::unique_ptr<storage::File> open_again(File& file) {
  auto again = open_existing(*storage_of_threads(file.path), file.path, file.mode);
  if (again->identity() != file.identity) {
    throw Error(Code::io, file.path + ": is another file now");
  }
  return again;
}

/// Sets file.behind where the setting asks for it and it can be; else says why not in the report.
/// `is_wanted`, `is_one_node`: as all ranks have agreed. Collective.
void start_behind(File& file, bool is_wanted, bool is_one_node) {
  if (!is_wanted || !file.may_write()) {
    return;
  }
  const std::string obstacle = obstacle_of(file, is_one_node);
  if (!obstacle.empty()) {
    file.report.note("written through, for " + obstacle);
    return;
  }
  std::shared_ptr<Board> board;
  std::unique_ptr<storage::File> again;
  storage::SharedMemory::Key key;
  int failed = 0;
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const std::exception&) {
      failed = 1;
    }
  };
  if (file.rank == 0) {
    attempt([&] { board = make_board(file, key); });
  }
  if (file.ranks > 1) {
    check(mpi.Bcast(&key, static_cast<int>(sizeof key), MPI_BYTE, 0, file.comm),
          "telling of shared memory");
  }
  attempt([&] {
    if (file.rank != 0) {
      board = std::make_shared<Board>(storage::SharedMemory::attach(key), file.ranks, file.rank);
    }
    again = open_again(file);
  });
  if (agree(file, failed) != 0) {
    file.report.note("written through, for its ranks have no memory to share");
    return;
  }
  file.behind = std::make_unique<Behind>(std::move(again), file.identity, std::move(board));
}

void open_on_all(File& file, const Meeting& meeting) {
  First first;
  Failure failure;
  if (file.rank == 0) {
    failure = failure_after(file, [&] {
      first.name = number_of(file.path);
      file.path = file.files->real_path(file.path);
      first.path_bytes = std::ssize(file.path);
      file.storage = open_first(*file.files, file.path, file.mode);
      first.identity = file.storage->identity();
      first.key = file.shared_position.make(meeting.is_one_node);
      first.steering = file.hints.steering();
      first.stripe_bytes =
          file.ranks > 1 ? stripes_of(file.path) : 0;  // one rank exchanges nothing
    });
    first.error_class = failure.error_class;
  }
  if (file.ranks > 1) {
    check(mpi.Bcast(&first, static_cast<int>(sizeof first), MPI_BYTE, 0, file.comm),
          "broadcasting the result of the opening");
  }
  if (first.error_class != MPI_SUCCESS) {
    fail_together(file, static_cast<int>(first.error_class), {&failure, 1});
  }
  const bool is_so = open_others(file, first, meeting.is_one_node);
  if (meeting.is_one_node && is_so) {
    first.key.memory = {};
  }
  file.node.is_only = meeting.is_one_node;
  file.node.locks_each_access = !meeting.is_one_node && is_so;
  file.hints.follow(first.steering);
  file.hints.note_stripes(first.stripe_bytes);
  file.shared_position.join(first.key, file.files, file.path, file.rank == 0);
  start_behind(file, meeting.is_behind, meeting.is_one_node);
  if ((file.mode & MPI_MODE_APPEND) != 0) {
    together(file, [&] {
      wait_for_all_pending(file.identity);
      file.position = static_cast<std::int64_t>(file.straight().size());
      if (file.rank == 0) {
        file.shared_position.set(file.position);
      }
    });
  }
}

}  // namespace

File* open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info) {
  int program_rank = -1;
  mpi.Comm_rank(MPI_COMM_WORLD, &program_rank);
  say_wrong_settings(program_rank);
  int is_inter = 0;
  if (comm == MPI_COMM_NULL || mpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS ||
      is_inter != 0) {
    throw Fault(MPI_ERR_COMM, "the communicator is not an intracommunicator");
  }
  MPI_Comm duplicate = MPI_COMM_NULL;
  check(mpi.Comm_dup(comm, &duplicate), "duplicating the communicator");
  auto file = std::make_unique<File>(duplicate);
  file->mode = mode;
  Failure failure;
  try {
    if (name == nullptr || *name == '\0') {
      throw Fault(MPI_ERR_BAD_FILE, "a file without a name");
    }
    file->path = without_prefix(name);
    check_mode(mode);
    // The name stays as it is: LINK/../NAME is not NAME.
    const bool is_absolute = file->path.starts_with('/');
    file->given_path = (is_absolute ? "" : storage::absolute_path(".") + '/') + file->path;
    file->files = storage_of_calls();
    file->hints.add(info);
    file->hints.follow(file->hints.steering_with(info));
  } catch (...) {
    failure = failure_of_current(name == nullptr ? "" : name);
  }
  const Meeting meeting = meet(*file, failure.error_class);
  if (meeting.error_class != MPI_SUCCESS) {
    if (meeting.error_class == MPI_ERR_NOT_SAME) {
      failure = failure_after(*file, [&] {
        throw Fault(MPI_ERR_NOT_SAME,
                    "opened with different modes: " + mode_text(meeting.lowest_mode) +
                        " on one rank, " + mode_text(meeting.highest_mode) + " on another");
      });
    }
    fail_together(*file, meeting.error_class, {&failure, 1});
  }
  open_on_all(*file, meeting);
  return file.release();
}

void delete_file(const char* name) {
  if (name == nullptr || *name == '\0') {
    throw Fault(MPI_ERR_BAD_FILE, "a file without a name");
  }
  storage_of_calls()->remove(without_prefix(name));
}

}  // namespace sluice::mpiio
