# The compressors that were found, for src/codec only: nothing else is built anew when one comes.
set(SLUICE_COMPRESSORS "")
if(LIBDEFLATE_FOUND)
  set_property(SOURCE src/codec/deflate.cpp APPEND PROPERTY COMPILE_DEFINITIONS
    SLUICE_HAS_LIBDEFLATE)
  list(APPEND SLUICE_COMPRESSORS PkgConfig::LIBDEFLATE)
endif()
if(ZSTD_FOUND)
  set_property(SOURCE src/codec/zstd.cpp src/codec/zstd_frame.cpp APPEND PROPERTY
    COMPILE_DEFINITIONS SLUICE_HAS_ZSTD)
  list(APPEND SLUICE_COMPRESSORS PkgConfig::ZSTD)
endif()
target_link_libraries(sluice_core PUBLIC ${SLUICE_COMPRESSORS})
