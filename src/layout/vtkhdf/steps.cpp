#include "layout/vtkhdf/steps.hpp"

#include <algorithm>
#include <numeric>

#include "model/dims.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::vtkhdf {

namespace {

using Counts = std::vector<std::uint64_t>;

constexpr const char* topologies[] = {"Vertices", "Lines", "Polygons", "Strips"};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::invalid_argument, "VTKHDF: " + what);
}

std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::vector<std::int64_t> signed_of(const Counts& counts) { return {counts.begin(), counts.end()}; }

/// The cells of a step, of one topology.
struct Cells {
  std::string folder;  ///< "" or "Lines/"
  bool is_there = false;
  bool stepped = false;
  std::uint64_t first = 0;      ///< cells before those of the step, as VTK counts them
  std::uint64_t first_id = 0;   ///< the same of ids
  std::uint64_t part_slot = 0;  ///< parts that a step may have; 0: any number
  Counts cells = {};            ///< by part
  Counts ids = {};
};

class Step {
 public:
  Step(Kind kind, const std::vector<Array>& arrays, const Before& before)
      : kind_(kind), arrays_(arrays), before_(before) {}

  std::vector<Numbers> numbers() {
    const auto step = static_cast<std::int64_t>(before_.step);
    if (kind_ != Kind::image) {
      add_geometry();
    }
    for (const Array& array : arrays_) {
      const std::size_t slash = array.name.find('/');
      const std::string folder = array.name.substr(0, slash == std::string::npos ? 0 : slash);
      if (folder == "PointData" || folder == "CellData") {
        check_rows(array, folder == "PointData" ? points_ : cells_);
        const bool is_image = kind_ == Kind::image && array.stepped;
        add("Steps/" + folder + "Offsets" + array.name.substr(slash),
            is_image ? step : offset(array));
      }
    }
    return std::move(numbers_);
  }

 private:
  const Array* find(const std::string& name) const {
    const auto found = std::find_if(arrays_.begin(), arrays_.end(),
                                    [&](const Array& array) { return array.name == name; });
    return found != arrays_.end() ? &*found : nullptr;
  }
  std::int64_t offset(const Array& array) const {
    return array.stepped ? static_cast<std::int64_t>(model::checked_product(
                               before_.step, array.slot, "rows of an array of VTK"))
                         : 0;
  }
  void add(const std::string& name, std::int64_t value) {
    numbers_.push_back({std::string(prefix) + name, before_.step, {value}});
  }

  void check_rows(const Array& array, std::uint64_t rows) const {
    if (kind_ != Kind::image && array.touched && array.rows != rows) {
      refuse(array.name + " has " + std::to_string(array.rows) + " rows, and there are " +
             std::to_string(rows) +
             (array.name[0] == 'P' ? " points: put a row for each" : " cells: put a row for each"));
    }
  }

  /// Parts of `counts`, of which there must be as many as of points.
  Counts same_parts(const Array& array) const {
    Counts counts = array.counts();
    if (counts.size() != point_counts_.size()) {
      refuse(array.name + " has " + std::to_string(counts.size()) + " parts, and Points " +
             std::to_string(point_counts_.size()) +
             ": put both with put_joined, or neither; what has no steps is one part");
    }
    return counts;
  }

  /// The cells of a folder: those of an unstructured grid, or one topology.
  Cells cells_of(const std::string& folder) const {
    const Array* offsets = find(folder + "Offsets");
    const Array* ids = find(folder + "Connectivity");
    const Array* types = kind_ == Kind::unstructured ? find("Types") : nullptr;
    Cells cells;
    cells.folder = folder;
    const bool any = offsets != nullptr || ids != nullptr || types != nullptr;
    const bool all =
        offsets != nullptr && ids != nullptr && (types != nullptr || kind_ == Kind::poly);
    if (any && !all) {
      refuse(folder + "Connectivity and " + folder + "Offsets" +
             (kind_ == Kind::poly ? "" : " and Types") + " belong together: put all of them");
    }
    const Array* counted = types != nullptr ? types : offsets;
    if (!all || (!counted->stepped && counted->rows == 0)) {
      cells.cells = cells.ids = Counts(point_counts_.size(), 0);
      return cells;
    }
    if (offsets->stepped != ids->stepped || (types != nullptr && types->stepped != ids->stepped)) {
      refuse(folder + "Connectivity, " + folder + "Offsets" +
             (kind_ == Kind::poly ? "" : " and Types") + ": all with steps, or none");
    }
    cells.is_there = true;
    cells.stepped = offsets->stepped;
    cells.ids = same_parts(*ids);
    cells.cells = same_parts(*offsets);
    for (std::size_t part = 0; part < cells.cells.size(); ++part) {
      const std::uint64_t expected = types != nullptr
                                         ? same_parts(*types)[part] + 1
                                         : std::max<std::uint64_t>(1, cells.cells[part]);
      if (cells.cells[part] != expected) {
        refuse("part " + std::to_string(part) + ": " + folder + "Offsets has " +
               std::to_string(cells.cells[part]) +
               " rows: put one more than there are cells, a single 0 where there are none");
      }
      --cells.cells[part];
    }
    if (cells.stepped) {
      cells.first = static_cast<std::uint64_t>(offset(*counted));
      cells.first_id = static_cast<std::uint64_t>(offset(*ids));
      if (types != nullptr) {
        cells.part_slot = offsets->slot - types->slot;
      }
    }
    return cells;
  }

  void add_geometry() {
    const Array* points = find("Points");
    if (points == nullptr) {
      refuse("Points are missing: define and put them");
    }
    point_counts_ = points->counts();
    points_ = sum(point_counts_);
    std::vector<Cells> all;
    if (kind_ == Kind::unstructured) {
      all.push_back(cells_of(""));
    } else {
      for (const char* topology : topologies) {
        all.push_back(cells_of(std::string(topology) + "/"));
      }
    }
    const std::uint64_t first = first_part(*points, all);
    add_counts(first, all);
    add("Steps/PartOffsets", static_cast<std::int64_t>(first));
    add("Steps/NumberOfParts", static_cast<std::int64_t>(point_counts_.size()));
    add("Steps/PointOffsets", offset(*points));
    add_cell_offsets(first, all);
  }

  /// Where the counts of this step's parts are.
  std::uint64_t first_part(const Array& points, const std::vector<Cells>& all) const {
    const auto has = [&](bool stepped) {
      return std::any_of(all.begin(), all.end(), [&](const Cells& cells) {
        return cells.is_there && cells.stepped == stepped;
      });
    };
    const std::uint64_t parts = point_counts_.size();
    if (has(false) && kind_ == Kind::unstructured) {
      // Their offsets are found only where no parts come before.
      if (before_.step != 0 && before_.points != points_) {
        refuse("there are " + std::to_string(points_) + " points, and " +
               std::to_string(before_.points) +
               " in the steps before: cells without steps are of as many points in each");
      }
      return 0;
    }
    if (!points.stepped && !has(true)) {
      return 0;
    }
    if (kind_ == Kind::unstructured && has(true)) {
      if (parts > all[0].part_slot) {
        refuse(std::to_string(parts) + " parts: define Offsets with a row more for each rank");
      }
      return model::checked_product(before_.step, all[0].part_slot, "parts");
    }
    return before_.step == 0 ? 0 : before_.parts;
  }

  void add_counts(std::uint64_t first, const std::vector<Cells>& all) {
    const bool is_known = before_.parts > first;  // they are those of an earlier step
    const auto counts = [&](const std::string& name, const Counts& values) {
      if (is_known) {
        return;
      }
      numbers_.push_back({std::string(prefix) + name, first, signed_of(values)});
    };
    counts("NumberOfPoints", point_counts_);
    for (const Cells& cells : all) {
      counts(cells.folder + "NumberOfCells", cells.cells);
      counts(cells.folder + "NumberOfConnectivityIds", cells.ids);
      cells_ += sum(cells.cells);
      if (!cells.is_there) {  // VTK looks for the arrays all the same
        const std::string folder = std::string(prefix) + cells.folder;
        const bool is_poly = kind_ == Kind::poly;
        const Counts offsets = is_poly ? cells.cells : Counts{};
        numbers_.push_back({folder + "Connectivity", 0, {}, 0, false, true});
        numbers_.push_back({folder + "Offsets", 0, signed_of(offsets), 0, false, true});
        if (!is_poly) {
          numbers_.push_back({folder + "Types", 0, {}, 0, true, true});
        }
      }
    }
  }

  void add_cell_offsets(std::uint64_t first, const std::vector<Cells>& all) {
    Numbers cells{"VTKHDF/Steps/CellOffsets", before_.step, {}, all.size()};
    Numbers ids{"VTKHDF/Steps/ConnectivityIdOffsets", before_.step, {}, all.size()};
    for (const Cells& of : all) {
      // Of poly data VTK adds the parts before to it, too.
      const std::uint64_t back = kind_ == Kind::poly && of.stepped ? first : 0;
      cells.values.push_back(static_cast<std::int64_t>(of.first - back));
      ids.values.push_back(static_cast<std::int64_t>(of.first_id));
    }
    numbers_.push_back(std::move(cells));
    numbers_.push_back(std::move(ids));
  }

  Kind kind_;
  const std::vector<Array>& arrays_;
  const Before& before_;
  Counts point_counts_;
  std::uint64_t points_ = 0;
  std::uint64_t cells_ = 0;
  std::vector<Numbers> numbers_;
};

}  // namespace

std::vector<Numbers> numbers_of_step(Kind kind, const std::vector<Array>& arrays,
                                     const Before& before) {
  return Step(kind, arrays, before).numbers();
}

std::uint64_t slot_of(std::uint64_t most, std::uint64_t tile, std::uint64_t least) {
  const std::uint64_t tiles = std::max(most, least == 0 ? 0 : least - 1) / tile + 1;
  return model::checked_product(tiles, tile, "rows between steps");
}

}  // namespace sluice::layout::vtkhdf
