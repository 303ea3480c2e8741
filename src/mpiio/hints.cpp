#include "mpiio/hints.hpp"

#include <charconv>

#include "mpiio/errors.hpp"
#include "mpiio/settings.hpp"

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
  if (!steering_.is_stripe_hinted && bytes > 0 && bytes <= most_bytes) {
    steering_.exchange.stripe_bytes = bytes;
  }
}

void Steering::note(const std::string& name, const std::string& value) {
  if (name == "cb_nodes") {
    exchange.aggregators = static_cast<int>(count_of(value, 1 << 24, exchange.aggregators));
  } else if (name == "cb_buffer_size") {
    exchange.window_bytes = count_of(value, most_bytes, exchange.window_bytes);
  } else if (name == "striping_unit") {
    const std::int64_t bytes = count_of(value, most_bytes, 0);
    is_stripe_hinted = is_stripe_hinted || bytes > 0;
    exchange.stripe_bytes = bytes > 0 ? bytes : exchange.stripe_bytes;
  } else if (name == "romio_cb_write") {
    exchanges_write = value != "disable";
    must_write = value == "enable";
  } else if (name == "romio_cb_read") {
    exchanges_read = value != "disable";
    must_read = value == "enable";
  }
}

namespace {

template <class Action>
void for_each_hint(MPI_Info info, Action&& action) {
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
      action(name, value);
    }
  }
}

}  // namespace

void Hints::add(MPI_Info info) {
  for_each_hint(info, [&](const char* name, const std::string& value) {
    check(mpi.Info_set(info_, name, value.c_str()), "setting a hint");
    if (std::string(name) == "striping_factor") {
      stripes_ = value;
    } else if (std::string(name) == "sluice_write_behind") {
      writes_behind_ = switch_of(value).value_or(false);
    }
  });
}

Steering Hints::steering_with(MPI_Info info) const {
  Steering steering = steering_;
  for_each_hint(
      info, [&](const std::string& name, const std::string& value) { steering.note(name, value); });
  return steering;
}

MPI_Info Hints::copy() const {
  MPI_Info info = MPI_INFO_NULL;
  check(mpi.Info_dup(info_, &info), "copying an info object");
  return info;
}

}  // namespace sluice::mpiio
