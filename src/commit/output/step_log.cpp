#include "commit/output/step_log.hpp"

#include "sluice/error.hpp"

namespace sluice::commit {

using storage::Access;

std::string log_path(const std::string& path) { return path + ".log.jsonl"; }

StepLog::StepLog(storage::Storage& storage, const std::string& path, bool goes_on) noexcept {
  try {
    const std::string log = log_path(path);
    const bool is_there = storage.exists(log);
    file_ = storage.open(log, is_there ? Access::read_write : Access::create);
    if (is_there && !goes_on) {
      file_->resize(0);
    }
    end_ = file_->size();
  } catch (const std::exception& e) {
    file_.reset();
    failure_ = e.what();
  }
}

void StepLog::write(std::span<const CommitCost> commits) noexcept {
  try {
    std::string text;
    for (const CommitCost& commit : commits) {
      text += line_of(commit);
    }
    if (file_ && !text.empty()) {
      file_->write(end_, std::as_bytes(std::span(text)));
      end_ += text.size();
    }
  } catch (const std::exception& e) {
    file_.reset();
    failure_ = e.what();
  }
}

}  // namespace sluice::commit
