#include "commit/output/output.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "exec/device_memory.hpp"
#include "exec/transport/agree.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/kernels.hpp"
#include "model/name.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using model::Dims;

Output::Output(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const Options& options)
    : transport_(transport), storage_(storage), path_(path), options_(options) {}

void Output::adopt(const std::vector<model::Definition>& known, std::uint64_t steps, bool is_new,
                   const layout::Format& format) {
  format_ = &format;
  options_.durability = layout::durability_of(format, options_.durability);
  is_nameless_ = !format.names && !known.empty();
  definitions_ = known;
  for (std::uint32_t v = 0; v < known.size() && !is_nameless_; ++v) {
    names_.add(known[v].name, v);
  }
  steps_ = steps;
  has_news_ = is_new;
  goes_on_ = !is_new;
}

void Output::require_open() const {
  if (closed_) {
    throw Error(Code::wrong_state, path_ + ": is closed");
  }
  if (broken()) {
    throw Error(Code::wrong_state,
                path_ + ": an earlier commit failed half-way: reopen the file to go on");
  }
}

template <class Work>
void Output::local(Work&& work) {
  require_open();
  failed_together_ = false;
  try {
    work();
  } catch (const Error& e) {
    // As the other ranks will hear it at the next commit.
    const Error named(e.code(),
                      "rank " + std::to_string(transport_.rank()) + ": " + path_ + ": " + e.what(),
                      transport_.rank());
    fail(std::make_exception_ptr(named));
    throw Error(named);
  }
}

void Output::fail(const std::exception_ptr& failure) noexcept {
  if (!failure_) {
    failure_ = failure;
  }
}

bool Output::note_unended() noexcept {
  const bool is_first = !unended_;
  if (is_first) {
    unended_ = {steps_, transport_.rank()};
  }
  return is_first;
}

namespace {

void check_not_reserved(const std::string& name) {
  if (name == "sluice" || name.rfind("sluice/", 0) == 0) {
    throw Error(Code::bad_name, name + ": the group /sluice belongs to the library");
  }
}

void check_definition(const model::Definition& d) {
  model::check_name(d.name);
  check_not_reserved(d.name);
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
  if (!d.fill.empty() && d.fill.size() != d.type.bytes) {
    throw Error(Code::internal, "define " + d.name + ": a fill value of " +
                                    std::to_string(d.fill.size()) + " bytes");
  }
  if (d.varying && (!d.stepped || d.shape.empty())) {
    throw Error(Code::invalid_argument,
                "define " + d.name + ": varying needs steps and at least one dimension");
  }
  if (!d.chunk.empty()) {
    if (d.chunk.rank() != d.shape.rank() || (!d.stepped && !layout::is_encoded(d)) ||
        d.chunk.volume() == 0) {
      throw Error(Code::invalid_argument, "define " + d.name + ": chunk " + d.chunk.text() +
                                              " does not fit shape " + d.shape.text() +
                                              " (stepped or compressed variables only, no zeros)");
    }
    if (model::checked_product(d.chunk.volume(), d.type.bytes, "chunk") >= (4ULL << 30)) {
      throw Error(Code::invalid_argument, "define " + d.name + ": chunks must be below 4 GiB");
    }
  }
}

}  // namespace

std::uint32_t Output::define(const model::Definition& definition) {
  std::uint32_t index = 0;
  local([&] {
    index = add(definition);
    if (definition.varying && format_->length_variable) {
      model::Definition lengths;
      lengths.name = definition.name + layout::length_suffix;
      lengths.type = type_of<std::uint64_t>();
      lengths.stepped = true;
      add(lengths);
    }
  });
  return index;
}

/// The variable of an appended file, or of an earlier call, that `definition` means.
std::optional<std::uint32_t> Output::find_same(const model::Definition& definition) {
  const auto index = is_nameless_ ? std::optional<std::uint32_t>(0) : names_.find(definition.name);
  if (!index) {
    return std::nullopt;
  }
  model::Definition* same = &definitions_[*index];
  if (same->type != definition.type || same->shape != definition.shape ||
      same->stepped != definition.stepped || same->varying != definition.varying) {
    throw Error(Code::exists,
                "define " + definition.name + ": is there already with another type or shape");
  }
  if (same->compress.empty()) {
    same->compress = definition.compress;  // which an index does not keep
  }
  if (is_nameless_) {
    is_nameless_ = false;
    same->name = definition.name;  // what the format does not keep, the caller says
    names_.add(same->name, *index);
    same->partial = definition.partial;
    same->fill = definition.fill;
  }
  return index;
}

namespace {

exec::Said said_of(const model::Definition& d) {
  std::string dimensions;
  for (const std::string& name : d.dimensions) {
    dimensions += (dimensions.empty() ? "" : ", ") + name;
  }
  return {"defined " + d.name,
          {"with shape " + d.shape.text(), "as " + type_name(d.type),
           d.stepped ? "with steps" : "without steps", d.partial ? "as partial" : "as not partial",
           "with fill " + (d.fill.empty() ? "zero" : model::value_text(d.fill.data(), d.type)),
           "with dimensions (" + dimensions + ")", "with chunk " + d.chunk.text(),
           d.varying ? "as varying" : "as not varying",
           d.compress.empty() ? "without compress" : "with compress " + d.compress}};
}

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
                                          "as a list of texts"};
  static_assert(std::size(kinds) == std::variant_size_v<model::AttributeValue>);
  return {"set the attribute " + attribute.name +
              (attribute.owner.empty() ? "" : " of " + attribute.owner),
          {kinds[attribute.value.index()]}};
}

}  // namespace

std::uint32_t Output::add(const model::Definition& asked) {
  model::Definition definition = asked;
  if (definition.compress.empty() && !options_.compress.empty() &&
      definition.bytes_per_step() >= layout::worth_encoding_bytes) {
    definition.compress = options_.compress;
  }
  check_definition(definition);
  if (const auto index = find_same(definition)) {
    return *index;
  }
  layout::check_definition(*format_, definition, definitions_);
  layout::settle_tile(*format_, definition);
  names_.check_path(definition.name);
  model::ByteWriter digest;
  digest.put(description_digest_);
  definition.write_to(digest);
  description_digest_ = codec::checksum(digest.take());
  said_.push_back(said_of(definition));
  accept(definition);
  const auto index = static_cast<std::uint32_t>(definitions_.size());
  definitions_.push_back(definition);
  names_.add(definition.name, index);
  row_counts_.resize(definitions_.size());
  row_counts_.back() = definition.shape.empty() ? 0 : definition.shape[0];
  has_news_ = true;
  return index;
}

void Output::set_attribute(const model::Attribute& attribute) {
  local([&] {
    model::check_name(attribute.name);
    if (!attribute.owner.empty()) {
      model::check_name(attribute.owner);
      check_not_reserved(attribute.owner);
    }
    layout::check_attribute(*format_, attribute);
    model::ByteWriter digest;
    digest.put(description_digest_);
    digest.put(attribute.owner);
    digest.put(attribute.name);
    digest.put(attribute.value.index());
    description_digest_ = codec::checksum(digest.take());
    said_.push_back(said_of(attribute));
    accept(attribute);
    has_news_ = true;
  });
}

namespace {

void check_variable(std::uint32_t index, const std::vector<model::Definition>& definitions,
                    bool in_step) {
  if (index >= definitions.size()) {
    throw Error(Code::invalid_argument, "put: this variable was not defined in this file");
  }
  if (definitions[index].stepped && !in_step) {
    throw Error(Code::wrong_state, "put " + definitions[index].name +
                                       ": has steps: put it between begin_step and end");
  }
}

/// As model::check_block, without the text that only a failure needs.
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

void Output::begin_step(double time) {
  local([&] {
    if (in_step_) {
      throw Error(Code::wrong_state, "begin_step: the step before has not ended");
    }
    layout::check_time(*format_, time);
    in_step_ = true;
    time_ = time;
    row_counts_.clear();
    has_rows_.clear();
    for (const model::Definition& d : definitions_) {
      row_counts_.push_back(d.shape.empty() ? 0 : d.shape[0]);
    }
  });
}

void Output::resize(std::uint32_t variable, std::uint64_t rows) {
  local([&] {
    check_variable(variable, definitions_, in_step_);
    const model::Definition& d = definitions_[variable];
    if (!d.varying) {
      throw Error(Code::invalid_argument,
                  "resize " + d.name + ": every step has its shape: define it as varying");
    }
    if (rows > d.shape[0]) {
      throw Error(Code::out_of_bounds, "resize " + d.name + ": " + std::to_string(rows) +
                                           " rows, but the shape " + d.shape.text() +
                                           " is the most that a step may have");
    }
    if (variable < has_rows_.size() && has_rows_[variable]) {
      throw Error(Code::wrong_state, "resize " + d.name + ": call it before the first put");
    }
    row_counts_[variable] = rows;
  });
}

void Output::use_rows(std::uint32_t variable) {
  if (definitions_[variable].varying) {
    has_rows_.resize(definitions_.size());
    has_rows_[variable] = true;
  }
}

Dims Output::shape_of(std::uint32_t variable) const {
  const model::Definition& d = definitions_[variable];
  return in_step_ && d.varying ? d.shape_of(row_counts_[variable]) : d.shape;
}

void Output::put(const model::Block& block, bool must_copy) {
  local([&] {
    check_variable(block.variable, definitions_, in_step_);
    const model::Definition& d = definitions_[block.variable];
    check_convertible(d, block.memory.type);
    use_rows(block.variable);
    const Dims shape = shape_of(block.variable);
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
    if ((is_small || must_copy) && small_puts_.add(block, shape, blocks_)) {
      return;
    }
    if (must_copy) {
      throw Error(Code::over_budget, "put " + d.name +
                                         ": the copies of small parts exceed the budget of " +
                                         std::to_string(options_.budget_bytes) +
                                         " bytes: raise budget_bytes, or put arrays");
    }
    blocks_.push_back(block);
  });
}

void Output::put_rows(const exec::Rows& rows) {
  local([&] {
    check_variable(rows.variable, definitions_, in_step_);
    const model::Definition& d = definitions_[rows.variable];
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
    use_rows(rows.variable);
    rows_.push_back(rows);
  });
}

bool Output::forget_uncommitted() {
  small_puts_.finish(blocks_);
  const bool is_some = in_step_ || !blocks_.empty() || !rows_.empty();
  const std::exception_ptr failure = failure_;
  forget_step();
  failure_ = failure;
  return is_some;
}

void Output::forget_step() noexcept {
  blocks_.clear();
  small_puts_.forget();
  rows_.clear();
  row_scatter_.done(in_step_);
  failure_ = nullptr;
  in_step_ = false;
}

/// A collective call: its errors name the file.
template <class Work>
auto Output::together(Work&& work) {
  try {
    return exec::for_file(path_, [&] {
      const OutputStats::Call inside(&stats_);
      return work();
    });
  } catch (const Error& e) {
    if (e.code() == Code::timeout || e.code() == Code::mpi) {
      lose_others();
    }
    throw;
  }
}

Receipt Output::end_step() {
  if (!in_step_) {
    throw Error(Code::wrong_state, path_ + ": end: there is no step under way");
  }
  Receipt receipt = together([&] { return commit_or_skip(); });
  log_settled();
  return receipt;
}

Receipt Output::commit_or_skip() {
  try {
    return commit(true, false);
  } catch (const Error& e) {
    // The same on every rank, and so is the decision: the error was agreed on.
    const bool is_storage = e.code() == Code::no_space || e.code() == Code::io;
    if (options_.on_error != OnError::skip_step || !is_storage || broken()) {
      throw;
    }
    failed_together_ = false;
    return {steps_, false, e.what()};
  }
}

Receipt Output::flush() {
  if (in_step_) {
    throw Error(Code::wrong_state, path_ + ": flush: end the step first");
  }
  Receipt receipt = together([&] { return commit(false, false); });
  log_settled();
  return receipt;
}

void Output::close() {
  require_open();
  if (in_step_) {
    throw Error(Code::wrong_state, path_ + ": close: end the step first");
  }
  together([&] {
    commit(false, true);
    agree_on_the_way();
    finish();
  });
  closed_ = true;
  exec::for_file(path_, [&] { tell_costs(); });
  if (unended_) {
    const std::string rank = "rank " + std::to_string(unended_->rank);
    throw Error(Code::wrong_state,
                rank + ": " + path_ + ": step " + model::number_text(unended_->step) +
                    " was destroyed without end() and is not in the file: call end(), or abandon() "
                    "where a step is to be left out",
                unended_->rank);
  }
}

}  // namespace sluice::commit
