#include "spins/spin_selection.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "exec/transport/agree.hpp"
#include "model/number_text.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

/// Integers in the same order as the doubles, so that a reduction of integers can be used.
std::int64_t ordered(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
}
double value_of(std::int64_t ordered_bits) {
  return std::bit_cast<double>(
      ordered_bits < 0 ? ordered_bits ^ std::numeric_limits<std::int64_t>::max() : ordered_bits);
}

void check(const Slice& slice) {
  const std::size_t wanted = slice.shape == Slice::Shape::sphere     ? 3
                             : slice.shape == Slice::Shape::cylinder ? 4
                                                                     : 6;
  if (slice.numbers.size() != wanted) {
    throw Error(Code::invalid_argument,
                "a slice of " + std::to_string(slice.numbers.size()) + " numbers, not " +
                    std::to_string(wanted) +
                    ": a box has xmin,xmax,ymin,ymax,zmin,zmax, a sphere three diameters, a "
                    "cylinder two and zmin,zmax, all as fractions of the sample");
  }
  for (const double number : slice.numbers) {
    if (!std::isfinite(number)) {
      throw Error(Code::invalid_argument, "a slice with a number that is not finite");
    }
  }
}

/// Squared distance from the middle in units of the radii, over some axes.
double radius_square(const double* place, const Extent3& all, const std::vector<double>& diameters,
                     std::size_t axes) {
  double sum = 0;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const double radius = all.size(axis) * diameters[axis] / 2;
    const double distance = place[axis] - all.middle(axis);
    // A flat sample has no extent along one axis: there every atom counts as in the middle.
    sum += distance == 0 ? 0 : distance * distance / (radius * radius);
  }
  return sum;
}

bool is_between(double place, const Extent3& all, std::size_t axis, double from, double to) {
  // A tolerance of a millionth of the sample allows for rounding to six digits.
  const double slack = 1e-6 * all.size(axis);
  return place >= all.low[axis] + from * all.size(axis) - slack &&
         place <= all.low[axis] + to * all.size(axis) + slack;
}

bool is_in(const Slice& slice, const double* place, const Extent3& all) {
  const auto& n = slice.numbers;
  if (slice.shape == Slice::Shape::sphere) {
    return radius_square(place, all, n, 3) <= 1 + 1e-9;
  }
  if (slice.shape == Slice::Shape::cylinder) {
    return radius_square(place, all, n, 2) <= 1 + 1e-9 && is_between(place[2], all, 2, n[2], n[3]);
  }
  bool inside = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    inside &= is_between(place[axis], all, axis, n[2 * axis], n[2 * axis + 1]);
  }
  return inside != (slice.shape == Slice::Shape::void_box);
}

bool holds(const std::vector<std::int32_t>& list, std::int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Extent3 extent_of(exec::Transport& transport, const std::vector<double>& xyz) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::array<double, 6> most;  // of -x, -y, -z, x, y, z
  most.fill(-infinity);
  for (std::size_t i = 0; i < xyz.size(); ++i) {
    most[i % 3] = std::max(most[i % 3], -xyz[i]);
    most[3 + i % 3] = std::max(most[3 + i % 3], xyz[i]);
  }
  std::array<std::int64_t, 6> keys{};
  std::transform(most.begin(), most.end(), keys.begin(), ordered);
  transport.allreduce(keys, exec::Op::max);
  Extent3 extent;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double high = value_of(keys[3 + axis]);
    if (std::isfinite(high)) {
      extent.low[axis] = -value_of(keys[axis]) + 0.0;  // no negative zero
      extent.high[axis] = high;
    }
  }
  return extent;
}

/// "3", "0:10" (without the end), "2:", ":5".
void set_frames(const std::string& text, SpinChoice& choice) {
  const auto number = [&](std::string_view part, std::uint32_t otherwise) {
    if (part.empty()) {
      return otherwise;
    }
    const auto value = model::number_in<std::uint32_t>(part);
    if (!value) {
      throw Error(Code::invalid_argument,
                  "--frames " + text + ": use one frame such as 3, or a range such as 0:10");
    }
    return *value;
  };
  const std::size_t colon = text.find(':');
  const std::string_view all = text;
  choice.first_frame = number(all.substr(0, colon), 0);
  choice.end_frame = colon == std::string::npos ? choice.first_frame + 1
                                                : number(all.substr(colon + 1), choice.end_frame);
}

}  // namespace

std::vector<double> numbers_of(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double value = 0;
    const auto read = std::from_chars(at, end, value);
    if (read.ec != std::errc() || (read.ptr != end && *read.ptr != ',')) {
      throw Error(Code::invalid_argument,
                  option + " " + text + ": expected numbers with commas between them");
    }
    numbers.push_back(value);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  return numbers;
}

SpinChooser::SpinChooser(const Context& context, SpinSource& source, const SpinChoice& choice)
    : context_(context), source_(source), choice_(choice) {
  const auto [first, end] =
      vampire::share(source.atoms, context.transport.rank(), context.transport.size());
  for (const Slice& slice : choice.slices) {
    check(slice);
  }
  if (!choice.where.empty()) {
    where_.emplace(choice.where);
  }
  first_ = first;
  count_ = end - first;
  atoms_ = source.coordinates(first_, count_);
  const auto [nm_first, nm_end] =
      vampire::share(source.non_magnetic_atoms, context.transport.rank(), context.transport.size());
  nm_first_ = nm_first;
  std::vector<double> places = atoms_.xyz;
  if (source.non_magnetic_atoms > 0) {
    non_magnetic_ = source.non_magnetic(nm_first, nm_end - nm_first);
    places.insert(places.end(), non_magnetic_.xyz.begin(), non_magnetic_.xyz.end());
  }
  all_ = extent_of(context.transport, places);
  const auto frames = source.frames_between(choice.first_frame, choice.end_frame);
  first_frame_ = frames[0];
  end_frame_ = frames[1];
  if (first_frame_ >= end_frame_) {
    throw Error(Code::not_found, "no frame " + std::to_string(choice.first_frame) + ": there are " +
                                     source.frames_text());
  }
}

bool SpinChooser::is_inside(const double* place) const {
  if (choice_.slices.empty()) {
    return true;
  }
  const auto inside = [&](const Slice& slice) { return is_in(slice, place, all_); };
  return choice_.is_intersection
             ? std::all_of(choice_.slices.begin(), choice_.slices.end(), inside)
             : std::any_of(choice_.slices.begin(), choice_.slices.end(), inside);
}

/// By all values except its spin.
bool SpinChooser::is_wanted(const vampire::Coordinates& atoms, std::uint64_t first_id,
                            std::uint64_t own_row) const {
  return (first_id + own_row) % choice_.every == 0 &&
         !holds(choice_.removed_materials, atoms.material[own_row]) &&
         is_inside(atoms.xyz.data() + 3 * own_row);
}

bool SpinChooser::is_where(const vampire::Coordinates& atoms, std::uint64_t id,
                           std::uint64_t own_row, const double* spin) const {
  const double* place = atoms.xyz.data() + 3 * own_row;
  const auto number = static_cast<std::size_t>(atoms.material[own_row]);
  const double moment =
      number < source_.materials.size() ? source_.materials[number].moment_mub : 0;
  return !where_ || where_->holds({place[0], place[1], place[2], spin[0], spin[1], spin[2],
                                   static_cast<double>(atoms.material[own_row]),
                                   static_cast<double>(atoms.category[own_row]),
                                   static_cast<double>(id), moment});
}

ChosenAtoms SpinChooser::non_magnetic() const {
  constexpr std::array<double, 3> no_spin{};
  ChosenAtoms chosen;
  const std::uint64_t first_id = source_.atoms + nm_first_;
  for (std::uint64_t i = 0; i < non_magnetic_.material.size(); ++i) {
    if (is_wanted(non_magnetic_, first_id, i) &&
        is_where(non_magnetic_, first_id + i, i, no_spin.data())) {
      const double* place = non_magnetic_.xyz.data() + 3 * i;
      chosen.id.push_back(first_id + i);
      chosen.material.push_back(non_magnetic_.material[i]);
      chosen.xyz.insert(chosen.xyz.end(), place, place + 3);
      chosen.spin.insert(chosen.spin.end(), no_spin.begin(), no_spin.end());
    }
  }
  return chosen;
}

std::uint64_t SpinChooser::wanted() const {
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < count_; ++i) {
    number += is_wanted(i) ? 1 : 0;
  }
  return number;
}

Extent3 SpinChooser::region() const {
  std::vector<double> places;
  for (std::uint64_t i = 0; i < count_; ++i) {
    if (is_wanted(i)) {
      places.insert(places.end(), atoms_.xyz.begin() + static_cast<std::ptrdiff_t>(3 * i),
                    atoms_.xyz.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
    }
  }
  return extent(places);
}

ChosenAtoms SpinChooser::frame(std::uint32_t frame) {
  const std::vector<double> spins = source_.spins(frame, first_, count_);
  ChosenAtoms chosen;
  for (std::uint64_t i = 0; i < count_; ++i) {
    const double* place = atoms_.xyz.data() + 3 * i;
    const double* spin = spins.data() + 3 * i;
    const std::int32_t material = atoms_.material[i];
    if (!is_wanted(i) || !is_where(atoms_, first_ + i, i, spin)) {
      continue;
    }
    const double sign = holds(choice_.reversed_materials, material) ? -1 : 1;
    chosen.id.push_back(first_ + i);
    chosen.material.push_back(material);
    chosen.xyz.insert(chosen.xyz.end(), place, place + 3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      chosen.spin.push_back(sign * spin[axis]);
    }
  }
  return chosen;
}

Extent3 SpinChooser::extent(const std::vector<double>& xyz) const {
  return extent_of(context_.transport, xyz);
}

void add_spin_options(CLI::App& command, SpinOptions& options) {
  const auto add = [&](const char* name, auto& target, const char* type, const char* text) {
    return command.add_option(name, target, text)->type_name(type)->group(spin_choice_group);
  };
  add("--box", options.box, "X,X,Y,Y,Z,Z", "fractions of the sample that stay; any number")
      ->allow_extra_args(false);
  add("--void-box", options.void_box, "X,X,Y,Y,Z,Z", "the atoms outside of it stay")
      ->allow_extra_args(false);
  add("--sphere", options.sphere, "A,B,C", "diameters as fractions; the inside stays")
      ->allow_extra_args(false);
  add("--cylinder", options.cylinder, "A,B,Z,Z", "along z")->allow_extra_args(false);
  command
      .add_flag("--intersect", options.is_intersection,
                "atoms in all of the regions, not in any of them")
      ->group(spin_choice_group);
  add("--where", options.where, "CONDITION", "such as 'sz < 0 and material == 1'");
  add("--without", options.without, "M", "a material that is left out, from 0")
      ->allow_extra_args(false);
  add("--every", options.every, "K", "one atom of K")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62).description(""));
  add("--frames", options.frames, "A:B", "frames A to B - 1, or one; else all");
  add("--vdc-input", options.vdc_input, "FILE", "parameters by the names of VAMPIRE's vdc");
}

SpinChoice choice_of(const Context& context, const SpinOptions& options) {
  SpinChoice choice;
  if (!options.vdc_input.empty()) {
    const auto bytes = exec::on_root(context.transport, [&] {
      constexpr std::uint64_t max_bytes = 1 << 20;
      const auto file = context.storage.open(options.vdc_input, storage::Access::read);
      std::vector<std::byte> text(std::min(file->size(), max_bytes));
      text.resize(file->read(0, text));
      return text;
    });
    apply_vdc_input({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options.vdc_input,
                    choice);
  }
  const auto add = [&](const char* option, Slice::Shape shape,
                       const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      choice.slices.push_back({shape, numbers_of(option, text)});
    }
  };
  add("--box", Slice::Shape::box, options.box);
  add("--void-box", Slice::Shape::void_box, options.void_box);
  add("--sphere", Slice::Shape::sphere, options.sphere);
  add("--cylinder", Slice::Shape::cylinder, options.cylinder);
  choice.is_intersection = options.is_intersection;
  choice.where = options.where;
  choice.every = options.every;
  choice.removed_materials.insert(choice.removed_materials.end(), options.without.begin(),
                                  options.without.end());
  if (!options.frames.empty()) {
    set_frames(options.frames, choice);
  }
  return choice;
}

}  // namespace sluice::cli
