#include "mpiio/hints.hpp"

#include <charconv>

#include "mpiio/errors.hpp"

namespace sluice::mpiio {

Hints::Hints() { check(mpi.Info_create(&info_), "making an info object"); }

Hints::~Hints() { mpi.Info_free(&info_); }

void Hints::note(const std::string& name, const std::string& value) {
  if (name == "cb_nodes") {
    int number = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, problem] = std::from_chars(value.data(), end, number);
    if (problem == std::errc{} && stop == end && number > 0) {
      aggregators_ = number;
    }
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
