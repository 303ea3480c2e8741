// Compressed variables of a commit: who owns their tiles, and the way to their places.
#include <algorithm>

#include "commit/write/file_writer.hpp"
#include "exec/encode_pool.hpp"
#include "exec/transport/agree.hpp"

namespace sluice::commit {

bool FileWriter::has_encoded(const FileCommit& commit) const {
  for (std::size_t v = 0; v < tiles_.size(); ++v) {
    if (commit.touched[v] && !tiles_[v].pipeline.empty()) {
      return true;
    }
  }
  return false;
}

std::vector<layout::Portion> FileWriter::take_encoded(
    const FileCommit& commit, std::vector<layout::Portion>& portions) const {
  const auto first =
      std::stable_partition(portions.begin(), portions.end(), [&](const layout::Portion& portion) {
        return tiles_[commit.blocks[portion.block].variable].pipeline.empty();
      });
  std::vector<layout::Portion> encoded(first, portions.end());
  portions.erase(first, portions.end());
  return encoded;
}

std::vector<exec::EncodedVariable> FileWriter::encoded_variables(const FileCommit& commit) const {
  std::vector<exec::EncodedVariable> variables;
  for (std::uint32_t v = 0; v < tiles_.size(); ++v) {
    if (commit.touched[v] && !tiles_[v].pipeline.empty()) {
      variables.push_back({v, definitions_[v].shape, tiles_[v].tile, tiles_[v].pipeline});
    }
  }
  return variables;
}

exec::EncodedResult FileWriter::write_encoded(const FileCommit& commit,
                                              const layout::CommitPlan& placed,
                                              std::span<const layout::Portion> portions) {
  if (!has_encoded(commit)) {
    return {};
  }
  exec::EncodedWork work;
  work.definitions = definitions_;
  work.name_hashes = name_hashes_;
  work.blocks = commit.blocks;
  work.portions = portions;
  work.variables = encoded_variables(commit);
  work.owners = strategy_.openers(topology_, choice_);
  work.budget_bytes = options_.budget_bytes;
  work.checksums = placed.checksums.has_value();
  work.file = file_;
  work.rank = commit.rank;
  work.writer = &buffers_.writer;
  work.threads = storage_.in_background() ? exec::idle_cores(transport_) : 1;
  work.place = [&](std::span<const layout::EncodedTile> tiles) {
    return planner_->place_encoded(tiles);
  };
  exec::EncodedResult result = exec::write_encoded(transport_, work);
  exec::on_root(transport_, 0, [&] {
    update_ = planner_->seal();
    return std::vector<std::byte>{};
  });
  return result;
}

}  // namespace sluice::commit
