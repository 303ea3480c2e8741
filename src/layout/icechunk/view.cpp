#include "layout/icechunk/view.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "layout/zarr/objects.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

const std::string document_ending = std::string("/") + zarr::document_name;

bool is_separator(char c) { return c == '/' || c == '.'; }

/// Indices in the rest of a chunk's name, which has one separator or the other: they are found by
/// their numbers. Nothing where it is no chunk's.
std::optional<std::vector<std::uint32_t>> indices_in(std::string_view rest, bool is_prefixed,
                                                     std::size_t rank) {
  std::vector<std::uint32_t> index;
  if (is_prefixed) {
    if (rest.empty() || rest[0] != 'c') {
      return std::nullopt;
    }
    rest.remove_prefix(1);
    if (rest.empty() || !is_separator(rest[0])) {
      return rest.empty() && rank == 0 ? std::optional(index) : std::nullopt;
    }
    rest.remove_prefix(1);
  } else if (rank == 0) {
    return rest == "0" ? std::optional(index) : std::nullopt;
  }
  while (index.size() < rank) {
    std::uint32_t number = 0;
    const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (failure != std::errc()) {
      return std::nullopt;
    }
    index.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty() || !is_separator(rest[0])) {
      break;
    }
    rest.remove_prefix(1);
  }
  return rest.empty() && index.size() == rank ? std::optional(index) : std::nullopt;
}

}  // namespace

const std::string* View::document(const std::string& name) const {
  const Node* node = nullptr;
  if (name == zarr::document_name) {
    node = repository_.find("");
  } else if (name.ends_with(document_ending)) {
    node = repository_.find(name.substr(0, name.size() - document_ending.size()));
  }
  return node == nullptr ? nullptr : &node->document;
}

bool View::is_prefixed(const Node& node) {
  if (const auto known = prefixed_.find(node.id); known != prefixed_.end()) {
    return known->second;
  }
  const auto text = std::as_bytes(std::span(node.document));
  const zarr::Json document = zarr::parse(text, path(), node.path.substr(1) + document_ending);
  const zarr::Json encoding = document.value("chunk_key_encoding", zarr::Json::object());
  return prefixed_.emplace(node.id, encoding.value("name", "default") == "default").first->second;
}

const ChunkRef* View::find(const std::string& name) {
  // The longest path that is an array: with '/' as separator the rest has slashes too.
  for (std::string node_path = model::group_of(name);; node_path = model::group_of(node_path)) {
    const Node* node = repository_.find(node_path);
    if (node != nullptr && node->is_array) {
      const auto index = indices_in(name.substr(node_path.empty() ? 0 : node_path.size() + 1),
                                    is_prefixed(*node), node->shape.size());
      if (!index) {
        return nullptr;
      }
      const auto& chunks = repository_.chunks(*node);
      const auto found = chunks.find(*index);
      return found == chunks.end() ? nullptr : &found->second;
    }
    if (node_path.empty()) {
      return nullptr;
    }
  }
}

std::uint64_t View::checked_file_bytes(const std::string& name, const ChunkRef& ref) {
  if (!ref.chunk) {
    throw Error(Code::unsupported, path() + ": " + name + ": is a virtual chunk, at " +
                                       model::quoted(ref.location) +
                                       ": read it with icechunk, or copy it into the repository");
  }
  const std::string file = chunk_name(*ref.chunk);
  const auto known = file_bytes_.find(file);
  const auto bytes =
      known != file_bytes_.end() ? std::optional(known->second) : store_.object_bytes(file);
  if (!bytes) {
    throw Error(Code::damaged, path() + ": " + name + ": its file " + file + " is not there");
  }
  if (ref.length > *bytes || ref.offset > *bytes - ref.length) {
    throw Error(Code::truncated, path() + ": " + name + ": is " + std::to_string(ref.length) +
                                     " bytes at " + std::to_string(ref.offset) + " of " + file +
                                     ", which has " + std::to_string(*bytes));
  }
  return *bytes;
}

std::string View::file_of(const std::string& name) {
  const ChunkRef* ref = document(name) != nullptr ? nullptr : find(name);
  return ref != nullptr && ref->chunk ? chunk_name(*ref->chunk) : "";
}

bool View::is_in_files(const std::string& array) {
  const Node* node = repository_.find(array);
  node = node != nullptr ? node : repository_.find("");  // the one array of the repository
  if (node == nullptr || !node->is_array) {
    return true;
  }
  const auto& chunks = repository_.chunks(*node);
  return std::all_of(chunks.begin(), chunks.end(), [](const auto& entry) {
    return entry.second.chunk && entry.second.offset == 0;
  });
}

std::optional<std::uint64_t> View::object_bytes(const std::string& name) {
  if (const std::string* text = document(name)) {
    return text->size();
  }
  const ChunkRef* ref = find(name);
  if (ref == nullptr) {
    return std::nullopt;
  }
  if (ref->inlined) {
    return ref->inlined->size();
  }
  checked_file_bytes(name, *ref);
  return ref->length;
}

storage::Sizes View::sizes_of(std::span<const std::string> names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (std::string file = file_of(name); !file.empty()) files.push_back(std::move(file));
  }
  const storage::Sizes found = store_.sizes_of(files);
  file_bytes_.clear();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (found[i]) file_bytes_[files[i]] = *found[i];
  }
  storage::Sizes all;
  for (const std::string& name : names) {
    all.push_back(object_bytes(name));
  }
  return all;
}

std::vector<std::string> View::names_in(const std::string& name) {
  const std::string begin = name.empty() ? "/" : "/" + name + "/";
  std::set<std::string> names;
  for (const Node& node : repository_.snapshot().nodes) {
    if (node.path.starts_with(begin) && node.path.size() > begin.size()) {
      const std::string rest = node.path.substr(begin.size());
      names.insert(rest.substr(0, rest.find('/')));
    }
  }
  return {names.begin(), names.end()};
}

void View::map(std::span<const storage::Segment> segments) {
  for (const storage::Segment& segment : segments) {
    if (segment.length != 0 && parts_.count(segment.address) == 0) {
      parts_.emplace(segment.address, part_of(segment));  // known once all succeeded
    }
  }
}

View::Part View::part_of(const storage::Segment& segment) {
  Part part;
  part.length = segment.length;
  if (const std::string* text = document(segment.name)) {
    const auto bytes = std::as_bytes(std::span(*text));
    part.bytes.assign(bytes.begin(), bytes.end());
    return part;
  }
  const ChunkRef* ref = find(segment.name);
  if (ref == nullptr || ref->inlined) {
    part.bytes = ref == nullptr ? std::vector<std::byte>{} : *ref->inlined;
    return part;
  }
  const std::uint64_t bytes = checked_file_bytes(segment.name, *ref);
  // A whole file has the same addresses for every rank.
  const std::uint64_t address = ref->offset == 0 ? segment.address : zarr::new_addresses(bytes);
  part.file_address = address + ref->offset;
  const storage::Segment file{address, ref->offset == 0 ? ref->length : bytes, bytes,
                              chunk_name(*ref->chunk)};
  store_.map({&file, 1});
  return part;
}

std::size_t View::read(std::uint64_t offset, std::span<std::byte> bytes) {
  const Node* root = repository_.find("");
  const auto text = std::as_bytes(
      std::span(root == nullptr ? std::string_view() : std::string_view(root->document)));
  if (offset < text.size()) {
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), text.size() - offset);
    std::memcpy(bytes.data(), text.data() + offset, count);
    return count;
  }
  const auto after = parts_.upper_bound(offset);
  if (after == parts_.begin()) {
    return 0;
  }
  const auto& [address, part] = *std::prev(after);
  const std::uint64_t within = offset - address;
  if (within >= part.length) {
    return 0;
  }
  const std::size_t count = std::min<std::uint64_t>(bytes.size(), part.length - within);
  if (part.file_address != 0) {
    return store_.read(part.file_address + within, bytes.first(count));
  }
  const std::uint64_t there = part.bytes.size();
  const std::size_t got = within < there ? std::min<std::uint64_t>(count, there - within) : 0;
  std::copy_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(within, there)), got,
              bytes.begin());
  return got;
}

std::uint64_t View::size() {
  const std::uint64_t parts_end =
      parts_.empty() ? 0 : parts_.rbegin()->first + parts_.rbegin()->second.length;
  return std::max(store_.size(), parts_end);
}

void View::write(std::uint64_t, std::span<const std::byte>) {
  throw Error(Code::internal, path() + ": a snapshot is written to");
}

}  // namespace sluice::layout::icechunk
