#include "layout/hdf5/openpmd_attributes.hpp"

#include <algorithm>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/openpmd/attributes.hpp"

namespace sluice::layout::hdf5 {

namespace {

bool is_plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c != '\0' && static_cast<unsigned char>(c) < 128;
  });
}

void write_unsigned(hid_t owner, const std::string& name, const model::AttributeValue& value) {
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  if (list == nullptr) {
    const auto number = static_cast<std::uint32_t>(std::get<std::int64_t>(value));
    const Handle type = file_type(type_of<std::uint32_t>());
    write_values(owner, name, type.get(), {}, &number);
    return;
  }
  const std::vector<std::uint64_t> sizes(list->begin(), list->end());
  const Handle type = file_type(type_of<std::uint64_t>());
  write_values(owner, name, type.get(), {sizes.size()}, sizes.data());
}

}  // namespace

void write_openpmd_attribute(hid_t owner, const std::string& name,
                             const model::AttributeValue& value) {
  const model::AttributeValue stored = openpmd::as_stored(name, value).value_or(value);
  const auto* text = std::get_if<std::string>(&stored);
  const auto* texts = std::get_if<std::vector<std::string>>(&stored);
  if (text != nullptr && is_plain(*text)) {
    write_fixed_text(owner, name, *text);
  } else if (texts != nullptr && !texts->empty() &&
             std::all_of(texts->begin(), texts->end(), is_plain)) {
    write_fixed_texts(owner, name, *texts);
  } else if (openpmd::unsigned_bits(name) != 0) {
    write_unsigned(owner, name, stored);
  } else {
    write_attribute(owner, name, stored);
  }
}

}  // namespace sluice::layout::hdf5
