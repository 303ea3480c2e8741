// A file view: the bytes that a rank sees as one stream, and the file offset of each.
//
// Invariants: byte s of the stream is byte s % size of copy s / size of the file type, which is at
// displacement + copy * extent. If is_ascending(), a later byte of the stream never precedes an
// earlier one in the file and no two are the same, so a range of the file is a range of the stream.
#pragma once

#include <memory>

#include "mpiio/runs.hpp"

namespace sluice::mpiio {

class View {
 public:
  /// All bytes from the start of the file.
  View() : View(0, std::make_shared<const Flat>(Flat::bytes(1)), 1) {}
  View(std::int64_t displacement, std::shared_ptr<const Flat> file_type,
       std::int64_t element_bytes);

  std::int64_t displacement() const { return displacement_; }
  const Flat& file_type() const { return *type_; }
  /// Bytes of an elementary datatype: offsets and pointers count in these.
  std::int64_t element_bytes() const { return element_bytes_; }
  bool is_contiguous() const { return is_contiguous_; }
  bool is_ascending() const { return is_ascending_; }
  /// Is the view not empty?
  bool is_empty() const { return type_->size == 0; }

  /// Are the first `bytes` bytes of the stream at offsets that a file can have?
  bool reaches(std::int64_t bytes) const;
  /// File offset of byte `stream`, which the view reaches. Not for an empty view.
  std::int64_t file_offset(std::int64_t stream) const;
  /// The number of bytes of the stream before `offset`. For an ascending view.
  std::int64_t stream_below(std::int64_t offset) const;
  /// The part of the range `stream` of the stream that is in `window` of the file. For an ascending
  /// view.
  Run part_in(const Run& window, const Run& stream) const;
  /// The number of runs that a RunCursor has in a range of the stream. For an ascending view.
  std::int64_t pieces_of(const Run& stream) const;
  /// The approximate number of runs in `length` bytes.
  std::int64_t runs_in(std::int64_t length) const;

 private:
  std::int64_t displacement_;
  std::shared_ptr<const Flat> type_;
  std::int64_t element_bytes_;
  std::int64_t type_end_ = 0;  ///< of the last byte of one copy of the file type
  bool is_contiguous_ = false;
  bool is_ascending_ = false;
};

/// The runs of a range of the stream, one by one.
class RunCursor {
 public:
  /// `length` bytes from `stream`; 0 for an empty view.
  RunCursor(const View& view, std::int64_t stream, std::int64_t length);
  std::int64_t left() const { return left_; }
  /// The next run, at most `most` bytes of it; length 0: the end. Adjacent runs are merged.
  Run next(std::int64_t most);

 private:
  Run part(std::int64_t most);

  const View& view_;
  std::int64_t left_;
  std::int64_t tile_ = 0;    ///< start of the current copy of the file type
  std::size_t index_ = 0;    ///< of the run in it
  std::int64_t within_ = 0;  ///< bytes of that run that were returned already
};

}  // namespace sluice::mpiio
