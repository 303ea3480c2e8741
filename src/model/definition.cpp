#include "model/definition.hpp"

#include <algorithm>

namespace sluice::model {

void Definition::write_to(ByteWriter& out) const {
  out.put(name);
  out.put(type.kind);
  out.put(type.bytes);
  out.put(shape);
  out.put(stepped);
  out.put(partial);
  out.put(gives_fill);
  out.put(fill);
  out.put(dimensions.size());
  for (const std::string& dimension : dimensions) {
    out.put(dimension);
  }
  out.put(chunk);
  out.put(varying);
  out.put(along_steps);
  out.put(compress);
}

Definition Definition::read_from(ByteReader& in) {
  Definition d;
  d.name = in.get_string();
  d.type.kind = in.get<Kind>();
  d.type.bytes = in.get<std::uint32_t>();
  d.shape = in.get<Dims>();
  d.stepped = in.get<bool>();
  d.partial = in.get<bool>();
  d.gives_fill = in.get<bool>();
  d.fill = in.get_vector<std::byte>();
  const auto names = in.get<std::size_t>();
  for (std::size_t i = 0; i < names; ++i) {
    d.dimensions.push_back(in.get_string());
  }
  d.chunk = in.get<Dims>();
  d.varying = in.get<bool>();
  d.along_steps = in.get<bool>();
  d.compress = in.get_string();
  return d;
}

const std::string* text_of(const AttributeValue& value) noexcept {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return texts->size() == 1 ? texts->data() : nullptr;
  }
  return std::get_if<std::string>(&value);
}

void set_attribute(std::vector<Attribute>& attributes, const Attribute& attribute) {
  const auto known = std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) {
    return a.owner == attribute.owner && a.name == attribute.name;
  });
  if (known != attributes.end()) {
    known->value = attribute.value;
  } else {
    attributes.push_back(attribute);
  }
}

}  // namespace sluice::model
