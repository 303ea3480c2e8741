#include "exec/read/read_box.hpp"

#include <cstring>

namespace sluice::exec {

namespace {

void read_all(storage::File& file, std::uint64_t offset, std::span<std::byte> out) {
  const std::size_t got = file.read(offset, out);
  if (got != out.size()) {
    throw Error(Code::truncated, file.path() + ": ends at " + std::to_string(offset + got) + ", " +
                                     std::to_string(out.size() - got) + " bytes short");
  }
}

/// Shorter runs are read together with the gaps between them.
constexpr std::uint64_t short_run_bytes = 32 << 10;

/// Takes ascending runs and reads neighbouring ones in one window.
class RunReader {
 public:
  RunReader(storage::File& file, std::span<std::byte> out) : file_(file), out_(out) {}

  void add(std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
    const bool fits = !runs_.empty() && offset >= end_ &&
                      offset + length - runs_.front().offset <= layout::portion_bytes &&
                      offset - end_ <= short_run_bytes;
    if (!fits) {
      flush();
    }
    runs_.push_back({offset, at, length});
    end_ = offset + length;
  }

  void flush() {
    if (runs_.size() == 1) {
      read_all(file_, runs_[0].offset, out_.subspan(runs_[0].at, runs_[0].length));
    } else if (!runs_.empty()) {
      const std::uint64_t first = runs_.front().offset;
      window_.resize(end_ - first);
      read_all(file_, first, window_);
      for (const Run& run : runs_) {
        std::memcpy(&out_[run.at], &window_[run.offset - first], run.length);
      }
    }
    runs_.clear();
  }

 private:
  struct Run {
    std::uint64_t offset, at, length;
  };
  storage::File& file_;
  std::span<std::byte> out_;
  std::vector<Run> runs_;
  std::vector<std::byte> window_;
  std::uint64_t end_ = 0;
};

void fill_run(std::span<std::byte> out, std::span<const std::byte> element) {
  for (std::size_t at = 0; at < out.size(); at += element.size()) {
    std::memcpy(&out[at], element.data(), element.size());
  }
}

}  // namespace

void read_box(storage::File& file, const layout::Placement& placement, const model::Box& box,
              std::span<const std::byte> fill_element, std::span<std::byte> out) {
  RunReader reader(file, out);
  for (const layout::Piece& piece : layout::cut(placement, box)) {
    const bool is_absent = placement.address(piece.tile_index) == layout::absent;
    layout::for_each_run(placement, piece, box,
                         [&](std::uint64_t offset, std::uint64_t at, std::uint64_t length) {
                           if (is_absent) {
                             fill_run(out.subspan(at, length), fill_element);
                           } else {
                             reader.add(offset, at, length);
                           }
                         });
  }
  reader.flush();
}

}  // namespace sluice::exec
