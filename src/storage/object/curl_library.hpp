// libcurl, loaded at the first use of an address such as s3://: programs that use none do not load
// its two dozen libraries.
#pragma once

#ifdef SLUICE_HAS_CURL
#include <curl/curl.h>
#endif

namespace sluice::storage {

#ifdef SLUICE_HAS_CURL
struct CurlLibrary {
  CURL* (*easy_init)() = nullptr;
  CURLcode (*set)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*perform)(CURL*) = nullptr;
  CURLcode (*info)(CURL*, CURLINFO, ...) = nullptr;
  void (*reset)(CURL*) = nullptr;
  void (*cleanup)(CURL*) = nullptr;
  const char* (*error_text)(CURLcode) = nullptr;
  curl_slist* (*append)(curl_slist*, const char*) = nullptr;
  void (*free_list)(curl_slist*) = nullptr;
};

/// Error unsupported where the process cannot load one that signs requests.
const CurlLibrary& curl_library();
#endif

/// Error unsupported where this build, or this machine, has no libcurl for `path`. Any thread.
void require_curl(const char* path);

}  // namespace sluice::storage
