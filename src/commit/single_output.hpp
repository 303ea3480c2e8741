// An output into one file, which all ranks of the transport write together.
#pragma once

#include "commit/file_writer.hpp"
#include "commit/output.hpp"

namespace sluice::commit {

class SingleOutput final : public Output {
 public:
  /// Collective.
  SingleOutput(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               Opening opening, const Options& options)
      : Output(transport, storage, path, options),
        file_(transport, storage, path, opening, options) {
    adopt(file_.definitions(), file_.steps(), opening != Opening::append, file_.format());
  }

 private:
  void accept(const model::Definition& definition) override { file_.define(definition); }
  void accept(const model::Attribute& attribute) override { file_.set_attribute(attribute); }
  bool broken() const override { return file_.poisoned(); }
  bool has_unfinished() const override { return file_.has_unmade(); }
  std::uint64_t carry_out(const FileCommit& commit) override { return file_.commit(commit); }
  void sync_all() override { file_.sync_all(); }
  void finish() override { file_.close(); }

  FileWriter file_;
};

}  // namespace sluice::commit
