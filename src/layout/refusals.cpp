#include "layout/refusals.hpp"

#include "sluice/error.hpp"

namespace sluice::layout {

namespace {

bool is_below(const std::string& name, const std::string& folder) {
  return name.size() > folder.size() && name.starts_with(folder) && name[folder.size()] == '/';
}

}  // namespace

void refuse_rewriting(const std::string& what, const std::string& remedy) {
  throw Error(Code::unsupported,
              what +
                  ": was written by an earlier commit, and committed data is never overwritten "
                  "in place: " +
                  remedy);
}

void Refusals::check(const model::Definition& definition) const {
  const std::string& name = definition.name;
  for (const Node& node : nodes) {
    if (node.name == name || is_below(node.name, name) ||
        (node.is_array && is_below(name, node.name))) {
      throw Error(Code::exists, "define " + name + ": another program made " + node.name +
                                    " in this store: use another name, or write a new store");
    }
  }
  if (!no_partial.empty() && definition.partial) {
    throw Error(Code::unsupported, "define " + name + ": " + no_partial);
  }
}

void Refusals::write_to(model::ByteWriter& out) const {
  out.put(nodes.size());
  for (const Node& node : nodes) {
    out.put(node.name);
    out.put(node.is_array);
  }
  out.put(no_partial);
}

Refusals Refusals::read_from(model::ByteReader& in) {
  Refusals refusals;
  refusals.nodes.resize(in.get<std::size_t>());
  for (Node& node : refusals.nodes) {
    node.name = in.get_string();
    node.is_array = in.get<bool>();
  }
  refusals.no_partial = in.get_string();
  return refusals;
}

}  // namespace sluice::layout
