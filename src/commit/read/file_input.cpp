#include "commit/read/file_input.hpp"

#include "exec/cores.hpp"
#include "exec/transport/agree.hpp"
#include "layout/part_set.hpp"

namespace sluice::commit {

FileInput::FileInput(exec::Transport& ranks, storage::Storage& place, const std::string& path,
                     const Options& asked)
    : transport(ranks), storage(place), options(asked), rank_cores(exec::idle_cores(ranks)) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    root = std::make_unique<RootCatalog>(storage, storage.real_path(path), options);
    const layout::PartSet* set = root->catalog().set();
    root->contents().write_to(out);
    out.put(root->journal());
    out.put(set != nullptr ? set->words() : std::vector<std::uint64_t>{});
    out.put(options.readers);
    out.put(options.budget_bytes);
  });
  view = FileView(FileView::Contents::read_from(in));
  source = std::make_unique<SourceFile>(storage, this->path(), in.get_vector<std::byte>());
  set_words = in.get_vector<std::uint64_t>();
  options.readers = in.get<int>();
  options.budget_bytes = in.get<std::uint64_t>();
}

bool FileInput::follow(bool may_follow) const {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    const bool has_followed = may_follow && root->follow(true);
    out.put(has_followed);
    out.put(has_followed ? root->journal() : std::vector<std::byte>{});
  });
  const bool has_followed = in.get<bool>();
  if (has_followed) {
    source->follow(in.get_vector<std::byte>());
  }
  return has_followed;
}

}  // namespace sluice::commit
