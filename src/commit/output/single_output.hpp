// An output into one file, which all ranks of the transport write together.
#pragma once

#include "commit/output/output.hpp"
#include "commit/write/file_writer.hpp"

namespace sluice::commit {

class SingleOutput final : public Output {
 public:
  /// Collective.
  SingleOutput(exec::Transport& transport, storage::Storage& storage, const FilePlace& place,
               Opening opening, const Options& options)
      : Output(transport, storage, place.path, options),
        file_(transport, storage, place, opening, options) {
    adopt(file_.variables().definitions(), file_.variables().steps(), opening != Opening::append,
          file_.variables().format());
  }

  std::string opening_notice() const override { return file_.opening_notice(); }

 private:
  void accept(const model::Definition& definition) override { file_.define(definition); }
  void accept(const model::Attribute& attribute) override { file_.set_attribute(attribute); }
  bool broken() const override { return file_.poisoned(); }
  bool has_unfinished() const override {
    const FileVariables& variables = file_.variables();
    return variables.has_unmade() ||
           (variables.format().described_at_close && variables.steps() == 0);
  }
  std::uint64_t carry_out(const FileCommit& commit) override { return file_.commit(commit); }
  void sync_all() override { file_.sync_all(); }
  void finish() override { file_.close(); }
  CommitQueue* queue() noexcept override { return &file_.queue(); }
  void recover() override { file_.recover(); }
  std::uint64_t steps_left() const override { return file_.variables().steps(); }
  double waited_s() const override { return file_.waited_s(); }

  FileWriter file_;
};

}  // namespace sluice::commit
