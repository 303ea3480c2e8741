#include "commit/publish/agreed_path.hpp"

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::commit {

std::string agreed_path(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path) {
  auto message =
      exec::on_root(transport, [&](model::ByteWriter& out) { out.put(storage.real_path(path)); });
  return message.get_string();
}

}  // namespace sluice::commit
