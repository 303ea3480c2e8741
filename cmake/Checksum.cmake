# Not every build of libxxhash has its variants for the processor at hand.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_cxx_source_compiles("
  #include <xxh_x86dispatch.h>
  int main() { return static_cast<int>(XXH3_64bits_dispatch(\"\", 0)); }"
  SLUICE_HAS_XXH_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)
if(SLUICE_HAS_XXH_DISPATCH)
  set_property(SOURCE src/codec/checksum.cpp APPEND PROPERTY COMPILE_DEFINITIONS
    SLUICE_HAS_XXH_DISPATCH)
endif()
