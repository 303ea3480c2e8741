#include "layout/hdf5/handle.hpp"

namespace sluice::layout::hdf5 {

void Handle::reset() {
  if (id_ < 0) {
    return;
  }
  QuietErrors quiet;  // closing an id that was closed with its file is not an error
  switch (H5Iget_type(id_)) {
    case H5I_FILE:
      H5Fclose(id_);
      break;
    case H5I_GROUP:
      H5Gclose(id_);
      break;
    case H5I_DATATYPE:
      H5Tclose(id_);
      break;
    case H5I_DATASPACE:
      H5Sclose(id_);
      break;
    case H5I_DATASET:
      H5Dclose(id_);
      break;
    case H5I_ATTR:
      H5Aclose(id_);
      break;
    case H5I_GENPROP_LST:
      H5Pclose(id_);
      break;
    default:
      break;
  }
  id_ = -1;
}

QuietErrors::QuietErrors() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

namespace {

thread_local std::optional<Error> storage_failure;

/// The error stack of a thread refers to ids, also after calls that succeeded: a flush leaves there
/// that it looked for a filter. libhdf5 does not release them when the thread ends, and says at the
/// end of the process that it cannot be closed ("infinite loop").
struct ErrorStack {
  ~ErrorStack() { H5Eclear2(H5E_DEFAULT); }
  void clear_at_thread_end() {}
};
thread_local ErrorStack error_stack;

/// The innermost entry of the error stack.
struct Innermost {
  std::string text;
  hid_t minor = -1;
};

herr_t take_innermost(unsigned, const H5E_error2_t* error, void* into) {
  auto& found = *static_cast<Innermost*>(into);
  if (error->desc != nullptr && found.text.empty()) {
    found.text = error->desc;
    found.minor = error->min_num;
  }
  return 0;
}

Innermost innermost_error() {
  Innermost found;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &found);
  return found;
}

/// libhdf5 has a number for it, but gives others where it reads superblocks and most messages of
/// object headers. Their texts are alike: "bad version number for layout message" (and not "no
/// conversion path").
bool is_of_version(const Innermost& error) {
  return error.minor == H5E_VERSION || error.text.find(" version") != std::string::npos;
}

}  // namespace

std::string last_error() { return innermost_error().text; }

Error library_error(const std::string& what) {
  const Innermost error = innermost_error();
  const bool is_short = error.text.find("truncated") != std::string::npos;
  const Code code = is_short               ? Code::truncated
                    : is_of_version(error) ? Code::version
                                           : Code::format;
  return {code, what + ": libhdf5: " + (error.text.empty() ? "no reason given" : error.text)};
}

void note_storage_failure(const Error& error) { storage_failure = error; }

std::optional<Error> take_storage_failure() { return std::exchange(storage_failure, std::nullopt); }

void check_storage(const std::string& what) {
  if (const std::optional<Error> failure = take_storage_failure()) {
    throw Error(failure->code(), what + ": " + failure->what());
  }
}

hid_t checked(hid_t result, const std::string& what) {
  error_stack.clear_at_thread_end();
  if (result < 0) {
    check_storage(what);
  }
  take_storage_failure();
  if (result < 0) {
    throw library_error(what);
  }
  return result;
}

void check(herr_t status, const std::string& what) { checked(status, what); }

bool is_yes(htri_t answer, const std::string& what) { return checked(answer, what) > 0; }

void check_no_error(const std::string& what) {
  if (!last_error().empty()) {
    checked(-1, what);
  }
}

void throw_storage_failure() {
  const std::optional<Error> failure = take_storage_failure();
  if (failure && !concerns_object(*failure)) {
    throw *failure;
  }
}

bool has_link(hid_t where, const std::string& path) {
  // libhdf5 answers for the last name only if the groups before it exist.
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!is_yes(H5Lexists(where, part.c_str(), H5P_DEFAULT), part)) {
      return false;
    }
    if (slash == std::string::npos) {
      return true;
    }
  }
}

}  // namespace sluice::layout::hdf5
