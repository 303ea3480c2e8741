#include "dialect/vampire/row_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "exec/transport/agree.hpp"
#include "exec/transport/tags.hpp"
#include "exec/write/sink.hpp"
#include "model/clock.hpp"
#include "storage/forwarding.hpp"

namespace sluice::dialect::vampire {
namespace {

/// Packed or received while another one is written.
constexpr std::size_t piece_bytes = 4 << 20;
constexpr std::size_t pieces = 3;

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += model::now_s() - began_s_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  double began_s_ = model::now_s();
};

/// Adds up the time of the calls.
class TimedFile final : public storage::ForwardingFile {
 public:
  TimedFile(std::unique_ptr<storage::File> inner, RowSeconds& seconds)
      : ForwardingFile(std::move(inner)), seconds_(seconds) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const Stopwatch watch(seconds_.write);
    inner().write(offset, bytes);
  }
  void sync() override {
    const Stopwatch watch(seconds_.sync);
    inner().sync();
  }

 private:
  RowSeconds& seconds_;
};

/// The files into which this rank writes, each opened once; large pieces are written by a thread,
/// while the next one is received or packed.
class Writing {
 public:
  Writing(storage::Storage& storage, const RowFiles& files)
      : storage_(storage),
        files_(files),
        writer_(piece_bytes, pieces,
                storage.in_background() ? exec::Pace::in_thread : exec::Pace::at_once) {}

  void make(std::size_t file) {
    const std::string path = files_.path(file);
    if (storage_.exists(path)) {
      storage_.remove(path);
    }
    storage::File& made = add(file, storage_.open(path, storage::Access::create));
    if (const std::uint64_t bytes = files_.bytes(file); bytes > 0) {
      made.preallocate(0, bytes);
    }
    const std::string head = files_.head(file);
    made.write(0, std::as_bytes(std::span(head)));
  }
  void write(const Extent& extent) {
    if (!sink_ || sink_file_ != extent.file) {
      finish();
      const auto found = open_.find(extent.file);
      sink_.emplace(found != open_.end()
                        ? *found->second
                        : add(extent.file,
                              storage_.open(files_.path(extent.file), storage::Access::read_write)),
                    writer_);
      sink_file_ = extent.file;
    }
    sink_->write(extent.offset, extent.bytes);
  }
  /// On return everything is written.
  void finish() {
    if (sink_) {
      sink_->finish();
      sink_.reset();
    }
  }
  void sync() {
    for (const auto& [number, file] : open_) {
      file->sync();
    }
  }
  const RowSeconds& seconds() const { return seconds_; }

 private:
  storage::File& add(std::size_t number, std::unique_ptr<storage::File> file) {
    return *open_.emplace(number, std::make_unique<TimedFile>(std::move(file), seconds_))
                .first->second;
  }

  storage::Storage& storage_;
  const RowFiles& files_;
  RowSeconds seconds_;
  exec::WriteBehind writer_;
  std::map<std::size_t, std::unique_ptr<TimedFile>> open_;
  std::optional<exec::FileSink> sink_;  ///< of one file at a time: it holds a piece
  std::size_t sink_file_ = 0;
};

/// The destination of the next piece and its length; a length of 0 ends a rank's pieces.
using Head = std::array<std::uint64_t, 3>;

void send_pieces(exec::Transport& transport, int to, std::span<const Extent> extents) {
  const auto announce = [&](const Head& head) {
    transport.send(to, exec::text_piece_tag, std::as_bytes(std::span(head)));
  };
  for (const Extent& extent : extents) {
    for (std::size_t at = 0; at < extent.bytes.size(); at += gather_bytes) {
      const auto piece = extent.bytes.subspan(at, std::min(gather_bytes, extent.bytes.size() - at));
      announce({extent.file, extent.offset + at, piece.size()});
      transport.send(to, exec::text_piece_tag, piece);
    }
  }
  announce({});
}

/// Receives all pieces of a rank, even after a failure, so that none waits for ever.
void receive_pieces(exec::Transport& transport, int from, Writing& writing,
                    std::vector<std::byte>& buffer, std::exception_ptr& failure) {
  for (;;) {
    Head head{};
    transport.receive(from, exec::text_piece_tag, std::as_writable_bytes(std::span(head)));
    if (head[2] == 0) {
      return;
    }
    buffer.resize(std::max<std::size_t>(buffer.size(), head[2]));
    const auto piece = std::span(buffer).first(head[2]);
    transport.receive(from, exec::text_piece_tag, piece);
    if (!failure) {
      try {
        writing.write({head[0], head[1], piece});
      } catch (...) {
        failure = std::current_exception();
      }
    }
  }
}

}  // namespace

RowSeconds write_row_files(exec::Transport& transport, storage::Storage& storage,
                           const RowFiles& files, std::span<const Extent> extents) {
  const int rank = transport.rank();
  Writing writing(storage, files);
  exec::together(transport, [&] {
    for (std::size_t file = 0; file < files.files; ++file) {
      if (files.maker(file) == rank) {
        writing.make(file);
      }
    }
  });
  std::exception_ptr failure;
  if (files.writer != rank) {
    send_pieces(transport, files.writer, extents);
  } else {
    std::vector<std::byte> buffer;
    for (int member = files.first_member; member < rank; ++member) {
      receive_pieces(transport, member, writing, buffer, failure);
    }
    try {
      for (const Extent& extent : extents) {
        writing.write(extent);
      }
      writing.finish();
      if (files.durable && !failure) {
        writing.sync();
      }
    } catch (...) {
      failure = failure ? failure : std::current_exception();
    }
  }
  exec::agree(transport, failure);
  return writing.seconds();
}

}  // namespace sluice::dialect::vampire
