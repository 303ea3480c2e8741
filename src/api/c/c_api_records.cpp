// The C interface of records.
#include "api/c/c_api_handle.hpp"
#include "api/c/opening.hpp"
#include "api/records/records_impl.hpp"
#include "sluice/records.h"
#include "sluice/records_inline.h"

using sluice::Code;
using sluice::Error;
using sluice::Options;
using sluice::detail::RecordsImpl;
using sluice::layout::records::scalar_bytes;
using sluice::layout::records::ScalarCode;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

struct sluice_part {
  sluice_part_front front{};
  RecordsImpl::Stream* stream = nullptr;
  RecordsImpl* impl = nullptr;  ///< nullptr once it is closed
  int number = 0;
  bool is_for_writing = false;
  bool is_for_reading = false;
};

struct sluice_records {
  std::unique_ptr<RecordsImpl> impl;
  std::vector<sluice_part> parts;
  int first_number = 0;  ///< from which messages count record groups
};

namespace {

// records_inline.h operates on these.
using LayoutPlace = sluice::layout::records::Place;
using LayoutRepeat = sluice::layout::records::Repeat;
using LayoutRun = sluice::layout::records::Run;
static_assert(sizeof(LayoutPlace) == sizeof(sluice_part_place) &&
              offsetof(LayoutPlace, end) == offsetof(sluice_part_place, end) &&
              offsetof(LayoutPlace, run) == offsetof(sluice_part_place, run) &&
              offsetof(LayoutPlace, repeat) == offsetof(sluice_part_place, repeat));
static_assert(sizeof(LayoutRepeat) == sizeof(sluice_part_repeat) &&
              offsetof(LayoutRepeat, distance) == offsetof(sluice_part_repeat, distance) &&
              offsetof(LayoutRepeat, length) == offsetof(sluice_part_repeat, length) &&
              offsetof(LayoutRepeat, window) == offsetof(sluice_part_repeat, window));
static_assert(sizeof(LayoutRun) == sizeof(sluice_part_run) &&
              offsetof(LayoutRun, count) == offsetof(sluice_part_run, count));

sluice_part_place* place_of(LayoutPlace& place) {
  return reinterpret_cast<sluice_part_place*>(&place);
}

constexpr std::int64_t most_quick = 1 << 30;  ///< limit for which no product overflows

template <class Where>
int open_records(const Where& where, const char* path, const char* mode, const char* options,
                 int parts, sluice_records** records) noexcept {
  return guarded([&] {
    if (records != nullptr) {
      *records = nullptr;
    }
    const Opening opening = where.parse(static_cast<void*>(records), path, mode, options);
    auto made = std::make_unique<sluice_records>();
    made->impl = std::make_unique<RecordsImpl>(
        [&](const Options& wanted) {
          return where.open({opening.path, opening.mode, wanted});
        },
        opening.mode, parts, opening.options);
    made->parts.resize(static_cast<std::size_t>(parts));
    for (int i = 0; i < parts; ++i) {
      RecordsImpl::Stream& stream = made->impl->stream(i);
      const bool reads = made->impl->reads();
      made->parts[static_cast<std::size_t>(i)] = {
          {reads ? nullptr : place_of(stream.writer.place()),
           reads ? place_of(stream.reader.place()) : nullptr},
          &stream,
          made->impl.get(),
          i,
          !reads,
          reads};
    }
    *records = made.release();
  });
}

RecordsImpl& impl_of(sluice_records* records) {
  if (records == nullptr) {
    throw Error(Code::invalid_argument, "the handle of records is NULL: was the file opened?");
  }
  return *records->impl;
}

RecordsImpl& impl_of(sluice_part* part) {
  if (part == nullptr || part->impl == nullptr) {
    throw Error(Code::invalid_argument, "the handle of a part is NULL: was the file opened?");
  }
  return *part->impl;
}

/// Runs `work(impl)`; an exception becomes the code and is kept.
template <class Work>
int call(sluice_records* records, Work&& work) noexcept {
  return guarded([&] {
    RecordsImpl& impl = impl_of(records);
    const sluice::model::Numbering numbering(records->first_number);
    work(impl);
  });
}

}  // namespace

int sluice_records_open_comm(sluice_comm comm, const char* path, const char* mode,
                             const char* options, sluice_records** records) {
  return open_records(OnComm(comm), path, mode, options, 1, records);
}

int sluice_records_open_f(int comm, const char* path, const char* mode, const char* options,
                          sluice_records** records) {
  return open_records(OnComm(comm_of_fortran(comm)), path, mode, options, 1, records);
}

int sluice_records_open_parts(const char* path, const char* mode, const char* options, int parts,
                              sluice_records** records) {
  return open_records(OnSelf(), path, mode, options, parts, records);
}

int sluice_records_count_from(sluice_records* records, int32_t first) {
  return call(records, [&](RecordsImpl&) { records->first_number = first; });
}

int sluice_records_parts(const sluice_records* records) {
  return records == nullptr ? 0 : records->impl->parts();
}

sluice_part* sluice_records_part(sluice_records* records, int part) {
  const bool is_there = records != nullptr && part >= 0 && part < records->impl->parts();
  return is_there ? &records->parts[static_cast<std::size_t>(part)] : nullptr;
}

int sluice_records_groups(sluice_records* records, int64_t* groups) {
  return call(records, [&](RecordsImpl& impl) {
    require(groups, "the place for the number of groups");
    *groups = static_cast<std::int64_t>(impl.groups());
  });
}

int sluice_records_set_text(sluice_records* records, const char* name, const char* text) {
  return call(records, [&](RecordsImpl& impl) {
    impl.set_text(text_of(name, "name"), text_of(text, "text"));
  });
}

int sluice_part_write(sluice_part* part, sluice_type type, const void* values, int64_t count) {
  if (part != nullptr && part->is_for_writing && count > 0 && count < most_quick &&
      values != nullptr) {
    const auto code = static_cast<ScalarCode>(type);
    const std::size_t bytes = std::size_t{scalar_bytes(code)} * static_cast<std::size_t>(count);
    if (bytes != 0 &&
        part->stream->writer.write(code, values, static_cast<std::uint64_t>(count), bytes)) {
      return SLUICE_OK;
    }
  }
  return guarded(
      [&] { impl_of(part).write(part->number, static_cast<ScalarCode>(type), values, count); });
}

int sluice_part_refuse(sluice_part* part, int code, const char* why) {
  return guarded([&] {
    impl_of(part).refuse({static_cast<Code>(code), text_of(why, "refuse: the reason")});
  });
}

int sluice_records_commit(sluice_records* records, int32_t* durable) {
  return call(records, [&](RecordsImpl& impl) {
    const sluice::Ticket ticket = impl.commit();
    if (durable != nullptr) {
      *durable = ticket.durable() ? 1 : 0;
    }
  });
}

int sluice_records_drain(sluice_records* records, double seconds, int32_t* all) {
  return call(records, [&](RecordsImpl& impl) {
    require(all, "the place for the answer");
    *all = impl.drain(seconds) ? 1 : 0;
  });
}

int sluice_records_fetch(sluice_records* records, int64_t group) {
  return call(records, [&](RecordsImpl& impl) {
    if (group != -1) {
      impl.fetch(static_cast<std::uint64_t>(group));
    } else if (!impl.fetch()) {
      throw Error(Code::out_of_bounds, impl.path() + ": there is no further record group: the " +
                                           std::to_string(impl.groups()) +
                                           " of the file have been read");
    }
  });
}

int sluice_part_read(sluice_part* part, sluice_type type, void* values, int64_t count) {
  if (part != nullptr && part->is_for_reading && count > 0 && count < most_quick &&
      values != nullptr) {
    const auto code = static_cast<ScalarCode>(type);
    const std::size_t bytes = std::size_t{scalar_bytes(code)} * static_cast<std::size_t>(count);
    if (bytes != 0 &&
        part->stream->reader.read_within(code, values, static_cast<std::uint64_t>(count), bytes)) {
      return SLUICE_OK;
    }
  }
  return guarded(
      [&] { impl_of(part).read(part->number, static_cast<ScalarCode>(type), values, count); });
}

int sluice_part_at_end(sluice_part* part, int32_t* yes) {
  return guarded([&] {
    require(yes, "the place for the answer");
    *yes = impl_of(part).at_end(part->number) ? 1 : 0;
  });
}

int sluice_records_close(sluice_records* records) {
  return guarded([&] {
    RecordsImpl& impl = impl_of(records);
    for (sluice_part& part : records->parts) {
      part.front = {};
      part.is_for_writing = part.is_for_reading = false;
    }
    impl.close();
  });
}

void sluice_records_free(sluice_records* records) {
  const auto why = sluice::c_api::take_reason_to_free(records);
  if (records != nullptr) {
    records->impl->drop(why);
  }
  delete records;
}
