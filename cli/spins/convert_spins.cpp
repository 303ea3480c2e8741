#include "spins/convert_spins.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"
#include "spins/spin_file.hpp"
#include "spins/spin_names.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

Share share_of(const Context& context, std::uint64_t rows) {
  const auto [first, end] =
      vampire::share(rows, context.transport.rank(), context.transport.size());
  return {first, end - first};
}

/// The direction of the total moment, as VAMPIRE prints it; sums in the order of the ranks.
std::array<std::string, 3> direction_of(const Context& context, const SpinSource& source,
                                        const std::vector<std::int32_t>& material,
                                        const std::vector<double>& spins) {
  std::array<double, 3> sum{};
  for (std::size_t i = 0; i < spins.size(); ++i) {
    const auto number = static_cast<std::size_t>(material[i / 3]);
    sum[i % 3] +=
        spins[i] * (number < source.materials.size() ? source.materials[number].moment_mub : 0);
  }
  std::array<double, 3> all{};
  for (const auto& bytes : context.transport.allgather(std::as_bytes(std::span(sum)))) {
    std::array<double, 3> part{};
    std::memcpy(part.data(), bytes.data(), sizeof part);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all[axis] += part[axis];
    }
  }
  const double length = std::hypot(all[0], all[1], all[2]);
  std::array<std::string, 3> text;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    vampire::append_number(text[axis], length > 0 ? all[axis] / length : 0);
  }
  return text;
}

/// Frames of the whole sample, for formats that cannot hold a part of the atoms.
void require_whole(const SpinWish& wish) {
  const SpinOptions& c = wish.choice;
  if (!c.box.empty() || !c.void_box.empty() || !c.sphere.empty() || !c.cylinder.empty() ||
      !c.where.empty() || !c.without.empty() || c.every != 1 || !c.vdc_input.empty()) {
    throw Error(Code::invalid_argument,
                "a part of the atoms goes into text, xyz, vtu, vtkhdf or a picture; " + wish.to +
                    " takes all atoms, in the frames of --frames");
  }
}

/// The frames of --frames.
std::array<std::uint32_t, 2> frames_of(const Context& context, const SpinSource& source,
                                       const SpinWish& wish) {
  const SpinChoice choice = choice_of(context, wish.choice);
  const auto frames = source.frames_between(choice.first_frame, choice.end_frame);
  if (frames[0] >= frames[1] && source.frames > 0) {
    throw Error(Code::not_found, wish.from + ": no frame " + std::to_string(choice.first_frame) +
                                     ": there are " + source.frames_text());
  }
  return frames;
}

/// A file of spins lists the materials by their numbers.
void require_numbers(const SpinSource& source, const SpinWish& wish) {
  constexpr std::int32_t most = 65535;
  for (const vampire::Material& material : source.materials) {
    if (material.id < 0 || material.id > most) {
      throw Error(Code::unsupported, wish.from + ": material " + std::to_string(material.id) +
                                         ": a file of spins has materials of the numbers 0 to " +
                                         std::to_string(most));
    }
  }
}

void describe(SpinFile& file, const SpinSource& source, std::uint32_t begin, std::uint32_t end) {
  file.attribute("title", std::string("atomistic spins"));
  file.attribute("time_units", std::string("ps"));
  file.output().set_attribute({"time", "units", std::string("ps")});
  std::vector<double> moments;
  std::vector<std::string> elements;
  std::vector<std::string> material_names;
  for (const vampire::Material& material : source.materials) {
    // The list is indexed by material: missing numbers are materials without a moment.
    const auto at = static_cast<std::size_t>(material.id);
    moments.resize(std::max(moments.size(), at + 1));
    elements.resize(moments.size());
    material_names.resize(moments.size());
    moments[at] = material.moment_mub;
    elements[at] = material.element;
    material_names[at] = material.name;
  }
  file.attribute(names::moments, moments);
  file.attribute(names::elements, elements);
  file.attribute(names::material_names, material_names);
  if (!source.rows_of_file.empty()) {
    file.attribute(names::rows, std::vector<std::int64_t>(source.rows_of_file.begin(),
                                                          source.rows_of_file.end()));
    file.attribute(names::text, source.was_text);
  }
  if (const auto numbers = source.numbers_with_gaps(begin, end); !numbers.empty()) {
    file.attribute(names::snapshots, numbers);
  }
  if (source.was_legacy) {
    file.attribute(names::mode, std::string(vampire::mode_name(vampire::Mode::legacy)));
    file.attribute(names::box,
                   std::vector<double>(source.box_angstrom.begin(), source.box_angstrom.end()));
  }
}

void put_atoms(SpinFile& file, const vampire::Coordinates& atoms, std::uint64_t all,
               const Share& rows, std::array<const char*, 3> called, const char* dimension) {
  const auto xyz = file.define(called[0], type_of<double>(), {all, 3}, {dimension, "xyz"},
                               "Angstrom", "places of the atoms", false);
  const auto material = file.define(called[1], type_of<std::int32_t>(), {all}, {dimension}, "",
                                    "number of each atom's material", false);
  const auto category = file.define(called[2], type_of<std::int32_t>(), {all}, {dimension}, "",
                                    "category of each atom", false);
  file.put(xyz, rows, 3, atoms.xyz.data());
  file.put(material, rows, 1, atoms.material.data());
  file.put(category, rows, 1, atoms.category.data());
}

commit::Converted to_file(const Context& context, SpinSource& source, const SpinWish& wish) {
  require_whole(wish);
  require_numbers(source, wish);
  const auto [begin, end] = frames_of(context, source, wish);
  const Share rows = share_of(context, source.atoms);
  const vampire::Coordinates atoms = source.coordinates(rows.first, rows.count);
  SpinFile file(context, wish.to, wish.options);
  describe(file, source, begin, end);
  put_atoms(file, atoms, source.atoms, rows, {names::coordinates, names::material, names::category},
            "atom");
  vampire::Coordinates others;
  if (source.non_magnetic_atoms > 0) {
    const Share own = share_of(context, source.non_magnetic_atoms);
    others = source.non_magnetic(own.first, own.count);
    put_atoms(file, others, source.non_magnetic_atoms, own,
              {names::nm_coordinates, names::nm_material, names::nm_category}, "non_magnetic_atom");
  }
  const auto spins = file.define(names::spins, type_of<double>(), {source.atoms, 3},
                                 {"atom", "xyz"}, "1", "direction of each moment", true);
  const auto field =
      file.define(names::field, type_of<double>(), {3}, {"xyz"}, "T", "applied field", true);
  const auto temperature =
      file.define(names::temperature, type_of<double>(), {1}, {"sample"}, "K", "temperature", true);
  const auto magnetisation = file.define(names::magnetisation, type_of<double>(), {3}, {"xyz"}, "1",
                                         "direction of the whole moment, six digits", true);
  for (std::uint32_t frame = begin; frame < end; ++frame) {
    vampire::SpinsMeta meta = source.meta(frame);
    const std::vector<double> values = source.spins(frame, rows.first, rows.count);
    if (meta.magnetisation[0].empty()) {
      meta.magnetisation = direction_of(context, source, atoms.material, values);
    }
    std::array<double, 3> direction{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string& text = meta.magnetisation[axis];
      std::from_chars(text.data(), text.data() + text.size(), direction[axis]);
    }
    file.output().begin_step(meta.time_s * 1e12);
    file.put(spins, rows, 3, values.data());
    const std::uint64_t once = file.is_root() ? 1 : 0;
    file.put(field, {0, 3 * once}, 1, meta.field_t.data());
    file.put(temperature, {0, once}, 1, &meta.temperature_k);
    file.put(magnetisation, {0, 3 * once}, 1, direction.data());
    file.output().end_step();
    file.done().steps += 1;
    file.done().bytes += 24 * source.atoms;
  }
  file.close();
  return file.done();
}

vampire::WriteOptions vampire_options(const Context& context, const SpinSource& source,
                                      const SpinWish& wish) {
  vampire::WriteOptions options;
  const bool is_as_was = wish.mode.empty() && wish.files == 0 && !source.rows_of_file.empty();
  options.box_angstrom = source.box_angstrom;
  options.text = wish.is_text || (!wish.is_binary && source.was_text);
  if (is_as_was) {
    options.rows_of_file = source.rows_of_file;
    if (source.was_legacy && !wish.is_binary && source.non_magnetic_atoms == 0) {
      options.mode = vampire::Mode::legacy;
    }
    return options;
  }
  options.mode = wish.mode.empty() ? vampire::Mode::file_per_node : vampire::mode_of(wish.mode);
  options.nodes = std::max(1, wish.files);
  const int ranks = context.transport.size();
  if ((options.mode == vampire::Mode::mpi_io && wish.files > 1) ||
      (options.mode == vampire::Mode::legacy && wish.files > 0 && wish.files != ranks)) {
    throw Error(Code::invalid_argument,
                "--files " + std::to_string(wish.files) + ": mode " + wish.mode +
                    (options.mode == vampire::Mode::legacy
                         ? " has one file for each process: run it on as many processes"
                         : " is one file"));
  }
  const bool is_by_process = options.mode == vampire::Mode::file_per_process;
  if (wish.files > ranks || (is_by_process && wish.files > 0)) {
    for (int file = 0; file < wish.files; ++file) {
      const auto [first, end] = vampire::share(source.atoms, file, wish.files);
      options.rows_of_file.push_back(end - first);
    }
  }
  return options;
}

commit::Converted to_vampire(const Context& context, SpinSource& source, const SpinWish& wish) {
  require_whole(wish);
  exec::on_root(context.transport, [&] {
    if (context.storage.exists(wish.to + "/atoms-coords.meta") ||
        context.storage.exists(wish.to + "/atoms-coords.cfg")) {
      throw Error(Code::exists, wish.to + ": holds snapshots already");
    }
  });
  const auto [begin, end] = frames_of(context, source, wish);
  const Share rows = share_of(context, source.atoms);
  vampire::WriteOptions options = vampire_options(context, source, wish);
  const vampire::Coordinates atoms = source.coordinates(rows.first, rows.count);
  if (options.mode == vampire::Mode::legacy && options.box_angstrom == std::array<double, 3>{}) {
    const SpinChooser chooser(context, source, {});
    const Extent3 extent = chooser.extent(atoms.xyz);
    options.box_angstrom = {extent.size(0), extent.size(1), extent.size(2)};
  }
  vampire::SnapshotWriter writer(context.transport, borrowed(context.storage), wish.to,
                                 source.materials, rows.count, options);
  commit::Converted done{1, 0, writer.write_coordinates(atoms).bytes};
  if (source.non_magnetic_atoms > 0) {
    const Share own = share_of(context, source.non_magnetic_atoms);
    const auto others = source.non_magnetic(own.first, own.count);
    done.bytes += vampire::write_non_magnetic(context.transport, borrowed(context.storage), wish.to,
                                              others, options)
                      .bytes;
    done.variables += 1;
  }
  for (std::uint32_t frame = begin; frame < end; ++frame) {
    vampire::SpinsMeta meta = source.meta(frame);
    const std::vector<double> spins = source.spins(frame, rows.first, rows.count);
    if (meta.magnetisation[0].empty()) {
      meta.magnetisation = direction_of(context, source, atoms.material, spins);
    }
    // If all frames are written, each keeps its number; those of --frames are counted from the
    // first.
    const std::uint32_t from = begin == 0 ? 0 : source.number(begin);
    done.bytes += writer.write_spins(source.number(frame) - from, meta, spins).bytes;
    done.steps += 1;
  }
  done.variables += 1;
  return done;
}

}  // namespace

void add_spin_wish(CLI::App& command, SpinWish& wish) {
  const char* const group = spin_writing_group;
  command.add_option("--mode", wish.mode, "file-per-process, mpi-io, file-per-node, legacy")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--files", wish.files, "files of a snapshot (file-per-node)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""))
      ->group(group);
  command.add_flag("--text", wish.is_text, "as text")->group(group);
  command.add_flag("--binary", wish.is_binary, "as binary")->group(group);
  add_spin_options(command, wish.choice);
}

std::string spin_format(const std::string& format, const std::string& to) {
  for (const char* known : {"vampire", "text", "xyz", "vtu", "vtkhdf"}) {
    if (format == known) {
      return known;
    }
  }
  if (format == "auto") {
    for (const char* ending : {"xyz", "vtu", "vtkhdf"}) {
      if (to.ends_with(std::string(".") + ending)) {
        return ending;
      }
    }
    if (to.ends_with(".txt")) {
      return "text";
    }
  }
  return "";
}

std::string numbered(const std::string& to, std::uint32_t frame) {
  const std::size_t slash = to.rfind('/');
  std::size_t dot = to.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) {
    dot = to.size();
  }
  return to.substr(0, dot) + fmt::format("-{:08}", frame) + to.substr(dot);
}

commit::Converted convert_spins(const Context& context, const SpinWish& wish) {
  const auto source = open_spins(context, wish.from);
  if (source == nullptr) {
    const std::string vtk = wish.format == "vtkhdf" ? ", and no arrays by the names of VTKHDF "
                                                      "(VTKHDF/PointData/... and the attribute "
                                                      "Type of the group VTKHDF)"
                                                    : "";
    throw Error(Code::format, wish.from +
                                  ": holds no spins of atoms (variables coordinates (N, 3) and "
                                  "spins (N, 3) of steps, or VAMPIRE's files)" +
                                  vtk);
  }
  if (wish.is_text && wish.is_binary) {
    throw Error(Code::invalid_argument, "--text and --binary exclude each other");
  }
  if (context.is_root()) {
    for (const std::string& note : source->notes) {
      show_error("note: " + note);
    }
  }
  commit::Converted done = wish.format == "vampire" ? to_vampire(context, *source, wish)
                           : wish.format.empty()    ? to_file(context, *source, wish)
                                                    : spins_by_frame(context, *source, wish);
  for (const std::string& name : source->others) {
    done.left_out.push_back(name + " (no variable of spins)");
  }
  return done;
}

}  // namespace sluice::cli
