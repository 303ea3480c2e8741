// The C interface of checkpoints.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "api/c/c_api_handle.hpp"
#include "api/c/c_api_session.hpp"
#include "api/c/opening.hpp"
#include "api/c/strided.hpp"
#include "api/checkpoint/checkpoint_impl.hpp"
#include "api/config/settings.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/solo_transport.hpp"
#include "model/coverage.hpp"
#include "model/numbering.hpp"
#include "sluice/checkpoint.h"

using sluice::CheckpointOptions;
using sluice::Code;
using sluice::Error;
using sluice::Shape;
using sluice::detail::CheckpointImpl;
using sluice::detail::Registered;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

struct sluice_checkpoint {
  std::unique_ptr<CheckpointImpl> impl;
  std::string rejected;  ///< handed out, as the next two
  std::string kept;
  std::string why;
  std::string lost;
  int first_number = 0;  ///< first number that messages use
};

namespace {

/// CheckpointOptions::keep, where 0 stands for all.
std::uint64_t keep_of(std::int64_t given) {
  if (given < SLUICE_KEEP_ALL) {
    throw Error(Code::invalid_argument,
                "keep: " + std::to_string(given) +
                    " is negative: give a number of checkpoints, 0 for the default, or "
                    "SLUICE_KEEP_ALL");
  }
  if (given == SLUICE_KEEP_ALL) {
    return 0;
  }
  return given == 0 ? CheckpointOptions().keep : static_cast<std::uint64_t>(given);
}

CheckpointOptions options_of(const sluice_checkpoint_options* given) {
  const sluice_checkpoint_options defaults = SLUICE_CHECKPOINT_OPTIONS_INIT;
  const sluice_checkpoint_options asked = sized(given, defaults);
  CheckpointOptions options;
  options.keep = keep_of(asked.keep);
  options.on_failed_save =
      asked.stop_on_failed_save != 0 ? sluice::OnFailedSave::stop : sluice::OnFailedSave::report;
  options.interval_s = asked.interval_s;
  options.interval_calls = count_of(asked.interval_calls, "interval_calls");
  options.failure_interval_s = asked.failure_interval_s;
  options.end_time_s = asked.end_time_s;
  options.margin_s = asked.margin_s;
  options.signals = asked.ignore_signals == 0;
  options.scratch = asked.scratch == nullptr ? "" : asked.scratch;
  options.incremental = asked.incremental != 0;
  options.file = sluice::parse_options(asked.file_options == nullptr ? "" : asked.file_options);
  return options;
}

struct CheckpointOpening {
  std::string path;
  CheckpointOptions options;
};

/// `make(opening)` gives the implementation.
template <class Where, class Make>
int open_checkpoint(const Where& where, const char* path, const sluice_checkpoint_options* options,
                    sluice_checkpoint** checkpoint, Make&& make) noexcept {
  return guarded([&] {
    if (checkpoint != nullptr) {
      *checkpoint = nullptr;
    }
    const CheckpointOpening opening = where.before([&] {
      require(static_cast<void*>(checkpoint), "the place for the handle");
      return CheckpointOpening{text_of(path, "path"), options_of(options)};
    });
    auto made = std::make_unique<sluice_checkpoint>();
    made->impl = make(opening);
    *checkpoint = made.release();
  });
}

int open_checkpoint_on(const OnComm& where, const char* path,
                       const sluice_checkpoint_options* options,
                       sluice_checkpoint** checkpoint) noexcept {
  return open_checkpoint(where, path, options, checkpoint, [&](const CheckpointOpening& opening) {
    return std::make_unique<CheckpointImpl>(where.comm(opening.path), opening.path,
                                            opening.options);
  });
}

CheckpointImpl& impl_of(sluice_checkpoint* checkpoint) {
  if (checkpoint == nullptr) {
    throw Error(Code::invalid_argument, "the handle of a checkpoint is NULL: was it opened?");
  }
  return *checkpoint->impl;
}

/// guarded(), with messages that count as the program does.
template <class Work>
int counted(const sluice_checkpoint* checkpoint, Work&& work) noexcept {
  const sluice::model::Numbering numbering(checkpoint == nullptr ? 0 : checkpoint->first_number);
  return guarded(std::forward<Work>(work));
}

/// Registers what `thing_of(name)` returns. Where that throws, no save reads the memory that the
/// name had before.
template <class ThingOf>
int registering(sluice_checkpoint* checkpoint, const char* name, ThingOf&& thing_of) noexcept {
  return counted(checkpoint, [&] {
    CheckpointImpl& impl = impl_of(checkpoint);
    const std::string called = text_of(name, "name");
    std::optional<Registered> thing;
    const std::exception_ptr refusal =
        sluice::exec::failure_of([&] { thing.emplace(thing_of(called)); });
    if (refusal) {
      impl.spoil(called, refusal);
      std::rethrow_exception(refusal);
    }
    impl.add(std::move(*thing));
  });
}

Shape shape_of(const sluice::model::Dims& dims) { return {dims.begin(), dims.end()}; }

std::string what_of(const std::string& name) { return "checkpoint: " + name; }

/// Type 0 is none: so another language passes on that it has refused the memory itself.
sluice::Type element_of(const std::string& name, sluice_type type) {
  if (type == 0) {
    throw Error(Code::invalid_argument,
                what_of(name) +
                    ": the memory of its last registration was refused: register it "
                    "again, with its type");
  }
  return type_of_code(type, what_of(name).c_str());
}

Shape shape_of(const std::string& name, int rank, const int64_t* shape) {
  return shape_of(dims_of(rank, shape, [&] { return what_of(name) + ": shape"; }));
}

/// The array in memory of which a part has these strides: with ghost cells behind it. The stride of
/// a dimension with one element leads nowhere, and may be any number.
Shape memory_of(const std::string& name, const Shape& count, std::uint64_t element_bytes,
                const int64_t* stride_bytes) {
  Shape memory = count;
  std::uint64_t inner = element_bytes;
  const std::size_t last = count.empty() ? 0 : count.size() - 1;
  std::size_t of_inner = last;
  for (std::size_t d = count.size(); d-- > 0;) {
    if (count[d] == 1) {
      continue;
    }
    const auto stride = static_cast<std::uint64_t>(stride_bytes[d]);
    // The stride of a dimension is the extent of the next one.
    const bool fits = stride_bytes[d] > 0 && stride % inner == 0 &&
                      (d < last ? stride / inner >= count[of_inner] : stride == inner);
    if (!fits) {
      throw Error(Code::unsupported, what_of(name) +
                                         ": the array has gaps that are no ghost cells: register "
                                         "a dense one, or a part of one");
    }
    if (d < last) {
      memory[of_inner] = stride / inner;
    }
    inner = stride;
    of_inner = d;
  }
  return memory;
}

sluice::Selection selection_of(const std::string& name, int rank, const Shape& shape,
                               std::uint64_t element_bytes, const sluice_selection* given) {
  const sluice_selection none = SLUICE_SELECTION_INIT;
  const sluice_selection asked = sized(given, none);
  const auto what = [&] { return what_of(name); };
  const sluice::model::Dims whole{std::span(shape)};
  const auto box = selected_box(rank, asked, whole, what);
  sluice::model::check_block(whole, box, what());
  sluice::Selection mine{.start = shape_of(box.start), .count = shape_of(box.count)};
  if (asked.stride_bytes != nullptr && (asked.memory_shape || asked.memory_start)) {
    throw Error(Code::invalid_argument, what() +
                                            ": stride_bytes together with memory_shape or "
                                            "memory_start: use one of them");
  }
  if (asked.stride_bytes != nullptr && !box.empty()) {
    mine.memory_shape = memory_of(name, mine.count, element_bytes, asked.stride_bytes);
  }
  if (asked.memory_shape != nullptr) {
    mine.memory_shape =
        shape_of(dims_of(rank, asked.memory_shape, [&] { return what() + ": memory_shape"; }));
  }
  if (asked.memory_start != nullptr) {
    mine.memory_start =
        shape_of(dims_of(rank, asked.memory_start, [&] { return what() + ": memory_start"; }));
  }
  mine.allow_overflow = asked.allow_overflow != 0;
  return mine;
}

/// Error out_of_bounds where the array has no such row.
std::vector<std::uint64_t> ids_of(const std::string& name, const Shape& shape, const int64_t* ids,
                                  std::uint64_t count) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    rows.push_back(count_of(ids[i], "a row's id"));
    if (!shape.empty() && rows.back() >= shape.front()) {
      throw Error(Code::out_of_bounds, what_of(name) + ": row " +
                                           sluice::model::number_text(rows.back()) + " of " +
                                           std::to_string(shape.front()));
    }
  }
  return rows;
}

/// Error invalid_argument where the struct was not initialised. Before the call that fills it.
template <class Struct>
void require_sized(const Struct* place, const Struct& initial) {
  if (place != nullptr && (place->size < sizeof(std::size_t) || place->size > 1 << 16)) {
    throw Error(Code::invalid_argument, "a struct of size " + std::to_string(place->size) +
                                            ": initialise it with ..._INIT, as for size " +
                                            std::to_string(initial.size));
  }
}

template <class Struct>
void tell(Struct* place, Struct said) {
  if (place != nullptr) {
    said.size = place->size;
    std::memcpy(place, &said, std::min(place->size, sizeof said));
  }
}

/// Room of a text.
std::uint32_t capacity_of(const std::string& name, int64_t capacity) {
  if (capacity < 1 || capacity > SLUICE_STRING_BYTES_MAX) {
    throw Error(Code::invalid_argument,
                what_of(name) + ": a text needs room for 1 to 8388607 bytes");
  }
  return static_cast<std::uint32_t>(capacity);
}

}  // namespace

int sluice_checkpoint_open_comm(sluice_comm comm, const char* path,
                                const sluice_checkpoint_options* options,
                                sluice_checkpoint** checkpoint) {
  return open_checkpoint_on(OnComm(comm), path, options, checkpoint);
}

int sluice_checkpoint_open_f(int comm, const char* path, const sluice_checkpoint_options* options,
                             sluice_checkpoint** checkpoint) {
  return open_checkpoint_on(OnComm(comm_of_fortran(comm)), path, options, checkpoint);
}

int sluice_checkpoint_open_serial(const char* path, const sluice_checkpoint_options* options,
                                  sluice_checkpoint** checkpoint) {
  return open_checkpoint(OnSelf(), path, options, checkpoint, [](const CheckpointOpening& opening) {
    return std::make_unique<CheckpointImpl>(sluice::exec::make_solo(), opening.path,
                                            opening.options);
  });
}

int sluice_checkpoint_array(sluice_checkpoint* checkpoint, const char* name, sluice_type type,
                            void* data, int rank, const int64_t* shape, const int64_t* start,
                            const int64_t* count) {
  sluice_selection selection = SLUICE_SELECTION_INIT;
  selection.start = start;
  selection.count = count;
  return sluice_checkpoint_array_selection(checkpoint, name, type, data, rank, shape, &selection);
}

int sluice_checkpoint_array_selection(sluice_checkpoint* checkpoint, const char* name,
                                      sluice_type type, void* data, int rank, const int64_t* shape,
                                      const sluice_selection* selection) {
  return registering(checkpoint, name, [&](const std::string& called) -> Registered {
    const sluice::Type element = element_of(called, type);
    const Shape extents = shape_of(called, rank, shape);
    const sluice::Selection mine = selection_of(called, rank, extents, element.bytes, selection);
    if (sluice::model::Dims(std::span(mine.count)).volume() != 0) {
      require(data, (what_of(called) + ": the data").c_str());
    }
    return {called, element, extents, sluice::detail::ByPlace{data, mine}};
  });
}

int sluice_checkpoint_rows(sluice_checkpoint* checkpoint, const char* name, sluice_type type,
                           void* data, int rank, const int64_t* shape, int64_t rows,
                           const int64_t* ids) {
  return registering(checkpoint, name, [&](const std::string& called) -> Registered {
    const std::uint64_t count = count_of(rows, "rows");
    const Shape extents = shape_of(called, rank, shape);
    if (count != 0) {
      require(ids, "ids");
    }
    const bool has_elements = std::find(extents.begin(), extents.end(), 0) == extents.end();
    if (count != 0 && has_elements) {
      require(data, (what_of(called) + ": the data").c_str());
    }
    return {called, element_of(called, type), extents,
            sluice::detail::ByRows{data, ids_of(called, extents, ids, count)}};
  });
}

int sluice_checkpoint_value(sluice_checkpoint* checkpoint, const char* name, sluice_type type,
                            void* value) {
  return registering(checkpoint, name, [&](const std::string& called) -> Registered {
    require(value, "the value");
    return {called, element_of(called, type), {}, sluice::detail::SingleValue{value}};
  });
}

int sluice_checkpoint_text(sluice_checkpoint* checkpoint, const char* name, char* text,
                           int64_t capacity) {
  return registering(checkpoint, name, [&](const std::string& called) -> Registered {
    require(text, "the text");
    return {called,
            sluice::string_type(capacity_of(called, capacity)),
            {},
            sluice::detail::OfText{{nullptr, text}, {}}};
  });
}

int sluice_checkpoint_bytes(sluice_checkpoint* checkpoint, const char* name, void* data,
                            int64_t bytes, int32_t keep_on_other_ranks) {
  return registering(checkpoint, name, [&](const std::string& called) -> Registered {
    require(data, "the bytes");
    return {called,
            sluice::type_of<std::uint8_t>(),
            {count_of(bytes, "bytes")},
            sluice::detail::OfRank{data, keep_on_other_ranks != 0 ? sluice::OnOtherRanks::keep
                                                                  : sluice::OnOtherRanks::refuse}};
  });
}

int sluice_checkpoint_restore(sluice_checkpoint* checkpoint, sluice_restored* restored) {
  return counted(checkpoint, [&] {
    sluice_restored said = SLUICE_RESTORED_INIT;
    require_sized(restored, said);
    const sluice::Restored taken = impl_of(checkpoint).restore();
    checkpoint->rejected.clear();
    checkpoint->kept.clear();
    for (const sluice::RejectedCheckpoint& one : taken.newer) {
      checkpoint->rejected += one.why + "\n";
    }
    for (const std::string& name : taken.kept) {
      checkpoint->kept += name + "\n";
    }
    said.number = static_cast<std::int64_t>(taken.number);
    said.time = taken.time;
    said.ranks = taken.ranks;
    said.newer = static_cast<std::int32_t>(taken.newer.size());
    said.why = checkpoint->rejected.c_str();
    said.kept = checkpoint->kept.c_str();
    tell(restored, said);
  });
}

int sluice_checkpoint_save(sluice_checkpoint* checkpoint, double time, sluice_saved* saved) {
  return counted(checkpoint, [&] {
    sluice_saved said = SLUICE_SAVED_INIT;
    require_sized(saved, said);
    const sluice::Saved done = impl_of(checkpoint).save(time);
    checkpoint->why = done.why;
    checkpoint->lost = done.lost;
    said.number = static_cast<std::int64_t>(done.number);
    said.seconds = done.seconds;
    said.why = checkpoint->why.c_str();
    said.lost = checkpoint->lost.c_str();
    tell(saved, said);
  });
}

int sluice_checkpoint_due(sluice_checkpoint* checkpoint, int32_t* due) {
  return counted(checkpoint, [&] {
    const bool is_due = impl_of(checkpoint).due();
    require(due, "the place for the answer");  // behind the call that the other ranks wait for
    *due = is_due ? 1 : 0;
  });
}

int sluice_checkpoint_ending(sluice_checkpoint* checkpoint, int32_t* ending) {
  return counted(checkpoint, [&] {
    require(ending, "the place for the answer");
    *ending = impl_of(checkpoint).ending() ? 1 : 0;
  });
}

int sluice_checkpoint_drain(sluice_checkpoint* checkpoint, double seconds, int32_t* all) {
  return counted(checkpoint, [&] {
    const bool drained = impl_of(checkpoint).drain(seconds);
    if (all != nullptr) {
      *all = drained ? 1 : 0;
    }
  });
}

int sluice_checkpoint_close(sluice_checkpoint* checkpoint) {
  return counted(checkpoint, [&] { impl_of(checkpoint).close(); });
}

int sluice_checkpoint_count_from(sluice_checkpoint* checkpoint, int32_t first) {
  return guarded([&] {
    impl_of(checkpoint);
    checkpoint->first_number = first;
  });
}

void sluice_checkpoint_free(sluice_checkpoint* checkpoint) {
  const auto why = sluice::c_api::take_reason_to_free(checkpoint);
  if (checkpoint != nullptr && !checkpoint->impl->is_here()) {
    static_cast<void>(checkpoint->impl.release());  // the parent's
  } else if (checkpoint != nullptr) {
    if (why) {
      checkpoint->impl->leave(*why);
    }
    checkpoint->impl->drop();
  }
  delete checkpoint;
}
