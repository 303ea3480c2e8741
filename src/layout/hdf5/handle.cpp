#include "layout/hdf5/handle.hpp"

#include "sluice/error.hpp"

namespace sluice::layout::hdf5 {

void Handle::reset() {
  if (id_ < 0) {
    return;
  }
  QuietErrors quiet;  // an id that died with its file is no news
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

hid_t checked(hid_t result, const std::string& what) {
  if (result < 0) {
    const std::string why = last_error();
    throw Error(Code::format, what + ": libhdf5: " + (why.empty() ? "no reason given" : why));
  }
  return result;
}

void check(herr_t status, const std::string& what) { checked(status, what); }

}  // namespace sluice::layout::hdf5
