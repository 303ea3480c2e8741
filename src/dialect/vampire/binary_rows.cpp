// Rows of binary files: computed addresses, each rank reads its own.
#include <algorithm>
#include <span>

#include "dialect/vampire/files.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::vampire {
namespace {

/// The part of [first, first + count) that lies in `file`: rows of the file, and how many rows of
/// the request come before it.
struct Part {
  std::uint64_t begin = 0;
  std::uint64_t rows = 0;
  std::uint64_t before = 0;
};

Part part_of(const DataFile& file, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t begin = std::max(first, file.first_row);
  const std::uint64_t end = std::min(first + count, file.first_row + file.rows);
  return begin < end ? Part{begin - file.first_row, end - begin, begin - first} : Part{};
}

template <class T>
void read_exactly(storage::File& file, std::uint64_t offset, std::span<T> into) {
  const auto bytes = std::as_writable_bytes(into);
  const std::size_t found = file.read(offset, bytes);
  if (found != bytes.size()) {
    throw Error(Code::truncated, file.path() + ": truncated while it was read: expected " +
                                     std::to_string(offset + bytes.size()) + " bytes, found " +
                                     std::to_string(offset + found));
  }
}

}  // namespace

void read_binary_spins(storage::Storage& storage, const FileSet& set, std::uint64_t first,
                       std::uint64_t count, std::vector<double>& spins) {
  spins.resize(3 * count);
  for (const DataFile& data : set.files) {
    const Part part = part_of(data, first, count);
    if (part.rows > 0) {
      const auto file = storage.open(data.path, storage::Access::read);
      read_exactly(*file, spin_offset(part.begin),
                   std::span(spins).subspan(3 * part.before, 3 * part.rows));
    }
  }
}

void read_binary_coordinates(storage::Storage& storage, const FileSet& set, std::uint64_t first,
                             std::uint64_t count, Coordinates& atoms) {
  atoms.material.resize(count);
  atoms.category.resize(count);
  atoms.xyz.resize(3 * count);
  for (const DataFile& data : set.files) {
    const Part part = part_of(data, first, count);
    if (part.rows > 0) {
      const auto file = storage.open(data.path, storage::Access::read);
      read_exactly(*file, type_offset(part.begin),
                   std::span(atoms.material).subspan(part.before, part.rows));
      read_exactly(*file, category_offset(data.rows, part.begin),
                   std::span(atoms.category).subspan(part.before, part.rows));
      read_exactly(*file, position_offset(data.rows, part.begin),
                   std::span(atoms.xyz).subspan(3 * part.before, 3 * part.rows));
    }
  }
}

}  // namespace sluice::dialect::vampire
