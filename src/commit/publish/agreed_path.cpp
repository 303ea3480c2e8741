#include "commit/publish/agreed_path.hpp"

#include "exec/cores.hpp"
#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::commit {

std::string agreed_path(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path) {
  auto message =
      exec::on_root(transport, [&](model::ByteWriter& out) { out.put(storage.real_path(path)); });
  return message.get_string();
}

PlaceFacts PlaceFacts::of(storage::Storage& storage, const std::string& path) {
  return {storage.file_system(path), static_cast<int>(exec::node_cores())};
}

void PlaceFacts::write_to(model::ByteWriter& out) const {
  out.put(file_system.kind);
  out.put(file_system.reach);
  out.put(file_system.stripe_bytes);
  out.put(file_system.stripes);
  out.put(node_cores);
}

PlaceFacts PlaceFacts::read_from(model::ByteReader& in) {
  PlaceFacts facts;
  facts.file_system.kind = in.get_string();
  facts.file_system.reach = in.get<model::Reach>();
  facts.file_system.stripe_bytes = in.get<std::uint64_t>();
  facts.file_system.stripes = in.get<std::uint32_t>();
  facts.node_cores = in.get<int>();
  return facts;
}

bool names_folder(const std::string& path) { return !path.empty() && path.back() == '/'; }

FilePlace agreed_place(exec::Transport& transport, storage::Storage& storage,
                       const std::string& path) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    const std::string real = storage.real_path(path);
    out.put(real);
    PlaceFacts::of(storage, real).write_to(out);
    out.put(names_folder(path));
  });
  FilePlace place;
  place.path = in.get_string();
  place.facts = PlaceFacts::read_from(in);
  place.names_folder = in.get<bool>();
  place.rank_cores = exec::idle_cores(transport);
  return place;
}

}  // namespace sluice::commit
