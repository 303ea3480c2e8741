#include "commit/output/puts.hpp"

#include <algorithm>
#include <map>

#include "codec/checksum.hpp"
#include "exec/check/check.hpp"
#include "exec/device_memory.hpp"
#include "layout/lengths.hpp"
#include "model/bytes.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using model::Dims;

namespace {

// How many values the ranks tell each other: the same on ranks that know the same variables.
std::size_t flag_values(const Description& description, bool has_copies) {
  return (has_copies ? 6 : 3) * description.definitions().size();
}
std::size_t joined_values(const Description& description, bool any_join, int ranks) {
  return any_join ? JoinedPuts::told_values(description, ranks) : 0;
}

/// As model::check_block, without composing the text of an error.
bool fits(const model::Box& box, const Dims& shape) noexcept {
  if (box.start.rank() != shape.rank() || box.count.rank() != shape.rank()) {
    return false;
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (box.start[d] > shape[d] || box.count[d] > shape[d] - box.start[d]) {
      return false;
    }
  }
  return true;
}

void check_convertible(const model::Definition& d, const Type& memory) {
  if (!model::convertible(memory, d.type)) {
    throw Error(Code::type_mismatch, "put " + d.name + ": memory of " + type_name(memory) +
                                         " cannot be stored as " + type_name(d.type));
  }
}

}  // namespace

Puts::Puts(exec::Transport& transport, std::uint64_t budget_bytes)
    : transport_(transport),
      budget_bytes_(budget_bytes),
      small_(budget_bytes),
      copies_(budget_bytes),
      scatter_(transport) {}

void Puts::add(const model::Block& block, const model::Definition& d, const Dims& shape,
               bool must_copy) {
  check_convertible(d, block.memory.type);
  if (!fits(block.box, shape)) {
    model::check_block(shape, block.box, "put " + d.name);
  }
  if (block.source != nullptr) {
    if (!block.box.empty()) {
      blocks_.push_back(block);
    }
    return;
  }
  const model::Box in_memory{block.memory.start, block.box.count};
  if (!fits(in_memory, block.memory.shape)) {
    model::check_block(block.memory.shape, in_memory, "put " + d.name + " (memory)");
  }
  if (block.box.empty()) {
    return;
  }
  if (block.memory.data == nullptr) {
    throw Error(Code::invalid_argument, "put " + d.name + ": null pointer");
  }
  exec::refuse_device_memory(block.memory.data, [&] { return "put " + d.name; });
  const bool is_small = block.box.volume() * block.memory.type.bytes <= SmallPuts::small_bytes &&
                        block.memory.shape == block.box.count;
  if ((is_small || must_copy) && small_.add(block, shape, blocks_)) {
    return;
  }
  if (must_copy) {
    throw Error(Code::over_budget,
                "put " + d.name + ": the copies of small parts exceed the budget of " +
                    std::to_string(budget_bytes_) + " bytes: raise budget_bytes, or put arrays");
  }
  blocks_.push_back(block);
}

void Puts::add(const exec::Rows& rows, const model::Definition& d) {
  check_convertible(d, rows.type);
  if (d.shape.empty()) {
    throw Error(Code::invalid_argument, "put_rows " + d.name + ": a scalar has no rows");
  }
  if (!rows.ids.empty() && (rows.ids.data() == nullptr || rows.data == nullptr)) {
    throw Error(Code::invalid_argument, "put_rows " + d.name + ": null pointer");
  }
  for (const void* pointer :
       {static_cast<const void*>(rows.ids.data()), static_cast<const void*>(rows.data)}) {
    exec::refuse_device_memory(rows.ids.empty() ? nullptr : pointer,
                               [&] { return "put_rows " + d.name; });
  }
  rows_.push_back(rows);
}

void Puts::add(const JoinedRows& rows, const model::Definition& d) {
  check_convertible(d, rows.type);
  if (rows.rows > d.shape[0]) {
    throw Error(Code::out_of_bounds, "put_joined " + d.name + ": " + std::to_string(rows.rows) +
                                         " rows, but the shape " + d.shape.text() +
                                         " is the most that a step may have");
  }
  const bool has_data = rows.rows != 0 && d.shape.volume() != 0;
  if (has_data && rows.data == nullptr) {
    throw Error(Code::invalid_argument, "put_joined " + d.name + ": null pointer");
  }
  exec::refuse_device_memory(has_data ? rows.data : nullptr,
                             [&] { return "put_joined " + d.name; });
  joined_.add(rows);
}

void Puts::add_lengths(const Description& description) {
  if (!description.format().length_variable || transport_.rank() != 0) {
    return;
  }
  const std::vector<model::Definition>& definitions = description.definitions();
  for (std::uint32_t v = 0; v < definitions.size(); ++v) {
    if (!definitions[v].varying) {
      continue;
    }
    if (const auto lengths = description.find(layout::length_name(definitions[v].name))) {
      const auto* data = reinterpret_cast<const std::byte*>(&description.row_counts()[v]);
      blocks_.push_back({*lengths, {}, {data, type_of<std::uint64_t>(), {}, {}}, false});
    }
  }
}

std::uint64_t Puts::bytes(const std::vector<model::Definition>& definitions) const {
  std::uint64_t bytes = 0;
  for (const model::Block& block : blocks_) {
    bytes += block.box.volume() * definitions[block.variable].type.bytes;
  }
  return bytes;
}

void Puts::begin_step() {
  small_.finish(blocks_);
  earlier_ = {blocks_.size(), rows_.size()};
}

void Puts::drop_step() noexcept {
  small_.drop_open();
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(earlier_.blocks), blocks_.end());
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(earlier_.rows), rows_.end());
  joined_.forget();
  scatter_.done(true);
}

void Puts::copy_earlier(const std::vector<model::Definition>& definitions) {
  copies_.add(std::span(blocks_).subspan(copied_.blocks), std::span(rows_).subspan(copied_.rows),
              definitions);
  copied_ = {blocks_.size(), rows_.size()};
  small_.forget();
}

void Puts::drop_copies(std::uint32_t variable) {
  const auto is_of = [&](const auto& one) { return one.variable == variable; };
  const auto drop = [&](auto& list, std::size_t& copied, std::size_t& earlier) {
    const auto end = list.begin() + static_cast<std::ptrdiff_t>(copied);
    const auto left = std::remove_if(list.begin(), end, is_of);
    const auto dropped = static_cast<std::size_t>(end - left);
    list.erase(left, end);
    copied -= dropped;
    earlier -= dropped;
  };
  drop(blocks_, copied_.blocks, earlier_.blocks);
  drop(rows_, copied_.rows, earlier_.rows);
}

void Puts::forget(bool keeps_memory) noexcept {
  blocks_.clear();
  small_.forget();
  rows_.clear();
  earlier_ = {};
  copied_ = {};
  copies_.forget();
  has_copies_ = false;
  joined_.forget();
  scatter_.done(keeps_memory);
}

/// A number for where this rank's blocks are, and which variables it has put by rows: the owned
/// rows follow from their number.
std::uint64_t Puts::signature_of(const Description& description) const {
  model::ByteWriter out;
  out.put(description.definitions().size());
  for (const model::Block& block : blocks_) {
    out.put(block.variable);
    out.put(block.box);
  }
  out.put(blocks_.size());
  for (const exec::Rows& rows : rows_) {
    out.put(rows.variable);
  }
  joined_.sign(out);
  out.put(description.row_counts());
  return codec::checksum(out.take()) | 1;  // never 0, which means that nothing was agreed on
}

bool Puts::differ(const Description& description) {
  present_signature_ = signature_of(description);
  return present_signature_ != signature_;
}

/// Flags of what is put now, then of what was put before a step that failed, then joined rows.
void Puts::tell_all(const Description& description, bool any_join,
                    std::span<std::int64_t> told) const {
  const std::size_t variables = description.definitions().size();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    told[3 * ((i < copied_.blocks ? variables : 0) + blocks_[i].variable)] = 1;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    told[3 * ((i < copied_.rows ? variables : 0) + rows_[i].variable) + 1] = 1;
  }
  for (const JoinedRows& rows : joined_.calls()) {
    told[3 * rows.variable + 2] = 1;
  }
  if (any_join) {
    joined_.tell(description, transport_.rank(), transport_.size(),
                 told.subspan(flag_values(description, has_copies_)));
  }
}

void Puts::tell(const Description& description, std::span<std::int64_t> told) const {
  const std::size_t values =
      flag_values(description, has_copies_) + joined_values(description, join(), transport_.size());
  if (values <= told.size()) {
    tell_all(description, join(), told);
  }
}

void Puts::agree(const Description& description, bool any_join,
                 std::span<const std::int64_t> told) {
  const std::size_t count = description.definitions().size();
  touched_.assign(count, {});
  std::vector<std::int64_t> flags(told.begin(), told.end());
  const std::size_t joined = flag_values(description, has_copies_);
  const std::size_t values = joined + joined_values(description, any_join, transport_.size());
  if (values > told.size()) {
    flags.assign(values, 0);
    tell_all(description, any_join, flags);
    transport_.allreduce(flags, exec::Op::max);
  }
  const auto touch = [&](std::size_t v) {
    return Touch{flags[3 * v] != 0, flags[3 * v + 1] != 0, flags[3 * v + 2] != 0};
  };
  for (std::size_t v = 0; v < count; ++v) {
    touched_[v] = touch(v);
    if (has_copies_ && touched_[v].any()) {
      drop_copies(static_cast<std::uint32_t>(v));
    } else if (has_copies_) {
      touched_[v] = touch(count + v);
    }
  }
  if (any_join) {
    joined_.learn(description, transport_.rank(), transport_.size(),
                  std::span(flags).subspan(joined));
  }
  signature_ = has_copies_ ? 0 : present_signature_;
  ++number_;
}

void check_presence(const std::vector<Touch>& touched, const Description& description,
                    std::optional<std::uint64_t> step) {
  for (std::uint32_t v = 0; v < touched.size(); ++v) {
    const model::Definition& d = description.definitions()[v];
    if (touched[v].blocks + touched[v].rows + touched[v].joined > 1) {
      throw Error(Code::invalid_argument,
                  "put " + d.name + ": " +
                      (touched[v].joined ? "joined rows and others" : "blocks and rows") +
                      " of one variable in one step: use one of them");
    }
    const bool is_missing = step && d.stepped && !d.partial && !touched[v].any() &&
                            description.shape_of(v).volume() != 0;
    if (is_missing) {
      throw Error(Code::hole, d.name + ": no rank put it in step " + model::number_text(*step) +
                                  (d.varying ? ": where there are no rows, one rank joins 0 of them"
                                             : ": put it or define it as partial"));
    }
  }
}

void add_empty(std::vector<Touch>& touched, const Description& description) {
  for (std::size_t v = 0; v < touched.size(); ++v) {
    Touch& touch = touched[v];
    const bool is_placed = touch.rows || touch.joined;
    touch.blocks = touch.blocks || (description.definitions()[v].varying && !is_placed);
  }
}

void Puts::place(const std::vector<Touch>& touched, Description& description, Check check) {
  place_joined(touched, description);
  scatter_rows(touched, description);
  check_coverage(touched, description, check);
}

void Puts::place_joined(const std::vector<Touch>& touched, Description& description) {
  std::vector<bool> joined(touched.size());
  std::transform(touched.begin(), touched.end(), joined.begin(),
                 [](const Touch& touch) { return touch.joined; });
  joined_.place(joined, description, blocks_);
}

void Puts::scatter_rows(const std::vector<Touch>& touched, const Description& description) {
  std::uint64_t held_bytes = 0;
  std::map<std::uint32_t, std::vector<exec::Rows>> by_variable;
  for (const exec::Rows& rows : rows_) {
    by_variable[rows.variable].push_back(rows);
  }
  for (std::uint32_t v = 0; v < touched.size(); ++v) {
    if (!touched[v].rows) {
      continue;
    }
    const std::vector<exec::Rows>& calls = by_variable[v];
    const std::uint64_t left = budget_bytes_ - std::min(budget_bytes_, held_bytes);
    const model::Definition definition = description.step_definition(v);
    const exec::OwnedRows owned = scatter_.scatter(definition, calls, left);
    held_bytes += owned.bytes.size();
    if (!owned.box.empty()) {
      const Dims zeros = Dims::filled(owned.box.start.rank(), 0);
      blocks_.push_back(
          {v, owned.box, {owned.bytes.data(), definition.type, owned.box.count, zeros}, false});
    }
  }
}

/// Unless these puts were checked before.
void Puts::check_coverage(const std::vector<Touch>& touched, const Description& description,
                          Check check) {
  if (check == Check::off || checked_number_ == number_) {
    return;
  }
  std::vector<exec::VariableShape> shapes;
  std::vector<std::uint32_t> position(touched.size(), 0);
  for (std::uint32_t v = 0; v < touched.size(); ++v) {
    if (touched[v].blocks) {
      const model::Definition& d = description.definitions()[v];
      position[v] = static_cast<std::uint32_t>(shapes.size());
      shapes.push_back({d.name, description.shape_of(v), d.partial});
    }
  }
  std::vector<exec::OwnBlock> own;
  for (const model::Block& block : blocks_) {
    if (touched[block.variable].blocks) {
      own.push_back({position[block.variable], block.box});
    }
  }
  if (check == Check::volume) {
    exec::check_volume(transport_, shapes, own);
  } else {
    exec::check_coverage(transport_, shapes, own);
  }
  checked_number_ = number_;
}

}  // namespace sluice::commit
