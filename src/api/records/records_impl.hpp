// The implementation of sluice::Records: a File with two variables, and the streams in memory.
//
// Invariants: row p of the variable `parts` in step g is the location of part p of group g in the
// variable `data`: its first byte, the bytes of its signature, and the bytes of its values, which
// follow one another; parts are in the order of their ranks, without gaps.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/file/file_impl.hpp"
#include "exec/transport/given_up.hpp"
#include "layout/records/part.hpp"
#include "sluice/records.hpp"

namespace sluice::detail {

class RecordsImpl {
 public:
  /// Collective. `opener` opens the file with the options that it is given. `parts`: streams of
  /// this rank, the same on every rank.
  using Opener = std::function<std::unique_ptr<FileImpl>(const Options&)>;
  RecordsImpl(const Opener& opener, Mode mode, int parts, const Options& options);

  int parts() const noexcept { return static_cast<int>(streams_.size()); }
  std::uint64_t groups() const;
  void set_text(const std::string& name, const std::string& text);
  /// What is refused here makes the next commit fail on every rank.
  void write(int part, layout::records::ScalarCode code, const void* data, std::int64_t count);
  /// The next commit fails with `why` on every rank, where no write has failed before.
  void refuse(const Error& why);
  void read(int part, layout::records::ScalarCode code, void* data, std::int64_t count);
  bool at_end(int part);
  Ticket commit();
  bool drain(double seconds);
  bool fetch();
  void fetch(std::uint64_t group);
  void close();
  /// Notifies other ranks only if there is a reason: see FileImpl::leave. Local.
  void drop(const std::optional<std::string>& why) noexcept;
  bool is_here() const noexcept { return file_impl_->is_here(); }
  bool is_open() const noexcept { return file_impl_->is_open(); }
  bool unwinds() const noexcept { return file_impl_->unwinds(); }
  bool reads() const noexcept { return reads_; }
  const std::string& path() const noexcept { return file_impl_->path(); }
  int rank() const noexcept { return file_impl_->transport().rank(); }
  bool speaks() const { return file_impl_->speaks(); }

  struct Stream {
    layout::records::PartWriter writer;
    layout::records::PartReader reader;
  };
  Stream& stream(int part);

 private:
  struct Row {
    std::uint64_t offset = 0;
    std::uint64_t signature_bytes = 0;
    std::uint64_t payload_bytes = 0;
  };
  static constexpr std::uint64_t row_words = 3;

  void define();
  void find();
  void require(bool writing) const;
  void agree_on(int what);
  void put_all(Step& step);
  void check_rows(std::uint64_t group, std::uint64_t data_bytes) const;
  void hand_out(std::uint64_t group, std::uint64_t first_part, std::uint64_t parts);
  void restart() noexcept;

  FileImpl* file_impl_ = nullptr;  ///< of file_
  std::unique_ptr<File> file_;
  bool reads_ = false;
  Variable data_;
  Variable table_;
  std::vector<Stream> streams_;
  std::exception_ptr failure_;  ///< of a write, for the next commit
  std::uint64_t next_ = 0;      ///< group to be read
  std::vector<Row> rows_;       ///< of this rank's parts, being written or read
  std::unique_ptr<std::byte[]> bytes_;
  exec::MessageMark mark_;  ///< of before the commit or fetch that uses the memory of these
};

}  // namespace sluice::detail
