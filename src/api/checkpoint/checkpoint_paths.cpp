// Where a checkpoint's files are, whatever the program's current folder is later.
#include "api/checkpoint/checkpoint_impl.hpp"
#include "model/bytes.hpp"
#include "storage/current_folder.hpp"

namespace sluice::detail {

/// Collective. The file is opened again and again, which must find it where the first one did. A
/// link is followed by each, as it was named.
void CheckpointImpl::complete_paths(const exec::Failures& before) {
  auto in = exec::on_root(
      *transport_,
      [&](model::ByteWriter& out) {
        const bool depends = storage::depends_on_current_folder(path_) ||
                             storage::depends_on_current_folder(options_.file.parts_dir) ||
                             (scratch_ && storage::depends_on_current_folder(scratch_->folder()));
        const bool is_needed = depends && !storage::is_object_path(path_);
        out.put(is_needed ? storage::current_folder(*storage_) : std::string());
      },
      before);
  const std::string folder = in.get_string();
  path_ = storage::path_below(folder, path_);
  options_.file.parts_dir = storage::path_below(folder, options_.file.parts_dir);
  if (scratch_) {
    scratch_->complete_paths(folder);
  }
}

}  // namespace sluice::detail
