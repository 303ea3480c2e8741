// FlatBuffers, as far as Icechunk's metadata need them: tables, structs, strings, vectors.
//
// Invariants: a Writer places what a field refers to behind the field, so every offset is positive;
// a reader touches no byte outside the buffer, whatever the buffer says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::layout::icechunk::flat {

/// A field of a table: its size in the table, 0 where it is left out.
struct Field {
  std::uint16_t bytes = 0;
  std::uint16_t alignment = 1;
};
inline constexpr Field no_field{0, 1};
inline constexpr Field link_field{4, 4};
inline constexpr Field byte_field{1, 1};
inline constexpr Field word_field{8, 8};
constexpr Field struct_field(std::uint16_t bytes) { return {bytes, 1}; }

class Writer {
 public:
  /// Begins with the link to the root table.
  Writer();

  /// Positions of the fields of a new table to which the link at `link` leads; 0: left out.
  std::vector<std::size_t> table(std::size_t link, std::span<const Field> fields);
  template <class T>
  void set(std::size_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  void set_bytes(std::size_t at, std::span<const std::byte> value);
  void string(std::size_t link, std::string_view text);
  /// The position of the first of `count` elements, which are zeros.
  std::size_t vector(std::size_t link, std::size_t count, std::size_t element_bytes,
                     std::size_t alignment);

  static constexpr std::size_t root_link = 0;
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void align(std::size_t alignment, std::size_t ahead);
  void lead_here(std::size_t link);

  std::vector<std::byte> bytes_;
};

/// Bytes of a vector, of a buffer that outlives it.
struct Vector {
  std::size_t at = 0;
  std::size_t count = 0;
};

/// A buffer, and where messages say that it comes from.
class Buffer {
 public:
  Buffer(std::span<const std::byte> bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  /// Error damaged where it is not inside the buffer.
  std::span<const std::byte> at(std::size_t offset, std::size_t bytes) const;
  template <class T>
  T value(std::size_t offset) const {
    T value;
    std::memcpy(&value, at(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::size_t follow(std::size_t link) const;
  Vector vector(std::size_t link, std::size_t element_bytes) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::span<const std::byte> bytes_;
  std::string what_;
};

/// A table of a buffer that outlives it; fields by number.
class Table {
 public:
  static Table root(const Buffer& buffer);
  Table(const Buffer& buffer, std::size_t at);

  bool has(std::size_t field) const { return find(field) != 0; }
  template <class T>
  T value(std::size_t field, T otherwise) const {
    const std::size_t at = find(field);
    return at == 0 ? otherwise : buffer_->value<T>(at);
  }
  /// Of a field that must be there. Error damaged.
  std::span<const std::byte> bytes_of(std::size_t field, std::size_t bytes) const;
  std::string text(std::size_t field) const;
  std::vector<std::byte> byte_vector(std::size_t field) const;
  Table table(std::size_t field) const;
  /// Empty where it is left out.
  Vector vector(std::size_t field, std::size_t element_bytes) const;
  std::vector<Table> tables(std::size_t field) const;
  const Buffer& buffer() const { return *buffer_; }

 private:
  std::size_t find(std::size_t field) const;
  std::size_t required(std::size_t field) const;

  const Buffer* buffer_;
  std::size_t at_;
  std::size_t fields_at_ = 0;  ///< of the table of fields
  std::size_t fields_bytes_ = 0;
};

}  // namespace sluice::layout::icechunk::flat
