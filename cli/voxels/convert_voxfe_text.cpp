// The reverse: VOX-FE's texts from netCDF-4 or HDF5, written by all ranks at the same time.
//
// Invariant: every rank processes its part twice, in pieces of a bounded size: to determine the
// length of its text, and to write it after those of the ranks below.
#include <algorithm>
#include <functional>

#include "commit/read/input.hpp"
#include "commit/tools/companions.hpp"
#include "commit/tools/step_choice.hpp"
#include "dialect/voxfe/displacement.hpp"
#include "exec/transport/agree.hpp"
#include "model/number_text.hpp"
#include "sluice/error.hpp"
#include "text/parallel_text.hpp"
#include "voxels/convert_voxfe.hpp"

namespace sluice::cli {

namespace {

namespace voxfe = dialect::voxfe;

constexpr std::uint64_t round_bytes = 8 << 20;
/// Of a grid, along one axis.
constexpr auto most_nodes = static_cast<std::int64_t>(voxfe::most_nodes_along);

/// A file that was opened to become text.
class Source {
 public:
  /// `step`: of variables that have steps; else they may have one.
  Source(const Context& context, const std::string& path, std::optional<std::int64_t> step)
      : context_(context),
        input_(context.transport, context.storage, path, Options{}),
        is_step_given_(step),
        step_(commit::StepChoice(input_, step).first()) {}

  bool has(const std::string& name) const {
    return std::any_of(input_.variables().begin(), input_.variables().end(),
                       [&](const auto& v) { return v.definition.name == name; });
  }
  model::Dims shape(const std::string& name) const {
    const std::uint32_t variable = input_.find(name);
    if (input_.variables()[variable].definition.stepped && !is_step_given_ && input_.steps() != 1) {
      throw Error(Code::invalid_argument,
                  input_.path() + ": " + name + " has " + std::to_string(input_.steps()) +
                      " steps, and the text has none: choose one by --step N");
    }
    return input_.shape(variable, step_);
  }
  /// The variables that are not in the text, which holds `used`.
  std::vector<std::string> left_out(const std::vector<std::string>& used) const {
    std::vector<std::string> names;
    for (std::uint32_t v = 0; v < input_.variables().size(); ++v) {
      const model::Definition& d = input_.variables()[v].definition;
      if (std::find(used.begin(), used.end(), d.name) == used.end() &&
          !commit::is_companion(input_, d)) {
        names.push_back(d.name + " (not in a text of VOX-FE)");
      }
    }
    return names;
  }
  template <class T>
  std::optional<T> attribute(const std::string& name) const {
    for (const model::Attribute& a : input_.attributes()) {
      if (a.owner.empty() && a.name == name && std::holds_alternative<T>(a.value)) {
        return std::get<T>(a.value);
      }
    }
    return std::nullopt;
  }
  /// Rows [first, first + count) of a variable. Collective; count 0 is fine.
  template <class T>
  void read(const std::string& name, std::uint64_t first, std::uint64_t count,
            std::vector<T>& values) {
    const std::uint32_t variable = input_.find(name);
    model::Box box = model::whole(shape(name));
    box.start[0] = count == 0 ? 0 : first;
    box.count[0] = count;
    values.resize(box.volume());
    input_.get(commit::dense_request(variable, step_, box,
                                     reinterpret_cast<std::byte*>(values.data()), type_of<T>()));
  }
  /// This rank's part of `all` rows in rounds of at most `rows`: visit(first, count), as often on
  /// every rank.
  void rounds(std::uint64_t all, std::uint64_t rows,
              const std::function<void(std::uint64_t, std::uint64_t)>& visit) const {
    const voxfe::ByteRange own =
        voxfe::part_of_rank(0, all, context_.transport.rank(), context_.transport.size());
    auto count = static_cast<std::int64_t>((own.end - own.begin + rows - 1) / rows);
    context_.transport.allreduce({&count, 1}, exec::Op::max);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t first =
          std::min(own.end, own.begin + static_cast<std::uint64_t>(i) * rows);
      visit(first, std::min(rows, own.end - first));
    }
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Code::format, input_.path() + ": " + why);
  }

 private:
  const Context& context_;
  commit::Input input_;
  bool is_step_given_;
  std::uint64_t step_;
};

void write_text(const Context& context, const std::string& path, const std::string& head,
                const ParallelText::Produce& produce) {
  ParallelText text(context, path);
  text.append_once(head);
  std::uint64_t bytes = 0;
  produce([&](const std::string& piece) { bytes += piece.size(); });
  text.append(bytes, produce);
  text.close();
}

/// Collective. Error format, with the row of the file, where fault_of(i) says why row i of this
/// rank's cannot be in a text: `sluice convert` would not read it back.
template <class FaultOf>
void require_rows(const Context& context, const Source& in, std::uint64_t first,
                  std::uint64_t count, const FaultOf& fault_of) {
  exec::together(context.transport, [&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (const std::string fault = fault_of(i); !fault.empty()) {
        in.refuse("row " + std::to_string(first + i) + ": " + fault);
      }
    }
  });
}

/// Error format where the text of an attribute would be more than a line.
void require_line(const Source& in, const std::string& name, const std::string& text) {
  if (!model::is_one_line(text) || text.size() >= voxfe::longest_line) {
    in.refuse("the attribute " + name + " is no line of a text");
  }
}

commit::Converted records_to_text(const Context& context, Source& in, const std::string& to,
                                  const std::string& voxel_size) {
  if (in.shape("voxel_x").rank() != 1) {
    in.refuse("voxel_x has no single dimension");
  }
  const std::uint64_t all = in.shape("voxel_x")[0];
  for (const char* name : {"voxel_y", "voxel_z", "voxel_material"}) {
    if (!in.has(name) || in.shape(name) != model::Dims{all}) {
      in.refuse(std::string(name) + " does not go with voxel_x");
    }
  }
  const bool has_numbers = in.has("voxel_element");
  if (has_numbers && in.shape("voxel_element") != model::Dims{all}) {
    in.refuse("voxel_element does not go with voxel_x");
  }
  write_text(context, to, voxel_size + "\n" + std::to_string(all) + "\n", [&](const auto& take) {
    std::vector<std::uint64_t> element;
    std::vector<std::uint8_t> material;
    std::array<std::vector<std::uint32_t>, 3> at;
    in.rounds(all, round_bytes / 32, [&](std::uint64_t first, std::uint64_t count) {
      in.read("voxel_material", first, count, material);
      in.read("voxel_x", first, count, at[0]);
      in.read("voxel_y", first, count, at[1]);
      in.read("voxel_z", first, count, at[2]);
      if (has_numbers) {
        in.read("voxel_element", first, count, element);
      }
      const auto number = [&](std::uint64_t i) { return has_numbers ? element[i] : first + i + 1; };
      require_rows(context, in, first, count, [&](std::uint64_t i) {
        return voxfe::fault_of({number(i), material[i], at[0][i], at[1][i], at[2][i]});
      });
      std::string text;
      for (std::uint64_t i = 0; i < count; ++i) {
        voxfe::append_row(text, {number(i), material[i], {at[0][i], at[1][i], at[2][i]}});
      }
      take(text);
    });
  });
  return {has_numbers ? 5U : 4U, 0, all * (has_numbers ? 21 : 13)};
}

commit::Converted grid_to_text(const Context& context, Source& in, const std::string& to,
                               const std::string& voxel_size) {
  const model::Dims shape = in.shape("material");
  if (shape.rank() != 3) {
    in.refuse("material has no three dimensions");
  }
  for (const std::uint64_t extent : shape) {
    if (extent > voxfe::largest_extent) {
      in.refuse("material has the shape " + shape.text() + ": a text has at most " +
                std::to_string(voxfe::largest_extent) + " voxels along an axis");
    }
  }
  const std::uint64_t plane = shape[1] * shape[2];
  const std::uint64_t planes =
      std::max<std::uint64_t>(1, round_bytes / std::max<std::uint64_t>(1, plane));
  std::vector<std::uint8_t> cells;
  std::uint64_t own = 0;
  in.rounds(shape[0], planes, [&](std::uint64_t first, std::uint64_t count) {
    in.read("material", first, count, cells);
    own += cells.size() - static_cast<std::uint64_t>(std::count(cells.begin(), cells.end(), 0));
  });
  const exec::PrefixSum sums = context.transport.prefix_sum(static_cast<std::int64_t>(own));
  const std::string head = voxel_size + "\n" + std::to_string(sums.all) + "\n";
  write_text(context, to, head, [&](const auto& take) {
    auto element = static_cast<std::uint64_t>(sums.below);
    in.rounds(shape[0], planes, [&](std::uint64_t first, std::uint64_t count) {
      in.read("material", first, count, cells);
      std::string text;
      for (std::uint64_t i = 0; i < cells.size(); ++i) {
        if (cells[i] == 0) {
          continue;
        }
        const auto number = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
        voxfe::append_row(text, {++element,
                                 cells[i],
                                 {number(i % shape[2] + 1), number(i / shape[2] % shape[1] + 1),
                                  number(first + i / plane + 1)}});
        if (text.size() > round_bytes) {
          take(text);
          text.clear();
        }
      }
      take(text);
    });
  });
  return {1, 0, shape.volume()};
}

commit::Converted displacements_to_text(const Context& context, Source& in, const std::string& to) {
  const model::Dims shape = in.shape("displacement");
  const auto nodes = in.attribute<std::vector<std::int64_t>>("nodes");
  if (shape.rank() != 2 || shape[1] != 3 || !in.has("node_id") ||
      in.shape("node_id") != model::Dims{shape[0]} || !nodes || nodes->size() != 3 ||
      *std::min_element(nodes->begin(), nodes->end()) < 1 ||
      *std::max_element(nodes->begin(), nodes->end()) > most_nodes) {
    in.refuse(
        "displacement(node, 3) needs node_id(node) and the attribute nodes = NX, NY, NZ, each of 1 "
        "to " +
        std::to_string(most_nodes));
  }
  voxfe::DisplacementHead head{shape[0], {}, ""};
  std::copy(nodes->begin(), nodes->end(), head.grid.begin());
  head.materials = in.attribute<std::string>("materials_file").value_or("");
  require_line(in, "materials_file", head.materials);
  write_text(context, to, voxfe::head_text(head), [&](const auto& take) {
    std::vector<std::uint64_t> id;
    std::vector<double> value;
    in.rounds(shape[0], round_bytes / 96, [&](std::uint64_t first, std::uint64_t count) {
      in.read("node_id", first, count, id);
      in.read("displacement", first, count, value);
      const auto row = [&](std::uint64_t i) {
        return voxfe::DisplacementRow{id[i], {value[3 * i], value[3 * i + 1], value[3 * i + 2]}};
      };
      require_rows(context, in, first, count,
                   [&](std::uint64_t i) { return voxfe::fault_of(row(i), head.grid); });
      std::string text;
      for (std::uint64_t i = 0; i < count; ++i) {
        voxfe::append_row(text, row(i), head.grid);
      }
      take(text);
    });
  });
  return {2, 0, shape[0] * 32};
}

}  // namespace

commit::Converted voxfe_to_text(const Context& context, const VoxfeWish& wish) {
  Source in(context, wish.from, wish.step);
  const std::string voxel_size = in.attribute<std::string>("voxel_size").value_or("");
  require_line(in, "voxel_size", voxel_size);
  commit::Converted done;
  std::vector<std::string> used;
  if (in.has("displacement")) {
    used = {"displacement", "node_id", "x", "y", "z"};  // the places follow from node_id
    done = displacements_to_text(context, in, wish.to);
  } else if (in.has("voxel_x")) {
    // The grid says the same.
    used = {"voxel_x",       "voxel_y",  "voxel_z",     "voxel_material",
            "voxel_element", "material", "plane_voxels"};
    done = records_to_text(context, in, wish.to, voxel_size);
  } else if (in.has("material")) {
    used = {"material", "plane_voxels"};
    done = grid_to_text(context, in, wish.to, voxel_size);
  } else {
    in.refuse("neither displacement nor material nor voxel_x: no voxel model to write as text");
  }
  done.left_out = in.left_out(used);
  return done;
}

}  // namespace sluice::cli
