// The files that a process has open through the driver: HDF5 may open one a second time, and must
// then find the same file.
//
// Invariants: there is at most one CommittedFile of a path in a process; it is closed when the last
// OpenFile of it is. It is used by one HDF5: a process may have several (the wheels of h5py,
// netCDF4 and PyTables bring their own), each of which knows its own end of allocation only. To the
// others the file is as one that another program writes.
#pragma once

#include <memory>
#include <string>

#include "plugin/committed_file.hpp"
#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

/// How a program opens a file.
struct Opening {
  bool writes = false;
  bool creates = false;    ///< where there is none
  bool truncates = false;  ///< what is there goes
  bool exclusive = false;  ///< there must be nothing
  bool swmr = false;
  bool clears_marks = false;  ///< of a program that had it open for writing: as h5clear -s
  bool makes() const { return creates || truncates || exclusive; }
  const void* library = nullptr;  ///< the HDF5 that asks
};

/// One opening of a file: of one that is written, or only read.
class OpenFile {
 public:
  /// Error locked, not_found, exists and those of opening.
  static std::unique_ptr<OpenFile> open(storage::Storage& storage, const std::string& path,
                                        const Opening& opening, const Settings& settings);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& path() const;
  storage::FileIdentity identity() const { return identity_; }
  bool is_written() const noexcept { return written_ != nullptr; }
  void read(std::uint64_t offset, std::span<std::byte> bytes);
  /// Error permission where it was opened for reading.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t size() const;
  std::uint64_t end() const;
  void set_end(std::uint64_t end);
  /// Cuts or grows to end().
  void cut();
  void commit();
  /// Commits what it has written; the last OpenFile of a file ends its writing. Only once.
  void close();

 private:
  OpenFile() = default;

  std::shared_ptr<CommittedFile> written_;
  std::unique_ptr<storage::File> read_;
  storage::FileIdentity identity_;
  std::uint64_t end_ = 0;  ///< of one that is read
  bool has_uncommitted_ = false;
};

/// Says that a file cannot be written for SWMR.
Error swmr_refused(const std::string& path);

/// H5Fdelete: the file, and what lies beside it: a journal, checksums.
void remove_with_journal(storage::Storage& storage, const std::string& path);

}  // namespace sluice::plugin
