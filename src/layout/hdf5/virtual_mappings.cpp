#include "layout/hdf5/virtual_mappings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string_view>

#include "codec/checksum.hpp"
#include "layout/hdf5/types.hpp"
#include "model/bytes.hpp"

namespace sluice::layout::hdf5 {

namespace {

constexpr std::uint32_t no_elements = 0;  // kinds of selections
constexpr std::uint32_t hyperslab = 2;
constexpr std::uint32_t wide_version = 2;
constexpr std::uint8_t regular = 1;

constexpr std::size_t head_bytes = 9;          // of a block: the version, the number of mappings
constexpr std::size_t object_head_bytes = 16;  // of an object of a global heap
constexpr std::size_t plain_selection_bytes = 16;  // of no or all elements
constexpr const char* placeholder_dataset = "x";
/// Beside the name of the source file.
constexpr std::size_t placeholder_bytes = empty_block_bytes + 3 + 2 * plain_selection_bytes;
constexpr std::size_t number_digits = 8;

bool has_no_elements(const model::Box& box) {
  return std::find(box.count.begin(), box.count.end(), 0u) != box.count.end();
}

/// Does an index of it need more than 32 bits?
bool is_wide(const model::Box& box) {
  for (int d = 0; d < box.start.rank(); ++d) {
    if (box.end(d) - 1 > std::numeric_limits<std::uint32_t>::max()) {
      return true;
    }
  }
  return false;
}

std::uint64_t selection_bytes(const model::Box& box) {
  const auto rank = static_cast<std::uint64_t>(box.start.rank());
  return has_no_elements(box) ? plain_selection_bytes
         : is_wide(box)       ? 17 + 32 * rank
                              : 24 + 8 * rank;
}

bool has_end(const model::Box& box) {
  for (int d = 0; d < box.start.rank(); ++d) {
    if (box.count[d] > std::numeric_limits<std::uint64_t>::max() - box.start[d]) {
      return false;
    }
  }
  return box.start.rank() == box.count.rank();
}

std::string digits(std::uint64_t number, int count) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llx", count, static_cast<unsigned long long>(number));
  return text;
}

/// That of digits(); 0 of other text.
std::uint32_t number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return read.ec == std::errc() ? number : 0;
}

/// Is it an object of a global heap, of so many bytes from `begin` on, with one mapping?
bool is_placeholder(std::span<const std::byte> image, std::size_t begin, std::uint64_t bytes) {
  const std::byte* const block = image.data() + begin;
  return bytes <= image.size() - begin && block[0] == std::byte{0} &&
         model::load<std::uint64_t>(block - sizeof bytes) == bytes &&
         model::load<std::uint64_t>(block + 1) == 1;
}

}  // namespace

void check_mapping(const VirtualMapping& mapping, const model::Dims& dims,
                   const std::string& what) {
  const model::Box& target = mapping.target;
  bool is_right = target.start.rank() == dims.rank() && target.count.rank() == dims.rank();
  if (is_right && has_no_elements(target) && has_no_elements(mapping.source)) {
    return;
  }
  is_right = is_right && has_end(mapping.source) && has_end(target);
  for (int d = 0; is_right && d < dims.rank(); ++d) {
    is_right = target.end(d) <= dims[d];
  }
  if (!is_right || mapping.source.volume() != target.volume()) {
    throw Error(Code::damaged, what + ": " + target.text() + " of " + mapping.file +
                                   " does not fit into " + dims.text());
  }
}

bool is_literal_source(const std::string& name) {
  return name.find('%') == std::string::npos && name.find('\0') == std::string::npos;
}

std::uint64_t bytes_in_block(const VirtualMapping& mapping) {
  return mapping.file.size() + 1 + mapping.dataset.size() + 1 + selection_bytes(mapping.source) +
         selection_bytes(mapping.target);
}

BlockWriter::BlockWriter(std::span<std::byte> block, std::uint64_t mappings) : block_(block) {
  put_number(std::uint8_t{0});
  put_number(mappings);
}

void BlockWriter::put(const VirtualMapping& mapping) {
  put_name(mapping.file);
  put_name(mapping.dataset);
  put_selection(mapping.source);
  put_selection(mapping.target);
}

void BlockWriter::finish() {
  put_number(codec::lookup3(block_.first(at_)));
  if (at_ != block_.size()) {
    throw Error(Code::internal, "a block of mappings is not full");
  }
}

template <class T>
void BlockWriter::put_number(T value) {
  std::memcpy(take(sizeof value), &value, sizeof value);
}

void BlockWriter::put_name(const std::string& name) {
  std::memcpy(take(name.size() + 1), name.c_str(), name.size() + 1);
}

void BlockWriter::put_selection(const model::Box& box) {
  const auto rank = static_cast<std::uint32_t>(box.start.rank());
  if (has_no_elements(box)) {
    put_number(no_elements);
    put_number(std::uint32_t{1});
    put_number(std::uint64_t{0});
    return;
  }
  put_number(hyperslab);
  if (is_wide(box)) {
    put_number(wide_version);
    put_number(regular);
    put_number(std::uint32_t{4 + 32 * rank});  // of what follows
    put_number(rank);
    for (int d = 0; d < box.start.rank(); ++d) {
      put_number(box.start[d]);
      put_number(std::uint64_t{1});  // stride
      put_number(std::uint64_t{1});  // blocks
      put_number(box.count[d]);
    }
    return;
  }
  put_number(std::uint32_t{1});
  put_number(std::uint32_t{0});
  put_number(std::uint32_t{8 + 8 * rank});  // of what follows
  put_number(rank);
  put_number(std::uint32_t{1});  // blocks
  for (int d = 0; d < box.start.rank(); ++d) {
    put_number(static_cast<std::uint32_t>(box.start[d]));
  }
  for (int d = 0; d < box.start.rank(); ++d) {
    put_number(static_cast<std::uint32_t>(box.end(d) - 1));
  }
}

std::byte* BlockWriter::take(std::size_t bytes) {
  if (bytes > block_.size() - at_) {
    throw Error(Code::internal, "a block of mappings is too small");
  }
  std::byte* const taken = block_.data() + at_;
  at_ += bytes;
  return taken;
}

BlockPlaceholders::BlockPlaceholders(std::uint64_t unique) : prefix_("map " + digits(unique, 16)) {}

bool BlockPlaceholders::fits(std::uint64_t block_bytes) const {
  return block_bytes >= placeholder_bytes + prefix_.size() + number_digits;
}

void BlockPlaceholders::add(hid_t list, const model::Dims& dims, std::uint32_t number,
                            std::uint64_t block_bytes, const std::string& what) {
  if (!fits(block_bytes) || !bytes_.emplace(number, block_bytes).second) {
    throw Error(Code::internal, what + ": no placeholder of " + std::to_string(block_bytes) +
                                    " bytes for its mappings");
  }
  std::string name = prefix_ + digits(number, number_digits);
  name.resize(block_bytes - placeholder_bytes, '.');
  const Handle space = dataspace(dims);
  check(H5Pset_virtual(list, space.get(), name.c_str(), placeholder_dataset, space.get()), what);
}

std::map<std::uint32_t, std::span<std::byte>> BlockPlaceholders::find(
    std::span<std::byte> image, const std::string& what) const {
  constexpr std::size_t before = object_head_bytes + head_bytes;
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  std::map<std::uint32_t, std::span<std::byte>> found;
  std::size_t at = before;
  while ((at = text.find(prefix_, at)) != std::string_view::npos) {
    const auto placed = bytes_.find(number_of(text.substr(at + prefix_.size(), number_digits)));
    const std::size_t begin = at - head_bytes;
    if (placed == bytes_.end() || !is_placeholder(image, begin, placed->second)) {
      at += prefix_.size();  // text of the caller
      continue;
    }
    if (!found.emplace(placed->first, image.subspan(begin, placed->second)).second) {
      throw Error(Code::internal, what + ": a placeholder of mappings is there twice");
    }
    at = begin + placed->second;
  }
  if (found.size() != bytes_.size()) {
    throw Error(Code::internal, what + ": a placeholder of mappings is not there");
  }
  return found;
}

}  // namespace sluice::layout::hdf5
