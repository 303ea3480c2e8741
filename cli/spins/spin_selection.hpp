// Selection of atoms and frames, by options of the command or parameters of VAMPIRE's vdc.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "spins/spin_source.hpp"
#include "spins/where.hpp"

namespace sluice::cli {

/// The group of the options that select atoms and frames, in the help.
inline constexpr const char* spin_choice_group = "Atoms and frames";

/// A region of the sample, by fractions of its extent along x, y, z.
struct Slice {
  enum class Shape : std::uint8_t { box, void_box, sphere, cylinder };
  Shape shape = Shape::box;
  /// box, void_box: xmin xmax ymin ymax zmin zmax; sphere: diameters along x, y, z; cylinder (along
  /// z): diameters along x, y, then zmin zmax. Atoms inside stay, of a void box those outside.
  std::vector<double> numbers;
};

struct Extent3 {
  std::array<double, 3> low{};
  std::array<double, 3> high{};
  double size(std::size_t axis) const { return high[axis] - low[axis]; }
  double middle(std::size_t axis) const { return (low[axis] + high[axis]) / 2; }
};

/// Colours and camera, for render.
struct View {
  std::string colour_map = "c2";  ///< c2 | bwr | cbwr | rainbow
  std::vector<std::array<double, 3>> custom_map;
  std::vector<double> vector_x{1, 0, 0};
  std::vector<double> vector_z{0, 0, 1};
  bool is_3d = false;
  std::vector<double> camera;  ///< the direction from the middle to the eye; empty: by the shape
  std::vector<double> look_at{0.5, 0.5, 0.5};  ///< fractions of the sample
  double zoom = 1;
  std::string background = "white";
  std::vector<double> atom_sizes;   ///< Angstrom, by material
  std::vector<double> arrow_sizes;  ///< likewise
};

struct SpinChoice {
  std::vector<Slice> slices;
  bool is_intersection = false;                  ///< an atom must be in all slices, not in any
  std::vector<std::int32_t> removed_materials;   ///< from 0
  std::vector<std::int32_t> reversed_materials;  ///< their spins are shown reversed
  std::string where;
  std::uint64_t every = 1;  ///< one atom of so many, by id
  std::uint32_t first_frame = 0;
  std::uint32_t end_frame = std::numeric_limits<std::uint32_t>::max();
  View view;
};

/// Numbers of a list "0,1,0.5". Error invalid_argument names `option`.
std::vector<double> numbers_of(const std::string& option, const std::string& text);

/// A parameter file of vdc: `name = value, value` on each line, # and // begin comments. Every name
/// of vdc for selection, colours and camera is supported; those of its cells are reported as
/// unsupported. Error invalid_argument names file and line. `text`: its content.
void apply_vdc_input(const std::string& text, const std::string& path, SpinChoice& choice);

/// Selected atoms of this rank, with their spins.
struct ChosenAtoms {
  std::vector<std::uint64_t> id;
  std::vector<double> xyz;
  std::vector<double> spin;
  std::vector<std::int32_t> material;
  std::size_t size() const { return id.size(); }
};

/// Selects atoms of one rank's share, frame by frame.
class SpinChooser {
 public:
  /// Reads the coordinates of this rank's share. Collective. Error invalid_argument for invalid
  /// slices.
  SpinChooser(const Context& context, SpinSource& source, const SpinChoice& choice);

  std::uint32_t first_frame() const noexcept { return first_frame_; }
  std::uint32_t end_frame() const noexcept { return end_frame_; }
  /// Collective.
  ChosenAtoms frame(std::uint32_t frame);
  /// Atoms without spin, to which the selection applies as to others: their spins are 0, and their
  /// ids follow those of the atoms with spins. Local.
  ChosenAtoms non_magnetic() const;
  /// Of the atoms that the regions and materials leave, regardless of the frame. Collective.
  Extent3 region() const;
  /// The number of selected atoms of this rank.
  std::uint64_t wanted() const;
  /// Over the atoms of a frame, on all ranks. Zeros if there are none. Collective.
  Extent3 extent(const std::vector<double>& xyz) const;

 private:
  bool is_inside(const double* place) const;
  bool is_wanted(std::uint64_t own_row) const { return is_wanted(atoms_, first_, own_row); }
  bool is_wanted(const vampire::Coordinates& atoms, std::uint64_t first_id,
                 std::uint64_t own_row) const;
  bool is_where(const vampire::Coordinates& atoms, std::uint64_t id, std::uint64_t own_row,
                const double* spin) const;

  const Context& context_;
  SpinSource& source_;
  SpinChoice choice_;
  std::optional<Where> where_;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  vampire::Coordinates atoms_;
  std::uint64_t nm_first_ = 0;  ///< of this rank's atoms without spin
  vampire::Coordinates non_magnetic_;
  Extent3 all_;
  std::uint32_t first_frame_ = 0;
  std::uint32_t end_frame_ = 0;
};

/// The options of convert and render.
struct SpinOptions {
  std::vector<std::string> box, void_box, sphere, cylinder;
  bool is_intersection = false;
  std::string where;
  std::vector<std::int32_t> without;
  std::uint64_t every = 1;
  std::string frames;
  std::string vdc_input;
};

void add_spin_options(CLI::App& command, SpinOptions& options);
/// Collective: one rank reads the parameter file of vdc.
SpinChoice choice_of(const Context& context, const SpinOptions& options);

}  // namespace sluice::cli
