#include "commit/read/source_file.hpp"

#include "commit/publish/in_place.hpp"
#include "commit/publish/recovery.hpp"
#include "exec/transport/agree.hpp"

namespace sluice::commit {

SourceFile::SourceFile(storage::Storage& storage, std::string path, std::vector<std::byte> journal)
    : storage_(storage), path_(std::move(path)), journal_(std::move(journal)) {}

void SourceFile::follow(std::vector<std::byte> journal) {
  file_.reset();
  common_file_.reset();
  is_common_open_ = false;
  journal_ = std::move(journal);
}

storage::File& SourceFile::file(const layout::Placement& placement) {
  if (!file_) {
    file_ = open_beside(storage_, path_, journal_);
  }
  if (!placement.objects().empty()) {
    file_->map(placement.objects());
  }
  return *file_;
}

storage::File* SourceFile::file_of_readers(exec::Transport& transport,
                                           const layout::Placement& placement, bool is_reader) {
  storage::File* opened = nullptr;
  const bool is_common =
      storage_.ranks_together() == transport.size() && placement.objects().empty();
  exec::together(transport, [&] {
    if (is_common) {
      if (!is_common_open_) {
        common_file_ = storage_.open_together(path_, storage::Access::read, is_reader);
        if (auto journal = parse_journal(journal_); journal && common_file_) {
          common_file_ = with_journal(std::move(common_file_),
                                      std::make_unique<MemoryRuns>(std::move(*journal)));
        }
      }
      opened = common_file_.get();
    } else if (is_reader) {
      opened = &file(placement);
    }
  });
  // On every rank or on none: those that do not read have no file, which is no failure.
  is_common_open_ = is_common_open_ || is_common;
  return opened;
}

}  // namespace sluice::commit
