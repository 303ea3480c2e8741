// The bytes of a file that is being read, on one rank or on several together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "layout/placement.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class SourceFile {
 public:
  /// `journal`: of a commit that is durable, but may not be applied yet. `storage` must outlive the
  /// object.
  SourceFile(storage::Storage& storage, std::string path, std::vector<std::byte> journal);

  /// Opens it again when it is needed, with another journal. Collective where it was opened
  /// together.
  void follow(std::vector<std::byte> journal);

  /// Local. The file to which the addresses of `placement` refer.
  storage::File& file(const layout::Placement& placement);
  /// Collective. The same file on ranks that read; nullptr elsewhere. They open it together if the
  /// storage requires that.
  storage::File* file_of_readers(exec::Transport& transport, const layout::Placement& placement,
                                 bool is_reader);

 private:
  storage::Storage& storage_;
  std::string path_;
  std::vector<std::byte> journal_;
  std::unique_ptr<storage::File> file_;
  std::unique_ptr<storage::File> common_file_;  ///< opened together by the readers, if so
  bool is_common_open_ = false;
};

}  // namespace sluice::commit
