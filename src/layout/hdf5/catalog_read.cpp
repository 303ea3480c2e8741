// Looking up addresses, and reading through the library what cannot be read by address.
#include <algorithm>
#include <array>

#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Box;
using model::Dims;

Placement Catalog::locate(std::uint32_t variable, std::uint64_t step, const Box& region) {
  const QuietErrors quiet;
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const Dims grid = grid_of(definition.shape, stored.tile);
  const std::uint64_t count = definition.shape.volume() == 0 ? 0 : grid.volume();
  std::vector<std::uint64_t> addresses(count, absent);
  const Handle list = own(H5Dget_create_plist(dataset(variable)), definition.name);
  if (H5Pget_layout(list.get()) == H5D_CONTIGUOUS) {
    const haddr_t address = H5Dget_offset(dataset(variable));
    if (count != 0 && address != HADDR_UNDEF) {
      addresses[0] = address;
    }
    return {variable, definition.type.bytes, definition.shape, stored.tile, addresses};
  }
  // Edge chunks are full-size in the file, so the placement needs only the grid.
  const std::uint64_t chunk_bytes = stored.tile.volume() * definition.type.bytes;
  void* placeholder = state_.placeholder.reserve(chunk_bytes);
  const Placement shape_only(variable, definition.type.bytes, definition.shape, stored.tile,
                             addresses);
  const std::size_t lead = definition.stepped ? 1 : 0;
  for (const Piece& piece : cut(shape_only, region)) {
    std::array<hsize_t, model::max_rank> at{step};
    const Dims start = shape_only.tile_box(piece.tile_index).start;
    std::copy(start.begin(), start.end(), at.begin() + lead);
    std::uint32_t mask = 0;
    if (H5Dread_chunk(dataset(variable), H5P_DEFAULT, at.data(), &mask, placeholder) < 0) {
      const std::string why = state_.failure.empty() ? last_error() : state_.failure;
      if (why.find("chunk address") == std::string::npos) {
        throw Error(Code::damaged, definition.name + ": chunk index: " + why);
      }
      continue;  // not allocated: reads as the fill value
    }
    addresses[piece.tile_index] = state_.take_noted(chunk_bytes, definition.name).offset;
  }
  return {variable, definition.type.bytes, definition.shape, stored.tile, addresses};
}

void Catalog::read(std::uint32_t variable, std::uint64_t step, const Box& box,
                   std::span<std::byte> out) {
  const QuietErrors quiet;
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  if (box.empty()) {
    return;
  }
  const Handle space = own(H5Dget_space(dataset(variable)), definition.name);
  const Handle type = file_type(definition.type);
  const Handle memory = dataspace({box.volume()});
  std::array<hsize_t, model::max_rank> start{step};
  std::array<hsize_t, model::max_rank> count{1};
  const std::size_t lead = definition.stepped ? 1 : 0;
  std::copy(box.start.begin(), box.start.end(), start.begin() + lead);
  std::copy(box.count.begin(), box.count.end(), count.begin() + lead);
  if (H5Sget_simple_extent_ndims(space.get()) > 0) {
    check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr),
          definition.name);
  }
  if (H5Dread(dataset(variable), type.get(), memory.get(), space.get(), H5P_DEFAULT, out.data()) <
      0) {
    throw Error(Code::format, definition.name + ": libhdf5: " + last_error());
  }
}

std::vector<std::uint64_t> Catalog::checksum_words(const CommitRow& commit) {
  const QuietErrors quiet;
  const std::uint64_t held = checksum_chunks_ * checksum_chunk_words_;
  if (commit.word_count > held || commit.first_word > held - commit.word_count ||
      commit.word_count > state_.file->size() / 8) {
    throw Error(Code::damaged,
                state_.file->path() + ": /sluice/commits points outside its checksums");
  }
  std::vector<std::uint64_t> words(commit.word_count);
  if (words.empty()) {
    return words;
  }
  const Handle dataset = own(H5Dopen2(hdf5_.get(), checksums_name, H5P_DEFAULT), checksums_name);
  const Handle space = own(H5Dget_space(dataset.get()), checksums_name);
  const hsize_t start = commit.first_word;
  const hsize_t count = commit.word_count;
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
        checksums_name);
  const Handle memory = dataspace({commit.word_count});
  check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, memory.get(), space.get(), H5P_DEFAULT,
                words.data()),
        checksums_name);
  return words;
}

namespace {

struct Found {
  std::vector<model::Attribute>* attributes;
  std::string owner;
};

herr_t take_attribute(hid_t object, const char* name, const H5A_info_t*, void* into) {
  auto& found = *static_cast<Found*>(into);
  if (auto value = read_attribute(object, name)) {
    found.attributes->push_back({found.owner, name, std::move(*value)});
  }
  return 0;
}

}  // namespace

std::vector<model::Attribute> Catalog::attributes() {
  const QuietErrors quiet;
  std::vector<model::Attribute> attributes;
  std::vector<std::string> owners{""};
  for (const StoredVariable& variable : variables_) {
    const std::string& name = variable.definition.name;
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      owners.push_back(name.substr(0, at));
    }
    owners.push_back(name);
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  for (const std::string& owner : owners) {
    const Handle object(H5Oopen(hdf5_.get(), owner.empty() ? "/" : owner.c_str(), H5P_DEFAULT));
    Found found{&attributes, owner};
    hsize_t position = 0;
    check(
        H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_attribute, &found),
        "attributes of " + owner);
  }
  return attributes;
}

}  // namespace sluice::layout::hdf5
