# libcurl, for src/storage/object only. Only its headers are used here: nothing is linked to it.
if(CURL_FOUND)
  set_property(SOURCE src/storage/object/curl_library.cpp src/storage/object/http.cpp APPEND
    PROPERTY COMPILE_DEFINITIONS SLUICE_HAS_CURL)
  set_property(SOURCE src/storage/object/curl_library.cpp src/storage/object/http.cpp APPEND
    PROPERTY INCLUDE_DIRECTORIES ${CURL_INCLUDE_DIRS})
  # With definitions of their own.
  set_source_files_properties(src/storage/object/curl_library.cpp src/storage/object/http.cpp
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()
