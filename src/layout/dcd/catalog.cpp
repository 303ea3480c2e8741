#include "layout/dcd/catalog.hpp"

#include <algorithm>
#include <cstring>

#include "layout/dcd/rules.hpp"
#include "model/convert.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::dcd {

using model::Dims;

std::unique_ptr<DcdCatalog> DcdCatalog::open(storage::File& file) {
  return std::unique_ptr<DcdCatalog>(new DcdCatalog(file, read_header(file)));
}

DcdCatalog::DcdCatalog(storage::File& file, Header header)
    : file_(file), header_(std::move(header)) {
  steps_ = static_cast<std::uint64_t>(header_.control[frames]);
  add(positions_name, type_of<float>(), {header_.atoms, 3});
  if (header_.cell()) {
    add(cell_name, type_of<double>(), {6});
  }
  if (header_.fourth()) {
    add(fourth_name, type_of<float>(), {header_.atoms});
  }
  if (header_.counted > steps_) {
    unreadable_.push_back(missing_frames());
  }
}

/// Those that the header counts beyond the end of the file.
UnreadableDataset DcdCatalog::missing_frames() const {
  const std::string first = std::to_string(steps_);
  const bool is_one = header_.counted == steps_ + 1;
  const std::string where =
      header_.is_cut ? "the file ends inside " + (is_one ? "it" : "frame " + first) : "not there";
  return {
      is_one ? "frame " + first : "frames " + first + " to " + std::to_string(header_.counted - 1),
      where + ", and its header counts " + std::to_string(header_.counted)};
}

void DcdCatalog::add(const char* name, const Type& type, const Dims& shape) {
  StoredVariable variable;
  variable.definition.name = name;
  variable.definition.type = type;
  variable.definition.shape = shape;
  variable.definition.stepped = true;
  variable.tile = tile_of(variable.definition);
  variable.definition.chunk = variable.tile;
  variable.big_endian = header_.big_endian;
  // Frames with fixed atoms contain the free ones only: assembled by one rank.
  variable.placeable = header_.free_atoms.empty() || type == type_of<double>();
  variable.storage = variable.placeable ? "records" : "records, fixed atoms";
  variables_.push_back(std::move(variable));
}

Placement DcdCatalog::locate(std::uint32_t variable, std::uint64_t step, const model::Box&) {
  const StoredVariable& stored = variables_.at(variable);
  const std::string& name = stored.definition.name;
  std::vector<std::uint64_t> addresses;
  if (stored.definition.shape.volume() != 0) {
    if (name == cell_name) {
      addresses = {header_.cell_offset(step)};
    } else if (name == fourth_name) {
      addresses = {header_.axis_offset(step, 3)};
    } else {
      for (int d = 0; d < 3; ++d) {
        addresses.push_back(header_.axis_offset(step, d));
      }
    }
  }
  return {variable, stored.definition.type.bytes, stored.definition.shape, stored.tile, addresses};
}

/// One dimension of all atoms: the fixed ones are in the first frame.
std::vector<float> DcdCatalog::read_axis(std::uint64_t step, int d) {
  const auto read = [&](std::uint64_t frame) {
    std::vector<float> values(header_.atoms_in(frame));
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (file_.read(header_.axis_offset(frame, d), bytes) != bytes.size()) {
      throw Error(Code::truncated,
                  file_.path() + ": truncated: ends inside frame " + std::to_string(frame));
    }
    if (header_.big_endian) {
      model::swap_bytes(bytes, type_of<float>());
    }
    return values;
  };
  std::vector<float> all = read(0);
  if (step != 0) {
    const std::vector<float> moved = read(step);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      all[header_.free_atoms.empty() ? i : header_.free_atoms[i]] = moved[i];
    }
  }
  return all;
}

void DcdCatalog::read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                      std::span<std::byte> out) {
  const bool is_fourth = variables_.at(variable).definition.name == fourth_name;
  const std::uint64_t axes = is_fourth ? 1 : box.count[1];
  for (std::uint64_t d = 0; d < axes; ++d) {
    const std::vector<float> all =
        read_axis(step, is_fourth ? 3 : static_cast<int>(box.start[1] + d));
    for (std::uint64_t i = 0; i < box.count[0]; ++i) {
      std::memcpy(out.data() + 4 * (i * axes + d), &all[box.start[0] + i], 4);
    }
  }
}

std::vector<model::Attribute> DcdCatalog::attributes() {
  std::vector<std::string> titles;
  std::vector<std::int32_t> words(header_.control.begin(), header_.control.end());
  for (const std::string& title : header_.titles) {
    const std::string text = title.substr(0, std::min(title.size(), title.find('\0')));
    const std::size_t end = text.find_last_not_of(' ');
    titles.push_back(end == std::string::npos ? "" : text.substr(0, end + 1));
    const std::size_t before = words.size();
    words.resize(before + title_bytes / 4);
    std::memcpy(&words[before], title.data(), title_bytes);
  }
  std::vector<model::Attribute> attributes{
      {"", "title", titles},
      {"", "first_step", header_.control[first_step]},
      {"", "step_interval", header_.control[interval]},
      {"", "timestep", header_.timestep_value()},
      {"", "marker_bytes", static_cast<std::int32_t>(header_.marker_bytes)},
      {"", "dcd_header", words}};
  if (header_.big_endian) {
    attributes.push_back({"", "byte_order", std::string("big")});
  }
  if (header_.name != "CORD") {
    attributes.push_back({"", "content", std::string("velocities")});
  }
  if (!header_.free_atoms.empty()) {
    attributes.push_back(
        {"", free_atoms_name,
         std::vector<std::int32_t>(header_.free_atoms.begin(), header_.free_atoms.end())});
  }
  return attributes;
}

}  // namespace sluice::layout::dcd
