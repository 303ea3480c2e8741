#include "commit/output/description.hpp"

#include <algorithm>
#include <cmath>

#include "codec/checksum.hpp"
#include "layout/lengths.hpp"
#include "layout/rounding.hpp"
#include "layout/times.hpp"
#include "model/bytes.hpp"
#include "model/fill.hpp"
#include "model/kernels.hpp"
#include "model/name.hpp"
#include "model/numbering.hpp"
#include "model/reserved_name.hpp"

namespace sluice::commit {

void Description::adopt(const std::vector<model::Definition>& known, const layout::Format& format,
                        bool has_times) {
  format_ = &format;
  const bool is_among = std::ranges::any_of(known, [](const model::Definition& d) {
    return d.along_steps && d.name == layout::time_name;
  });
  time_variable_ = has_times || is_among ? TimeVariable::own : TimeVariable::none;
  is_nameless_ = !format.names && !known.empty();
  definitions_ = known;
  old_count_ = known.size();
  checked_.emplace(format);
  for (const model::Definition& definition : known) {
    checked_->add(definition);
  }
  checked_->settle();
  for (std::uint32_t v = 0; v < known.size() && !is_nameless_; ++v) {
    names_.add(known[v].name, v);
  }
  reset_rows();
}

namespace {

void check_chunk(const model::Definition& d) {
  const std::string what = "define " + d.name + ": chunk " + d.chunk.text();
  if (d.chunk.rank() != d.shape.rank()) {
    throw Error(Code::invalid_argument,
                what + " and shape " + d.shape.text() + " differ in the number of dimensions");
  }
  if (d.chunk.volume() == 0) {
    throw Error(Code::invalid_argument, what + " has a zero: every side is at least 1");
  }
  if (!d.stepped && !layout::is_encoded(d)) {
    throw Error(Code::invalid_argument,
                what +
                    ": only variables with steps or with compression have chunks, and this one "
                    "is stored as one block: leave the chunk out, or compress it");
  }
  if (model::checked_product(d.chunk.volume(), d.type.bytes, "chunk") >= (4ULL << 30)) {
    throw Error(Code::invalid_argument, "define " + d.name + ": chunks must be below 4 GiB");
  }
}

void check_definition(const model::Definition& d) {
  model::check_name(d.name);
  model::check_not_reserved(d.name);
  if (d.shape.rank() + (d.stepped ? 1 : 0) > model::max_rank) {
    throw Error(Code::invalid_argument, "define " + d.name + ": more than " +
                                            std::to_string(model::max_rank - 1) +
                                            " dimensions besides the step");
  }
  if (d.type.bytes == 0) {
    throw Error(Code::invalid_argument, "define " + d.name + ": elements of 0 bytes");
  }
  try {
    d.bytes_per_step();
  } catch (const Error& e) {
    throw Error(e.code(), "define " + d.name + ": " + e.what());
  }
  if (!d.dimensions.empty() && d.dimensions.size() != static_cast<std::size_t>(d.shape.rank())) {
    throw Error(Code::invalid_argument, "define " + d.name + ": " +
                                            std::to_string(d.dimensions.size()) +
                                            " dimension names for shape " + d.shape.text());
  }
  for (const std::string& dimension : d.dimensions) {
    try {
      model::check_name(dimension);
    } catch (const Error& e) {
      throw Error(e.code(), "define " + d.name + ": dimension: " + e.what());
    }
  }
  try {
    layout::rounding_of(d);
  } catch (const Error& e) {
    throw Error(e.code(), "define " + d.name + ": " + e.what());
  }
  if (!d.fill.empty() && d.fill.size() != d.type.bytes) {
    throw Error(Code::internal, "define " + d.name + ": a fill value of " +
                                    std::to_string(d.fill.size()) + " bytes");
  }
  if (d.varying && (!d.stepped || d.shape.empty())) {
    throw Error(Code::invalid_argument,
                "define " + d.name + ": varying needs steps and at least one dimension");
  }
  if (!d.chunk.empty()) {
    check_chunk(d);
  }
}

std::string fill_text(const model::Definition& d) {
  if (!d.has_fill()) {
    return "without fill";
  }
  return "with fill " + (d.fill.empty() ? "zero" : model::value_text(d.fill.data(), d.type));
}

/// Of definitions and of attributes: where one rank has the one, another one has the other.
constexpr const char* alike_advice =
    "every rank defines the same variables and sets the same attributes, in the same order (in "
    "Python a put of a new name defines it, also one of 0 elements)";

exec::Said said_of(const model::Definition& d) {
  std::string dimensions;
  for (const std::string& name : d.dimensions) {
    dimensions += (dimensions.empty() ? "" : ", ") + name;
  }
  return {"defined " + d.name,
          {"with shape " + d.shape.text(), "as " + type_name(d.type),
           d.stepped ? "with steps" : "without steps", d.partial ? "as partial" : "as not partial",
           fill_text(d), "with dimensions (" + dimensions + ")", "with chunk " + d.chunk.text(),
           d.varying ? "as varying" : "as not varying",
           d.compress.empty() ? "without compress" : "with compress " + d.compress},
          alike_advice};
}

/// What `again` says of the variable `known`, whose own is taken where `again` leaves it open.
/// `is_old`: of an appended file, which keeps its chunk and its filters, and of which it is not
/// known whether a fill value was asked for (netCDF writes one always), nor what it does not hold.
model::Definition completed(const model::Definition& again, const model::Definition& known,
                            bool is_old, bool gives_compress) {
  if (again.type != known.type) {
    return again;  // and its fill value has another size
  }
  model::Definition said = again;
  if (said.dimensions.empty() || (is_old && known.dimensions.empty())) {
    said.dimensions = known.dimensions;
  }
  if (said.chunk.empty() || is_old) {
    said.chunk = known.chunk;
  }
  if (is_old && !said.has_fill()) {
    said.partial = known.partial;
    said.gives_fill = known.gives_fill;
    said.fill = known.fill;
  }
  const auto rounding = [](const model::Definition& d) {
    const auto found = layout::rounding_of(d);
    return found ? found->text() : std::string();
  };
  const bool keeps = is_old && (known.compress.empty() || rounding(said) == rounding(known));
  if (said.compress.empty() || !gives_compress || keeps) {
    said.compress = known.compress;
  }
  return said;
}

/// As one text for each that means the same.
exec::Said plainly(model::Definition definition) {
  definition.fill = model::fill_element(definition.fill);
  if (definition.compress == "none") {
    definition.compress.clear();
  }
  return said_of(definition);
}

/// Error exists with the first difference.
void require_same(const model::Definition& known, const model::Definition& again) {
  const exec::Said was = plainly(known);
  const exec::Said is = plainly(again);
  for (std::size_t i = 0; i < was.how.size(); ++i) {
    if (was.how[i] != is.how[i]) {
      throw Error(Code::exists, "define " + again.name + ": exists already " + was.how[i] +
                                    "; now it is defined " + is.how[i] +
                                    ": define it alike, or choose another name");
    }
  }
}

}  // namespace

/// The variable of an appended file, or of an earlier call, that matches `definition`.
std::optional<std::uint32_t> Description::find_same(const model::Definition& definition,
                                                    bool gives_compress) {
  const auto index = is_nameless_ ? std::optional<std::uint32_t>(0) : names_.find(definition.name);
  if (!index) {
    return std::nullopt;
  }
  const bool is_old = *index < old_count_;
  model::Definition same = definitions_[*index];
  if (is_nameless_ && same.type == definition.type) {
    same.name = definition.name;
  }
  const bool is_kept = !is_nameless_ && !(is_old && format_->has_grammar);
  if (!is_kept && same.type == definition.type) {
    same.partial = definition.partial;  // the caller provides what the format does not keep
    same.gives_fill = definition.gives_fill;
    same.fill = definition.fill;
  }
  if (is_old && definition.gives_fill && same.partial && same.fill == definition.fill) {
    same.partial = false;  // this program leaves no holes
    same.gives_fill = true;
  }
  require_same(same, completed(definition, same, is_old, gives_compress));
  exec::Said said = said_of(same);
  if (is_old && same.compress.empty() && !definition.compress.empty()) {
    same.compress = definition.compress;  // which an index of an earlier version has not
    said = {"gave " + same.name + " of the existing file compress " + same.compress, {}};
  }
  if (is_nameless_) {
    is_nameless_ = false;
    names_.add(same.name, *index);
  }
  if (same != definitions_[*index]) {
    definitions_[*index] = same;
    note(same, said);
  }
  return index;
}

namespace {

/// The companion of a varying variable; nothing of another one.
std::optional<model::Definition> lengths_of(const model::Definition& definition,
                                            const layout::Format& format) {
  if (!definition.varying || !format.length_variable) {
    return std::nullopt;
  }
  model::Definition lengths;
  lengths.name = layout::length_name(definition.name);
  lengths.type = type_of<std::uint64_t>();
  lengths.stepped = true;
  return lengths;
}

}  // namespace

std::uint32_t Description::define(const model::Definition& asked,
                                  const Accept<model::Definition>& accept,
                                  const std::string& default_compress) {
  model::Definition definition = asked;
  definition.along_steps = false;  // in the file that it was read from
  const std::optional<std::uint32_t> known = check(definition, default_compress);
  // Checked before either is added: the one without the other cannot be read.
  std::optional<model::Definition> lengths = lengths_of(definition, *format_);
  const bool adds_lengths = lengths && !check(*lengths, {});
  const std::uint32_t index = known ? *known : add(definition, accept);
  if (adds_lengths) {
    add(*lengths, accept);
  }
  return index;
}

namespace {

exec::Said said_of(const model::Attribute& attribute) {
  static constexpr const char* kinds[] = {"as bool",
                                          "as int32",
                                          "as int64",
                                          "as float32",
                                          "as float64",
                                          "as a text",
                                          "as a list of int32",
                                          "as a list of int64",
                                          "as a list of float32",
                                          "as a list of float64",
                                          "as a list of texts",
                                          "as int8",
                                          "as int16",
                                          "as uint8",
                                          "as uint16",
                                          "as a list of int8",
                                          "as a list of int16",
                                          "as a list of uint8",
                                          "as a list of uint16"};
  static_assert(std::size(kinds) == std::variant_size_v<model::AttributeValue>);
  return {"set the attribute " + attribute.name +
              (attribute.owner.empty() ? "" : " of " + attribute.owner),
          {kinds[attribute.value.index()]},
          alike_advice};
}

}  // namespace

std::optional<std::uint32_t> Description::check(model::Definition& definition,
                                                const std::string& default_compress) {
  const bool gives_compress = !definition.compress.empty();
  if (!gives_compress && !default_compress.empty() &&
      definition.bytes_per_step() >= layout::worth_encoding_bytes) {
    definition.compress = layout::compress_for(definition.type, default_compress);
  }
  check_definition(definition);
  if (const auto index = find_same(definition, gives_compress)) {
    return index;
  }
  refuse_own_time(definition.name);
  checked_->check(definition);
  layout::settle_tile(*format_, definition);
  names_.check_path(definition.name);
  return std::nullopt;
}

std::uint32_t Description::add(const model::Definition& definition,
                               const Accept<model::Definition>& accept) {
  accept(definition);
  note(definition, said_of(definition));
  const auto index = static_cast<std::uint32_t>(definitions_.size());
  definitions_.push_back(definition);
  checked_->add(definition);
  names_.add(definition.name, index);
  row_counts_.resize(definitions_.size());
  row_counts_.back() = definition.shape.empty() ? 0 : definition.shape[0];
  row_states_.resize(definitions_.size(), RowState::open);
  return index;
}

void Description::settle(std::optional<double> time) {
  said_.clear();
  checked_->settle();
  if (format_->time_variable && time_variable_ == TimeVariable::none && time &&
      !std::isnan(*time)) {
    time_variable_ =
        layout::is_time_taken(definitions_) ? TimeVariable::callers : TimeVariable::own;
  }
}

void Description::refuse_own_time(const std::string& name) const {
  if (time_variable_ == TimeVariable::own && layout::takes_time(name)) {
    throw Error(Code::exists, "define " + name +
                                  ": since its first step with a time the file has a variable "
                                  "time, which holds the times of the steps: give this one another "
                                  "name, or in a new file define it before that step");
  }
}

/// It must be the same on all ranks.
void Description::note(const model::Definition& definition, const exec::Said& said) {
  model::ByteWriter digest;
  digest.put(digest_);
  definition.write_to(digest);
  digest_ = codec::checksum(digest.take());
  said_.push_back(said);
}

void Description::set_attribute(const model::Attribute& attribute,
                                const Accept<model::Attribute>& accept) {
  model::check_name(attribute.name);
  if (!attribute.owner.empty()) {
    model::check_name(attribute.owner);
    model::check_not_reserved(attribute.owner);
  }
  layout::check_attribute(*format_, attribute);
  accept(attribute);
  model::ByteWriter digest;
  digest.put(digest_);
  digest.put(attribute.owner);
  digest.put(attribute.name);
  digest.put(attribute.value.index());
  digest_ = codec::checksum(digest.take());
  said_.push_back(said_of(attribute));
}

const model::Definition& Description::require(std::uint32_t variable, bool in_step) const {
  if (variable >= definitions_.size()) {
    throw Error(Code::invalid_argument, "put: this variable was not defined in this file");
  }
  if (definitions_[variable].stepped && !in_step) {
    throw Error(Code::wrong_state, "put " + definitions_[variable].name +
                                       ": has steps: put it between begin_step and end");
  }
  return definitions_[variable];
}

void Description::reset_rows() {
  row_counts_.clear();
  row_states_.assign(definitions_.size(), RowState::open);
  for (const model::Definition& d : definitions_) {
    row_counts_.push_back(d.shape.empty() ? 0 : d.shape[0]);
  }
}

void Description::resize(std::uint32_t variable, std::uint64_t rows) {
  const model::Definition& d = definitions_[variable];
  if (!d.varying) {
    throw Error(
        Code::invalid_argument,
        "resize " + d.name + ": its steps have a fixed number of rows: define it as varying");
  }
  if (rows > d.shape[0]) {
    throw Error(Code::out_of_bounds, "resize " + d.name + ": " + std::to_string(rows) +
                                         " rows, but the shape " + d.shape.text() +
                                         " is the most that a step may have");
  }
  if (row_states_[variable] > RowState::resized) {
    throw Error(Code::wrong_state, "resize " + d.name + ": call it before the first put");
  }
  row_counts_[variable] = rows;
  row_states_[variable] = RowState::resized;
}

void Description::settle_rows(std::uint32_t variable) {
  row_states_[variable] = std::max(row_states_[variable], RowState::put);
}

void Description::expect_joined(std::uint32_t variable) {
  const model::Definition& d = definitions_[variable];
  if (!d.varying) {
    throw Error(
        Code::invalid_argument,
        "put_joined " + d.name + ": its steps have a fixed number of rows: define it as varying");
  }
  if (row_states_[variable] == RowState::resized || row_states_[variable] == RowState::put) {
    throw Error(Code::wrong_state, "put_joined " + d.name +
                                       ": after resize or put of this step: its rows are either "
                                       "joined or placed by the caller");
  }
  row_states_[variable] = RowState::joined;
}

void Description::join(std::uint32_t variable, std::uint64_t rows) {
  const model::Definition& d = definitions_[variable];
  if (rows > d.shape[0]) {
    throw Error(Code::out_of_bounds, "put_joined " + d.name + ": the ranks put " +
                                         std::to_string(rows) + " rows together, but the shape " +
                                         d.shape.text() +
                                         " is the most that a step may have: define it with more");
  }
  row_counts_[variable] = rows;
}

model::Dims Description::shape_of(std::uint32_t variable) const {
  const model::Definition& d = definitions_[variable];
  return d.varying ? d.shape_of(row_counts_[variable]) : d.shape;
}

model::Definition Description::step_definition(std::uint32_t variable) const {
  model::Definition definition = definitions_[variable];
  definition.shape = shape_of(variable);
  return definition;
}

std::uint64_t Description::digest() const {
  model::ByteWriter out;
  out.put(digest_);
  out.put(row_counts_);
  return codec::checksum(out.take());
}

std::vector<exec::Said> Description::said(bool in_step) const {
  std::vector<exec::Said> all = said_;
  for (std::size_t v = 0; v < definitions_.size() && in_step; ++v) {
    if (definitions_[v].varying) {
      all.push_back({"gave " + definitions_[v].name, {std::to_string(row_counts_[v]) + " rows"}});
    }
  }
  return all;
}

}  // namespace sluice::commit
