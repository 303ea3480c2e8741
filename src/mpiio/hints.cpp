#include "mpiio/hints.hpp"

#include <charconv>

#include "mpiio/errors.hpp"

namespace sluice::mpiio {

Hints::Hints() { check(mpi.Info_create(&info_), "making an info object"); }

Hints::~Hints() { mpi.Info_free(&info_); }

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;

/// A number from 1 to `most`; `standard` where the text is none.
std::int64_t count_of(const std::string& text, std::int64_t most, std::int64_t standard) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc{} && stop == end && number > 0 && number <= most ? number : standard;
}

}  // namespace

std::string Hints::not_done() const {
  return stripes_.empty() ? ""
                          : "\n  the hint striping_factor=" + stripes_ +
                                " was not carried out: set the stripes of the folder";
}

void Hints::note_stripes(std::int64_t bytes) {
  if (!is_stripe_hinted_ && bytes > 0 && bytes <= most_bytes) {
    exchange_.stripe_bytes = bytes;
  }
}

void Hints::note(const std::string& name, const std::string& value) {
  if (name == "cb_nodes") {
    exchange_.aggregators = static_cast<int>(count_of(value, 1 << 24, exchange_.aggregators));
  } else if (name == "cb_buffer_size") {
    exchange_.window_bytes = count_of(value, most_bytes, exchange_.window_bytes);
  } else if (name == "striping_unit") {
    const std::int64_t bytes = count_of(value, most_bytes, 0);
    is_stripe_hinted_ = is_stripe_hinted_ || bytes > 0;
    exchange_.stripe_bytes = bytes > 0 ? bytes : exchange_.stripe_bytes;
  } else if (name == "striping_factor") {
    stripes_ = value;
  } else if (name == "sluice_write_behind") {
    writes_behind_ = value == "true" || value == "1" || value == "on";
  } else if (name == "romio_cb_write") {
    exchanges_write_ = value != "disable";
    must_write_ = value == "enable";
  } else if (name == "romio_cb_read") {
    exchanges_read_ = value != "disable";
    must_read_ = value == "enable";
  }
}

void Hints::add(MPI_Info info) {
  if (info == MPI_INFO_NULL) {
    return;
  }
  int count = 0;
  check(mpi.Info_get_nkeys(info, &count), "reading an info object");
  for (int i = 0; i < count; ++i) {
    char name[MPI_MAX_INFO_KEY + 1] = {};
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int is_there = 0;
    check(mpi.Info_get_nthkey(info, i, name), "reading an info object");
    check(mpi.Info_get(info, name, MPI_MAX_INFO_VAL, value, &is_there), "reading an info object");
    if (is_there != 0) {
      check(mpi.Info_set(info_, name, value), "setting a hint");
      note(name, value);
    }
  }
}

MPI_Info Hints::copy() const {
  MPI_Info info = MPI_INFO_NULL;
  check(mpi.Info_dup(info_, &info), "copying an info object");
  return info;
}

}  // namespace sluice::mpiio
