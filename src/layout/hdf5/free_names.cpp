#include "layout/hdf5/free_names.hpp"

#include "layout/hdf5/links.hpp"

namespace sluice::layout::hdf5 {

void require_free(hid_t file, const std::string& name, const std::string& what) {
  for (std::size_t slash = name.find('/');; slash = name.find('/', slash + 1)) {
    const std::string part = name.substr(0, slash);
    const bool is_whole = slash == std::string::npos;
    if (!is_yes(H5Lexists(file, part.c_str(), H5P_DEFAULT), part)) {
      return;
    }
    if (is_whole || facts_of(file, part).target != Target::group) {
      throw Error(Code::exists, what + ": another program made " + part +
                                    " in this file: use another name, or write a new file");
    }
  }
}

}  // namespace sluice::layout::hdf5
