// The C interface: describing and writing.

#include "api/c/c_api_handle.hpp"
#include "api/c/strided.hpp"
#include "exec/device_memory.hpp"
#include "model/box.hpp"

using sluice::Code;
using sluice::Error;
using sluice::commit::Output;
using sluice::model::Block;
using sluice::model::Dims;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

int sluice_define(sluice_file* file, const char* name, sluice_type type, int rank,
                  const int64_t* shape, const sluice_variable_options* options,
                  sluice_variable* variable) {
  return call_local(file, [&](sluice_file& f, Output& output) {
    const sluice_variable_options none = SLUICE_VARIABLE_OPTIONS_INIT;
    const sluice_variable_options asked = sized(options, none);
    const std::string variable_name = text_of(name, "define: the name");
    const std::string what = output.path() + ": define " + variable_name;
    require(variable, "define: the place for the variable");
    const Dims dims = dims_of(rank, shape, [&] { return what + ": shape"; });
    sluice::VariableOptions wanted;
    wanted.steps = asked.steps != 0;
    wanted.partial = asked.partial != 0;
    wanted.varying = asked.varying != 0;
    wanted.compress = asked.compress == nullptr ? "" : asked.compress;
    wanted.unit = asked.unit == nullptr ? "" : asked.unit;
    wanted.description = asked.description == nullptr ? "" : asked.description;
    for (int d = 0; asked.dimensions != nullptr && d < rank; ++d) {
      wanted.dimensions.push_back(text_of(asked.dimensions[d], "define: a dimension's name"));
    }
    if (asked.chunk != nullptr) {
      const Dims chunk = dims_of(rank, asked.chunk, [&] { return what + ": chunk"; });
      wanted.chunk.assign(chunk.begin(), chunk.end());
    }
    const sluice::Type file_type = type_of_code(type, what.c_str());
    if (asked.fill != nullptr) {
      const sluice::Type fill_type =
          asked.fill_type == 0 ? file_type
                               : type_of_code(asked.fill_type, (what + ": fill_type").c_str());
      wanted.fill = {fill_type, {static_cast<const std::byte*>(asked.fill), fill_type.bytes}};
    }
    const sluice::Variable made = f.file->define_raw(
        variable_name, file_type, sluice::Shape(dims.begin(), dims.end()), wanted);
    *variable = static_cast<sluice_variable>(made.index());
  });
}

// -- putting --------------------------------------------------------------------------------------

namespace {

const sluice::model::Definition& known(const Output& output, sluice_variable variable) {
  const auto& definitions = output.definitions();
  const auto index = static_cast<std::size_t>(variable);
  if (variable < 0 || index >= definitions.size()) {
    throw Error(Code::invalid_argument, output.path() + ": put: there is no variable " +
                                            std::to_string(variable) +
                                            ": define it before its first use");
  }
  return definitions[index];
}

/// The block of a selection.
Block block_of(const Output& output, sluice_variable variable, sluice_type type, const void* data,
               int rank, const sluice_selection& selection) {
  const sluice::model::Definition& d = known(output, variable);
  const auto what = [&] { return output.path() + ": put " + d.name; };
  const Dims shape = output.description().shape_of(static_cast<std::uint32_t>(variable));
  if (rank != shape.rank()) {
    throw Error(Code::invalid_argument, what() + ": " + std::to_string(rank) +
                                            " dimensions given for a variable of shape " +
                                            shape.text());
  }
  Block block;
  block.variable = static_cast<std::uint32_t>(variable);
  block.allow_overflow = selection.allow_overflow != 0;
  block.box = selected_box(rank, selection, shape, what);
  block.memory.data = static_cast<const std::byte*>(data);
  block.memory.type = loose_type(type);
  if (block.memory.type.bytes == 0) {
    type_of_code(type, what().c_str());
  }
  block.memory.shape =
      selection.memory_shape == nullptr
          ? block.box.count
          : dims_of(rank, selection.memory_shape, [&] { return what() + ": memory_shape"; });
  block.memory.start =
      selection.memory_start == nullptr
          ? Dims::filled(rank, 0)
          : dims_of(rank, selection.memory_start, [&] { return what() + ": memory_start"; });
  return block;
}

/// Strided memory is copied into that of the handle, unless it is small: then the put copies it. A
/// block that the put would refuse is refused before it is copied.
void put_strided(sluice_file& file, Output& output, Block block, const std::int64_t* stride_bytes) {
  const Dims shape = output.description().shape_of(block.variable);
  if (!sluice::model::contains(sluice::model::whole(shape), block.box) || block.box.empty() ||
      block.memory.data == nullptr) {
    output.put(block);
    return;
  }
  const std::uint64_t bytes = sluice::exec::for_file(output.path(), [&] {
    return sluice::model::checked_product(block.box.volume(), block.memory.type.bytes,
                                          "put: bytes of a part");
  });
  sluice::exec::refuse_device_memory(block.memory.data, [&] { return output.path() + ": put"; });
  std::array<std::byte, sluice::commit::SmallPuts::small_bytes> small;
  std::byte* copy = small.data();
  const bool is_small = bytes <= small.size();
  if (!is_small) {
    if (bytes > file.budget_bytes - std::min(file.budget_bytes, file.copied_bytes)) {
      throw Error(Code::over_budget, output.path() +
                                         ": put: copies of strided memory exceed the budget of " +
                                         std::to_string(file.budget_bytes) +
                                         " bytes: raise budget_bytes, or put dense arrays");
    }
    file.copies.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    file.copied_bytes += bytes;
    copy = file.copies.back().get();
  }
  gather_strided(block.memory.data, stride_bytes, block.box.count, block.memory.type.bytes, copy);
  block.memory.data = copy;
  output.put(block, is_small);
}

int put_selected(sluice_file* file, sluice_variable variable, sluice_type type, const void* data,
                 int rank, const sluice_selection* selection) noexcept {
  return call_local(file, [&](sluice_file& f, Output& output) {
    const sluice_selection none = SLUICE_SELECTION_INIT;
    const sluice_selection asked = sized(selection, none);
    const Block block = block_of(output, variable, type, data, rank, asked);
    if (asked.stride_bytes == nullptr) {
      output.put(block);
      return;
    }
    if (asked.memory_shape != nullptr || asked.memory_start != nullptr) {
      throw Error(Code::invalid_argument, output.path() +
                                              ": put: stride_bytes together with memory_shape or "
                                              "memory_start: use one or the other");
    }
    put_strided(f, output, block, asked.stride_bytes);
  });
}

/// The fast path, if the file is open for writing and the part follows the last one.
bool put_next(sluice_file* file, sluice_variable variable, sluice_type type, const void* data,
              int rank, const std::int64_t* start, const std::int64_t* count) noexcept {
  if (file == nullptr || !file->is_live || variable < 0 || file->refusal) {
    return false;
  }
  Output* output = file->impl->writing();
  // A negative number is not a start that was prepared for.
  return output != nullptr &&
         output->put_next(static_cast<std::uint32_t>(variable), loose_type(type), false, data, rank,
                          reinterpret_cast<const std::uint64_t*>(start),
                          reinterpret_cast<const std::uint64_t*>(count));
}

}  // namespace

int sluice_put(sluice_file* file, sluice_variable variable, sluice_type type, const void* data,
               int rank, const int64_t* start, const int64_t* count) {
  if (start != nullptr && count != nullptr &&
      put_next(file, variable, type, data, rank, start, count)) {
    return SLUICE_OK;
  }
  sluice_selection selection = SLUICE_SELECTION_INIT;
  selection.start = start;
  selection.count = count;
  return put_selected(file, variable, type, data, rank, &selection);
}

int sluice_put_selection(sluice_file* file, sluice_variable variable, sluice_type type,
                         const void* data, int rank, const sluice_selection* selection) {
  return put_selected(file, variable, type, data, rank, selection);
}

int sluice_put_value(sluice_file* file, sluice_variable variable, sluice_type type,
                     const void* value, int rank, const int64_t* at) {
  if ((at != nullptr || rank == 0) && put_next(file, variable, type, value, rank, at, nullptr)) {
    return SLUICE_OK;
  }
  return call_local(file, [&](sluice_file&, Output& output) {
    constexpr std::array<std::int64_t, SLUICE_RANK_MAX> ones = {1, 1, 1, 1, 1, 1, 1, 1};
    sluice_selection selection = SLUICE_SELECTION_INIT;
    selection.start = at;
    selection.count = ones.data();
    require(rank == 0 ? value : at, "put: the index");
    output.put(block_of(output, variable, type, value, rank, selection), true);
  });
}

int sluice_put_rows(sluice_file* file, sluice_variable variable, sluice_type type, const void* data,
                    int64_t rows, const int64_t* ids) {
  return call_local(file, [&](sluice_file&, Output& output) {
    const std::string what = output.path() + ": put_rows " + known(output, variable).name;
    output.put_rows({static_cast<std::uint32_t>(variable),
                     {reinterpret_cast<const std::uint64_t*>(ids), rows_of(rows, what)},
                     static_cast<const std::byte*>(data),
                     type_of_code(type, what.c_str())});
  });
}

int sluice_put_joined(sluice_file* file, sluice_variable variable, sluice_type type,
                      const void* data, int64_t rows) {
  return call_local(file, [&](sluice_file&, Output& output) {
    const std::string what = output.path() + ": put_joined " + known(output, variable).name;
    output.put_joined({static_cast<std::uint32_t>(variable), static_cast<const std::byte*>(data),
                       rows_of(rows, what), type_of_code(type, what.c_str())});
  });
}

int sluice_resize(sluice_file* file, sluice_variable variable, int64_t rows) {
  return call_local(file, [&](sluice_file& f, Output& output) {
    const std::string what = output.path() + ": resize " + known(output, variable).name;
    const std::uint64_t count = rows_of(rows, what);
    if (!f.step) {
      throw Error(Code::wrong_state, what + ": outside a step: call it after begin_step");
    }
    f.step->resize(sluice::Variable(static_cast<std::uint32_t>(variable)), count);
  });
}

// -- steps ----------------------------------------------------------------------------------------

int sluice_begin_step(sluice_file* file, double time) {
  return call(file, [&](sluice_file& f) {
    try {
      f.step.emplace(f.file->begin_step({time}));
      f.not_begun.reset();
    } catch (const Error& e) {
      f.not_begun = e;
      throw;
    }
  });
}

namespace {

template <class Commit>
void commit_into(sluice_file& file, sluice_ticket** ticket, Commit&& commit) {
  auto receipt = ticket == nullptr ? nullptr : std::make_unique<sluice_ticket>();
  const CopiesSettled at_end(file);
  const sluice::Ticket done = commit();
  if (receipt) {
    receipt->ticket = done;
    *ticket = receipt.release();
  }
}

}  // namespace

int sluice_end_step(sluice_file* file, sluice_ticket** ticket) {
  return call(file, [&](sluice_file& f) {
    if (!f.step) {
      f.impl->output();  // that the file is closed is the more useful error
      if (const auto failure = std::exchange(f.not_begun, std::nullopt)) {
        throw Error(*failure);  // the cause: a program may look at the last code only
      }
      throw Error(Code::wrong_state, f.impl->path() + ": end: there is no step under way");
    }
    sluice::Step step = std::move(*f.step);
    f.step.reset();
    f.not_begun.reset();  // a second begin_step, which was refused
    commit_into(f, ticket, [&] { return step.end(); });
  });
}

int sluice_abandon_step(sluice_file* file, const char* why) {
  return call(file, [&](sluice_file& f) {
    const CopiesSettled at_end(f);
    f.not_begun.reset();
    try {
      f.impl->abandon(why == nullptr ? "" : why);
    } catch (...) {
      f.step.reset();
      throw;
    }
    f.step.reset();
  });
}

int sluice_flush(sluice_file* file, sluice_ticket** ticket) {
  return call(file, [&](sluice_file& f) {
    f.impl->output();
    commit_into(f, ticket, [&] { return f.file->flush(); });
  });
}

int sluice_poll(sluice_file* file) {
  return call(file, [](sluice_file& f) { f.file->poll(); });
}

int sluice_drain(sluice_file* file, double seconds, int32_t* all) {
  return call(file, [&](sluice_file& f) {
    require(all, "the place for the answer");
    *all = f.file->drain(seconds) ? 1 : 0;
  });
}

// -- tickets --------------------------------------------------------------------------------------

namespace {

template <class Work>
int ask(const sluice_ticket* ticket, Work&& work) noexcept {
  return guarded_on(
      ticket, [&] { work(ticket->ticket); }, "the ticket");
}

}  // namespace

int sluice_ticket_step(const sluice_ticket* ticket, int64_t* step) {
  return ask(ticket, [&](const sluice::Ticket& t) {
    require(step, "the place for the step");
    *step = static_cast<int64_t>(t.step());
  });
}

int sluice_ticket_durable(const sluice_ticket* ticket, int32_t* durable) {
  return ask(ticket, [&](const sluice::Ticket& t) {
    require(durable, "the place for the answer");
    *durable = t.durable() ? 1 : 0;
  });
}

int sluice_ticket_skipped(const sluice_ticket* ticket, int32_t* skipped) {
  return ask(ticket, [&](const sluice::Ticket& t) {
    require(skipped, "the place for the answer");
    *skipped = t.skipped() ? 1 : 0;
  });
}

int sluice_ticket_wait(const sluice_ticket* ticket) {
  return ask(ticket, [](const sluice::Ticket& t) { t.wait(); });
}

void sluice_ticket_free(sluice_ticket* ticket) { delete ticket; }
