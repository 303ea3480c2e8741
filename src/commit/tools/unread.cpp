#include "commit/tools/unread.hpp"

#include <algorithm>

#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/portion.hpp"
#include "model/bytes.hpp"
#include "storage/self_storage.hpp"

namespace sluice::commit {

namespace {

void read_all(Input& input, std::uint32_t variable) {
  const model::Definition& d = input.variables()[variable].definition;
  std::vector<std::byte> bytes;
  layout::for_each_part(model::whole(d.shape), d.type.bytes, layout::portion_bytes,
                        [&](const model::Box& part) {
                          bytes.resize(part.volume() * d.type.bytes);
                          input.get(dense_request(variable, 0, part, bytes.data(), d.type));
                        });
}

}  // namespace

Unread find_unread(exec::Transport& transport, storage::Storage& storage, const std::string& path) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    Unread found;
    const auto alone = exec::make_solo();
    const auto own_storage = storage::make_self_storage(storage);
    Input input(*alone, *own_storage, path, Options{});
    const bool may_have = !input.written_by_sluice() && input.steps() == 0;
    for (std::uint32_t v = 0; may_have && v < input.variables().size(); ++v) {
      try {
        read_all(input, v);
      } catch (const Error& e) {
        if (!may_be_of_variable(e.code())) {
          throw;
        }
        found[input.variables()[v].definition.name] = e.what();
      }
    }
    out.put(found.size());
    for (const auto& [name, why] : found) {
      out.put(name);
      out.put(why);
    }
  });
  Unread found;
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    const std::string name = in.get_string();
    found[name] = in.get_string();
  }
  return found;
}

namespace {

void append_lines(const std::vector<layout::UnreadableDataset>& list,
                  std::vector<std::string>& lines) {
  for (const layout::UnreadableDataset& one : list) {
    lines.push_back(one.name + " (" + one.type + ")");
  }
}

}  // namespace

std::vector<std::string> unread_data_of(const layout::Catalog& catalog) {
  std::vector<std::string> lines;
  append_lines(catalog.unreadable(), lines);
  append_lines(catalog.unread_attributes(), lines);
  return lines;
}

std::vector<layout::UnreadableDataset> unreadable_in(layout::Catalog& catalog) {
  std::vector<layout::UnreadableDataset> all = catalog.unreadable();
  const auto& attributes = catalog.unread_attributes();
  all.insert(all.end(), attributes.begin(), attributes.end());
  const std::vector<layout::UnreadableDataset> others = catalog.other_objects();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<std::string> unreadable_of(layout::Catalog& catalog) {
  std::vector<std::string> lines;
  append_lines(unreadable_in(catalog), lines);
  return lines;
}

std::vector<std::string> carried_unread(const Unread& unread,
                                        const std::vector<std::string>& left_out) {
  std::vector<std::string> lines;
  for (const auto& entry : unread) {
    const std::string& name = entry.first;
    const bool is_left_out =
        std::any_of(left_out.begin(), left_out.end(),
                    [&](const std::string& one) { return one.rfind(name + " (", 0) == 0; });
    if (!is_left_out) {
      lines.push_back(name + ": copied as it is, for it cannot be read here: " + entry.second);
    }
  }
  return lines;
}

}  // namespace sluice::commit
