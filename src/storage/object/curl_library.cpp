#include "storage/object/curl_library.hpp"

#include <dlfcn.h>
#include <string>

#include "sluice/error.hpp"

namespace sluice::storage {

#ifdef SLUICE_HAS_CURL

namespace {

/// The first version that signs the headers that object stores need.
constexpr unsigned oldest_curl = 0x075800;  // 7.88.0
/// Of Linux; the names of a build are the same since 2006.
constexpr const char* curl_file = "libcurl.so.4";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

CurlLibrary load_curl() {
  void* const library = dlopen(curl_file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(Code::unsupported,
                std::string("object stores need ") + curl_file +
                    ", which this machine does not have: install it (Debian: libcurl4)");
  }
  CurlLibrary curl;
  CURLcode (*global_init)(long) = nullptr;
  curl_version_info_data* (*version_info)(CURLversion) = nullptr;
  const bool has_all = find(library, "curl_global_init", global_init) &&
                       find(library, "curl_version_info", version_info) &&
                       find(library, "curl_easy_init", curl.easy_init) &&
                       find(library, "curl_easy_setopt", curl.set) &&
                       find(library, "curl_easy_perform", curl.perform) &&
                       find(library, "curl_easy_getinfo", curl.info) &&
                       find(library, "curl_easy_reset", curl.reset) &&
                       find(library, "curl_easy_cleanup", curl.cleanup) &&
                       find(library, "curl_easy_strerror", curl.error_text) &&
                       find(library, "curl_slist_append", curl.append) &&
                       find(library, "curl_slist_free_all", curl.free_list);
  const curl_version_info_data* const version = has_all ? version_info(CURLVERSION_NOW) : nullptr;
  if (version == nullptr || version->version_num < oldest_curl) {
    throw Error(Code::unsupported,
                std::string("object stores need libcurl 7.88 or later, and ") + curl_file + " is " +
                    (version == nullptr ? "none that is known" : version->version) +
                    ": install a later one");
  }
  global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary* const curl = new CurlLibrary(load_curl());  // used after main() too
  return *curl;
}

void require_curl(const char* path) {
  try {
    curl_library();
  } catch (const Error& e) {
    throw Error(e.code(), std::string(path) + ": " + e.what());
  }
}

#else

void require_curl(const char* path) {
  throw Error(Code::unsupported,
              std::string(path) +
                  ": this build of Sluice was made without libcurl, which object stores need: "
                  "build it where libcurl's headers are (Debian: libcurl4-openssl-dev)");
}

#endif

}  // namespace sluice::storage
