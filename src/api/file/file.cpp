#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "api/file/putting.hpp"
#include "api/messages.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/formats.hpp"
#include "model/fill.hpp"
#include "model/name.hpp"
#include "model/numbering.hpp"

namespace sluice {

using detail::FileImpl;
using detail::Size;
using detail::step_of;

namespace {

/// Error invalid_argument for a variable of another file.
void require_own(const FileImpl& file, Variable variable, const char* call) {
  if (!file.owns(variable)) {
    const Error error = file.foreign(variable, call);
    throw Error(error.code(), file.path() + ": " + error.what());
  }
}

model::Definition definition_of(const std::string& name, const Type& type, const Shape& shape,
                                const VariableOptions& options) {
  model::Definition definition;
  definition.name = name;
  definition.type = type;
  definition.shape = detail::dims_of(shape);
  definition.stepped = options.steps;
  definition.partial = options.partial;
  // Only one that was given has bytes: alone it says which value is missing, and no more.
  definition.gives_fill = !options.partial && !options.fill.bytes().empty();
  if (definition.has_fill()) {
    auto fill = model::fill_bytes(options.fill, type);
    if (!fill) {
      throw Error(Code::invalid_argument,
                  "define " + name + ": fill value does not fit " + type_name(type));
    }
    definition.fill = *std::move(fill);
  }
  definition.dimensions = options.dimensions;
  definition.chunk = detail::dims_of(options.chunk);
  definition.varying = options.varying;
  definition.compress = options.compress;
  return definition;
}

Ticket ticket_of(const commit::Receipt& receipt) {
  if (receipt.pending) {
    return {receipt.step, receipt.pending};
  }
  return {receipt.step, receipt.durable, !receipt.skipped.empty()};
}

/// Rank 0 reports that a step was left out, and why.
void report_skipped(FileImpl& file, const commit::Receipt& receipt) {
  if (!receipt.skipped.empty() && file.speaks()) {
    detail::say("step " + model::number_text(receipt.step) + " is left out: " + receipt.skipped);
  }
}

}  // namespace

// -- Ticket ---------------------------------------------------------------------------------------

bool Ticket::durable() const { return pending_ ? pending_->durable() : durable_; }

void Ticket::wait() const {
  if (pending_) {
    pending_->wait();
  }
}

// -- Step -----------------------------------------------------------------------------------------

Step::Step(FileImpl* file)
    : file_(file), life_(file->life()), exceptions_(std::uncaught_exceptions()) {}

Step::Step(Step&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      life_(std::move(other.life_)),
      exceptions_(other.exceptions_) {}

/// The file of a step that has not ended. Error wrong_state if there is none.
FileImpl& Step::open_file(const char* call) const {
  if (file_ == nullptr) {
    throw Error(Code::wrong_state, std::string(call) + ": this step has ended, or was moved from");
  }
  if (life_.expired()) {
    throw Error(Code::wrong_state, std::string(call) + ": the file of this step was destroyed");
  }
  return *file_;
}

Step::~Step() {
  if (file_ == nullptr || life_.expired() || !file_->is_here() || !file_->is_open() ||
      !file_->output().in_step()) {
    return;
  }
  commit::Output& output = file_->output();
  const bool unwinds = std::uncaught_exceptions() > exceptions_;
  const bool is_first = !unwinds && output.note_unended();
  // The other ranks are entering end(): take part, with a failure, so that none hangs.
  try {
    output.distrust_memory();
    output.fail(
        std::make_exception_ptr(Error(
            Code::wrong_state,
            file_->path() + ": step " + model::number_text(output.steps()) +
                (unwinds ? " was abandoned before its end" : " was destroyed without end()"))),
        !unwinds);
    output.end_step();
  } catch (const std::exception& e) {
    // During exception unwinding, the failure is on its way to the caller already.
    if (is_first && file_->speaks()) {
      detail::say(e.what());
    }
  }
}

void Step::put_raw(Variable variable, const void* data, Type type, const Selection& selection) {
  put_block(open_file("put"), variable, {data, type}, selection);
}

void Step::put_sized(Variable variable, const void* data, std::uint64_t size, Type type,
                     const Selection& selection) {
  put_block(open_file("put"), variable, {data, type, size}, selection);
}

void Step::put_value_raw(Variable variable, const void* value, Type type, const std::uint64_t* at,
                         std::size_t rank) {
  put_single(open_file("put"), variable, value, type, {at, rank});
}

void Step::put_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                        const void* data, Type type) {
  put_row_list(open_file("put_rows"), variable, {ids, static_cast<std::size_t>(rows)},
               {data, type});
}

void Step::put_rows_sized(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                          const void* data, std::uint64_t size, Type type) {
  put_row_list(open_file("put_rows"), variable, {ids, static_cast<std::size_t>(rows)},
               {data, type, size});
}

void Step::put_joined_raw(Variable variable, const void* data, std::uint64_t rows, Type type) {
  output_of(open_file("put_joined"), variable, "put_joined")
      .put_joined({variable.index(), static_cast<const std::byte*>(data), rows, type});
}

void Step::put_joined_sized(Variable variable, const void* data, std::uint64_t size, Type type) {
  put_joined_rows(open_file("put_joined"), variable, {data, type, size});
}

void Step::resize(Variable variable, std::uint64_t rows) {
  output_of(open_file("resize"), variable, "resize").resize(variable.index(), rows);
}

Ticket Step::end() {
  FileImpl& file = open_file("end");
  file_ = nullptr;
  const commit::Receipt receipt = file.output().end_step();
  report_skipped(file, receipt);
  return ticket_of(receipt);
}

void Step::abandon(const std::string& why) {
  FileImpl& file = open_file("abandon");
  file_ = nullptr;
  file.abandon(why);
}

// -- File: opening, describing, writing -----------------------------------------------------------

File::File(const Comm& comm, const std::string& path, Mode mode, const Options& options)
    : impl_(std::make_unique<FileImpl>(comm, path, mode, options)) {}

File::File(std::unique_ptr<FileImpl> impl) : impl_(std::move(impl)) {}
File::File(File&&) noexcept = default;

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    File old(std::move(*this));  // closes the previous file
    impl_ = std::move(other.impl_);
  }
  return *this;
}

FileImpl& File::impl() const {
  if (!impl_) {
    throw Error(Code::wrong_state, "this File was moved from: use the object that it was moved to");
  }
  return *impl_;
}

File::~File() {
  if (impl_ && !impl_->is_here()) {
    static_cast<void>(impl_.release());  // its threads, ranks and files belong to the parent
    return;
  }
  if (!impl_ || !impl_->is_open()) {
    return;
  }
  if (impl_->unwinds()) {
    // After a failure on this rank alone the others are entering a collective call, of this file or
    // of another one: none waits for this rank.
    if (!impl_->reads() && !impl_->output().failed_together()) {
      impl_->leave();
    }
    return;
  }
  detail::close_or_say(*impl_);
}

Variable File::define_raw(const std::string& name, Type type, const Shape& shape,
                          const VariableOptions& options) {
  commit::Output& output = impl().output();
  std::vector<model::Attribute> attributes;
  if (!options.unit.empty()) {
    attributes.push_back({name, "units", options.unit});
  }
  if (!options.description.empty()) {
    attributes.push_back({name, "long_name", options.description});
  }
  model::Definition definition;
  try {
    definition = definition_of(name, type, shape, options);
    for (const model::Attribute& attribute : attributes) {
      layout::check_attribute(output.format(), attribute);  // while the variable is not there yet
    }
  } catch (...) {
    output.fail(std::current_exception());  // as what the output itself refuses
    throw;
  }
  const std::size_t before = output.definitions().size();
  const Variable variable = impl().variable(output.define(definition));
  const bool is_new = output.definitions().size() != before;
  impl().describe(variable.index(), is_new, options);
  if (!is_new) {
    return variable;
  }
  for (const model::Attribute& attribute : attributes) {
    output.set_attribute(attribute);
  }
  return variable;
}

void File::set_attribute(const std::string& owner, const std::string& name, const Value& value) {
  impl().output().set_attribute({owner, name, value});
}

Step File::begin_step(const StepOptions& options) {
  impl().output().begin_step(options.time);
  return Step(&impl());
}

void File::put_raw(Variable variable, const void* data, Type type, const Selection& selection) {
  put_block(impl(), variable, {data, type}, selection);
}

void File::put_sized(Variable variable, const void* data, std::uint64_t size, Type type,
                     const Selection& selection) {
  put_block(impl(), variable, {data, type, size}, selection);
}

void File::put_value_raw(Variable variable, const void* value, Type type, const std::uint64_t* at,
                         std::size_t rank) {
  put_single(impl(), variable, value, type, {at, rank});
}

void File::put_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                        const void* data, Type type) {
  put_row_list(impl(), variable, {ids, static_cast<std::size_t>(rows)}, {data, type});
}

void File::put_rows_sized(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                          const void* data, std::uint64_t size, Type type) {
  put_row_list(impl(), variable, {ids, static_cast<std::size_t>(rows)}, {data, type, size});
}

void File::poll() { impl().output().poll(); }
bool File::drain(double seconds) { return impl().output().drain(seconds); }
Ticket File::flush() { return ticket_of(impl().output().flush()); }

void File::close() { impl().close(); }

// -- File: reading --------------------------------------------------------------------------------

std::uint64_t File::steps() const {
  return impl().is_open() && !impl().reads() ? impl().output().steps() : impl().input().steps();
}

double File::time(std::uint64_t step) const {
  const commit::Input& input = impl().input();
  return input.time(step_of(input, step));
}

std::vector<VariableInfo> File::variables() const {
  std::vector<VariableInfo> infos;
  const std::size_t all =
      impl().reads() ? impl().input().variables().size() : impl().output().definitions().size();
  const auto count = static_cast<std::uint32_t>(all);
  for (std::uint32_t v = 0; v < count; ++v) {
    infos.push_back(info(impl().variable(v)));
  }
  return infos;
}

Variable File::find(const std::string& name) const {
  if (impl().reads()) {
    return impl().variable(impl().input().find(name));
  }
  const commit::Output& output = impl().output();
  if (output.description().is_nameless() && !output.definitions().empty()) {
    return impl().variable(0);
  }
  const std::optional<std::uint32_t> found = output.description().find(name);
  if (!found) {
    std::vector<std::string> names;
    for (const model::Definition& d : output.definitions()) {
      names.push_back(d.name);
    }
    throw Error(Code::not_found, impl().path() + ": " + model::absent_variable_text(name, names));
  }
  return impl().variable(*found);
}

VariableInfo File::info(Variable variable) const {
  const std::size_t all =
      impl().reads() ? impl().input().variables().size() : impl().output().definitions().size();
  require_own(impl(), variable, "info");
  if (variable.index() >= all) {
    throw Error(Code::invalid_argument, impl().path() + ": info: there is no variable " +
                                            model::variable_text(variable.index()));
  }
  const model::Definition& d = impl().reads()
                                   ? impl().input().variables()[variable.index()].definition
                                   : impl().output().definitions()[variable.index()];
  return {d.name,    d.type,      Shape(d.shape.begin(), d.shape.end()),
          d.stepped, d.partial,   d.fill.empty() ? Fill() : Fill(d.type, d.fill),
          d.varying, d.dimensions};
}

Shape File::shape(Variable variable, std::uint64_t step) const {
  const commit::Input& input = impl().input();
  require_own(impl(), variable, "shape");
  const model::Dims shape = input.shape(variable.index(), step_of(input, step));
  return {shape.begin(), shape.end()};
}

namespace {

const model::Attribute* find_attribute(const commit::Input& input, const std::string& owner,
                                       const std::string& name) {
  for (const std::size_t i : input.attributes_of(owner)) {
    if (input.attributes()[i].name == name) {
      return &input.attributes()[i];
    }
  }
  return nullptr;
}

}  // namespace

bool File::has_attribute(const std::string& owner, const std::string& name) const {
  return find_attribute(impl().input(), owner, name) != nullptr;
}

std::vector<std::string> File::attribute_names(const std::string& owner) const {
  std::vector<std::string> names;
  const commit::Input& input = impl().input();
  for (const std::size_t i : input.attributes_of(owner)) {
    names.push_back(input.attributes()[i].name);
  }
  return names;
}

void File::refresh() { impl().refresh(); }

std::optional<std::uint64_t> File::latest_good() { return impl().latest_good(); }

Value File::attribute(const std::string& owner, const std::string& name) const {
  const model::Attribute* found = find_attribute(impl().input(), owner, name);
  if (found == nullptr) {
    throw Error(Code::not_found,
                impl().path() + ": no attribute " + name + (owner.empty() ? "" : " of " + owner));
  }
  return found->value;
}

namespace {

/// Memory of the caller, and the part and step that are to come there.
struct Wanted {
  void* data = nullptr;
  Type type;
  Size size;
  const Selection& selection;
  std::uint64_t step;
};

commit::GetRequest request_of(const FileImpl& file, const commit::Input& input, Variable variable,
                              const Wanted& wanted) {
  require_own(file, variable, "get");
  const std::uint64_t step = step_of(input, wanted.step);
  model::Box box;
  if (variable.index() < input.variables().size()) {
    box =
        detail::box_of(wanted.selection, input.shape_or_most(variable.index(), step), wanted.size);
    detail::require_size(
        file.path() + ": get " + input.variables()[variable.index()].definition.name,
        wanted.selection, box.count, wanted.size);
  }
  return {variable.index(), step, box,
          detail::memory_of<model::Memory>(static_cast<std::byte*>(wanted.data), wanted.type,
                                           wanted.selection, box),
          wanted.selection.allow_overflow};
}

/// An error of this rank alone does not keep the others waiting.
void get_block(FileImpl& file, Variable variable, const Wanted& wanted) {
  commit::Input& input = file.input();
  commit::GetRequest request;
  const std::exception_ptr failure =
      exec::failure_of([&] { request = request_of(file, input, variable, wanted); });
  input.get(request, failure);
}

void defer_block(FileImpl& file, Variable variable, const Wanted& wanted) {
  commit::Input& input = file.input();
  try {
    input.defer(request_of(file, input, variable, wanted));
  } catch (...) {
    input.fail_deferred(std::current_exception());
    throw;
  }
}

void get_row_list(FileImpl& file, Variable variable, std::span<const std::uint64_t> ids,
                  const Wanted& wanted) {
  commit::Input& input = file.input();
  const std::exception_ptr failure = exec::failure_of([&] {
    require_own(file, variable, "get_rows");
    if (wanted.size && variable.index() < input.variables().size()) {
      const model::Definition& d = input.variables()[variable.index()].definition;
      detail::require_row_size(file.path() + ": get_rows " + d.name, ids.size(), d.shape,
                               wanted.size);
    }
  });
  input.get_rows(variable.index(), step_of(input, wanted.step), ids,
                 static_cast<std::byte*>(wanted.data), wanted.type, failure);
}

}  // namespace

void File::get_raw(Variable variable, void* data, Type type, const Selection& selection,
                   std::uint64_t step) {
  get_block(impl(), variable, {data, type, {}, selection, step});
}

void File::get_sized(Variable variable, void* data, std::uint64_t size, Type type,
                     const Selection& selection, std::uint64_t step) {
  get_block(impl(), variable, {data, type, size, selection, step});
}

void File::defer_get_raw(Variable variable, void* data, Type type, const Selection& selection,
                         std::uint64_t step) {
  defer_block(impl(), variable, {data, type, {}, selection, step});
}

void File::defer_get_sized(Variable variable, void* data, std::uint64_t size, Type type,
                           const Selection& selection, std::uint64_t step) {
  defer_block(impl(), variable, {data, type, size, selection, step});
}

void File::perform_gets() { impl().input().get_deferred(); }

void File::get_rows_raw(Variable variable, const std::uint64_t* ids, std::uint64_t rows, void* data,
                        Type type, std::uint64_t step) {
  get_row_list(impl(), variable, {ids, static_cast<std::size_t>(rows)}, {data, type, {}, {}, step});
}

void File::get_rows_sized(Variable variable, const std::uint64_t* ids, std::uint64_t rows,
                          void* data, std::uint64_t size, Type type, std::uint64_t step) {
  get_row_list(impl(), variable, {ids, static_cast<std::size_t>(rows)},
               {data, type, size, {}, step});
}

}  // namespace sluice
