// The C interface: contents of a file, and reading.
#include <cstring>

#include "api/c/c_api_handle.hpp"
#include "api/c/strided.hpp"
#include "model/box.hpp"

using sluice::Code;
using sluice::Error;
using sluice::commit::GetRequest;
using sluice::commit::Input;
using sluice::model::Dims;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

// -- what is there --------------------------------------------------------------------------------

namespace {

static_assert(static_cast<std::uint64_t>(SLUICE_LAST_STEP) == sluice::last_step);

/// The step for a number of the C interface. Numbers out of range stay so.
std::uint64_t step_of(const Input& input, int64_t step) {
  return sluice::detail::step_of(input, static_cast<std::uint64_t>(step));
}

}  // namespace

int sluice_variable_count(sluice_file* file, int32_t* count) {
  return call(file, [&](sluice_file& f) {
    require(count, "the place for the count");
    *count = static_cast<int32_t>(f.file->variables().size());
  });
}

int sluice_find(sluice_file* file, const char* name, sluice_variable* variable) {
  return call(file, [&](sluice_file& f) {
    require(name, "find: the name");
    require(variable, "find: the place for the variable");
    if (f.last_variable < 0 || f.last_name != name) {
      const auto found = static_cast<sluice_variable>(f.file->find(name).index());
      f.last_name = name;
      f.last_variable = found;
    } else if (!f.impl->is_open()) {
      throw Error(Code::wrong_state, f.impl->path() + ": is closed");
    }
    *variable = f.last_variable;
  });
}

int sluice_info(sluice_file* file, sluice_variable variable, sluice_variable_info* info) {
  return call(file, [&](sluice_file& f) {
    require(info, "info: the struct");
    const sluice_variable_info none = SLUICE_VARIABLE_INFO_INIT;
    const std::size_t size = info->size;
    if (size < offsetof(sluice_variable_info, shape) + sizeof none.shape) {
      throw Error(Code::invalid_argument, "info: the struct's size is " + std::to_string(size) +
                                              ": initialise it with SLUICE_VARIABLE_INFO_INIT");
    }
    if (variable < 0) {
      throw Error(Code::invalid_argument,
                  f.impl->path() + ": info: there is no variable " +
                      sluice::model::variable_text(static_cast<std::uint32_t>(variable)));
    }
    const sluice::VariableInfo known =
        f.file->info(sluice::Variable(static_cast<std::uint32_t>(variable)));
    sluice_variable_info told = none;
    told.size = size;
    told.name = f.text(known.name);
    told.type = code_of_type(known.type);
    told.rank = static_cast<int32_t>(known.shape.size());
    told.steps = known.steps ? 1 : 0;
    told.partial = known.partial ? 1 : 0;
    const auto fill = known.fill.bytes();
    if (!fill.empty()) {
      told.fill = f.text({reinterpret_cast<const char*>(fill.data()), fill.size()});
    }
    told.varying = known.varying ? 1 : 0;
    for (std::size_t d = 0; d < known.shape.size(); ++d) {
      told.shape[d] = static_cast<int64_t>(known.shape[d]);
    }
    for (std::size_t d = 0; d < known.dimensions.size(); ++d) {
      told.dimensions[d] = f.text(known.dimensions[d]);
    }
    std::memcpy(info, &told, std::min(size, sizeof told));
  });
}

int sluice_shape(sluice_file* file, sluice_variable variable, int64_t step, int rank,
                 int64_t* shape) {
  return call(file, [&](sluice_file& f) {
    const Input& input = f.impl->input();
    const std::string what = f.impl->path() + ": shape";
    if (variable < 0 || static_cast<std::size_t>(variable) >= input.variables().size()) {
      throw Error(Code::invalid_argument,
                  what + ": there is no variable " + std::to_string(variable));
    }
    const sluice::Shape known =
        f.file->shape(sluice::Variable(static_cast<std::uint32_t>(variable)), step_of(input, step));
    if (rank != static_cast<int>(known.size())) {
      throw Error(Code::invalid_argument, what + ": space for " + std::to_string(rank) +
                                              " numbers, the variable has " +
                                              std::to_string(known.size()) + " dimensions");
    }
    if (rank > 0) {
      require(shape, "the place for the shape");
    }
    for (std::size_t d = 0; d < known.size(); ++d) {
      shape[d] = static_cast<int64_t>(known[d]);
    }
  });
}

int sluice_steps(sluice_file* file, int64_t* steps) {
  return call(file, [&](sluice_file& f) {
    require(steps, "the place for the steps");
    *steps = static_cast<int64_t>(f.file->steps());
  });
}

int sluice_time(sluice_file* file, int64_t step, double* time) {
  return call(file, [&](sluice_file& f) {
    require(time, "the place for the time");
    const Input& input = f.impl->input();
    if (step < SLUICE_LAST_STEP) {
      throw Error(Code::out_of_bounds, f.impl->path() + ": " +
                                           sluice::model::absent_step_text(
                                               static_cast<std::uint64_t>(step), input.steps()));
    }
    *time = f.file->time(step_of(input, step));
  });
}

int sluice_is_reading(sluice_file* file, int32_t* reading) {
  return call(file, [&](sluice_file& f) {
    require(reading, "the place for the answer");
    if (!f.impl->is_open()) {
      throw Error(Code::wrong_state, f.impl->path() + ": is closed");
    }
    *reading = f.impl->reads() ? 1 : 0;
  });
}

// -- getting --------------------------------------------------------------------------------------
//
// An error of this rank alone must not keep the others waiting: the call is made all the same, with
// that failure, which every rank then throws.

namespace {

GetRequest request_of(const Input& input, std::uint32_t variable, const sluice::Type& type,
                      void* data, int rank, const sluice_selection& selection, std::uint64_t step) {
  const std::string what =
      input.path() + ": get " +
      (variable < input.variables().size() ? input.variables()[variable].definition.name : "");
  Dims shape = Dims::filled(std::max(0, std::min(rank, SLUICE_RANK_MAX)), 0);
  if (variable < input.variables().size()) {
    shape = input.shape_or_most(variable, step);
    if (rank != shape.rank()) {
      throw Error(Code::invalid_argument, what + ": " + std::to_string(rank) +
                                              " dimensions given for a variable of shape " +
                                              shape.text());
    }
  }
  GetRequest request{variable, step, {}, {}, selection.allow_overflow != 0};
  request.box = selected_box(shape.rank(), selection, shape, [&] { return std::string(what); });
  request.memory = {static_cast<std::byte*>(data), type, request.box.count,
                    Dims::filled(shape.rank(), 0)};
  if (selection.memory_shape != nullptr) {
    request.memory.shape =
        dims_of(rank, selection.memory_shape, [&] { return what + ": memory_shape"; });
  }
  if (selection.memory_start != nullptr) {
    request.memory.start =
        dims_of(rank, selection.memory_start, [&] { return what + ": memory_start"; });
  }
  if (selection.stride_bytes != nullptr &&
      (selection.memory_shape != nullptr || selection.memory_start != nullptr)) {
    throw Error(Code::invalid_argument, what +
                                            ": stride_bytes together with memory_shape or "
                                            "memory_start: use one or the other");
  }
  return request;
}

/// What a get received, to be distributed. After a timeout MPI may go on receiving into it.
struct Dense {
  Dense() = default;
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;
  ~Dense() { mark.keep_used(bytes); }

  sluice::exec::MessageMark mark;
  std::vector<std::byte> bytes;
};

/// Otherwise the get will be refused.
bool is_in_shape(const Input& input, const GetRequest& request) {
  return request.variable < input.variables().size() &&
         sluice::model::contains(
             sluice::model::whole(input.shape_or_most(request.variable, request.step)),
             request.box);
}

void get_selected(sluice_file& f, sluice_variable variable, sluice_type type, void* data, int rank,
                  const sluice_selection* selection, int64_t step) {
  const auto refusal = f.take_refusal();
  Input& input = f.impl->input();
  const auto index = static_cast<std::uint32_t>(variable);
  const std::uint64_t number = step_of(input, step);
  const sluice::Type element = loose_type(type);
  GetRequest request;
  Dense dense;
  const std::int64_t* stride_bytes = nullptr;
  try {
    const sluice_selection none = SLUICE_SELECTION_INIT;
    const sluice_selection asked = sized(selection, none);
    throw_if(refusal);
    type_of_code(type, "get");
    request = request_of(input, index, element, data, rank, asked, number);
    stride_bytes = asked.stride_bytes;
    if (stride_bytes != nullptr && data != nullptr && is_in_shape(input, request)) {
      dense.bytes.resize(
          sluice::model::checked_product(request.box.volume(), element.bytes, "bytes of a part"));
      request.memory.data = dense.bytes.data();
    }
  } catch (...) {
    request.variable = index;
    request.step = number;
    input.get(request, std::current_exception());
  }
  input.get(request);
  if (stride_bytes != nullptr && !dense.bytes.empty()) {
    scatter_strided(dense.bytes.data(), request.box.count, element.bytes,
                    static_cast<std::byte*>(data), stride_bytes);
  }
}

}  // namespace

int sluice_get(sluice_file* file, sluice_variable variable, sluice_type type, void* data, int rank,
               const int64_t* start, const int64_t* count, int64_t step) {
  return call(file, [&](sluice_file& f) {
    sluice_selection selection = SLUICE_SELECTION_INIT;
    selection.start = start;
    selection.count = count;
    get_selected(f, variable, type, data, rank, &selection, step);
  });
}

int sluice_get_selection(sluice_file* file, sluice_variable variable, sluice_type type, void* data,
                         int rank, const sluice_selection* selection, int64_t step) {
  return call(
      file, [&](sluice_file& f) { get_selected(f, variable, type, data, rank, selection, step); });
}

int sluice_defer_get(sluice_file* file, sluice_variable variable, sluice_type type, void* data,
                     int rank, const sluice_selection* selection, int64_t step) {
  return call(file, [&](sluice_file& f) {
    const auto refusal = f.take_refusal();
    Input& input = f.impl->input();
    try {
      throw_if(refusal);
      const sluice_selection none = SLUICE_SELECTION_INIT;
      const sluice_selection asked = sized(selection, none);
      if (asked.stride_bytes != nullptr) {
        throw Error(
            Code::unsupported,
            "defer_get: stride_bytes is not supported: use get for memory that is not dense");
      }
      input.defer(request_of(input, static_cast<std::uint32_t>(variable),
                             type_of_code(type, "defer_get"), data, rank, asked,
                             step_of(input, step)));
    } catch (...) {
      input.fail_deferred(std::current_exception());
      throw;
    }
  });
}

int sluice_perform_gets(sluice_file* file) {
  return call(file, [](sluice_file& f) { f.file->perform_gets(); });
}

int sluice_get_rows(sluice_file* file, sluice_variable variable, sluice_type type, void* data,
                    int64_t rows, const int64_t* ids, int64_t step) {
  return call(file, [&](sluice_file& f) {
    const auto refusal = f.take_refusal();
    Input& input = f.impl->input();
    std::exception_ptr failure;
    std::uint64_t count = 0;
    try {
      throw_if(refusal);
      count = rows_of(rows, f.impl->path() + ": get_rows");
    } catch (...) {
      failure = std::current_exception();
    }
    input.get_rows(static_cast<std::uint32_t>(variable), step_of(input, step),
                   {reinterpret_cast<const std::uint64_t*>(ids), count},
                   static_cast<std::byte*>(data), loose_type(type), failure);
  });
}

int sluice_refresh(sluice_file* file) {
  return call(file, [](sluice_file& f) {
    f.file->refresh();
    f.texts.clear();
  });
}

int sluice_latest_good(sluice_file* file, int64_t* step) {
  return call(file, [&](sluice_file& f) {
    const auto good = f.file->latest_good();
    require(step, "the place for the step");  // behind the call that the other ranks wait for
    *step = good ? static_cast<int64_t>(*good) : -1;
  });
}
