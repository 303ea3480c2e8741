# sluice_older_symbols(target): the target of a wheel runs where glibc and libstdc++ are older than
# here: older_symbols.cpp says which functions that is about.
function(sluice_older_symbols target)
  if(NOT SLUICE_STATIC_DEPENDENCIES OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    return()
  endif()
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/older_symbols.cpp)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/cmake/older_symbols.cpp
    TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_options(${target} PRIVATE -Wl,--wrap=hypot
    -Wl,--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)
endfunction()
