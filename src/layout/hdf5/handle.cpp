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

herr_t take_description(unsigned, const H5E_error2_t* error, void* into) {
  auto& text = *static_cast<std::string*>(into);
  if (error->desc != nullptr && text.empty()) {
    text = error->desc;
  }
  return 0;
}

}  // namespace

std::string last_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &text);
  return text;
}

void note_storage_failure(const Error& error) { storage_failure = error; }

std::optional<Error> take_storage_failure() { return std::exchange(storage_failure, std::nullopt); }

hid_t checked(hid_t result, const std::string& what) {
  const std::optional<Error> failure = take_storage_failure();
  if (result < 0 && failure) {
    throw Error(failure->code(), what + ": " + failure->what());
  }
  if (result < 0) {
    const std::string why = last_error();
    throw Error(Code::format, what + ": libhdf5: " + (why.empty() ? "no reason given" : why));
  }
  return result;
}

void check(herr_t status, const std::string& what) { checked(status, what); }

bool is_yes(htri_t answer, const std::string& what) { return checked(answer, what) > 0; }

void check_no_error(const std::string& what) {
  const std::string why = last_error();
  if (!why.empty()) {
    throw Error(Code::format, what + ": libhdf5: " + why);
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
