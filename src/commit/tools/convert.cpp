#include "commit/tools/convert.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "commit/output/output.hpp"
#include "commit/read/input.hpp"
#include "layout/encoding.hpp"

namespace sluice::commit {

using model::Box;
using model::Dims;

namespace {

class Converter {
 public:
  Converter(exec::Transport& transport, storage::Storage& storage, const std::string& from,
            const std::string& to, const std::optional<std::string>& compress,
            const Options& options, const CopyProgress& progress)
      : transport_(transport),
        input_(transport, storage, from, Options{}),
        compress_(compress),
        budget_bytes_(options.budget_bytes),
        progress_(progress) {
    Options own = options;
    own.compress = compress.value_or("");
    output_ = open_output(transport, storage, to, Opening::create, own);
  }

  Converted run() {
    define();
    put_attributes();
    put_fixed();
    for (std::uint64_t step = 0; step < input_.steps(); ++step) {
      put_step(step);
    }
    output_->close();
    return {planned_.size(), input_.steps(), done_bytes_, unnamed_, changes_};
  }

 private:
  struct Planned {
    std::uint32_t input = 0;
    std::uint32_t output = 0;
  };

  const model::Definition& definition(const Planned& planned) const {
    return input_.variables()[planned.input].definition;
  }

  /// What the writer makes by itself: times of steps, lengths of varying variables.
  bool is_companion(const model::Definition& d) const {
    const bool is_time = input_.written_by_sluice() && d.name == layout::time_name && !d.stepped &&
                         d.shape == Dims{input_.steps()} && d.type == type_of<double>();
    return is_time ||
           std::any_of(
               input_.variables().begin(), input_.variables().end(), [&](const InputVariable& v) {
                 return v.definition.varying && v.definition.name + layout::length_suffix == d.name;
               });
  }

  void define() {
    std::vector<model::Definition> definitions;
    for (std::uint32_t v = 0; v < input_.variables().size(); ++v) {
      model::Definition d = input_.variables()[v].definition;
      if (is_companion(d)) {
        continue;
      }
      if (compress_) {
        const bool is_worth = d.bytes_per_step() >= layout::worth_encoding_bytes;
        d.compress = is_worth ? *compress_ : "none";
      } else if (d.compress.empty()) {
        d.compress = "none";
      }
      if (!output_->format().tiled || output_->format().has_grammar) {
        d.chunk = {};  // of the other format
      }
      const std::uint64_t steps = d.stepped ? input_.steps() : 1;
      if (d.varying && output_->format().tiled && d.bytes_per_step() > most_step_bytes) {
        d.shape[0] = most_rows(v);
      }
      for (std::uint64_t step = 0; step < steps; ++step) {
        total_bytes_ += input_.shape_or_most(v, step).volume() * d.type.bytes;
      }
      planned_.push_back({v, 0});
      definitions.push_back(std::move(d));
    }
    drop_names(definitions);
    for (std::size_t i = 0; i < definitions.size(); ++i) {
      planned_[i].output = output_->define(definitions[i]);
    }
  }

  /// Names of dimensions that the format cannot hold beside one another, as netCDF-4 cannot hold
  /// one of two sizes. Those that stay may refuse a variable that would be taken without them.
  void drop_names(std::vector<model::Definition>& definitions) {
    std::vector<model::Definition> taken;
    for (model::Definition& d : definitions) {
      if (!d.dimensions.empty() && !is_taken(d, taken)) {
        d.dimensions.clear();
        unnamed_.push_back(d.name);
      }
      if (d.dimensions.empty() && !is_taken(d, taken)) {
        break;
      }
      taken.push_back(d);
    }
    for (std::size_t i = 0; i < definitions.size() && taken.size() < definitions.size(); ++i) {
      model::Definition& d = definitions[i];
      if (!d.dimensions.empty()) {
        d.dimensions.clear();
        unnamed_.push_back(d.name);
      }
    }
  }

  bool is_taken(const model::Definition& d, const std::vector<model::Definition>& others) const {
    try {
      layout::check_definition(output_->format(), d, others);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  std::uint64_t most_rows(std::uint32_t variable) const {
    std::uint64_t most = 1;
    for (std::uint64_t step = 0; step < input_.steps(); ++step) {
      most = std::max(most, input_.shape(variable, step)[0]);
    }
    return most;
  }

  void put_attributes() {
    for (const model::Attribute& attribute : input_.attributes()) {
      const auto owner =
          std::find_if(input_.variables().begin(), input_.variables().end(),
                       [&](const auto& v) { return v.definition.name == attribute.owner; });
      const auto& change = output_->format().change;
      if (std::string said = change != nullptr ? change(attribute) : ""; !said.empty()) {
        changes_.push_back(std::move(said));
        continue;
      }
      const bool is_fill = attribute.name == "_FillValue" && owner != input_.variables().end() &&
                           owner->definition.partial;
      if (!is_fill) {
        output_->set_attribute(attribute);
      }
    }
  }

  /// This rank's rows; all of a scalar on rank 0.
  Box own_part(const Dims& shape) const {
    Box box = model::whole(shape);
    const auto rank = static_cast<std::uint64_t>(transport_.rank());
    const auto ranks = static_cast<std::uint64_t>(transport_.size());
    if (shape.rank() != 0) {
      box.start[0] = shape[0] * rank / ranks;
      box.count[0] = shape[0] * (rank + 1) / ranks - box.start[0];
    }
    return box;
  }

  void put(const Planned& planned, std::uint64_t step) {
    const model::Definition& d = definition(planned);
    const Dims shape = input_.shape_or_most(planned.input, step);
    const Box box = own_part(shape);
    std::vector<std::byte>& bytes = held_.emplace_back(box.volume() * d.type.bytes);
    input_.get(planned.input, step, box,
               {bytes.data(), d.type, box.count, Dims::filled(box.count.rank(), 0)}, false);
    const bool has_part = !box.empty() && (shape.rank() != 0 || transport_.rank() == 0);
    if (has_part) {
      const Dims zeros = Dims::filled(box.count.rank(), 0);
      output_->put({planned.output, box, {bytes.data(), d.type, box.count, zeros}, false});
    }
    done_bytes_ += shape.volume() * d.type.bytes;
    if (progress_) {
      progress_(done_bytes_, total_bytes_);
    }
  }

  void put_fixed() {
    std::uint64_t held = 0;  // the same on every rank
    for (const Planned& planned : planned_) {
      if (definition(planned).stepped) {
        continue;
      }
      put(planned, 0);
      held += definition(planned).bytes_per_step() / static_cast<std::uint64_t>(transport_.size());
      if (held > budget_bytes_) {
        output_->flush();
        held_.clear();
        held = 0;
      }
    }
    if (input_.steps() == 0) {
      return;  // goes with the close
    }
    output_->flush();
    held_.clear();
  }

  void put_step(std::uint64_t step) {
    output_->begin_step(input_.time(step));
    for (const Planned& planned : planned_) {
      const model::Definition& d = definition(planned);
      if (!d.stepped) {
        continue;
      }
      if (d.varying) {
        output_->resize(planned.output, input_.shape(planned.input, step)[0]);
      }
      put(planned, step);
    }
    output_->end_step();
    held_.clear();
  }

  /// A log sets no limit to what a step may have; where steps are cut into tiles, there is an
  /// index of all that might be.
  static constexpr std::uint64_t most_step_bytes = 1ULL << 40;

  exec::Transport& transport_;
  Input input_;
  std::unique_ptr<Output> output_;
  std::optional<std::string> compress_;
  std::uint64_t budget_bytes_;
  const CopyProgress& progress_;
  std::vector<Planned> planned_;
  std::vector<std::string> unnamed_;
  std::vector<std::string> changes_;
  std::deque<std::vector<std::byte>> held_;  ///< until the next commit
  std::uint64_t total_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace

Converted convert(exec::Transport& transport, storage::Storage& storage, const std::string& from,
                  const std::string& to, const std::optional<std::string>& compress,
                  const Options& options, const CopyProgress& progress) {
  return Converter(transport, storage, from, to, compress, options, progress).run();
}

}  // namespace sluice::commit
