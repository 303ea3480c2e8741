#include "api/checkpoint/checkpoint_paths.hpp"

#include "model/bytes.hpp"
#include "storage/current_folder.hpp"

namespace sluice::detail {

void complete_paths(exec::Transport& transport, storage::Storage& storage, std::string& path,
                    std::string& parts_dir, Scratch* scratch, const exec::Failures& before) {
  auto in = exec::on_root(
      transport,
      [&](model::ByteWriter& out) {
        const bool depends =
            storage::depends_on_current_folder(path) ||
            storage::depends_on_current_folder(parts_dir) ||
            (scratch != nullptr && storage::depends_on_current_folder(scratch->folder()));
        const bool is_needed = depends && !storage::is_object_path(path);
        out.put(is_needed ? storage::current_folder(storage) : std::string());
      },
      before);
  const std::string folder = in.get_string();
  path = storage::path_below(folder, path);
  parts_dir = storage::path_below(folder, parts_dir);
  if (scratch != nullptr) {
    scratch->complete_paths(folder);
  }
}

}  // namespace sluice::detail
