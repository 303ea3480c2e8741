// Spins frame by frame: xyz and rows in the format of VAMPIRE's vdc, and VTK's unstructured grids.
#include <fmt/format.h>

#include "sluice/error.hpp"
#include "spins/convert_spins.hpp"
#include "spins/spin_vtkhdf.hpp"
#include "text/parallel_text.hpp"

namespace sluice::cli {

namespace {

/// `separator` before every number but the first of a row.
void append_row(std::string& out, const double* values, std::size_t count, char separator) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) {
      out += separator;
    }
    vampire::append_number(out, values[i]);
  }
}

std::string element_of(const SpinSource& source, std::int32_t material) {
  for (const vampire::Material& known : source.materials) {
    if (known.id == material && !known.element.empty()) {
      return known.element.substr(0, known.element.find_last_not_of(' ') + 1);
    }
  }
  return "X";
}

/// One frame into one file.
class FrameText {
 public:
  FrameText(const Context& context, const SpinSource& source, const ChosenAtoms& atoms,
            const Extent3& extent, std::uint64_t first, std::uint64_t all, const std::string& path)
      : source_(source),
        atoms_(atoms),
        extent_(extent),
        file_(context, path),
        all_(all),
        first_(first) {}

  /// Symbols and positions unchanged, for molecule viewers; followed by `others` of all ranks,
  /// which have no spins.
  std::uint64_t xyz(const ChosenAtoms& non_magnetic, std::uint64_t others) {
    file_.append_once(std::to_string(all_ + others) + "\n\n");
    for (const ChosenAtoms* atoms : {&atoms_, &non_magnetic}) {
      file_.append(rows(atoms->size(), [&](std::string& out, std::size_t i) {
        out += element_of(source_, atoms->material[i]) + "\t";
        append_row(out, atoms->xyz.data() + 3 * i, 3, '\t');
      }));
    }
    return file_.close();
  }
  /// Positions, with the centre of the selected atoms moved to the origin, and spins.
  std::uint64_t text() {
    file_.append(rows(atoms_.size(), [&](std::string& out, std::size_t i) {
      place(out, i, '\t');
      out += '\t';
      append_row(out, atoms_.spin.data() + 3 * i, 3, '\t');
    }));
    return file_.close();
  }
  /// Points with vectors, one vertex each, so that every reader shows them.
  std::uint64_t vtu() {
    file_.append_once(
        fmt::format("<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" "
                    "byte_order=\"LittleEndian\">\n<UnstructuredGrid>\n<Piece "
                    "NumberOfPoints=\"{0}\" NumberOfCells=\"{0}\">\n<Points>\n",
                    all_));
    array("Float64\" NumberOfComponents=\"3", "",
          [&](std::string& out, std::size_t i) { place(out, i, ' '); });
    file_.append_once("</Points>\n<PointData Vectors=\"spin\" Scalars=\"moment\">\n");
    array("Float64\" NumberOfComponents=\"3", "spin", [&](std::string& out, std::size_t i) {
      append_row(out, atoms_.spin.data() + 3 * i, 3, ' ');
    });
    array("Float64", "moment", [&](std::string& out, std::size_t i) {
      vampire::append_number(out, source_.moment_of(atoms_.material[i]));
    });
    array("Int32", "ID",
          [&](std::string& out, std::size_t i) { out += std::to_string(atoms_.material[i]); });
    file_.append_once("</PointData>\n<Cells>\n");
    const std::uint64_t first = first_;
    array("Int64", "connectivity",
          [&](std::string& out, std::size_t i) { out += std::to_string(first + i); });
    array("Int64", "offsets",
          [&](std::string& out, std::size_t i) { out += std::to_string(first + i + 1); });
    array("UInt8", "types", [](std::string& out, std::size_t) { out += '1'; });
    file_.append_once("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
    return file_.close();
  }

 private:
  template <class Row>
  static std::string rows(std::size_t count, Row&& row) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      row(out, i);
      out += '\n';
    }
    return out;
  }
  template <class Row>
  void array(const std::string& type, const std::string& name, Row&& row) {
    const std::string named = name.empty() ? "" : " Name=\"" + name + "\"";
    file_.append_once("<DataArray type=\"" + type + "\"" + named + " format=\"ascii\">\n");
    file_.append(rows(atoms_.size(), row));
    file_.append_once("</DataArray>\n");
  }
  void place(std::string& out, std::size_t i, char separator) const {
    std::array<double, 3> moved{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      moved[axis] = atoms_.xyz[3 * i + axis] - extent_.middle(axis);
    }
    append_row(out, moved.data(), 3, separator);
  }

  const SpinSource& source_;
  const ChosenAtoms& atoms_;
  const Extent3& extent_;
  ParallelText file_;
  std::uint64_t all_;
  std::uint64_t first_;  ///< of this rank's atoms among the selected ones
};

std::uint64_t sum_of(const Context& context, std::size_t own) {
  auto count = static_cast<std::int64_t>(own);
  context.transport.allreduce({&count, 1}, exec::Op::sum);
  return static_cast<std::uint64_t>(count);
}

std::uint64_t write_frame(const Context& context, FrameText& file, const SpinChooser& chooser,
                          const std::string& format) {
  if (format == "xyz") {
    const ChosenAtoms others = chooser.non_magnetic();
    return file.xyz(others, sum_of(context, others.size()));
  }
  return format == "text" ? file.text() : file.vtu();
}

}  // namespace

commit::Converted spins_by_frame(const Context& context, SpinSource& source, const SpinWish& wish) {
  SpinChooser chooser(context, source, choice_of(context, wish.choice));
  commit::Converted done{1, 0, 0};
  if (wish.format == "xyz") {
    vampire::require_words(source.materials, wish.from);
  }
  // The positions are the same in every frame: for xyz the first one is sufficient.
  const bool is_once = wish.format == "xyz" && wish.choice.where.empty();
  const std::uint32_t end = is_once ? chooser.first_frame() + 1 : chooser.end_frame();
  for (std::uint32_t frame = chooser.first_frame(); frame < end; ++frame) {
    const ChosenAtoms atoms = chooser.frame(frame);
    const Extent3 extent = chooser.extent(atoms.xyz);
    const bool is_only = end == chooser.first_frame() + 1;
    const std::string path = is_only ? wish.to : numbered(wish.to, source.number(frame));
    const exec::PrefixSum sums =
        context.transport.prefix_sum(static_cast<std::int64_t>(atoms.size()));
    const auto first = static_cast<std::uint64_t>(sums.below);
    const auto all = static_cast<std::uint64_t>(sums.all);
    if (wish.format == "vtkhdf") {
      done.bytes += write_vtkhdf(context, source, atoms, extent, first, all,
                                 source.meta(frame).time_s * 1e12, path);
    } else {
      FrameText file(context, source, atoms, extent, first, all, path);
      done.bytes += write_frame(context, file, chooser, wish.format);
    }
    done.steps += 1;
  }
  return done;
}

}  // namespace sluice::cli
