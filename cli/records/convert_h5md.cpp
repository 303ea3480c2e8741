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
  std::vector<double> position_nm;
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
        frame.position_nm.push_back(values[position + d].real);
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

/// Of all ranks.
struct Particles {
  std::int64_t count = 0;
  std::uint64_t species_proof = 0;  ///< equal where all particles have the same species
};

/// Collective. Parts, and so ranks, may exchange particles: the proof is a sum over them.
Particles all_particles(exec::Transport& transport, const Frame& frame) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < frame.rows.size(); ++i) {
    // The finalizer of splitmix64.
    std::uint64_t x =
        frame.rows[i] * 0x9E3779B97F4A7C15U + static_cast<std::uint32_t>(frame.species[i]);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    sum += x ^ (x >> 31);
  }
  constexpr std::uint64_t low = 0xFFFFFFFFU;  // sums of halves do not overflow
  std::array<std::int64_t, 3> all = {static_cast<std::int64_t>(frame.rows.size()),
                                     static_cast<std::int64_t>(sum & low),
                                     static_cast<std::int64_t>(sum >> 32)};
  transport.allreduce(all, exec::Op::sum);
  return {all[0], static_cast<std::uint64_t>(all[1]) + (static_cast<std::uint64_t>(all[2]) << 32)};
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

/// An element of H5MD that changes with time: its values, steps and times.
struct Element {
  std::uint32_t value = 0;
  std::uint32_t step = 0;
  std::uint32_t time = 0;
};

struct Variables {
  Element position;
  Element edges;
  Element species;  ///< without steps: only its value
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

/// The widest that the template has; `otherwise` where it has none.
Type type_of_field(const dialect::lines::Template& layout, const char* name,
                   const Type& otherwise) {
  std::optional<Type> widest;
  for (const Line& line : layout.lines) {
    for (const auto& field : line.fields) {
      if (field.name == name && (!widest || field.type.bytes > widest->bytes)) {
        widest = field.type;
      }
    }
  }
  return widest.value_or(otherwise);
}

Element define_element(commit::Output& output, const std::string& name, const Type& type,
                       const model::Dims& shape, const Type& step) {
  Element element;
  element.value = define(output, name + "/value", type, shape, true);
  element.step = define(output, name + "/step", step, {}, true);
  element.time = define(output, name + "/time", type_of<double>(), {}, true);
  output.set_attribute({name + "/time", "unit", std::string("ps")});
  return element;
}

/// `changes`: does the species of a particle change with time? H5MD has both forms.
Variables define_all(commit::Output& output, std::uint64_t particles,
                     const dialect::lines::Template& layout, bool changes) {
  const std::string all = "particles/all/";
  const Type step = type_of_field(layout, "step", type_of<std::int32_t>());
  const Type place = type_of_field(layout, "position_nm", type_of<float>());
  Variables v;
  v.position = define_element(output, all + "position", place, {particles, 3}, step);
  if (changes) {
    v.species = define_element(output, all + "species", type_of<std::int32_t>(), {particles}, step);
  } else {
    v.species.value = define(output, all + "species", type_of<std::int32_t>(), {particles}, false);
  }
  v.edges = define_element(output, all + "box/edges", type_of<double>(), {3}, step);
  output.set_attribute({"h5md", "version", std::vector<std::int32_t>{1, 1}});
  output.set_attribute({"h5md/author", "name", std::string("unknown")});
  output.set_attribute({"h5md/creator", "name", std::string("Sluice")});
  output.set_attribute({"h5md/creator", "version", std::string(SLUICE_VERSION)});
  output.set_attribute({all + "box", "dimension", std::int32_t{3}});
  output.set_attribute(
      {all + "box", "boundary", std::vector<std::string>{"periodic", "periodic", "periodic"}});
  output.set_attribute({all + "position/value", "unit", std::string("nm")});
  output.set_attribute({all + "box/edges/value", "unit", std::string("nm")});
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

void put_species(commit::Output& output, const Variables& v, const Frame& frame) {
  output.put_rows({v.species.value, frame.rows,
                   reinterpret_cast<const std::byte*>(frame.species.data()),
                   type_of<std::int32_t>()});
}

/// `narrow`: memory for the positions where they are of single precision, as they were.
void put_position(commit::Output& output, const Variables& v, const Frame& frame,
                  std::vector<float>& narrow) {
  if (output.definitions()[v.position.value].type.kind == Kind::f64) {
    output.put_rows({v.position.value, frame.rows,
                     reinterpret_cast<const std::byte*>(frame.position_nm.data()),
                     type_of<double>()});
    return;
  }
  narrow.clear();
  for (const double one : frame.position_nm) {
    narrow.push_back(static_cast<float>(one));
  }
  output.put_rows({v.position.value, frame.rows, reinterpret_cast<const std::byte*>(narrow.data()),
                   type_of<float>()});
}

/// On one rank.
void put_head(commit::Output& output, const Variables& v, Frame& frame, bool changes) {
  const auto put = [&](std::uint32_t variable, void* data, const Type& type,
                       const model::Dims& shape) {
    output.put({variable,
                model::whole(shape),
                {static_cast<std::byte*>(data), type, shape,
                 shape.rank() == 0 ? model::Dims{} : model::Dims{0}},
                false},
               true);
  };
  const auto put_times = [&](const Element& element) {
    put(element.step, &frame.step, type_of<std::int64_t>(), {});
    put(element.time, &frame.time_ps, type_of<double>(), {});
  };
  put_times(v.position);
  put_times(v.edges);
  put(v.edges.value, frame.box_nm.data(), type_of<double>(), {3});
  if (changes) {
    put_times(v.species);
  }
}

/// Collective. `changes`: as for define_all(). Nothing, and no file, where the species of a
/// particle does change and this is not said.
std::optional<commit::Converted> write_trajectory(const Context& context, const std::string& from,
                                                  const std::string& to, const Options& options,
                                                  bool changes) {
  RecordLines lines(context, from);
  exec::Transport& transport = context.transport;
  std::optional<commit::NewOutput> file;
  Variables v;
  Particles first;
  std::vector<float> narrow;
  for (std::uint64_t g = 0; g < lines.groups(); ++g) {
    Frame frame;
    lines.fetch(g);
    exec::together(transport, [&] { frame = read_frame(lines); });
    share_head(transport, !lines.own().empty(), frame);
    const Particles here = all_particles(transport, frame);
    first = g == 0 ? here : first;
    require_same_particles(transport, from, g, frame, here.count, first.count);
    if (!changes && here.species_proof != first.species_proof) {
      return std::nullopt;
    }
    if (!file) {
      file.emplace(transport, context.storage, to, options);
      v = define_all(**file, static_cast<std::uint64_t>(first.count), lines.layout(), changes);
      if (!changes) {
        put_species(**file, v, frame);
      }
      (*file)->flush();
    }
    commit::Output& output = **file;
    output.begin_step(frame.time_ps);
    put_position(output, v, frame, narrow);
    if (changes) {
      put_species(output, v, frame);
    }
    if (context.is_root()) {
      put_head(output, v, frame, changes);
    }
    output.end_step();
  }
  const std::uint64_t position_bytes = 3 * (*file)->definitions()[v.position.value].type.bytes *
                                       static_cast<std::uint64_t>(first.count);
  file->close();
  commit::Converted done{1, lines.groups(), lines.groups() * position_bytes};
  done.left_out = other_fields(lines.layout());
  return done;
}

}  // namespace

commit::Converted convert_to_h5md(const Context& context, const std::string& from,
                                  const std::string& to, const Options& options) {
  {
    const RecordLines lines(context, from);
    if (lines.layout().line_with("id") == nullptr ||
        lines.layout().line_with("position_nm") == nullptr || lines.groups() == 0) {
      throw Error(Code::format, from + ": not a trajectory (no id and position_nm of particles)");
    }
    dialect::lines::require_particle_fields(lines.layout());
  }
  // Most trajectories keep the species: only those that do not are read twice.
  auto done = write_trajectory(context, from, to, options, false);
  return done ? *done : write_trajectory(context, from, to, options, true).value();
}

}  // namespace sluice::cli
