#include "commit/tools/merge.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "commit/output/output.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/companions.hpp"
#include "commit/tools/left_out.hpp"
#include "commit/tools/new_file.hpp"
#include "layout/formats/formats.hpp"
#include "model/block.hpp"
#include "model/fill_attribute.hpp"

namespace sluice::commit {

using layout::Mapping;

namespace {

/// The elements of one variable and step, read on demand.
class PartsSource final : public model::BlockSource {
 public:
  PartsSource(Input& input, std::uint32_t variable, std::uint64_t step, CopyMeter& meter)
      : input_(input), variable_(variable), step_(step), meter_(meter) {}

  void read(const model::Box& part, std::span<std::byte> out) const override {
    const Type& type = input_.variables()[variable_].definition.type;
    const model::Memory memory{out.data(), type, part.count,
                               model::Dims::filled(part.count.rank(), 0)};
    input_.parts()->get(input_.variables()[variable_], {variable_, step_, part, memory});
    meter_.note(out.size());
  }

 private:
  Input& input_;
  std::uint32_t variable_;
  std::uint64_t step_;
  CopyMeter& meter_;
};

class Merger {
 public:
  Merger(exec::Transport& transport, storage::Storage& storage, const std::string& index_path,
         NewFile& target, const Options& options, const CopyProgress& progress)
      : transport_(transport),
        target_(target),
        input_(transport, storage, index_path, Options{}),
        meter_{transport.size(), progress} {
    if (input_.set() == nullptr) {
      throw Error(Code::unsupported,
                  index_path + ": is one plain file already, not a set of parts");
    }
    survey();
    output_ = target.open(options);
  }

  Merged run() {
    for (const model::Attribute& attribute : input_.attributes()) {
      if (attribute.owner.empty()) {
        put_attribute(attribute);
      }
    }
    for (std::uint64_t step = 0; step < input_.steps(); ++step) {
      define_until(step);
      output_->begin_step(input_.time(step));
      put(step, step == 0);
      output_->end_step();
    }
    define_until(std::numeric_limits<std::uint64_t>::max());
    if (input_.steps() == 0) {
      put(0, true);
    }
    output_->close();
    target_.finish();
    return {input_.set()->parts.size(), input_.steps(), meter_.total_bytes, std::move(left_out_)};
  }

 private:
  struct Planned {
    std::uint32_t variable = 0;  ///< of the input
    std::uint64_t begins = 0;    ///< the first step that has it
    bool is_defined = false;
    std::uint32_t output = 0;
  };

  void survey();
  void define_until(std::uint64_t step);
  void define_groups();
  void put_attribute(const model::Attribute& attribute);
  void put(std::uint64_t step, bool with_fixed);

  exec::Transport& transport_;
  NewFile& target_;
  Input input_;
  CopyMeter meter_;
  std::unique_ptr<Output> output_;
  std::vector<Planned> planned_;                       ///< by variable of the set
  std::vector<std::unique_ptr<PartsSource>> sources_;  ///< of the step under way
  std::vector<std::string> left_out_;
  bool has_groups_ = false;
};

void Merger::survey() {
  const layout::PartSet& set = *input_.set();
  for (const layout::SetVariable& variable : set.variables) {
    Planned planned;
    planned.variable = input_.find(variable.name);
    // Variables without steps are defined after the last step; fixed variables go with the first.
    planned.begins = variable.stepped ? input_.steps() : 0;
    planned_.push_back(planned);
  }
  for (const Mapping& mapping : input_.parts()->mappings()) {
    Planned& planned = planned_[mapping.variable];
    planned.begins = std::min(planned.begins, mapping.first_step);
    const model::Definition& definition = input_.variables()[planned.variable].definition;
    meter_.total_bytes += mapping.box.volume() * definition.type.bytes * mapping.steps;
  }
  for (Planned& planned : planned_) {
    const model::Definition& definition = input_.variables()[planned.variable].definition;
    if (definition.partial || definition.shape.volume() == 0) {
      planned.begins = 0;  // its steps may be empty
    }
  }
}

void Merger::define_until(std::uint64_t step) {
  for (Planned& planned : planned_) {
    const model::Definition& definition = input_.variables()[planned.variable].definition;
    if (planned.is_defined || planned.begins > step ||
        is_length_of_another(input_, definition.name)) {
      continue;
    }
    model::Definition own = definition;
    // It is rounded already.
    own.compress = codec::text_for_copy(codec::parse_compression(own.compress).compressor);
    planned.output = output_->define(own);
    planned.is_defined = true;
    for (const model::Attribute& attribute : input_.attributes()) {
      // One that says another value stays: what parts do not have reads as the fill value.
      if (attribute.owner == definition.name && !model::says_fill(attribute, definition)) {
        put_attribute(attribute);
      }
    }
  }
  if (!std::exchange(has_groups_, true)) {
    define_groups();
  }
}

/// The attributes of groups, as soon as a variable has created them, and of `time`, which the index
/// lists as a variable and the writer makes.
void Merger::define_groups() {
  for (const model::Attribute& attribute : input_.attributes()) {
    const bool is_variable = std::any_of(
        input_.variables().begin(), input_.variables().end(), [&](const InputVariable& v) {
          const std::string& name = v.definition.name;
          return name == attribute.owner && (v.number_in_set || is_length_of_another(input_, name));
        });
    if (!attribute.owner.empty() && !is_variable) {
      put_attribute(attribute);
    }
  }
}

/// One that the format cannot hold is left out, as in conversions.
void Merger::put_attribute(const model::Attribute& attribute) {
  try {
    layout::check_attribute(output_->format(), attribute);
  } catch (const Error& e) {
    if (e.code() != Code::unsupported) {
      throw;
    }
    left_out_.push_back(attribute_left_out(attribute, e.what()));
    return;
  }
  output_->set_attribute(attribute);
}

void Merger::put(std::uint64_t step, bool with_fixed) {
  sources_.clear();
  for (std::size_t number = 0; number < planned_.size(); ++number) {
    const Planned& planned = planned_[number];
    const InputVariable& variable = input_.variables()[planned.variable];
    if (planned.is_defined && variable.definition.varying && step < input_.steps()) {
      output_->resize(planned.output, input_.shape(planned.variable, step)[0]);
    }
    sources_.push_back(std::make_unique<PartsSource>(input_, planned.variable, step, meter_));
  }
  const layout::PartSet& set = *input_.set();
  const auto ranks = static_cast<std::uint32_t>(transport_.size());
  for (const Mapping& mapping : input_.parts()->mappings()) {
    const Planned& planned = planned_[mapping.variable];
    const bool stepped = set.variables[mapping.variable].stepped;
    const bool is_due = stepped ? mapping.holds(step) && input_.steps() != 0 : with_fixed;
    if (planned.is_defined && is_due &&
        mapping.part % ranks == static_cast<std::uint32_t>(transport_.rank())) {
      // A failure of this rank alone: it still takes part in the commit, which fails with it.
      output_->fail(exec::failure_of([&] {
        model::Block block;
        block.variable = planned.output;
        block.box = mapping.box;
        block.memory.type = input_.variables()[planned.variable].definition.type;
        block.source = sources_[mapping.variable].get();
        output_->put(block);
      }));
    }
  }
}

}  // namespace

Merged merge(exec::Transport& transport, storage::Storage& storage, const std::string& index_path,
             const std::string& to, const Options& options, const CopyProgress& progress) {
  NewFile target(transport, storage, to, options);
  try {
    return Merger(transport, storage, index_path, target, options, progress).run();
  } catch (const Error& e) {
    throw target.named(e, to);
  }
}

}  // namespace sluice::commit
