#include "commit/tools/convert.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "codec/plugins.hpp"
#include "commit/output/output.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/companions.hpp"
#include "commit/tools/drop_names.hpp"
#include "commit/tools/file_source.hpp"
#include "commit/tools/fills.hpp"
#include "commit/tools/group_time.hpp"
#include "commit/tools/growing.hpp"
#include "commit/tools/left_out.hpp"
#include "commit/tools/new_file.hpp"
#include "commit/tools/one_variable.hpp"
#include "commit/tools/rounded_again.hpp"
#include "commit/tools/source_names.hpp"
#include "commit/tools/step_choice.hpp"
#include "commit/tools/unread.hpp"
#include "commit/tools/variable_choice.hpp"
#include "exec/rows/rows.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/encoding.hpp"
#include "layout/formats/formats.hpp"
#include "layout/rounding.hpp"
#include "model/fill_attribute.hpp"
#include "model/name.hpp"
#include "model/reserved_name.hpp"
#include "storage/self_storage.hpp"

namespace sluice::commit {

using model::Dims;

namespace {

/// Size: The state of one conversion between its steps: two files, a plan, and the report.
class Converter {
 public:
  /// All must outlive the object.
  Converter(exec::Transport& transport, storage::Storage& storage, const Conversion& wanted,
            NewFile& target, const Unread& unread, const CopyProgress& progress)
      : transport_(transport),
        storage_(storage),
        wanted_(wanted),
        alone_(exec::make_solo()),
        own_storage_(storage::make_self_storage(storage)),
        input_(transport, storage, wanted.from, Options{}),
        target_(target),
        unread_(unread),
        progress_(progress),
        chosen_(wanted.steps ? StepChoice(input_, *wanted.steps)
                             : StepChoice(input_, wanted.only_step)),
        chosen_variables_(input_, wanted.variables) {
    Options own = wanted.options;
    own.rectilinear = Rectilinear::never;  // blocks say only how the ranks share the work
    own.compress = wanted.compress.value_or("");
    output_ = target.open(own);
    carry_ = carry_of(transport);
    if (chosen_.is_one() || wanted.steps || !chosen_variables_.is_all()) {
      carries_ = false;
      carry_ = nullptr;
    }
    if (chosen_.is_one()) {
      changes_.push_back(chosen_.text(input_));
    }
  }

  Converted run() {
    define();
    put_attributes();
    put_fixed();
    for (std::uint64_t step = 0; step < chosen_.steps(); ++step) {
      put_step(step);
    }
    output_->close();
    finish();
    const std::uint64_t part_bytes = input_.set() == nullptr ? 0 : layout::bytes_of(*input_.set());
    return {planned_.size(), chosen_.steps(), done_bytes_, unnamed_,
            left_out_,       changes_,        part_bytes};
  }

 private:
  struct Planned {
    std::uint32_t input = 0;
    std::uint32_t output = 0;
  };

  const model::Definition& definition(const Planned& planned) const {
    return input_.variables()[planned.input].definition;
  }

  void define() {
    codec::require_plugins(codec::parse_pipeline(wanted_.compress.value_or(""), 1));
    std::vector<model::Definition> definitions;
    for (std::uint32_t v = 0; v < input_.variables().size(); ++v) {
      model::Definition d = input_.variables()[v].definition;
      d.along_steps = false;  // in the file that it was read from
      if (!chosen_variables_.has(v) || is_companion(input_, d) ||
          (carries_ && names_.is_further(v))) {  // the link is copied
        continue;
      }
      if (const auto found = unread_.find(d.name); found != unread_.end()) {
        if (!carries_) {
          left_out_.push_back(d.name + " (not readable here: " + found->second + ")");
        }
        continue;
      }
      settle(v, d);
      if (carries_ && is_of_single_letters(d)) {
        continue;  // copied
      }
      const std::uint64_t steps = d.stepped ? chosen_.steps() : 1;
      if (d.varying && output_->format().tiled && d.bytes_per_step() > most_step_bytes) {
        d.shape[0] = most_rows(input_, v);
      }
      for (std::uint64_t step = 0; step < steps; ++step) {
        total_bytes_ += input_.shape_or_most(v, chosen_.source(step)).volume() * d.type.bytes;
      }
      if (carries_ && !layout::accepts(output_->format(), d)) {
        d.dimensions.clear();
        if (!layout::accepts(output_->format(), d)) {
          continue;  // with a name that Sluice does not write: copied
        }
        unnamed_.push_back(d.name);
      }
      if (!carries_ && !is_holdable(d)) {
        continue;
      }
      planned_.push_back({v, 0});
      definitions.push_back(std::move(d));
    }
    if (definitions.empty() && refusal_) {
      throw Error(*refusal_);
    }
    require_one(output_->format(), definitions, wanted_.from);
    drop_names(output_->format(), definitions, unnamed_);
    // Those that say how others were rounded keep their names: the writer may add some.
    for (const bool is_container : {true, false}) {
      for (std::size_t i = 0; i < definitions.size(); ++i) {
        if (layout::says_rounding(definitions[i].name) == is_container) {
          planned_[i].output = output_->define(definitions[i]);
        }
      }
    }
  }

  /// Makes of a variable what the new file is to have.
  void settle(std::uint32_t v, model::Definition& d) {
    d.compress = compression_of(d);
    chosen_.settle(input_, v, d);
    forget_default_fill(input_, d);
    if (!output_->format().tiled || output_->format().has_grammar) {
      d.chunk = {};  // of the other format
    }
    take_fill(input_, output_->format(), d);
    append_lost_fill(input_, input_.variables()[v].definition, d, changes_);
    d.name = stored_name(d.name);
  }

  /// Characters of netCDF (whose row alone asks what it may carry) that nothing says are text: as
  /// texts, each would get a dimension.
  bool is_of_single_letters(const model::Definition& definition) const {
    return output_->format().may_carry != nullptr && !input_.written_by_sluice() &&
           definition.type == string_type(1) && definition.shape.rank() != 0;
  }

  std::string compression_of(const model::Definition& definition) const {
    if (wanted_.compress) {
      const bool is_worth = definition.bytes_per_step() >= layout::worth_encoding_bytes;
      return is_worth ? layout::compress_for(definition.type, *wanted_.compress) : "none";
    }
    if (!output_->format().compress) {
      return "none";
    }
    // What was rounded stays as it is: a second time might give other values.
    const std::string kept =
        codec::text_for_copy(codec::parse_compression(definition.compress).compressor);
    return kept.empty() ? "none" : kept;
  }

  /// Can a format for any variables hold this one? Otherwise it is listed.
  bool is_holdable(model::Definition definition) {
    const layout::Format& format = output_->format();
    const bool is_free = model::is_name(definition.name) && !model::is_reserved(definition.name);
    if ((!format.many || format.has_grammar) && is_free) {
      return true;  // what it can hold depends on all variables together
    }
    definition.dimensions.clear();
    try {
      model::check_name(definition.name);
      model::check_not_reserved(definition.name);
      layout::check_definition(format, definition);
      return true;
    } catch (const Error& e) {
      if (e.code() != Code::unsupported && e.code() != Code::bad_name) {
        throw;
      }
      refusal_ = refusal_ ? refusal_ : e;
      left_out_.push_back(definition.name + " (" + e.what() + ")");
      return false;
    }
  }

  void put_attributes() {
    RoundedAgain rounded(output_->definitions());
    const bool has_times = has_attributes_of_times(input_);
    for (model::Attribute attribute : chosen_.attributes(input_)) {
      const auto owner =
          std::find_if(input_.variables().begin(), input_.variables().end(),
                       [&](const auto& v) { return v.definition.name == attribute.owner; });
      attribute.owner = stored_name(attribute.owner);
      if (const std::string* text = model::text_of(attribute.value); is_to_others_ && text) {
        attribute.value = std::string(*text);  // netCDF does not tell a text from a list of one
      }
      const auto& change = output_->format().change;
      if (std::string said = change != nullptr ? change(attribute) : ""; !said.empty()) {
        changes_.push_back(std::move(said));
        continue;
      }
      const bool is_variable = owner != input_.variables().end();
      const bool is_of_time = attribute.owner == layout::time_name;
      const bool has_no_place = !is_planned(attribute.owner) && !(is_of_time && has_times);
      const bool is_carried = carries_ && !attribute.owner.empty() && has_no_place;
      const bool has_no_owner = !carries_ && is_variable && has_no_place;
      const auto& writes = output_->format().writes_attribute;
      const bool is_of_writer = writes != nullptr && writes(attribute);
      const auto& written = output_->definitions();
      const bool is_of_definition =
          is_variable && (rounded.takes(attribute) ||
                          std::any_of(written.begin(), written.end(), [&](const auto& d) {
                            return model::says_fill(attribute, d);
                          }));
      if (is_of_definition || is_carried || has_no_owner || is_of_writer) {
        continue;
      }
      if (chosen_.loses(input_, attribute) && !is_planned(attribute.owner)) {
        leave_out(attribute, "one step alone has no times");
        continue;
      }
      try {
        model::check_name(attribute.name);
        model::check_not_reserved(attribute.owner);
        layout::check_attribute(output_->format(), attribute);
        if (is_of_time && !has_times) {
          check_group_time(output_->format(), written);
        }
      } catch (const Error& e) {
        if (!carries_) {
          leave_out(attribute, e.what());
        }
        continue;
      }
      output_->set_attribute(attribute);
    }
    for (const model::Attribute& attribute : rounded.attributes(output_->format())) {
      output_->set_attribute(attribute);
    }
  }

  void leave_out(const model::Attribute& attribute, const std::string& why) {
    left_out_.push_back(attribute_left_out(attribute, why));
  }

  /// Of a variable in the new file: what is copied beside it refers to its name in the old one.
  const std::string& stored_name(const std::string& name) const {
    return carries_ ? names_.stored(name) : name;
  }

  /// By its name in the new file.
  bool is_planned(const std::string& name) const {
    return std::any_of(planned_.begin(), planned_.end(),
                       [&](const Planned& p) { return stored_name(definition(p).name) == name; });
  }

  /// The same on every rank: the most of a variable that any rank holds.
  std::uint64_t share_bytes(const Planned& planned, std::uint64_t step) const {
    const model::Definition& d = definition(planned);
    const Dims shape = input_.shape_or_most(planned.input, step);
    const auto ranks = static_cast<std::uint64_t>(transport_.size());
    const std::uint64_t rows = shape.rank() == 0 ? 1 : shape[0];
    const std::uint64_t row_bytes = rows == 0 ? 0 : shape.volume() / rows * d.type.bytes;
    return (rows + ranks - 1) / ranks * row_bytes;
  }

  void put(const Planned& planned, std::uint64_t step) {
    const model::Definition& d = definition(planned);
    const Dims shape = input_.shape_or_most(planned.input, step);
    const model::Box box = exec::owned_box(shape, transport_.rank(), transport_.size());
    const bool has_part = !box.empty() && (shape.rank() != 0 || transport_.rank() == 0);
    const std::uint64_t share = share_bytes(planned, step);
    model::Block block;
    block.variable = planned.output;
    block.box = box;
    block.memory.type = d.type;
    const bool is_held = held_bytes_ + share <= wanted_.options.budget_bytes;
    if (is_held) {
      held_bytes_ += share;
      std::vector<std::byte>& bytes = held_.emplace_back(box.volume() * d.type.bytes);
      input_.get(dense_request(planned.input, step, box, bytes.data(), d.type));
      const Dims zeros = Dims::filled(box.count.rank(), 0);
      block.memory = {bytes.data(), d.type, box.count, zeros};
    }
    // A failure of this rank alone: it still takes part in the commit, which fails with it.
    output_->fail(exec::failure_of([&] {
      if (has_part && !is_held) {  // each rank reads it for itself, when the writer needs it
        sources_.push_back(std::make_unique<FileSource>(own_input(), planned.input, step));
        block.source = sources_.back().get();
      }
      if (has_part) {
        output_->put(block);
      }
    }));
    if (output_->format().described_at_close) {
      output_->set_parts(planned.output, parts_of(transport_, input_, planned.input, step));
    }
    done_bytes_ += shape.volume() * d.type.bytes;
    if (progress_) {
      progress_(done_bytes_, total_bytes_);
    }
  }

  Input& own_input() {
    if (!own_input_) {
      Options options;
      options.budget_bytes = wanted_.options.budget_bytes;
      own_input_ = std::make_unique<Input>(*alone_, *own_storage_, input_.path(), options);
      own_input_->keep_order_of(input_);
    }
    return *own_input_;
  }

  void release() {
    held_.clear();
    sources_.clear();
    held_bytes_ = 0;
  }

  void put_fixed() {
    for (const Planned& planned : planned_) {
      const bool is_stepped = definition(planned).stepped;
      if (is_stepped && !chosen_.is_one()) {
        continue;
      }
      const std::uint64_t step = is_stepped ? chosen_.first() : 0;
      if (held_bytes_ != 0 &&
          held_bytes_ + share_bytes(planned, step) > wanted_.options.budget_bytes) {
        output_->flush();
        release();
      }
      put(planned, step);
    }
    if (chosen_.steps() == 0) {
      return;  // released by the close
    }
    output_->flush();
    release();
  }

  void put_step(std::uint64_t new_step) {
    const std::uint64_t step = chosen_.source(new_step);
    output_->begin_step(time_in_copy(input_.time(step), output_->format(), left_out_));
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
    release();
  }

  /// Can objects other than variables be copied? And which variables are further names of others?
  /// Determined on rank 0, for all.
  layout::Format::Carry carry_of(exec::Transport& transport) {
    auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
      layout::Catalog& catalog = input_.catalog();
      const layout::Format& old_format = layout::format_named(catalog.format()).reader();
      const layout::Format& format = output_->format();
      const bool is_alike = &format.reader() == &old_format;
      out.put(is_alike && format.carry != nullptr && SourceNames::are_valid(catalog) &&
              (format.may_carry == nullptr || format.may_carry(catalog)));
      if (is_alike) {
        growing_ = catalog.growing();
      }
      out.put(!is_alike && !catalog.ours() && catalog.title() == "netCDF-4");
      SourceNames::put(catalog, out);
    });
    carries_ = in.get<bool>();
    is_to_others_ = in.get<bool>();
    names_ = SourceNames(in);
    return carries_ ? output_->format().carry : nullptr;
  }

  void finish() {
    exec::on_root(transport_, [&] {
      if (carry_ != nullptr) {
        std::vector<std::string> written;
        for (const Planned& planned : planned_) {
          written.push_back(stored_name(definition(planned).name));
        }
        const Committed old = open_committed(storage_, input_.path(), [](storage::File&) {});
        const auto file = storage_.open(target_.building(), storage::Access::read_write);
        left_out_ = carry_(*old.file, *file, written);
        file->sync();
        note_changes(carried_unread(unread_, left_out_));
      } else if (chosen_variables_.is_all()) {
        for (std::string& one : unreadable_of(input_.catalog())) {
          left_out_.push_back(std::move(one));
        }
      }
      std::vector<model::Definition> written;
      for (const Planned& planned : planned_) {
        written.push_back(definition(planned));
      }
      note_changes(no_longer_growing(growing_, written));
      if (!chosen_.is_one()) {
        note_changes(std::vector<std::string>(input_.catalog().lacking()));
      }
      target_.take_name();
    });
  }

  void note_changes(std::vector<std::string>&& changes) {
    std::move(changes.begin(), changes.end(), std::back_inserter(changes_));
  }

  /// A step that is cut into tiles has an index of all possible tiles.
  static constexpr std::uint64_t most_step_bytes = 1ULL << 40;

  exec::Transport& transport_;
  storage::Storage& storage_;
  const Conversion& wanted_;
  std::unique_ptr<exec::Transport> alone_;
  std::unique_ptr<storage::Storage> own_storage_;
  Input input_;
  std::unique_ptr<Input> own_input_;  ///< this rank's, if something is too large to be held
  NewFile& target_;
  std::unique_ptr<Output> output_;
  layout::Format::Carry carry_ = nullptr;
  bool carries_ = false;
  bool is_to_others_ = false;  ///< from netCDF by another program to another format
  SourceNames names_;
  const Unread& unread_;
  const CopyProgress& progress_;
  std::vector<Planned> planned_;
  std::vector<std::string> unnamed_;
  std::vector<std::string> changes_;
  std::vector<layout::Growing> growing_;  ///< on rank 0: what no longer can in the new file
  std::vector<std::string> left_out_;
  std::optional<Error> refusal_;             ///< of the first variable that the format cannot hold
  std::deque<std::vector<std::byte>> held_;  ///< until the next commit
  std::vector<std::unique_ptr<FileSource>> sources_;  ///< the same
  const StepChoice chosen_;
  const VariableChoice chosen_variables_;
  std::uint64_t held_bytes_ = 0;  ///< at most, on any rank
  std::uint64_t total_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

Converted convert_once(exec::Transport& transport, storage::Storage& storage,
                       const Conversion& wanted, const Unread& unread,
                       const CopyProgress& progress) {
  NewFile target(transport, storage, wanted.to, wanted.options);
  try {
    return Converter(transport, storage, wanted, target, unread, progress).run();
  } catch (const Error& e) {
    throw target.named(e, wanted.to);
  }
}

}  // namespace

Converted convert(exec::Transport& transport, storage::Storage& storage, const Conversion& wanted,
                  const CopyProgress& progress) {
  Unread unread;
  try {
    return convert_once(transport, storage, wanted, unread, progress);
  } catch (const Error& e) {
    if (!may_be_of_variable(e.code())) {
      throw;
    }
    unread = find_unread(transport, storage, wanted.from);
    if (unread.empty()) {
      throw;
    }
  }
  return convert_once(transport, storage, wanted, unread, progress);
}

}  // namespace sluice::commit
