#include "spins/spin_vtkhdf.hpp"

#include <numeric>

#include "guard.hpp"
#include "new_file.hpp"
#include "sluice/error.hpp"
#include "spins/spin_file.hpp"

namespace sluice::cli {

namespace {

constexpr std::uint8_t vertex = 1;  ///< VTK_VERTEX

/// The arrays of the group VTKHDF, this rank's part, kept until the file is closed.
struct Grid {
  Grid(const SpinSource& source, const ChosenAtoms& atoms, const Extent3& extent,
       std::uint64_t first, bool is_root)
      : points(atoms.xyz),
        connectivity(atoms.size()),
        // Rank 0 has the offset of the first cell too.
        offsets(atoms.size() + (is_root ? 1 : 0)),
        types(atoms.size(), vertex) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i] -= extent.middle(i % 3);
    }
    std::iota(connectivity.begin(), connectivity.end(), static_cast<std::int64_t>(first));
    std::iota(offsets.begin(), offsets.end(), static_cast<std::int64_t>(is_root ? 0 : first + 1));
    for (const std::int32_t material : atoms.material) {
      moment.push_back(source.moment_of(material));
    }
  }

  std::vector<double> points;
  std::vector<std::int64_t> connectivity;
  std::vector<std::int64_t> offsets;
  std::vector<std::uint8_t> types;
  std::vector<double> moment;
};

class GridFile {
 public:
  GridFile(const Context& context, const std::string& path)
      : file_(context, path, {.format = "hdf5", .strategy = "shared"}) {}

  /// This rank's rows of an array of the group.
  template <class T>
  void rows(const std::string& name, std::uint64_t all, std::uint64_t columns, const Share& mine,
            const std::vector<T>& values) {
    model::Dims shape{all};
    if (columns > 1) {
      shape.push_back(columns);
    }
    file_.put(file_.define(("VTKHDF/" + name).c_str(), type_of<T>(), shape, {}, "", "", false),
              mine, columns, values.data());
  }
  /// One number, of rank 0; `value` must live until the file is closed.
  template <class T>
  void number(const std::string& name, const T& value) {
    file_.put(file_.define(("VTKHDF/" + name).c_str(), type_of<T>(), {1}, {}, "", "", false),
              {0, file_.is_root() ? 1U : 0U}, 1, &value);
  }
  SpinFile& file() { return file_; }

 private:
  SpinFile file_;
};

}  // namespace

std::uint64_t write_vtkhdf(const Context& context, const SpinSource& source,
                           const ChosenAtoms& atoms, const Extent3& extent, std::uint64_t first,
                           std::uint64_t all, double time_ps, const std::string& path) {
  if (all == 0) {
    throw Error(Code::invalid_argument, path + ": no atoms were selected");
  }
  const Grid grid(source, atoms, extent, first, context.is_root());
  const Share mine{first, atoms.size()};
  const Share offsets{context.is_root() ? 0 : first + 1, grid.offsets.size()};
  const auto count = static_cast<std::int64_t>(all);
  const LeftToParent unfinished(unfinished_path(context, path));
  GridFile out(context, path);
  out.file().attribute("Version", std::vector<std::int64_t>{2, 0}, "VTKHDF");
  out.file().attribute("Type", std::string("UnstructuredGrid"), "VTKHDF");
  for (const char* counted : {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"}) {
    out.number(counted, count);
  }
  out.rows("Points", all, 3, mine, grid.points);
  out.rows("Connectivity", all, 1, mine, grid.connectivity);
  out.rows("Offsets", all + 1, 1, offsets, grid.offsets);
  out.rows("Types", all, 1, mine, grid.types);
  out.rows("PointData/spin", all, 3, mine, atoms.spin);
  out.rows("PointData/moment", all, 1, mine, grid.moment);
  out.rows("PointData/ID", all, 1, mine, atoms.material);
  out.number("FieldData/TimeValue", time_ps);
  out.file().close();
  return out.file().done().bytes;
}

}  // namespace sluice::cli
