// Looks up addresses, and reads through the library what cannot be read by address.
#include <algorithm>
#include <array>
#include <exception>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/filter_plugins.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/hdf5/virtual_sources.hpp"
#include "layout/lengths.hpp"
#include "layout/netcdf4/rules.hpp"
#include "layout/netcdf4/scales.hpp"
#include "layout/openpmd/rules.hpp"
#include "layout/plausible.hpp"
#include "model/name.hpp"

namespace sluice::layout::hdf5 {

using model::Box;
using model::Dims;

namespace {

/// Negative if it fails, as in libhdf5.
herr_t read_chunk(hid_t dataset, const hsize_t* at, std::uint32_t& mask, void* buffer,
                  std::uint64_t bytes) {
#if H5_VERSION_GE(2, 0, 0)
  std::size_t size = bytes;
  return H5Dread_chunk2(dataset, H5P_DEFAULT, at, &mask, buffer, &size);
#else
  static_cast<void>(bytes);
  return H5Dread_chunk(dataset, H5P_DEFAULT, at, &mask, buffer);
#endif
}

}  // namespace

Placement Catalog::locate(std::uint32_t variable, std::uint64_t step, const Box& region) {
  const QuietErrors quiet;
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const hid_t found = dataset(variable, step);
  const Dims shape =
      is_grouped(variable) && found >= 0 ? dims_of(found, definition.name) : definition.shape;
  if (shape.rank() != definition.shape.rank()) {
    throw Error(Code::damaged, definition.name + ", step " + std::to_string(step) +
                                   ": has another number of dimensions than the other steps");
  }
  if (found >= 0) {
    const Handle list = own(H5Dget_create_plist(found), definition.name);
    const bool is_chunked = H5Pget_layout(list.get()) == H5D_CHUNKED;
    if (is_chunked && !is_grouped(variable)) {
      return locate_chunks(variable, step, region);
    }
    if (is_chunked) {
      throw Error(Code::unsupported,
                  definition.name + ", step " + std::to_string(step) +
                      ": is chunked, although the first and the last step are not");
    }
  }
  std::vector<std::uint64_t> addresses(shape.volume() == 0 ? 0 : 1, absent);
  const haddr_t address = found >= 0 ? H5Dget_offset(found) : HADDR_UNDEF;
  if (found >= 0 && address == HADDR_UNDEF) {
    check_no_error(definition.name);
  }
  if (!addresses.empty() && address != HADDR_UNDEF) {
    const bool is_stacked = definition.stepped && !is_grouped(variable);
    const bool is_there = !is_stacked || step < dims_of(found, definition.name)[0];
    addresses[0] = !is_there
                       ? absent
                       : address + (is_stacked ? step * shape.volume() * definition.type.bytes : 0);
  }
  return {variable, definition.type.bytes, shape, shape, addresses};
}

Placement Catalog::locate_chunks(std::uint32_t variable, std::uint64_t step, const Box& region) {
  // Edge chunks are full-size in the file, so the placement needs only the grid.
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const Dims grid = grid_of(definition.shape, stored.tile);
  const std::uint64_t count = definition.shape.volume() == 0 ? 0 : grid.volume();
  require_plausible_tiles(definition.name + ": a step", count,
                          most_tiles_of_a_file(state_.file->size()));
  std::vector<std::uint64_t> addresses(count, absent);
  const std::uint64_t chunk_bytes = stored.tile.volume() * definition.type.bytes;
  visit_chunks(variable, step, region, chunk_bytes,
               [&](std::uint64_t tile, const Extent& extent, std::uint32_t) {
                 if (extent.length != chunk_bytes) {
                   throw Error(Code::damaged, definition.name + ": the index says " +
                                                  std::to_string(extent.length) +
                                                  " bytes for a chunk of " +
                                                  std::to_string(chunk_bytes));
                 }
                 addresses[tile] = extent.offset;
               });
  return {variable, definition.type.bytes, definition.shape, stored.tile, addresses};
}

void Catalog::visit_chunks(
    std::uint32_t variable, std::uint64_t step, const Box& region, std::uint64_t most_bytes,
    const std::function<void(std::uint64_t, const Extent&, std::uint32_t)>& visit) {
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const hid_t found = dataset(variable, step);
  const bool is_longer = definition.stepped && !is_grouped(variable);
  const std::uint64_t first = is_longer ? first_row(variable, step) : 0;
  if (is_longer && found >= 0 && first >= dims_of(found, definition.name)[0]) {
    return;  // netCDF programs extend only the variables that they write
  }
  // Only the address and the size of a chunk are recorded: nothing is read into it.
  void* placeholder = state_.placeholder.reserve(most_bytes);
  for (const Piece& piece : cut(definition.shape, stored.tile, region)) {
    const Dims start = tile_box(definition.shape, stored.tile, piece.tile_index).start;
    std::array<hsize_t, model::max_rank> at{};
    std::copy(start.begin(), start.end(), at.begin() + lead(variable));
    at[0] += first;
    const std::string what = definition.name + ", chunk at " + start.text() + ": ";
    std::uint32_t mask = 0;
    state_.noted.reset();
    if (read_chunk(found, at.data(), mask, placeholder, most_bytes) < 0) {
      const std::string why = state_.failure.empty() ? last_error() : state_.failure;
      if (why != "chunk address isn't defined" && why != "storage is not initialized") {
        throw Error(Code::damaged, what + "chunk index: " + why);
      }
      continue;  // not allocated: reads as the fill value
    }
    if (!state_.noted) {
      throw Error(Code::damaged, what + "the index says that it has no bytes");
    }
    visit(piece.tile_index, *state_.noted, mask);
    state_.noted.reset();
  }
}

void Catalog::read(std::uint32_t variable, std::uint64_t step, const Box& box,
                   std::span<std::byte> out) {
  const QuietErrors quiet;
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const hid_t found = dataset(variable, step);
  if (box.empty() || found < 0) {
    return;
  }
  if (!stored.filters.empty()) {
    layout::read_encoded(*state_.file, stored, locate_encoded(variable, step, box),
                         {variable, step}, box, out, last_tile_);
    return;
  }
  require_filters(found, definition.name);
  const bool is_longer = definition.stepped && !is_grouped(variable);
  const std::uint64_t first = is_longer ? first_row(variable, step) : 0;
  if (is_longer && first >= dims_of(found, definition.name)[0]) {
    return;  // a copy that another program made while the variable had no such step
  }
  const std::size_t lead = this->lead(variable);
  const Handle space = own(H5Dget_space(found), definition.name);
  const Handle held = own(H5Dget_type(found), definition.name);
  const std::uint64_t characters = is_characters(variable) ? definition.type.bytes : 1;
  const Handle type = element_type(held.get(), definition.type, is_characters(variable));
  const Handle memory = dataspace({box.volume() * characters});
  std::array<hsize_t, model::max_rank> start{};
  std::array<hsize_t, model::max_rank> count{1};
  std::copy(box.start.begin(), box.start.end(), start.begin() + lead);
  std::copy(box.count.begin(), box.count.end(), count.begin() + lead);
  start[0] += first;
  if (is_characters(variable)) {
    count[lead + static_cast<std::size_t>(box.count.rank())] = characters;
  }
  if (checked(H5Sget_simple_extent_ndims(space.get()), definition.name) > 0) {
    check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr),
          definition.name);
  }
  if (H5Dread(found, type.get(), memory.get(), space.get(), H5P_DEFAULT, out.data()) < 0) {
    throw library_error(definition.name);
  }
}

/// The numbers of rows of a varying variable: of a set, libhdf5 reads them from the parts.
Handle Catalog::open_lengths(const std::string& name, const std::string& variable) {
  Handle lengths = own(H5Dopen2(hdf5_.get(), name.c_str(), H5P_DEFAULT), name);
  const Handle list = own(H5Dget_create_plist(lengths.get()), name);
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL) {
    return lengths;
  }
  if (!is_mapped(variable)) {
    throw Error(Code::unsupported, state_.file->path() + ": " + name +
                                       " is still in the parts of a set, but not " + variable +
                                       ": copy both");
  }
  const std::string missing = missing_source(list.get(), state_.file->path(), others_storage());
  if (!missing.empty()) {
    throw Error(Code::not_found, state_.file->path() + ": " + name + ": " + missing);
  }
  return own(H5Dopen2(with_others(), name.c_str(), H5P_DEFAULT), name);
}

std::vector<std::uint64_t> Catalog::rows_by_step(std::uint32_t variable) {
  const QuietErrors quiet;
  const model::Definition& definition = variables_.at(variable).definition;
  if (!definition.varying) {
    return {};
  }
  std::vector<std::uint64_t> rows(steps_, 0);
  if (is_grouped(variable)) {
    for (std::uint64_t step = 0; step < steps_; ++step) {
      const hid_t found = dataset(variable, step);
      rows[step] = found >= 0 ? dims_of(found, definition.name)[0] : 0;
    }
  } else {
    const std::string name = length_name(definition.name);
    if (!has_link(hdf5_.get(), name)) {
      throw Error(Code::damaged, state_.file->path() + ": " + definition.name +
                                     ": its rows vary, but there is no " + name);
    }
    const Handle lengths = open_lengths(name, definition.name);
    const Dims extents = dims_of(lengths.get(), name);
    rows.resize(extents.rank() == 1 ? std::min(steps_, extents[0]) : 0);
    if (!rows.empty()) {
      read_rows(lengths.get(), name, H5T_NATIVE_UINT64, 0, {rows.size()}, rows.data());
    }
    rows.resize(steps_, 0);
  }
  for (const std::uint64_t n : rows) {
    if (n > definition.shape[0]) {
      throw Error(Code::damaged, state_.file->path() + ": " + definition.name +
                                     ": a step claims more rows than the variable can have");
    }
  }
  return rows;
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
  read_rows(dataset.get(), checksums_name, H5T_NATIVE_UINT64, commit.first_word,
            {commit.word_count}, words.data());
  return words;
}

namespace {

struct Found {
  std::vector<model::Attribute>* attributes;
  std::vector<UnreadableDataset>* unread;
  std::string owner;
  bool has_flags = false;  ///< booleans as bytes
  /// Did Sluice write it?
  std::function<bool(const std::string& name)> is_known;
  std::exception_ptr failure;
};

/// Why an attribute cannot be represented as a value of Sluice.
std::string why_unread(hid_t object, const std::string& name) {
  const Handle attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT), name);
  const Handle type = own(H5Aget_type(attribute.get()), name);
  const Handle space = own(H5Aget_space(attribute.get()), name);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    return "no data (null dataspace)";
  }
  const auto stored = stored_type(type.get());
  if (!stored) {
    return foreign_type(type.get());
  }
  return stored->type.kind == Kind::u64 ? "numbers above 2^63 - 1" : type_name(stored->type);
}

/// Attributes are values or lists.
bool is_list_of_lists(hid_t object, const std::string& name) {
  const Handle attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT), name);
  const Handle space = own(H5Aget_space(attribute.get()), name);
  return checked(H5Sget_simple_extent_ndims(space.get()), name) > 1;
}

/// Not the caller's: attributes that netCDF, dimension scales and this library use themselves.
/// CLASS and NAME have other uses too (images).
bool is_internal(hid_t object, const std::string& name) {
  if (name == "CLASS" || name == "NAME") {
    return netcdf4::is_scale(object);
  }
  return is_own_attribute(name);
}

herr_t take_attribute(hid_t object, const char* name, const H5A_info_t*, void* into) {
  auto& found = *static_cast<Found*>(into);
  const std::string what = found.owner.empty() ? "the file" : found.owner;
  try {
    if (is_internal(object, name)) {
      return 0;
    }
    auto value = read_attribute(object, name);
    if (!value) {
      found.unread->push_back({what + ": attribute " + name, why_unread(object, name)});
    } else {
      if (is_list_of_lists(object, name)) {
        found.unread->push_back({what + ": attribute " + name, "its dimensions: kept as a list"});
      }
      const auto* number = std::get_if<std::int32_t>(&*value);
      const bool is_zero_or_one = number != nullptr && (*number == 0 || *number == 1);
      if (found.has_flags && is_zero_or_one && netcdf4::is_flag(object, name)) {
        value = *number != 0;
      }
      found.attributes->push_back({found.owner, name, std::move(*value)});
    }
    return 0;
  } catch (const Error& e) {
    if (concerns_object(e) && !found.is_known(name)) {
      found.unread->push_back({what + ": attribute " + name, e.what()});
      return 0;
    }
    found.failure = std::current_exception();
    return -1;
  } catch (...) {  // not through libhdf5, which has locks and lists to release
    found.failure = std::current_exception();
    return -1;
  }
}

}  // namespace

/// Path of the object that has the attributes of `owner`; "" if there is none (a group above a
/// variable in the grouped form).
std::string Catalog::object_of(const std::string& owner) const {
  if (owner.empty()) {
    return "/";
  }
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    if (variables_[v].definition.name == owner && is_grouped(v)) {
      return prototype_path(owner);
    }
  }
  if (profile_ == Profile::openpmd && openpmd::is_of_iteration(owner)) {
    const std::string path = prototype_path(owner);
    return has_link(hdf5_.get(), path) ? path : "";
  }
  return has_link(hdf5_.get(), owner) ? owner : "";
}

void Catalog::take_attributes(const std::string& path, const std::string& owner,
                              std::vector<model::Attribute>& into) {
  const std::string what = "attributes of " + path;
  const Handle object = own(H5Oopen(hdf5_.get(), path.c_str(), H5P_DEFAULT), what);
  Found found{&into,
              &unread_attributes_,
              owner,
              ours_ && profile_ == Profile::netcdf4,
              [&](const std::string& name) { return is_recorded_attribute(owner, name); },
              nullptr};
  hsize_t position = 0;
  const herr_t status =
      H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_attribute, &found);
  if (found.failure) {
    std::rethrow_exception(found.failure);
  }
  if (status < 0 && !ours_) {
    try {
      check(status, what);
    } catch (const Error& e) {
      if (!concerns_object(e)) {
        throw;
      }
      unread_attributes_.push_back(
          {(owner.empty() ? "the file" : owner) + ": attributes", e.what()});
      return;
    }
  }
  check(status, what);
}

bool Catalog::has_attributes(const std::string& path) {
  std::vector<model::Attribute> found;
  const std::size_t before = unread_attributes_.size();
  take_attributes(path, path, found);
  const bool has_any = !found.empty() || unread_attributes_.size() != before;
  unread_attributes_.resize(before);
  return has_any;
}

std::vector<model::Attribute> Catalog::attributes() {
  const QuietErrors quiet;
  unread_attributes_.clear();
  std::vector<model::Attribute> attributes;
  std::vector<std::string> owners = groups_;  // also those without variables
  owners.push_back("");
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
    const std::string path = object_of(owner);
    if (path.empty() || (profile_ == Profile::vtkhdf && vtkhdf::is_bookkeeping(owner))) {
      continue;
    }
    take_attributes(path, owner, attributes);
  }
  if (profile_ == Profile::openpmd) {
    std::erase_if(attributes, [](const model::Attribute& a) {
      return a.owner.empty() && openpmd::is_of_standard(a.name);
    });
  }
  if (hdf5::is_grouped(profile_) && steps_ != 0) {
    take_attributes_of_times(attributes);
  }
  return attributes;
}

void Catalog::take_attributes_of_times(std::vector<model::Attribute>& into) {
  std::vector<model::Attribute> of_step;
  take_attributes(group_of(steps_ - 1), time_name, of_step);
  for (model::Attribute& attribute : of_step) {
    if (profile_ == Profile::openpmd && attribute.name != time_name) {
      into.push_back(std::move(attribute));
    } else if (profile_ != Profile::openpmd && attribute.name.starts_with(time_prefix)) {
      attribute.name.erase(0, time_prefix.size());
      into.push_back(std::move(attribute));
    }
  }
  if (profile_ == Profile::openpmd) {
    into.push_back({time_name, openpmd::iterations_attribute,
                    std::vector<std::int64_t>(step_numbers_.begin(), step_numbers_.end())});
  }
}

}  // namespace sluice::layout::hdf5
