#include "layout/dcd/planner.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "layout/dcd/rules.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::dcd {

using model::Definition;

namespace {

constexpr std::uint64_t most_frames = std::numeric_limits<std::int32_t>::max();

std::string padded(std::string title) {
  title.resize(title_bytes, ' ');
  return title;
}

[[noreturn]] void refuse(const storage::File& file, const std::string& why) {
  throw Error(Code::unsupported, file.path() + ": format dcd: " + why);
}

}  // namespace

DcdPlanner::DcdPlanner(storage::File& file) : file_(file) {
  header_.control = usual_control();
  header_.titles = {padded("REMARKS CREATED BY SLUICE"), padded("REMARKS")};
}

std::unique_ptr<DcdPlanner> DcdPlanner::create(storage::File& file) {
  return std::unique_ptr<DcdPlanner>(new DcdPlanner(file));
}

std::unique_ptr<DcdPlanner> DcdPlanner::append(storage::File& file) {
  auto planner = create(file);
  Header& header = planner->header_ = read_header(file);
  if (!header.free_atoms.empty()) {
    refuse(file,
           "frames can be appended only to trajectories without fixed atoms: write a new file");
  }
  Definition positions;
  positions.name = positions_name;
  positions.type = type_of<float>();
  positions.stepped = true;
  positions.shape = {header.atoms, 3};
  planner->add(positions);
  if (header.cell()) {
    Definition cell = positions;
    cell.name = cell_name;
    cell.type = type_of<double>();
    cell.shape = {6};
    planner->add(cell);
  }
  if (header.fourth()) {
    Definition fourth = positions;
    fourth.name = fourth_name;
    fourth.shape = {header.atoms};
    planner->add(fourth);
  }
  planner->steps_ = static_cast<std::uint64_t>(header.control[frames]);
  planner->step_before_ = step_before(header);
  planner->history_.begin({planner->steps_, true, header.frame_offset(planner->steps_)});
  return planner;
}

void DcdPlanner::add(const Definition& definition) {
  definitions_.push_back(definition);
  definitions_.back().chunk = tile_of(definition);
}

void DcdPlanner::define(const Definition& definition) {
  if (history_.last().has_header) {
    refuse(file_, "define " + definition.name + ": comes after the header is written: define " +
                      "everything before the first step");
  }
  add(definition);
}

void DcdPlanner::set_attribute(const model::Attribute& attribute) {
  if (history_.last().has_header) {
    refuse(file_, "attribute " + attribute.name + ": comes after the header is written: set it " +
                      "before the first step");
  }
  const auto& value = attribute.value;
  if (attribute.name == "title") {
    const auto* text = std::get_if<std::string>(&value);
    header_.titles.clear();
    for (const std::string& line :
         text != nullptr ? std::vector{*text} : std::get<std::vector<std::string>>(value)) {
      header_.titles.push_back(padded(line));
    }
  } else if (attribute.name == "first_step") {
    header_.control[first_step] = std::get<std::int32_t>(value);
  } else if (attribute.name == "step_interval") {
    header_.control[interval] = std::get<std::int32_t>(value);
  } else if (attribute.name == "timestep") {
    const auto* narrow = std::get_if<float>(&value);
    timestep_ = narrow != nullptr ? *narrow : std::get<double>(value);
  } else if (attribute.name == "marker_bytes") {
    header_.marker_bytes = static_cast<std::uint64_t>(std::get<std::int32_t>(value));
  } else if (attribute.name == "byte_order") {
    header_.big_endian = std::get<std::string>(value) == "big";
  } else if (attribute.name == "content") {
    header_.name = std::get<std::string>(value) == "velocities" ? "VELD" : "CORD";
  } else {
    set_words(std::get<std::vector<std::int32_t>>(value));
  }
}

void DcdPlanner::set_words(const std::vector<std::int32_t>& words) {
  std::copy_n(words.begin(), control_words, header_.control.begin());
  step_before_ = step_before(header_);
  header_.titles.assign((words.size() - control_words) / (title_bytes / 4),
                        std::string(title_bytes, ' '));
  for (std::size_t i = 0; i < header_.titles.size(); ++i) {
    std::memcpy(header_.titles[i].data(), &words[control_words + i * title_bytes / 4], title_bytes);
  }
}

/// The header as the definitions require it; everything after the header follows from it.
void DcdPlanner::finish_header() {
  const auto find = [&](const char* name) {
    return std::find_if(definitions_.begin(), definitions_.end(),
                        [&](const Definition& d) { return d.name == name; });
  };
  const auto positions = find(positions_name);
  if (positions == definitions_.end()) {
    refuse(file_, "a trajectory without positions: define them, or use hdf5");
  }
  header_.atoms = positions->shape[0];
  const auto fourth = find(fourth_name);
  if (fourth != definitions_.end() && fourth->shape[0] != header_.atoms) {
    refuse(file_, "a fourth dimension of " + std::to_string(fourth->shape[0]) +
                      " atoms, and positions of " + std::to_string(header_.atoms));
  }
  const bool cell = find(cell_name) != definitions_.end();
  const bool has_more = cell || fourth != definitions_.end();
  if (header_.control[version] == 0 && has_more) {
    // A header from before CHARMM 22 has neither: its time step uses the word of the first one.
    timestep_ = timestep_.value_or(header_.timestep_value());
    header_.control[version] = usual_version;
    header_.control[has_cell] = 0;
  }
  if (header_.control[version] != 0) {
    header_.control[has_cell] = cell ? 1 : 0;
    header_.control[has_fourth] = fourth != definitions_.end() ? 1 : 0;
  }
  if (timestep_) {
    header_.set_timestep(*timestep_);
  }
  header_.control[fixed_atoms] = 0;
  header_.bytes = header_bytes(header_).size();
}

Placement DcdPlanner::place(std::uint32_t variable, std::uint64_t frame) const {
  const Definition& definition = definitions_[variable];
  std::vector<std::uint64_t> addresses;
  if (definition.shape.volume() != 0) {
    if (definition.name == cell_name) {
      addresses = {header_.cell_offset(frame)};
    } else if (definition.name == fourth_name) {
      addresses = {header_.axis_offset(frame, 3)};
    } else {
      for (int d = 0; d < 3; ++d) {
        addresses.push_back(header_.axis_offset(frame, d));
      }
    }
  }
  Placement placement(variable, definition.type.bytes, definition.shape, definition.chunk,
                      addresses);
  placement.set_big_endian(header_.big_endian);
  return placement;
}

CommitPlan DcdPlanner::plan_commit(const CommitRequest& request) {
  CommitPlan plan;
  plan.step = steps_;
  if (!history_.last().has_header) {
    finish_header();
  }
  if (!request.is_step) {
    return plan;
  }
  if (steps_ >= most_frames) {
    refuse(file_, "counts frames in 32 bits: at most " + std::to_string(most_frames) +
                      ": continue in a new file");
  }
  // Also what no rank put: a frame has no gaps, so it is filled.
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    plan.placements.push_back(place(v, steps_));
  }
  plan.space = {header_.frame_offset(steps_), header_.frame_bytes(steps_)};
  ++steps_;
  return plan;
}

void DcdPlanner::drop_steps(std::uint64_t steps, std::int64_t) { steps_ = std::min(steps, steps_); }

/// The record markers of a frame.
void DcdPlanner::put_markers(std::uint64_t frame, MetadataUpdate& update) const {
  std::vector<std::byte> bytes;
  std::uint64_t at = header_.frame_offset(frame);
  const auto record = [&](std::uint64_t content) {
    put_marker(bytes, header_, content);
    update.fresh.push_back({at, bytes});
    at += bytes.size() + content;
    bytes.clear();
    put_marker(bytes, header_, content);
  };
  if (header_.cell()) {
    record(cell_bytes);
  }
  for (std::uint64_t d = 0; d < header_.axes(); ++d) {
    record(4 * header_.atoms);
  }
  update.fresh.push_back({at, bytes});
}

MetadataUpdate DcdPlanner::seal() {
  MetadataUpdate update;
  if (!history_.last().has_header) {
    finish_header();
  }
  for (std::uint64_t frame = history_.last().steps; frame < steps_; ++frame) {
    put_markers(frame, update);
  }
  set_counts(header_, step_before_, steps_);
  update.end = std::max(header_.frame_offset(steps_), committed_end());
  if (!history_.last().has_header) {
    update.root.push_back({0, header_bytes(header_)});
  } else {
    update.root.push_back({header_.counts_offset(), counts_of(header_)});
    update.is_atomic = true;
  }
  return update;
}

void DcdPlanner::planned() { history_.plan({steps_, true, header_.frame_offset(steps_)}); }

void DcdPlanner::abandon() { steps_ = history_.abandon().steps; }

}  // namespace sluice::layout::dcd
