#include "layout/hdf5/vtkhdf_steps.hpp"

#include <algorithm>
#include <cmath>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/vtkhdf/attributes.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

namespace {

/// Of the numbers of parts and steps: 4 KiB.
constexpr std::uint64_t numbers_per_chunk = 512;
const std::string vtk_root(vtkhdf::group);
const std::string types_name = "VTKHDF/Types";
const std::string offsets_name = "VTKHDF/Offsets";
const std::string counts_name = "VTKHDF/NumberOfPoints";
const std::string values_name = "VTKHDF/Steps/Values";

/// Of a list, or of a table with a column for each topology.
Dims extents_in(hid_t dataset, const std::string& path) {
  const std::string below = std::string(vtkhdf::steps_group) + "/";
  const bool is_table = path == below + "CellOffsets" || path == below + "ConnectivityIdOffsets";
  return dims_of(dataset, is_table ? 2 : 1, path);
}

/// Elements of a list, or rows of a table, that are there; 0 where there is none.
std::uint64_t length_of(hid_t file, const std::string& path) {
  if (!has_link(file, path)) {
    return 0;
  }
  const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  return extents_in(dataset.get(), path)[0];
}

std::uint64_t number_at(hid_t file, const std::string& path, std::uint64_t at) {
  if (at >= length_of(file, path)) {
    return 0;
  }
  const Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  std::uint64_t value = 0;
  read_rows(dataset.get(), path, H5T_NATIVE_UINT64, at, {1}, &value);
  return value;
}

/// Makes a dataset longer, if these rows are beyond its end, and writes them.
void put_rows(hid_t dataset, const std::string& path, hid_t type, std::uint64_t first,
              const Dims& shape, const void* values) {
  Dims extent = dims_of(dataset, shape.rank(), path);
  const Handle list = own(H5Dget_create_plist(dataset), path);
  if (H5Pget_layout(list.get()) != H5D_CHUNKED) {
    // Also of external files, which libhdf5 would write by its own calls of the system.
    throw Error(Code::unsupported,
                path + ": is not in chunks, as Sluice writes it: " + append_remedy);
  }
  extent[0] = std::max(extent[0], first + shape[0]);
  set_extent(dataset, extent, path);
  if (shape[0] != 0) {
    write_rows(dataset, path, type, first, shape, values);
  }
}

}  // namespace

vtkhdf::Kind VtkhdfSteps::kind() const {
  if (file_.profile() != Profile::vtkhdf) {
    return vtkhdf::Kind::none;
  }
  std::string text;
  if (has_link(file_.id(), vtk_root)) {
    const Handle group = own(H5Gopen2(file_.id(), vtk_root.c_str(), H5P_DEFAULT), vtk_root);
    text = read_text_attribute(group.get(), vtkhdf::type_attribute).value_or("");
  }
  for (const model::Attribute& attribute : attributes_.waiting()) {
    const auto* word = std::get_if<std::string>(&attribute.value);
    if (attribute.owner == vtkhdf::group && attribute.name == vtkhdf::type_attribute &&
        word != nullptr) {
      text = *word;
    }
  }
  return vtkhdf::kind_named(text);
}

std::uint64_t VtkhdfSteps::slot(std::uint32_t variable) const {
  const model::Definition& definition = variables_.definition(variable);
  if (file_.profile() != Profile::vtkhdf || !definition.stepped ||
      !vtkhdf::is_array(definition.name)) {
    return 0;
  }
  const vtkhdf::Kind kind = this->kind();
  if (kind == vtkhdf::Kind::none) {
    throw Error(Code::invalid_argument,
                definition.name +
                    ": format vtkhdf: set the attribute Type of the group VTKHDF before the first "
                    "commit: ImageData, UnstructuredGrid or PolyData");
  }
  if (kind == vtkhdf::Kind::image) {
    return 0;
  }
  const std::uint64_t most = definition.shape[0];
  std::uint64_t least = 0;
  if (definition.name == offsets_name) {
    // A row for each part, whatever the tiles are: see layout/vtkhdf/steps.
    for (std::uint32_t v = 0; v < variables_.size(); ++v) {
      const model::Definition& other = variables_.definition(v);
      const std::uint64_t cells = other.shape.empty() ? 0 : other.shape[0];
      if (other.name == types_name && variables_[v].slot != 0) {
        least = variables_[v].slot + std::max<std::uint64_t>(1, most > cells ? most - cells : 0);
      }
    }
  }
  return vtkhdf::slot_of(most, variables_[variable].tile[0], least);
}

void VtkhdfSteps::write_numbers(const vtkhdf::Numbers& numbers) {
  const std::string& path = numbers.path;
  const bool is_there = has_link(file_.id(), path);
  const std::uint64_t columns = numbers.columns;
  const Dims rows = columns == 0 ? Dims{numbers.values.size()} : Dims{1, columns};
  if (is_there && numbers.is_zeros && length_of(file_.id(), path) >= rows[0]) {
    return;
  }
  if (!is_there) {
    file_.make_groups_above(path);
    const hid_t type = numbers.bytes ? H5T_STD_U8LE : H5T_STD_I64LE;
    make_growing(file_.id(), path.c_str(), type, columns == 0 ? Dims{0} : Dims{0, columns},
                 columns == 0 ? Dims{numbers_per_chunk} : Dims{numbers_per_chunk / 4, columns});
  }
  const Handle dataset = own(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), path);
  put_rows(dataset.get(), path, H5T_STD_I64LE, numbers.first, rows, numbers.values.data());
}

void VtkhdfSteps::write_defaults(vtkhdf::Kind kind, bool has_steps) {
  const Handle group = own(H5Gopen2(file_.id(), vtk_root.c_str(), H5P_DEFAULT), vtk_root);
  const auto add = [&](const char* name, const model::AttributeValue& value) {
    if (!is_yes(H5Aexists(group.get(), name), name)) {
      write_attribute(group.get(), name, value);
      file_.note_new_contents();
    }
  };
  // The group Steps came with version 2. Older readers (ParaView 5.11) read files without it, but
  // no poly data.
  const std::vector<std::int64_t> first = {1, 0};
  const std::vector<std::int64_t> second = {2, 0};
  const bool is_first = !has_steps && kind != vtkhdf::Kind::poly;
  add(vtkhdf::version_name, is_first ? first : second);
  if (has_steps &&
      read_attribute(group.get(), vtkhdf::version_name) == model::AttributeValue(first)) {
    write_attribute(group.get(), vtkhdf::version_name, second);
    file_.note_new_contents();
  }
  if (kind != vtkhdf::Kind::image) {
    return;
  }
  for (const model::Definition& d : variables_.definitions()) {
    const bool is_of_points = d.name.starts_with("VTKHDF/PointData/");
    if (is_of_points || d.name.starts_with("VTKHDF/CellData/")) {
      add("WholeExtent", vtkhdf::extent_of(d.shape, is_of_points));
      break;
    }
  }
  add("Origin", std::vector<double>{0, 0, 0});
  add("Spacing", std::vector<double>{1, 1, 1});
  add("Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

std::vector<vtkhdf::Array> VtkhdfSteps::arrays(const CommitRequest& request) {
  std::vector<vtkhdf::Array> arrays;
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    const model::Definition& d = variables_.definition(v);
    if (!vtkhdf::is_array(d.name) || !variables_[v].exists) {
      continue;
    }
    vtkhdf::Array array;
    array.name = d.name.substr(vtkhdf::prefix.size());
    array.stepped = d.stepped;
    array.slot = variables_[v].slot;
    array.touched = !d.stepped;
    array.rows = d.stepped ? 0 : d.shape[0];
    bool is_put = false;
    for (const Touched& touched : request.touched) {
      if (touched.variable == v) {
        is_put = array.touched = true;
        array.rows = touched.shape.empty() ? d.shape[0] : touched.shape[0];
        array.parts = touched.parts;
      }
    }
    if (!d.stepped) {
      if (is_put) {
        parts_[v] = array.parts;  // also where a commit before, which failed, had others
      }
      array.parts = parts_[v];
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

void VtkhdfSteps::describe_static(const CommitRequest& request, std::uint64_t steps) {
  const vtkhdf::Kind kind = this->kind();
  if (kind == vtkhdf::Kind::none || steps != 0 || !has_link(file_.id(), vtk_root)) {
    return;
  }
  const std::vector<vtkhdf::Array> arrays = this->arrays(request);
  if (kind == vtkhdf::Kind::image) {
    write_defaults(kind, false);
    return;
  }
  const bool has_points = std::any_of(arrays.begin(), arrays.end(),
                                      [](const auto& array) { return array.name == "Points"; });
  const bool may_have_steps =
      std::any_of(arrays.begin(), arrays.end(), [](const auto& array) { return array.stepped; });
  // Before the last commit there may be arrays to come.
  if (request.is_last && has_points && !may_have_steps && !has_link(file_.id(), counts_name)) {
    for (const vtkhdf::Numbers& numbers : vtkhdf::numbers_of_step(kind, arrays, {})) {
      if (!numbers.path.starts_with(vtkhdf::steps_group)) {
        write_numbers(numbers);
      }
    }
    write_defaults(kind, false);
  }
}

void VtkhdfSteps::append(const CommitRequest& request, std::uint64_t step) {
  if (file_.profile() != Profile::vtkhdf) {
    return;
  }
  const vtkhdf::Kind kind = this->kind();
  // Also before the type is set: fixed arrays tell their parts once.
  const std::vector<vtkhdf::Array> arrays = this->arrays(request);
  if (kind == vtkhdf::Kind::none || arrays.empty()) {
    return;
  }
  const vtkhdf::Before before{step, length_of(file_.id(), counts_name),
                              number_at(file_.id(), counts_name, 0)};
  if (before.step == 0 && before.parts > 1) {
    throw Error(Code::unsupported, "VTKHDF: the file has no steps and " +
                                       std::to_string(before.parts) +
                                       " parts: steps are not added to it: write a new file");
  }
  for (const vtkhdf::Numbers& numbers : vtkhdf::numbers_of_step(kind, arrays, before)) {
    write_numbers(numbers);
  }
  file_.make_groups_above(values_name);
  if (!has_link(file_.id(), values_name)) {
    make_growing(file_.id(), values_name.c_str(), H5T_IEEE_F64LE, {0}, {numbers_per_chunk});
  }
  const double time = std::isnan(request.time) ? static_cast<double>(step) : request.time;
  const Handle values = own(H5Dopen2(file_.id(), values_name.c_str(), H5P_DEFAULT), values_name);
  put_rows(values.get(), values_name, H5T_NATIVE_DOUBLE, step, {1}, &time);
  write_defaults(kind, true);
  write_step_count(step + 1);
}

void VtkhdfSteps::write_step_count(std::uint64_t steps) {
  const std::string path = vtkhdf::steps_group;
  const Handle group = own(H5Gopen2(file_.id(), path.c_str(), H5P_DEFAULT), path);
  write_attribute(group.get(), "NSteps", static_cast<std::int64_t>(steps));
}

void VtkhdfSteps::drop(std::uint64_t steps) {
  if (file_.profile() != Profile::vtkhdf || !has_link(file_.id(), values_name)) {
    return;
  }
  const std::string root = vtkhdf::steps_group;
  const auto shorten = [&](const std::string& path, std::uint64_t most) {
    if (length_of(file_.id(), path) <= most) {
      return;
    }
    const Handle dataset = own(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), path);
    Dims extent = extents_in(dataset.get(), path);
    extent[0] = most;
    set_extent(dataset.get(), extent, path);
  };
  const std::uint64_t parts = steps == 0
                                  ? 0
                                  : number_at(file_.id(), root + "/PartOffsets", steps - 1) +
                                        number_at(file_.id(), root + "/NumberOfParts", steps - 1);
  for (const char* folder : {"", "Vertices/", "Lines/", "Polygons/", "Strips/"}) {
    for (const char* name : {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"}) {
      shorten(std::string(vtkhdf::prefix) + folder + name, parts);
    }
  }
  for (const char* name : {"Values", "PartOffsets", "NumberOfParts", "PointOffsets", "CellOffsets",
                           "ConnectivityIdOffsets"}) {
    shorten(root + "/" + name, steps);
  }
  for (const model::Definition& d : variables_.definitions()) {
    for (const char* folder : {"PointData", "CellData"}) {
      const std::string below = std::string(vtkhdf::prefix) + folder + "/";
      if (d.name.starts_with(below)) {
        shorten(root + "/" + folder + "Offsets/" + d.name.substr(below.size()), steps);
      }
    }
  }
  write_step_count(steps);
}

}  // namespace sluice::layout::hdf5
