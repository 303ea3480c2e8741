#include "layout/hdf5/attributes.hpp"

#include <algorithm>
#include <limits>

#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

namespace {

using model::AttributeValue;
using model::Dims;

template <class T>
constexpr bool is_text = std::is_same_v<T, std::string>;

Handle variable_text_type() {
  Handle type = own(H5Tcopy(H5T_C_S1), "string type");
  check(H5Tset_size(type.get(), H5T_VARIABLE), "string type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "string type");
  return type;
}

template <class T>
Handle type_for() {
  if constexpr (is_text<T>) {
    return variable_text_type();
  } else {
    return file_type(type_of<T>());
  }
}

/// Text of variable length ends at the first NUL.
bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

void write_values(hid_t owner, const std::string& name, hid_t type, const Dims& dims,
                  const void* values) {
  write_in_space(owner, name, type, dataspace(dims).get(), dims.volume() != 0 ? values : nullptr);
}

void write_in_space(hid_t owner, const std::string& name, hid_t type, hid_t space,
                    const void* values) {
  const std::string what = "attribute " + name;
  if (is_yes(H5Aexists(owner, name.c_str()), what)) {
    check(H5Adelete(owner, name.c_str()), what);
  }
  const Handle attribute =
      own(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  if (values != nullptr) {
    check(H5Awrite(attribute.get(), type, values), what);
  }
}

void write_fixed_texts(hid_t owner, const std::string& name,
                       const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) {
    width = std::max(width, text.size());
  }
  std::vector<char> characters(width * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::copy(texts[i].begin(), texts[i].end(),
              characters.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  const Handle type = file_type(string_type(static_cast<std::uint32_t>(width)));
  write_values(owner, name, type.get(), {texts.size()}, characters.data());
}

namespace {

template <class T>
void write_one(hid_t owner, const std::string& name, const T& value) {
  if constexpr (is_text<T>) {
    if (has_nul(value)) {
      write_fixed_text(owner, name, value);
      return;
    }
  }
  const Handle type = type_for<T>();
  if constexpr (is_text<T>) {
    const char* text = value.c_str();
    write_values(owner, name, type.get(), {}, &text);
  } else {
    write_values(owner, name, type.get(), {}, &value);
  }
}

template <class T>
void write_one(hid_t owner, const std::string& name, const std::vector<T>& values) {
  if constexpr (is_text<T>) {
    if (std::any_of(values.begin(), values.end(), has_nul)) {
      write_fixed_texts(owner, name, values);
      return;
    }
  }
  const Handle type = type_for<T>();
  const Dims dims{values.size()};
  if constexpr (is_text<T>) {
    std::vector<const char*> texts;
    texts.reserve(values.size());
    for (const auto& value : values) {
      texts.push_back(value.c_str());
    }
    write_values(owner, name, type.get(), dims, texts.data());
  } else {
    write_values(owner, name, type.get(), dims, values.data());
  }
}

/// Reads numbers of memory type T, one or many.
template <class T>
AttributeValue read_numbers(hid_t attribute, bool scalar, std::size_t count) {
  const Handle type = file_type(type_of<T>());
  if (scalar) {
    T value{};
    check(H5Aread(attribute, type.get(), &value), "attribute");
    return value;
  }
  std::vector<T> values(count);
  if (count != 0) {
    check(H5Aread(attribute, type.get(), values.data()), "attribute");
  }
  return values;
}

/// Empty if a number is beyond the range of attributes.
std::optional<AttributeValue> read_unsigned(hid_t attribute, bool scalar, std::size_t count) {
  const Handle type = file_type(type_of<std::uint64_t>());
  std::vector<std::uint64_t> values(std::max<std::size_t>(1, count));
  if (count != 0) {
    check(H5Aread(attribute, type.get(), values.data()), "attribute");
  }
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (std::any_of(values.begin(), values.end(), [](std::uint64_t v) { return v > most; })) {
    return std::nullopt;
  }
  return read_numbers<std::int64_t>(attribute, scalar, count);
}

AttributeValue read_boolean(hid_t attribute) {
  const Handle type = file_type(type_of<bool>());
  std::int8_t value = 0;
  check(H5Aread(attribute, type.get(), &value), "attribute");
  return value != 0;
}

AttributeValue text_value(std::vector<std::string> texts, bool scalar) {
  if (scalar) {
    return std::move(texts.at(0));
  }
  return texts;
}

AttributeValue read_text(hid_t attribute, hid_t type, hid_t space, bool scalar, std::size_t count) {
  std::vector<std::string> texts;
  if (count == 0) {  // libhdf5 refuses to read into no memory
    return texts;
  }
  if (is_yes(H5Tis_variable_str(type), "attribute")) {
    std::vector<char*> pointers(count, nullptr);
    const Handle memory = own(H5Tcopy(type), "attribute");
    check(H5Aread(attribute, memory.get(), pointers.data()), "attribute");
    for (const char* pointer : pointers) {
      texts.emplace_back(pointer == nullptr ? "" : pointer);
    }
    H5Dvlen_reclaim(memory.get(), space, H5P_DEFAULT, pointers.data());
    return text_value(std::move(texts), scalar);
  }
  // As with every other reader: libhdf5 removes the padding, whatever it is.
  const Handle padded = own(H5Tcopy(type), "attribute");
  check(H5Tset_strpad(padded.get(), H5T_STR_NULLPAD), "attribute");
  const std::size_t width = H5Tget_size(type);
  std::vector<char> characters(width * count);
  check(H5Aread(attribute, padded.get(), characters.data()), "attribute");
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(characters.data() + i * width, width);
    while (!text.empty() && text.back() == '\0') {
      text.pop_back();
    }
    texts.push_back(std::move(text));
  }
  return text_value(std::move(texts), scalar);
}

/// A damaged file may claim any size: beyond so many elements, that they fit the file is looked at
/// before memory is taken for them.
constexpr hssize_t always_plausible_elements = 1 << 20;

}  // namespace

void require_plausible_count(hid_t attribute, hid_t type, hssize_t points,
                             const std::string& what) {
  if (points <= always_plausible_elements) {
    return;
  }
  const Handle file = own(H5Iget_file_id(attribute), what);
  hsize_t file_bytes = 0;
  check(H5Fget_filesize(file.get(), &file_bytes), what);
  const std::size_t each = H5Tget_size(type);
  if (each == 0 || static_cast<hsize_t>(points) > file_bytes / each) {
    throw Error(Code::damaged, what + " claims " + std::to_string(points) + " elements of " +
                                   std::to_string(each) + " bytes in a file of " +
                                   std::to_string(file_bytes));
  }
}

void write_attribute(hid_t owner, const std::string& name, const AttributeValue& value) {
  std::visit([&](const auto& v) { write_one(owner, name, v); }, value);
}

void write_fixed_text(hid_t owner, const std::string& name, const std::string& text) {
  const bool is_ascii = std::all_of(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 128; });
  const Handle type = own(H5Tcopy(H5T_C_S1), "string type");
  check(H5Tset_size(type.get(), std::max<std::size_t>(1, text.size())), "string type");
  check(H5Tset_cset(type.get(), is_ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8), "string type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "string type");
  write_values(owner, name, type.get(), {}, text.c_str());
}

std::optional<AttributeValue> read_attribute(hid_t owner, const std::string& name) {
  const QuietErrors quiet;
  const std::string what = "attribute " + name;
  if (!is_yes(H5Aexists(owner, name.c_str()), what)) {
    return std::nullopt;
  }
  const Handle attribute = own(H5Aopen(owner, name.c_str(), H5P_DEFAULT), what);
  const Handle type = own(H5Aget_type(attribute.get()), what);
  const Handle space = own(H5Aget_space(attribute.get()), what);
  const H5S_class_t extent = H5Sget_simple_extent_type(space.get());
  const H5T_class_t kind = H5Tget_class(type.get());
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (extent == H5S_NO_CLASS || kind == H5T_NO_CLASS || points < 0) {
    throw library_error(what);
  }
  const bool scalar = extent == H5S_SCALAR;
  const bool is_null = extent == H5S_NULL;
  if (is_null && kind == H5T_STRING) {
    return std::string();  // netCDF's empty text
  }
  if (is_null) {
    return std::nullopt;
  }
  require_plausible_count(attribute.get(), type.get(), points, what);
  const auto count = static_cast<std::size_t>(points);
  if (kind == H5T_STRING) {
    return read_text(attribute.get(), type.get(), space.get(), scalar, count);
  }
  const auto stored = stored_type(type.get());
  if (!stored) {
    return std::nullopt;
  }
  switch (stored->type.kind) {
    case Kind::boolean:
      return scalar ? std::optional(read_boolean(attribute.get())) : std::nullopt;
    case Kind::f32:
      return read_numbers<float>(attribute.get(), scalar, count);
    case Kind::f64:
      return read_numbers<double>(attribute.get(), scalar, count);
    case Kind::i8:
      return read_numbers<std::int8_t>(attribute.get(), scalar, count);
    case Kind::i16:
      return read_numbers<std::int16_t>(attribute.get(), scalar, count);
    case Kind::u8:
      return read_numbers<std::uint8_t>(attribute.get(), scalar, count);
    case Kind::u16:
      return read_numbers<std::uint16_t>(attribute.get(), scalar, count);
    case Kind::i32:
      return read_numbers<std::int32_t>(attribute.get(), scalar, count);
    case Kind::u64:
      return read_unsigned(attribute.get(), scalar, count);
    case Kind::u32:
    case Kind::i64:
      return read_numbers<std::int64_t>(attribute.get(), scalar, count);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> read_text_attribute(hid_t owner, const std::string& name) {
  const auto value = read_attribute(owner, name);
  const std::string* text = value ? model::text_of(*value) : nullptr;
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

std::optional<std::int32_t> only_number(const model::AttributeValue& value) {
  if (const auto* number = std::get_if<std::int32_t>(&value)) {
    return *number;
  }
  const auto* list = std::get_if<std::vector<std::int32_t>>(&value);
  return list != nullptr && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
}

}  // namespace sluice::layout::hdf5
