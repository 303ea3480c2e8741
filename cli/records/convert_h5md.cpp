// Writes a trajectory of records as H5MD, in the order of its particles.
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <set>

#include "commit/tools/new_file.hpp"
#include "exec/transport/agree.hpp"
#include "records/convert_lines.hpp"
#include "records/record_lines.hpp"
#include "sluice/error.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

using dialect::lines::Line;
using dialect::lines::Scalar;

/// This rank's part of a frame.
struct Frame {
  std::vector<std::uint64_t> rows;  ///< ids, from 0
  std::vector<float> position_nm;
  std::vector<std::int32_t> species;
  std::array<double, 3> box_nm{};
  double time_ps = 0;
  std::int64_t step = 0;
};

/// Types of particles begin with 1, species with 0.
std::int32_t species_of(std::int64_t type) {
  const std::int64_t species = type - 1;
  if (species != static_cast<std::int32_t>(species)) {
    throw Error(Code::overflow, "type " + std::to_string(type) +
                                    " of a particle does not fit the int32 of `species`");
  }
  return static_cast<std::int32_t>(species);
}

Frame read_frame(RecordLines& lines) {
  Frame frame;
  for (std::size_t i = 0; i < lines.own().size(); ++i) {
    lines.read(i, [&](const Line& line, const std::vector<Scalar>& values) {
      const std::size_t id = line.find("id");
      const std::size_t position = line.find("position_nm");
      const std::size_t type = line.find("type");
      if (const std::size_t box = line.find("box_nm"); box != Line::npos) {
        for (std::size_t d = 0; d < 3; ++d) {
          frame.box_nm[d] = values[box + d].real;
        }
      }
      if (const std::size_t time = line.find("time_ps"); time != Line::npos) {
        frame.time_ps = values[time].real;
      }
      if (const std::size_t step = line.find("step"); step != Line::npos) {
        frame.step = values[step].integer;
      }
      if (id == Line::npos || position == Line::npos) {
        return;
      }
      // An id of 0 wraps around to a row that there is not: require_same_particles() reports it.
      frame.rows.push_back(static_cast<std::uint64_t>(values[id].integer) - 1);
      for (std::size_t d = 0; d < 3; ++d) {
        frame.position_nm.push_back(static_cast<float>(values[position + d].real));
      }
      frame.species.push_back(type == Line::npos ? 0 : species_of(values[type].integer));
    });
  }
  return frame;
}

/// Collective. Ranks without parts receive time, step and box from the others.
void share_head(exec::Transport& transport, bool has_parts, Frame& frame) {
  std::array<std::int64_t, 5> head = {frame.step, std::bit_cast<std::int64_t>(frame.time_ps),
                                      std::bit_cast<std::int64_t>(frame.box_nm[0]),
                                      std::bit_cast<std::int64_t>(frame.box_nm[1]),
                                      std::bit_cast<std::int64_t>(frame.box_nm[2])};
  if (!has_parts) {
    head.fill(std::numeric_limits<std::int64_t>::min());  // below the bits of any number
  }
  transport.allreduce(head, exec::Op::max);
  frame.step = head[0];
  frame.time_ps = std::bit_cast<double>(head[1]);
  for (std::size_t d = 0; d < 3; ++d) {
    frame.box_nm[d] = std::bit_cast<double>(head[d + 2]);
  }
}

/// Collective.
std::int64_t count_particles(exec::Transport& transport, const Frame& frame) {
  auto count = static_cast<std::int64_t>(frame.rows.size());
  transport.allreduce({&count, 1}, exec::Op::sum);
  return count;
}

/// Collective. An array of H5MD has a row for each particle, in every frame the same ones.
void require_same_particles(exec::Transport& transport, const std::string& from,
                            std::uint64_t group, const Frame& frame, std::int64_t count,
                            std::int64_t wanted) {
  exec::together(transport, [&] {
    const std::string where = from + ": record group " + std::to_string(group) + " has ";
    if (count != wanted) {
      throw Error(Code::unsupported, where +
                                         count_text(static_cast<std::uint64_t>(count), "particle") +
                                         ", the first one " + std::to_string(wanted) +
                                         ": a trajectory of H5MD has the same ones in every frame");
    }
    for (const std::uint64_t row : frame.rows) {
      if (row >= static_cast<std::uint64_t>(wanted)) {
        throw Error(Code::format, where + "a particle of id " +
                                      std::to_string(static_cast<std::int64_t>(row + 1)) +
                                      ": ids are 1 to " + std::to_string(wanted) +
                                      ", the number of particles");
      }
    }
  });
}

struct Variables {
  std::uint32_t position = 0;
  std::uint32_t step = 0;
  std::uint32_t time = 0;
  std::uint32_t species = 0;
  std::uint32_t edges = 0;  ///< followed by its step and its time
};

std::uint32_t define(commit::Output& output, const std::string& name, const Type& type,
                     const model::Dims& shape, bool stepped) {
  model::Definition definition;
  definition.name = name;
  definition.type = type;
  definition.shape = shape;
  definition.stepped = stepped;
  return output.define(definition);
}

/// As wide as the template has it.
Type step_type(const dialect::lines::Template& layout) {
  const Line* const line = layout.line_with("step");
  if (line != nullptr) {
    for (const auto& field : line->fields) {
      if (field.name == "step") {
        return field.type;
      }
    }
  }
  return type_of<std::int32_t>();
}

Variables define_all(commit::Output& output, std::uint64_t particles, const Type& step) {
  const std::string all = "particles/all/";
  Variables v;
  v.position = define(output, all + "position/value", type_of<float>(), {particles, 3}, true);
  v.step = define(output, all + "position/step", step, {}, true);
  v.time = define(output, all + "position/time", type_of<double>(), {}, true);
  v.species = define(output, all + "species", type_of<std::int32_t>(), {particles}, false);
  v.edges = define(output, all + "box/edges/value", type_of<double>(), {3}, true);
  define(output, all + "box/edges/step", step, {}, true);
  define(output, all + "box/edges/time", type_of<double>(), {}, true);
  output.set_attribute({"h5md", "version", std::vector<std::int32_t>{1, 1}});
  output.set_attribute({"h5md/author", "name", std::string("unknown")});
  output.set_attribute({"h5md/creator", "name", std::string("Sluice")});
  output.set_attribute({"h5md/creator", "version", std::string(SLUICE_VERSION)});
  output.set_attribute({all + "box", "dimension", std::int32_t{3}});
  output.set_attribute(
      {all + "box", "boundary", std::vector<std::string>{"periodic", "periodic", "periodic"}});
  output.set_attribute({all + "position/value", "unit", std::string("nm")});
  output.set_attribute({all + "position/time", "unit", std::string("ps")});
  output.set_attribute({all + "box/edges/value", "unit", std::string("nm")});
  output.set_attribute({all + "box/edges/time", "unit", std::string("ps")});
  return v;
}

/// Fields that are not in the trajectory, each once. The last one of a line may be the number of
/// those that belong to it.
std::vector<std::string> other_fields(const dialect::lines::Template& layout) {
  const std::set<std::string> known{"id", "position_nm", "type", "box_nm", "time_ps", "step"};
  std::set<std::string> others;
  for (std::size_t i = 0; i < layout.lines.size(); ++i) {
    const Line& line = layout.lines[i];
    const bool has_more = i + 1 < layout.lines.size() && layout.lines[i + 1].depth > line.depth;
    const std::size_t fields = line.fields.size() - (has_more ? 1 : 0);
    for (std::size_t f = 0; f < fields; ++f) {
      if (known.count(line.fields[f].name) == 0) {
        others.insert(line.fields[f].name + " (no field of a trajectory)");
      }
    }
  }
  return {others.begin(), others.end()};
}

}  // namespace

commit::Converted convert_to_h5md(const Context& context, const std::string& from,
                                  const std::string& to, const Options& options) {
  RecordLines lines(context, from);
  if (lines.layout().line_with("id") == nullptr ||
      lines.layout().line_with("position_nm") == nullptr || lines.groups() == 0) {
    throw Error(Code::format, from + ": not a trajectory (no id and position_nm of particles)");
  }
  dialect::lines::require_particle_fields(lines.layout());
  exec::Transport& transport = context.transport;
  std::optional<commit::NewOutput> file;
  Variables v;
  std::int64_t particles = 0;
  for (std::uint64_t g = 0; g < lines.groups(); ++g) {
    Frame frame;
    lines.fetch(g);
    exec::together(transport, [&] { frame = read_frame(lines); });
    share_head(transport, !lines.own().empty(), frame);
    const std::int64_t in_group = count_particles(transport, frame);
    particles = g == 0 ? in_group : particles;
    require_same_particles(transport, from, g, frame, in_group, particles);
    if (!file) {
      file.emplace(transport, context.storage, to, options);
      v = define_all(**file, static_cast<std::uint64_t>(particles), step_type(lines.layout()));
      (*file)->put_rows({v.species, frame.rows,
                         reinterpret_cast<const std::byte*>(frame.species.data()),
                         type_of<std::int32_t>()});
      (*file)->flush();
    }
    commit::Output& output = **file;
    output.begin_step(frame.time_ps);
    output.put_rows({v.position, frame.rows,
                     reinterpret_cast<const std::byte*>(frame.position_nm.data()),
                     type_of<float>()});
    if (context.is_root()) {
      const auto put = [&](std::uint32_t variable, void* data, const Type& type,
                           const model::Dims& shape) {
        output.put({variable,
                    model::whole(shape),
                    {static_cast<std::byte*>(data), type, shape,
                     shape.rank() == 0 ? model::Dims{} : model::Dims{0}},
                    false},
                   true);
      };
      put(v.step, &frame.step, type_of<std::int64_t>(), {});
      put(v.time, &frame.time_ps, type_of<double>(), {});
      put(v.edges, frame.box_nm.data(), type_of<double>(), {3});
      put(v.edges + 1, &frame.step, type_of<std::int64_t>(), {});
      put(v.edges + 2, &frame.time_ps, type_of<double>(), {});
    }
    output.end_step();
  }
  file->close();
  const auto frames = lines.groups();
  commit::Converted done{1, frames,
                         frames * static_cast<std::uint64_t>(particles) * 3 * sizeof(float)};
  done.left_out = other_fields(lines.layout());
  return done;
}

}  // namespace sluice::cli
