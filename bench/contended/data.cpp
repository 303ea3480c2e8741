// Open files and their data.
#define FUSE_USE_VERSION 312
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <linux/fuse.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

#include "operations.hpp"

namespace sluice::contended {

namespace {

/// An open file: of the backing folder, or the text of the statistics.
struct Handle {
  Descriptor file;
  std::string text;
};

Handle& handle_of(const fuse_file_info* info) { return *reinterpret_cast<Handle*>(info->fh); }

/// The process of a thread, which is all that the kernel names.
Client process_of(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  const std::string key = "Tgid:";
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, key.size(), key) == 0) {
      return static_cast<Client>(std::stoul(line.substr(key.size())));
    }
  }
  return static_cast<Client>(thread);
}

/// Without libfuse's own reply, which cannot say that processes may write at the same time before
/// its version 3.15.
void reply_open(fuse_req_t request, std::unique_ptr<Handle> handle) {
  fuse_open_out reply = {};
  reply.fh = reinterpret_cast<std::uint64_t>(handle.get());
  reply.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES | FOPEN_NOFLUSH;
  // Where the caller was interrupted there will be no release.
  if (fuse_reply_buf(request, reinterpret_cast<const char*>(&reply), sizeof reply) == 0) {
    static_cast<void>(handle.release());
  }
}

void open_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  FileSystem& system = system_of(request);
  const Node& node = node_of(request, number);
  auto handle = std::make_unique<Handle>();
  if (&node == &system.statistics) {
    handle->text = statistics_text(system);
    reply_open(request, std::move(handle));
    return;
  }
  system.physics.open();
  const int flags = info->flags & (O_ACCMODE | O_TRUNC);
  handle->file = Descriptor(::open(node.path().c_str(), flags | O_CLOEXEC));
  if (handle->file.get() < 0) {
    fuse_reply_err(request, errno);
  } else {
    reply_open(request, std::move(handle));
  }
}

void close_file(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  const std::unique_ptr<Handle> handle(&handle_of(info));
  fuse_reply_err(request, 0);
}

/// Calls `transfer(done bytes)`, which moves some more, until `size` bytes, the end or an error.
template <class Transfer>
int transfer_all(std::size_t size, std::size_t& done, Transfer transfer) {
  while (done < size) {
    const ssize_t count = transfer(done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

void write_file(fuse_req_t request, fuse_ino_t number, const char* bytes, std::size_t size,
                off_t offset, fuse_file_info* info) {
  const int file = handle_of(info).file.get();
  std::size_t done = 0;
  int error = file < 0 ? EBADF : 0;
  const auto store = [&] {
    error = transfer_all(size, done, [&](std::size_t from) {
      return ::pwrite(file, bytes + from, size - from, offset + static_cast<off_t>(from));
    });
  };
  if (error == 0) {
    const Client client = process_of(fuse_req_ctx(request)->pid);
    const Write write{static_cast<std::uint64_t>(offset), size, (info->flags & O_DIRECT) != 0};
    system_of(request).physics.write(*node_of(request, number).striped, client, write, store);
  }
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_write(request, done);
  }
}

void read_file(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset,
               fuse_file_info* info) {
  const Handle& handle = handle_of(info);
  if (handle.file.get() < 0) {
    const auto begin = std::min<std::size_t>(static_cast<std::size_t>(offset), handle.text.size());
    fuse_reply_buf(request, handle.text.data() + begin, std::min(size, handle.text.size() - begin));
    return;
  }
  // What lies beyond the end takes no time.
  struct stat status = {};
  ::fstat(handle.file.get(), &status);
  const off_t there = std::max<off_t>(0, status.st_size - offset);
  std::vector<char> bytes(std::min<std::size_t>(size, static_cast<std::size_t>(there)));
  std::size_t done = 0;
  int error = 0;
  system_of(request).physics.read(
      *node_of(request, number).striped, static_cast<std::uint64_t>(offset), bytes.size(), [&] {
        error = transfer_all(bytes.size(), done, [&](std::size_t from) {
          return ::pread(handle.file.get(), bytes.data() + from, bytes.size() - from,
                         offset + static_cast<off_t>(from));
        });
      });
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_buf(request, bytes.data(), done);
  }
}

// What the backing folder does is not the mount's time.
void sync_file(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  system_of(request).physics.sync(process_of(fuse_req_ctx(request)->pid));
  fuse_reply_err(request, 0);
}

void allocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
              fuse_file_info* info) {
  system_of(request).physics.metadata_turn();
  const int result = ::fallocate(handle_of(info).file.get(), mode, offset, length);
  fuse_reply_err(request, result == 0 ? 0 : errno);
}

}  // namespace

std::string statistics_text(const FileSystem& system) {
  const Parameters& of = system.parameters;
  const Counters counters = system.physics.counters();
  nlohmann::ordered_json found{{"stripe_bytes", of.stripe_bytes},
                               {"bandwidth_bytes_per_s", of.bandwidth_bytes_per_s},
                               {"latency_s", of.latency_s},
                               {"lock_s", of.lock_s},
                               {"dirty_bytes", of.dirty_bytes},
                               {"metadata_s", of.metadata_s},
                               {"hand_overs", counters.hand_overs},
                               {"opens", counters.opens},
                               {"creates", counters.creates},
                               {"metadata_turns", counters.metadata_turns},
                               {"metadata_busy_s", counters.metadata_busy_s},
                               {"targets", nlohmann::ordered_json::array()}};
  for (const TargetCounters& target : counters.targets) {
    found["targets"].push_back({{"written_bytes", target.written_bytes},
                                {"read_bytes", target.read_bytes},
                                {"requests", target.requests},
                                {"busy_s", target.busy_s}});
  }
  return found.dump(1) + "\n";
}

void add_data_operations(fuse_lowlevel_ops& operations) {
  operations.open = open_file;
  operations.release = close_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.fsync = sync_file;
  operations.fallocate = allocate;
}

}  // namespace sluice::contended
