// Entries as bytes and back.
#include "layout/records/entry_text.hpp"

#include <cstring>

#include "codec/checksum.hpp"
#include "model/bytes.hpp"
#include "model/fill.hpp"

namespace sluice::layout::records {

namespace {

constexpr std::uint32_t entry_magic = 0x31454c53;  // "SLE1"

using model::AttributeValue;

void put_text(model::ByteWriter& out, const std::string& text) {
  out.put(static_cast<std::uint32_t>(text.size()));
  for (const char letter : text) {
    out.put(letter);
  }
}

void put_shape(model::ByteWriter& out, const model::Dims& shape) {
  out.put(static_cast<std::uint32_t>(shape.rank()));
  for (const std::uint64_t extent : shape) {
    out.put(extent);
  }
}

void put_definition(model::ByteWriter& out, const model::Definition& d) {
  put_text(out, d.name);
  out.put(d.type.kind);
  out.put(d.type.bytes);
  put_shape(out, d.shape);
  out.put(static_cast<std::uint8_t>((d.stepped ? 1 : 0) | (d.partial ? 2 : 0) |
                                    (d.varying ? 4 : 0) | (d.gives_fill ? 8 : 0)));
  out.put(static_cast<std::uint32_t>(d.fill.size()));
  for (const std::byte byte : d.fill) {
    out.put(byte);
  }
  out.put(static_cast<std::uint32_t>(d.dimensions.size()));
  for (const std::string& name : d.dimensions) {
    put_text(out, name);
  }
}

void put_value(model::ByteWriter& out, const std::string& text) { put_text(out, text); }
template <class T>
void put_value(model::ByteWriter& out, const T& value) {
  out.put(value);
}
template <class T>
void put_value(model::ByteWriter& out, const std::vector<T>& values) {
  out.put(static_cast<std::uint32_t>(values.size()));
  for (const T& value : values) {
    put_value(out, value);
  }
}

void put_attribute(model::ByteWriter& out, const model::Attribute& attribute) {
  put_text(out, attribute.owner);
  put_text(out, attribute.name);
  out.put(static_cast<std::uint8_t>(attribute.value.index()));
  std::visit([&](const auto& value) { put_value(out, value); }, attribute.value);
}

/// Reads what the functions above wrote; anything else is Error damaged.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<std::uint32_t>();
    return {reinterpret_cast<const char*>(take(size)), size};
  }
  /// The number of items of at least `least_bytes` that follow.
  std::size_t count(std::size_t least_bytes) {
    const auto count = number<std::uint32_t>();
    if (count > (bytes_.size() - at_) / least_bytes) {
      refuse();
    }
    return count;
  }
  model::Dims shape() {
    const auto rank = number<std::uint32_t>();
    if (rank > static_cast<std::uint32_t>(model::max_rank)) {
      refuse();
    }
    model::Dims shape;
    for (std::uint32_t d = 0; d < rank; ++d) {
      shape.push_back(number<std::uint64_t>());
    }
    return shape;
  }
  model::Definition definition();
  model::Attribute attribute();
  [[noreturn]] void refuse() const {
    throw Error(Code::damaged, path_ + ": an entry of the file is damaged");
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  template <std::size_t index = 0>
  AttributeValue value(std::size_t wanted);
  template <class T>
  T value_of();

  const std::byte* take(std::size_t size) {
    if (size > bytes_.size() - at_) {
      refuse();
    }
    at_ += size;
    return bytes_.data() + (at_ - size);
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

model::Definition Reader::definition() {
  model::Definition d;
  d.name = text();
  d.type.kind = number<Kind>();
  d.type.bytes = number<std::uint32_t>();
  const bool is_kind = d.type.kind >= Kind::i8 && d.type.kind <= Kind::f16;
  if (!is_kind || d.type.bytes == 0 || d.type.bytes > model::most_element_bytes ||
      (d.type.kind != Kind::string && type_of(d.type.kind) != d.type)) {
    refuse();
  }
  d.shape = shape();
  const auto flags = number<std::uint8_t>();
  d.stepped = (flags & 1) != 0;
  d.partial = (flags & 2) != 0;
  d.varying = (flags & 4) != 0;
  d.gives_fill = (flags & 8) != 0;
  const auto fill_bytes = number<std::uint32_t>();
  if (fill_bytes != 0 && fill_bytes != d.type.bytes) {
    refuse();
  }
  const std::byte* const fill = take(fill_bytes);
  d.fill = model::fill_element({fill, fill_bytes});
  if (d.varying && (!d.stepped || d.shape.empty())) {
    refuse();
  }
  const std::size_t names = count(sizeof(std::uint32_t));
  if (names != 0 && names != static_cast<std::size_t>(d.shape.rank())) {
    refuse();
  }
  for (std::size_t i = 0; i < names; ++i) {
    d.dimensions.push_back(text());
  }
  return d;
}

template <class T>
T Reader::value_of() {
  if constexpr (std::is_same_v<T, std::string>) {
    return text();
  } else if constexpr (std::is_same_v<T, bool>) {
    return number<std::uint8_t>() != 0;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return number<T>();
  } else {
    T values(count(1));
    for (auto& value : values) {
      value = value_of<typename T::value_type>();
    }
    return values;
  }
}

template <std::size_t index>
AttributeValue Reader::value(std::size_t wanted) {
  if constexpr (index < std::variant_size_v<AttributeValue>) {
    return wanted == index ? value_of<std::variant_alternative_t<index, AttributeValue>>()
                           : value<index + 1>(wanted);
  } else {
    refuse();
  }
}

model::Attribute Reader::attribute() {
  model::Attribute attribute;
  attribute.owner = text();
  attribute.name = text();
  attribute.value = value(number<std::uint8_t>());
  return attribute;
}

}  // namespace

std::vector<std::byte> entry_text(const Entry& entry) {
  model::ByteWriter out;
  out.put(entry_magic);
  out.put(std::uint32_t{0});
  out.put(entry.previous.entries);
  out.put(entry.previous.offset);
  out.put(entry.previous.bytes);
  out.put(entry.steps);
  out.put(entry.row.step);
  out.put(entry.row.time);
  out.put(entry.row.modified_ns);
  out.put(entry.row.first_word);
  out.put(entry.row.word_count);
  out.put(static_cast<std::uint32_t>(entry.definitions.size()));
  for (const model::Definition& definition : entry.definitions) {
    put_definition(out, definition);
  }
  out.put(static_cast<std::uint32_t>(entry.attributes.size()));
  for (const model::Attribute& attribute : entry.attributes) {
    put_attribute(out, attribute);
  }
  out.put(static_cast<std::uint32_t>(entry.sections.size()));
  for (const Section& section : entry.sections) {
    out.put(section.variable);
    put_shape(out, section.shape);
    out.put(section.address);
  }
  std::vector<std::byte> text = out.take();
  const std::uint64_t sum = codec::checksum(std::span<const std::byte>(text));
  const auto* bytes = reinterpret_cast<const std::byte*>(&sum);
  text.insert(text.end(), bytes, bytes + sizeof sum);
  return text;
}

Entry entry_of(std::span<const std::byte> text, const std::string& path) {
  Reader whole(text, path);
  if (text.size() < sizeof(std::uint64_t)) {
    whole.refuse();
  }
  const auto body = text.first(text.size() - sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  std::memcpy(&sum, text.data() + body.size(), sizeof sum);
  Reader in(body, path);
  if (codec::checksum(body) != sum || in.number<std::uint32_t>() != entry_magic ||
      in.number<std::uint32_t>() != 0) {
    in.refuse();
  }
  Entry entry;
  entry.previous.entries = in.number<std::uint64_t>();
  entry.previous.offset = in.number<std::uint64_t>();
  entry.previous.bytes = in.number<std::uint64_t>();
  entry.steps = in.number<std::uint64_t>();
  entry.row.step = in.number<std::uint64_t>();
  entry.row.time = in.number<double>();
  entry.row.modified_ns = in.number<std::int64_t>();
  entry.row.first_word = in.number<std::uint64_t>();
  entry.row.word_count = in.number<std::uint64_t>();
  const std::size_t definitions = in.count(1);
  for (std::size_t i = 0; i < definitions; ++i) {
    entry.definitions.push_back(in.definition());
  }
  const std::size_t attributes = in.count(1);
  for (std::size_t i = 0; i < attributes; ++i) {
    entry.attributes.push_back(in.attribute());
  }
  const std::size_t sections = in.count(1);
  for (std::size_t i = 0; i < sections; ++i) {
    Section section;
    section.variable = in.number<std::uint32_t>();
    section.shape = in.shape();
    section.address = in.number<std::uint64_t>();
    entry.sections.push_back(section);
  }
  if (!in.at_end()) {
    in.refuse();
  }
  return entry;
}

}  // namespace sluice::layout::records
