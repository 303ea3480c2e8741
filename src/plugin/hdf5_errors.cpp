#include "plugin/hdf5_errors.hpp"

#include <cerrno>

#include "plugin/hdf5_abi.hpp"
#include "plugin/hdf5_library.hpp"

namespace sluice::plugin {

namespace {

using Push = abi::Status (*)(abi::Id stack, const char* file, const char* function, unsigned line,
                             abi::Id error_class, abi::Id major, abi::Id minor, const char* format,
                             ...);

/// What HDF5's own driver would have got from the system; 0: nothing of that kind.
int errno_of(Code code) {
  switch (code) {
    case Code::not_found:
      return ENOENT;
    case Code::exists:
      return EEXIST;
    case Code::permission:
      return EACCES;
    case Code::locked:
      return EAGAIN;
    case Code::no_space:
      return ENOSPC;
    case Code::io:
      return EIO;
    default:
      return 0;
  }
}

}  // namespace

void push_error(const void* caller, Failed call, Code code, const std::string& text) noexcept {
  constexpr abi::Id default_stack = 0;  // H5E_DEFAULT
  struct Names {
    const char* function;
    const char* major;
    const char* minor;
  };
  constexpr Names names[] = {{"open", "H5E_FILE_g", "H5E_CANTOPENFILE_g"},
                             {"read", "H5E_IO_g", "H5E_READERROR_g"},
                             {"write", "H5E_IO_g", "H5E_WRITEERROR_g"},
                             {"close", "H5E_FILE_g", "H5E_CANTCLOSEFILE_g"}};
  const Names& name = names[static_cast<unsigned char>(call)];
  const Hdf5Library library(caller);
  const auto push = reinterpret_cast<Push>(library.find("H5Epush2"));
  const abi::Id error_class = library.id("H5E_ERR_CLS_g");
  const abi::Id major = library.id(name.major);
  const abi::Id minor = library.id(name.minor);
  if (push == nullptr || error_class == 0 || major == 0 || minor == 0) {
    return;
  }
  const int number = errno_of(code);
  if (number == 0) {
    push(default_stack, "sluice", name.function, 0, error_class, major, minor, "%s", text.c_str());
  } else {
    push(default_stack, "sluice", name.function, 0, error_class, major, minor, "%s, errno = %d",
         text.c_str(), number);
  }
}

}  // namespace sluice::plugin
