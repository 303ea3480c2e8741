#include "voxels/convert_voxfe.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "commit/tools/new_file.hpp"
#include "dialect/voxfe/displacement.hpp"
#include "dialect/voxfe/xdmf.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/stores.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

namespace voxfe = dialect::voxfe;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Of the description for ParaView.
constexpr const char* beside_ending = ".xdmf";

/// What is put stays in memory (or on disk) until the file is closed.
class Maker {
 public:
  Maker(const Context& context, const VoxfeWish& wish)
      : wish_(wish), output_(context.transport, context.storage, wish.to, own(wish)) {}

  /// This rank's rows [first, first + rows) of a variable of `shape`.
  template <class T>
  void add(const std::string& name, const std::string& description, const model::Dims& shape,
           std::initializer_list<const char*> dimensions, std::uint64_t first, std::uint64_t rows,
           const T* data) {
    model::Definition d;
    d.name = name;
    d.type = type_of<T>();
    d.shape = shape;
    d.dimensions.assign(dimensions.begin(), dimensions.end());
    d.compress = wish_.compress;
    const std::uint32_t variable = output_->define(d);
    output_->set_attribute({name, "long_name", description});
    done_.variables += 1;
    done_.bytes += d.bytes_per_step();
    if (rows == 0) {
      return;
    }
    model::Dims start = model::Dims::filled(shape.rank(), 0);
    model::Dims count = shape;
    start[0] = first;
    count[0] = rows;
    output_->put({variable,
                  {start, count},
                  {reinterpret_cast<const std::byte*>(data), d.type, count,
                   model::Dims::filled(shape.rank(), 0)},
                  false});
  }
  void attribute(const std::string& name, const model::AttributeValue& value) {
    output_->set_attribute({"", name, value});
  }
  commit::Converted close() {
    output_.close();
    return done_;
  }

 private:
  static Options own(const VoxfeWish& wish) {
    Options options = wish.options;
    options.compress = wish.compress;
    return options;
  }

  const VoxfeWish& wish_;
  commit::NewOutput output_;
  commit::Converted done_;
};

void write_beside(const Context& context, const std::string& path, const std::string& text) {
  exec::together(context.transport, [&] {
    if (!context.is_root()) {
      return;
    }
    const auto file = context.storage.open(path + beside_ending, storage::Access::create);
    file->write(0, std::as_bytes(std::span(text)));
    file->sync();
    context.storage.sync_directory(path);
  });
}

/// Columns of one rank, each on disk beyond a limit.
class Columns {
 public:
  Columns(std::uint64_t rows, const VoxfeWish& wish) : rows_(rows), wish_(wish) {}
  template <class T>
  std::span<T> add(std::uint64_t values_per_row = 1) {
    const std::uint64_t bytes = rows_ * values_per_row * sizeof(T);
    // All columns of a rank together fit its budget, half of which Sluice uses for staging.
    const std::uint64_t left = wish_.options.budget_bytes / 2 - std::min(held_, limit());
    auto& made = all_.emplace_back(bytes, std::min(left, limit()), folder_of(wish_.to));
    held_ += made.in_file() ? 0 : bytes;
    return {reinterpret_cast<T*>(made.bytes().data()), rows_ * values_per_row};
  }
  void let_go() {
    for (auto& scratch : all_) scratch.let_go();
  }

 private:
  std::uint64_t limit() const { return wish_.options.budget_bytes / 2; }

  std::uint64_t rows_;
  const VoxfeWish& wish_;
  std::uint64_t held_ = 0;
  std::vector<storage::Spill> all_;
};

/// "0.1 0.1 0.1" as edges; ones if it is anything else.
std::array<double, 3> edges_of(const std::string& text) {
  std::array<double, 3> size{1, 1, 1};
  std::array<double, 3> found{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (double& edge : found) {
    while (at != end && *at == ' ') ++at;
    const auto result = std::from_chars(at, end, edge);
    if (result.ec != std::errc{} || !(edge > 0)) {
      return size;
    }
    at = result.ptr;
  }
  return found;
}

commit::Converted model_to_file(const Context& context, const VoxfeWish& wish) {
  voxfe::Model model(context.transport, context.storage, wish.from, wish.grid);
  voxfe::Planes planes = model.read_planes({wish.options.budget_bytes / 4, folder_of(wish.to)});
  const voxfe::Grid& grid = model.grid();
  const std::uint64_t plane = grid[0] * grid[1];
  const auto cells = planes.materials();
  std::vector<std::int64_t> counts(planes.count);
  for (std::uint64_t z = 0; z < planes.count; ++z) {
    const auto own = cells.subspan(z * plane, plane);
    counts[z] = static_cast<std::int64_t>(plane) - std::count(own.begin(), own.end(), 0);
  }
  planes.cells.let_go();
  const bool has_records = wish.records || !model.in_order();
  Columns columns(has_records ? model.rows() : 0, wish);
  voxfe::ModelColumns rows;
  exec::together(context.transport, [&] {
    rows = {
        columns.add<std::int64_t>(),
        columns.add<std::uint8_t>(),
        {columns.add<std::int32_t>(), columns.add<std::int32_t>(), columns.add<std::int32_t>()}};
    if (has_records) {
      model.read_columns(rows);
      columns.let_go();
    }
  });

  Maker maker(context, wish);
  maker.attribute("Conventions", std::string("CF-1.8"));
  maker.attribute("title", std::string("voxel model"));
  maker.attribute("voxels", static_cast<std::int64_t>(model.voxels()));
  if (!model.voxel_size().empty()) {
    maker.attribute("voxel_size", model.voxel_size());
  }
  maker.add("material", "material of a voxel, 0: none", {grid[2], grid[1], grid[0]},
            {"z", "y", "x"}, planes.first, planes.count, cells.data());
  maker.add("plane_voxels", "voxels of a plane", {grid[2]}, {"z"}, planes.first, planes.count,
            counts.data());
  if (has_records) {
    const auto add = [&](const char* name, const char* description, auto data) {
      maker.add(name, description, {model.voxels()}, {"voxel"}, model.first_row(), model.rows(),
                data.data());
    };
    if (!model.in_order()) {
      add("voxel_element", "number of the element", rows.element);
    }
    add("voxel_material", "material of the voxel", rows.material);
    add("voxel_x", "x of the voxel, from 1", rows.at[0]);
    add("voxel_y", "y of the voxel, from 1", rows.at[1]);
    add("voxel_z", "z of the voxel, from 1", rows.at[2]);
  }
  commit::Converted done = maker.close();
  write_beside(context, wish.to, voxfe::voxels_xdmf(wish.to, grid, edges_of(model.voxel_size())));
  return done;
}

commit::Converted displacements_to_file(const Context& context, const VoxfeWish& wish) {
  voxfe::Displacements text(context.transport, context.storage, wish.from);
  const voxfe::DisplacementHead& head = text.head();
  Columns columns(text.rows(), wish);
  std::span<std::int64_t> id;
  std::span<double> value;
  std::array<std::span<float>, 3> at;
  exec::together(context.transport, [&] {
    id = columns.add<std::int64_t>();
    value = columns.add<double>(3);
    for (auto& column : at) {
      column = columns.add<float>();
    }
    text.read_columns({id, value});
    for (std::size_t i = 0; i < id.size(); ++i) {
      const auto number = static_cast<std::uint64_t>(id[i]);
      at[0][i] = static_cast<float>(number % head.grid[0]);
      const std::uint64_t row = number / head.grid[0];
      const std::uint64_t layer = row / head.grid[1];
      at[1][i] = static_cast<float>(row % head.grid[1]);
      at[2][i] = static_cast<float>(layer);
    }
    columns.let_go();
  });

  Maker maker(context, wish);
  maker.attribute("Conventions", std::string("CF-1.8"));
  maker.attribute("title", std::string("displacements of the nodes of a voxel model"));
  maker.attribute("materials_file", head.materials);
  maker.attribute("nodes", std::vector<std::int64_t>(head.grid.begin(), head.grid.end()));
  const auto add = [&](const char* name, const char* description, auto data) {
    maker.add(name, description, {head.nodes}, {"node"}, text.first_row(), text.rows(),
              data.data());
  };
  add("node_id", "x + y NX + z NX NY of the node", id);
  add("x", "x of the node at rest, in voxels", at[0]);
  add("y", "y of the node at rest, in voxels", at[1]);
  add("z", "z of the node at rest, in voxels", at[2]);
  maker.add("displacement", "displacement of the node", {head.nodes, 3}, {"node", "axis"},
            text.first_row(), text.rows(), value.data());
  commit::Converted done = maker.close();
  write_beside(context, wish.to, voxfe::nodes_xdmf(wish.to, head.nodes));
  return done;
}

}  // namespace

VoxfeText voxfe_text_of(storage::Storage& storage, const std::string& path) {
  if (layout::is_store(storage, path)) {
    return VoxfeText::none;
  }
  std::string text(512, '\0');
  text.resize(
      storage.open(path, storage::Access::read)->read(0, std::as_writable_bytes(std::span(text))));
  if (voxfe::begins_displacements(text)) {
    return VoxfeText::displacements;
  }
  // Binary files have control characters near their beginning, texts of models do not.
  const bool is_text = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || c == '\r' || c == '\t' || (c >= ' ' && c <= '~');
  });
  return is_text ? VoxfeText::model : VoxfeText::none;
}

commit::Converted voxfe_to_file(const Context& context, VoxfeText kind, const VoxfeWish& wish) {
  // Said before anything long is read.
  const std::string real = commit::agreed_path(context.transport, context.storage, wish.to);
  exec::on_root(context.transport, [&] {
    for (const char* ending : {"", beside_ending}) {
      if (context.storage.exists((*ending == '\0' ? real : wish.to) + ending)) {
        throw Error(Code::exists, wish.to + ending + ": exists already: choose another name");
      }
    }
  });
  return kind == VoxfeText::displacements ? displacements_to_file(context, wish)
                                          : model_to_file(context, wish);
}

}  // namespace sluice::cli
