// NAMD's own methods: writers collect the atoms of consecutive ids, and write them with POSIX
// calls.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "ways.hpp"

namespace namd {
namespace {

constexpr std::uint64_t head_bytes = sizeof(std::int32_t);
constexpr std::uint64_t atom_bytes = sizeof(Position);
constexpr std::uint64_t largest_write_bytes = 1ULL << 30;
constexpr int token_tag = 2;

/// A descriptor whose errors name the file; closed on destruction.
class PosixFile {
 public:
  PosixFile(const std::string& path, int flags) : path_(path) {
    descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    check(descriptor_ >= 0, "open");
  }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile() { ::close(descriptor_); }

  void write(const void* data, std::uint64_t bytes, std::uint64_t offset) {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t done = ::pwrite(descriptor_, from, std::min(bytes, largest_write_bytes),
                                    static_cast<off_t>(offset));
      check(done > 0, "write");
      from += done;
      offset += static_cast<std::uint64_t>(done);
      bytes -= static_cast<std::uint64_t>(done);
    }
  }
  void read(void* data, std::uint64_t bytes, std::uint64_t offset) {
    auto* into = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t done = ::pread(descriptor_, into, std::min(bytes, largest_write_bytes),
                                   static_cast<off_t>(offset));
      if (done == 0) {
        throw Error(Code::truncated, path_ + ": ends too early");
      }
      check(done > 0, "read");
      into += done;
      offset += static_cast<std::uint64_t>(done);
      bytes -= static_cast<std::uint64_t>(done);
    }
  }
  void sync() { check(::fdatasync(descriptor_) == 0, "sync"); }

 private:
  void check(bool is_good, const char* what) const {
    if (!is_good) {
      throw Error(Code::io, std::string(what) + ": " + path_ + ": " + std::strerror(errno));
    }
  }

  std::string path_;
  int descriptor_ = -1;
};

/// An atom sent to its writer.
struct Moved {
  std::uint64_t id;
  Position position;
};

std::string part_of(const std::string& path, int writer) {
  return path + "." + std::to_string(writer);
}

class OwnTrajectory : public Trajectory {
 public:
  OwnTrajectory(MPI_Comm comm, const TrajectoryOptions& options) : comm_(comm), options_(options) {
    const int ranks = size_of(comm);
    for (int writer = 0; writer < options.writers; ++writer) {
      const int rank = writer * ranks / options.writers;
      ranks_.push_back(rank);
      if (rank == rank_of(comm)) {
        writer_ = writer;
        share_ = share_of(options.atoms, writer, options.writers);
      }
    }
  }

  void write(const Patches& patches) override {
    const std::vector<Position> mine = collect(patches);
    const std::string path = path_of_step(options_.path, patches.step());
    switch (options_.way) {
      case Way::files:
        agree(comm_, [&] { write_part(part_of(path, writer_), mine, 0); });
        break;
      case Way::in_turn:
        make_whole(path);
        write_in_turn(path, mine);
        break;
      default:
        make_whole(path);
        agree(comm_, [&] { write_part(path, mine, head_bytes + share_.first * atom_bytes); });
    }
  }
  void close() override {}

 private:
  /// This writer's atoms in the order of their ids.
  std::vector<Position> collect(const Patches& patches) {
    std::vector<std::vector<std::byte>> out(static_cast<std::size_t>(size_of(comm_)));
    for (const Patch& patch : patches.mine()) {
      for (std::size_t i = 0; i < patch.ids.size(); ++i) {
        const Moved moved{patch.ids[i], patch.positions[i]};
        const auto* first = reinterpret_cast<const std::byte*>(&moved);
        std::vector<std::byte>& letter = out[static_cast<std::size_t>(rank_for(moved.id))];
        letter.insert(letter.end(), first, first + sizeof moved);
      }
    }
    std::vector<Position> mine(share_.count);
    for (const std::vector<std::byte>& letter : app::all_to_all(comm_, out)) {
      for (std::size_t at = 0; at < letter.size(); at += sizeof(Moved)) {
        Moved moved;
        std::memcpy(&moved, letter.data() + at, sizeof moved);
        mine[moved.id - share_.first] = moved.position;
      }
    }
    return mine;
  }

  int rank_for(std::uint64_t id) const {
    const auto writers = static_cast<std::uint64_t>(options_.writers);
    auto writer = static_cast<int>(id * writers / options_.atoms);
    while (id >= share_of(options_.atoms, writer, options_.writers).first +
                     share_of(options_.atoms, writer, options_.writers).count) {
      ++writer;  // shares end where a product is rounded down
    }
    return ranks_[static_cast<std::size_t>(writer)];
  }

  /// The first writer creates the file with its header.
  void make_whole(const std::string& path) {
    agree(comm_, [&] {
      if (writer_ == 0) {
        PosixFile file(path, O_WRONLY | O_CREAT | O_TRUNC);
        const auto atoms = static_cast<std::int32_t>(options_.atoms);
        file.write(&atoms, sizeof atoms, 0);
      }
    });
  }

  void write_part(const std::string& path, const std::vector<Position>& mine,
                  std::uint64_t offset) {
    if (writer_ >= 0) {
      PosixFile file(path, O_WRONLY | O_CREAT);
      file.write(mine.data(), mine.size() * atom_bytes, offset);
      if (options_.durable) {
        file.sync();
      }
    }
  }

  void write_in_turn(const std::string& path, const std::vector<Position>& mine) {
    const auto writer = static_cast<std::size_t>(writer_);
    if (writer_ > 0) {
      MPI_Recv(nullptr, 0, MPI_BYTE, ranks_[writer - 1], token_tag, comm_, MPI_STATUS_IGNORE);
    }
    std::exception_ptr failure;
    try {
      write_part(path, mine, head_bytes + share_.first * atom_bytes);
    } catch (...) {
      failure = std::current_exception();  // the next one still waits for the token
    }
    if (writer_ >= 0 && writer + 1 < ranks_.size()) {
      MPI_Send(nullptr, 0, MPI_BYTE, ranks_[writer + 1], token_tag, comm_);
    }
    agree(comm_, [&] {
      if (failure) {
        std::rethrow_exception(failure);
      }
    });
  }

  MPI_Comm comm_;
  TrajectoryOptions options_;
  std::vector<int> ranks_;  ///< of the writers
  int writer_ = -1;         ///< which of them this rank is
  Share share_;
};

}  // namespace

std::unique_ptr<Trajectory> make_own(MPI_Comm comm, const TrajectoryOptions& options) {
  return std::make_unique<OwnTrajectory>(comm, options);
}

std::vector<Position> read_own(const TrajectoryOptions& options, std::uint64_t step,
                               const Share& share) {
  const std::string path = path_of_step(options.path, step);
  std::vector<Position> found(share.count);
  if (options.way != Way::files) {
    PosixFile file(path, O_RDONLY);
    std::int32_t atoms = 0;
    file.read(&atoms, sizeof atoms, 0);
    if (static_cast<std::uint64_t>(atoms) != options.atoms) {
      throw Error(Code::damaged, path + ": of " + std::to_string(atoms) + " atoms");
    }
    file.read(found.data(), share.count * atom_bytes, head_bytes + share.first * atom_bytes);
    return found;
  }
  for (int writer = 0; writer < options.writers; ++writer) {
    const Share theirs = share_of(options.atoms, writer, options.writers);
    const std::uint64_t first = std::max(share.first, theirs.first);
    const std::uint64_t end = std::min(share.first + share.count, theirs.first + theirs.count);
    if (first < end) {
      PosixFile(part_of(path, writer), O_RDONLY)
          .read(found.data() + (first - share.first), (end - first) * atom_bytes,
                (first - theirs.first) * atom_bytes);
    }
  }
  return found;
}

}  // namespace namd
