#include "layout/hdf5/element_reader.hpp"

#include <algorithm>
#include <array>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/filter_plugins.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/lengths.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "model/fill_attribute.hpp"

namespace sluice::layout::hdf5 {

using model::Box;
using model::Dims;

void ElementReader::read(std::uint32_t variable, std::uint64_t step, const Box& box,
                         std::span<std::byte> out) {
  const QuietErrors quiet;
  const StoredVariable& stored = datasets_.stored(variable);
  const model::Definition& definition = stored.definition;
  const hid_t found = datasets_.find(variable, step);
  if (box.empty() || found < 0) {
    return;
  }
  if (!stored.filters.empty()) {
    layout::read_encoded(file_.holder, stored, locator_.locate_encoded(variable, step, box),
                         {variable, step}, box, out, last_tile_);
    return;
  }
  require_filters(found, definition.name);
  if (!datasets_.arrangement(variable).held.empty()) {
    read_padded(found, variable, box, out);
  } else if (!datasets_.ends_before(found, variable, step)) {
    read_by_library(found, variable, step, box, out);
  } else if (file_.log.profile == Profile::netcdf4) {
    fill_as_netcdf(definition, out);
  }
}

void ElementReader::fill_as_netcdf(const model::Definition& definition, std::span<std::byte> out) {
  const auto unsaid = model::default_fill_of_netcdf(definition.type);
  const bool is_said = definition.has_fill() || !definition.fill.empty();
  model::fill(out, definition.type,
              is_said ? definition.fill : unsaid.value_or(std::vector<std::byte>{}));
}

void ElementReader::read_padded(hid_t dataset, std::uint32_t variable, const Box& box,
                                std::span<std::byte> out) const {
  const model::Definition& definition = datasets_.stored(variable).definition;
  fill_as_netcdf(definition, out);
  const Box whole = model::whole(datasets_.arrangement(variable).held);
  const auto held = model::intersect(box, whole);
  if (held) {
    std::vector<std::byte> elements(held->volume() * definition.type.bytes);
    read_by_library(dataset, variable, 0, *held, elements);
    model::copy_box(elements.data(), *held, out.data(), box, *held, definition.type.bytes);
  }
}

void ElementReader::read_by_library(hid_t dataset, std::uint32_t variable, std::uint64_t step,
                                    const Box& box, std::span<std::byte> out) const {
  const model::Definition& definition = datasets_.stored(variable).definition;
  const bool in_characters = datasets_.arrangement(variable).is_in_characters;
  const std::size_t lead = datasets_.lead(variable);
  const Handle space = own(H5Dget_space(dataset), definition.name);
  const Handle held = own(H5Dget_type(dataset), definition.name);
  const std::uint64_t characters = in_characters ? definition.type.bytes : 1;
  const Handle type = element_type(held.get(), definition.type, in_characters);
  const Handle memory = dataspace({box.volume() * characters});
  std::array<hsize_t, model::max_rank> start{};
  std::array<hsize_t, model::max_rank> count{1};
  std::copy(box.start.begin(), box.start.end(), start.begin() + lead);
  std::copy(box.count.begin(), box.count.end(), count.begin() + lead);
  start[0] += datasets_.first_row(variable, step);
  if (in_characters) {
    count[lead + static_cast<std::size_t>(box.count.rank())] = characters;
  }
  if (checked(H5Sget_simple_extent_ndims(space.get()), definition.name) > 0) {
    check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr),
          definition.name);
  }
  const herr_t status =
      H5Dread(dataset, type.get(), memory.get(), space.get(), H5P_DEFAULT, out.data());
  check_storage(definition.name);
  check(status, definition.name);
}

/// Of a set, libhdf5 reads them from the parts.
Handle ElementReader::open_lengths(const std::string& name, std::uint32_t variable) {
  Handle lengths = own(H5Dopen2(file_.hdf5, name.c_str(), H5P_DEFAULT), name);
  const Handle list = own(H5Dget_create_plist(lengths.get()), name);
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL) {
    return lengths;
  }
  if (!datasets_.arrangement(variable).is_mapped) {
    throw Error(Code::unsupported, file_.path() + ": " + name +
                                       " is still in the parts of a set, but not " +
                                       datasets_.stored(variable).definition.name + ": copy both");
  }
  const std::string missing = others_.missing_source(list.get());
  if (!missing.empty()) {
    throw Error(Code::not_found, file_.path() + ": " + name + ": " + missing);
  }
  return own(H5Dopen2(others_.with_others(), name.c_str(), H5P_DEFAULT), name);
}

std::vector<std::uint64_t> ElementReader::rows_of_groups(std::uint32_t variable,
                                                         std::uint64_t steps) {
  std::vector<std::uint64_t> rows(steps, 0);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const hid_t found = datasets_.find(variable, step);
    if (found >= 0) {
      const Dims shape = dims_of(found, datasets_.stored(variable).definition.name);
      rows[step] = shape.empty() ? 0 : shape[0];
    }
  }
  return rows;
}

std::vector<std::uint64_t> ElementReader::rows_in_list(std::uint32_t variable,
                                                       std::uint64_t steps) {
  const std::string& owner = datasets_.stored(variable).definition.name;
  const std::string name = length_name(owner);
  if (!has_link(file_.hdf5, name)) {
    throw Error(Code::damaged,
                file_.path() + ": " + owner + ": its rows vary, but there is no " + name);
  }
  const Handle lengths = open_lengths(name, variable);
  const Dims extents = dims_of(lengths.get(), name);
  std::vector<std::uint64_t> rows(extents.rank() == 1 ? std::min(steps, extents[0]) : 0);
  if (!rows.empty()) {
    read_rows(lengths.get(), name, H5T_NATIVE_UINT64, 0, {rows.size()}, rows.data());
  }
  rows.resize(steps, 0);
  return rows;
}

std::vector<std::uint64_t> ElementReader::rows_by_step(std::uint32_t variable,
                                                       std::uint64_t steps) {
  const QuietErrors quiet;
  const model::Definition& definition = datasets_.stored(variable).definition;
  if (!definition.varying) {
    return {};
  }
  std::vector<std::uint64_t> rows = datasets_.is_grouped(variable) ? rows_of_groups(variable, steps)
                                                                   : rows_in_list(variable, steps);
  for (const std::uint64_t n : rows) {
    if (n > definition.shape[0]) {
      throw Error(Code::damaged, file_.path() + ": " + definition.name +
                                     ": a step claims more rows than the variable can have");
    }
  }
  return rows;
}

}  // namespace sluice::layout::hdf5
