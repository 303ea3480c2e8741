#include "layout/icechunk/flat.hpp"

#include <algorithm>

#include "sluice/error.hpp"

namespace sluice::layout::icechunk::flat {

namespace {

constexpr std::string_view identifier = "Ichk";
constexpr std::size_t link_bytes = 4;

}  // namespace

Writer::Writer() : bytes_(link_bytes + identifier.size()) {
  std::memcpy(bytes_.data() + link_bytes, identifier.data(), identifier.size());
}

void Writer::align(std::size_t alignment, std::size_t ahead) {
  while ((bytes_.size() + ahead) % alignment != 0) {
    bytes_.emplace_back();
  }
}

void Writer::lead_here(std::size_t link) {
  set(link, static_cast<std::uint32_t>(bytes_.size() - link));
}

std::vector<std::size_t> Writer::table(std::size_t link, std::span<const Field> fields) {
  std::size_t alignment = link_bytes;
  std::size_t end = link_bytes;  // the table begins with the distance to its table of fields
  std::vector<std::uint16_t> offsets;
  for (const Field& field : fields) {
    alignment = std::max<std::size_t>(alignment, field.alignment);
    end = (end + field.alignment - 1) / field.alignment * field.alignment;
    offsets.push_back(field.bytes == 0 ? 0 : static_cast<std::uint16_t>(end));
    end += field.bytes;
  }
  const std::size_t head_bytes = 2 * (2 + fields.size());
  align(alignment, head_bytes);
  const std::size_t head = bytes_.size();
  bytes_.resize(head + head_bytes);
  set(head, static_cast<std::uint16_t>(head_bytes));
  set(head + 2, static_cast<std::uint16_t>(end));
  lead_here(link);
  const std::size_t start = bytes_.size();
  bytes_.resize(start + end);
  set(start, static_cast<std::int32_t>(start - head));
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    set(head + 4 + 2 * i, offsets[i]);
    positions.push_back(offsets[i] == 0 ? 0 : start + offsets[i]);
  }
  return positions;
}

void Writer::set_bytes(std::size_t at, std::span<const std::byte> value) {
  std::copy(value.begin(), value.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
}

void Writer::string(std::size_t link, std::string_view text) {
  const std::size_t at = vector(link, text.size(), 1, 1);
  set_bytes(at, std::as_bytes(std::span(text)));
  bytes_.emplace_back();  // a string ends with a zero
}

std::size_t Writer::vector(std::size_t link, std::size_t count, std::size_t element_bytes,
                           std::size_t alignment) {
  align(std::max(alignment, link_bytes), link_bytes);
  lead_here(link);
  const std::size_t at = bytes_.size();
  bytes_.resize(at + link_bytes + count * element_bytes);
  set(at, static_cast<std::uint32_t>(count));
  return at + link_bytes;
}

std::span<const std::byte> Buffer::at(std::size_t offset, std::size_t bytes) const {
  if (offset > bytes_.size() || bytes > bytes_.size() - offset) {
    refuse("a field leads out of it");
  }
  return bytes_.subspan(offset, bytes);
}

std::size_t Buffer::follow(std::size_t link) const { return link + value<std::uint32_t>(link); }

Vector Buffer::vector(std::size_t link, std::size_t element_bytes) const {
  const std::size_t start = follow(link);
  const Vector found{start + link_bytes, value<std::uint32_t>(start)};
  at(found.at, found.count * element_bytes);
  return found;
}

void Buffer::refuse(const std::string& why) const {
  throw Error(Code::damaged, what_ + ": is damaged: " + why);
}

Table Table::root(const Buffer& buffer) {
  const auto name = buffer.at(link_bytes, identifier.size());
  if (!std::equal(name.begin(), name.end(), std::as_bytes(std::span(identifier)).begin())) {
    buffer.refuse("it is no FlatBuffer of Icechunk");
  }
  return {buffer, buffer.follow(Writer::root_link)};
}

Table::Table(const Buffer& buffer, std::size_t at) : buffer_(&buffer), at_(at) {
  const auto distance = buffer.value<std::int32_t>(at);
  const auto fields_at = static_cast<std::int64_t>(at) - distance;
  if (fields_at < 0) {
    buffer.refuse("a field leads out of it");
  }
  fields_at_ = static_cast<std::size_t>(fields_at);
  fields_bytes_ = buffer.value<std::uint16_t>(fields_at_);
}

std::size_t Table::find(std::size_t field) const {
  const std::size_t at = 4 + 2 * field;
  if (at + 2 > fields_bytes_) {
    return 0;
  }
  const auto offset = buffer_->value<std::uint16_t>(fields_at_ + at);
  return offset == 0 ? 0 : at_ + offset;
}

std::size_t Table::required(std::size_t field) const {
  const std::size_t at = find(field);
  if (at == 0) {
    buffer_->refuse("field " + std::to_string(field) + " of a table is missing");
  }
  return at;
}

std::span<const std::byte> Table::bytes_of(std::size_t field, std::size_t bytes) const {
  return buffer_->at(required(field), bytes);
}

std::string Table::text(std::size_t field) const {
  const Vector found = buffer_->vector(required(field), 1);
  const auto bytes = buffer_->at(found.at, found.count);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> Table::byte_vector(std::size_t field) const {
  const Vector found = buffer_->vector(required(field), 1);
  const auto bytes = buffer_->at(found.at, found.count);
  return {bytes.begin(), bytes.end()};
}

Table Table::table(std::size_t field) const { return {*buffer_, buffer_->follow(required(field))}; }

Vector Table::vector(std::size_t field, std::size_t element_bytes) const {
  const std::size_t at = find(field);
  return at == 0 ? Vector{} : buffer_->vector(at, element_bytes);
}

std::vector<Table> Table::tables(std::size_t field) const {
  const Vector links = vector(field, link_bytes);
  std::vector<Table> all;
  all.reserve(links.count);
  for (std::size_t i = 0; i < links.count; ++i) {
    all.emplace_back(*buffer_, buffer_->follow(links.at + i * link_bytes));
  }
  return all;
}

}  // namespace sluice::layout::icechunk::flat
