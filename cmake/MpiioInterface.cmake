# libsluice-mpiio-openmpi.so and libsluice-mpiio-mpich.so: MPI-IO for unmodified programs, loaded
# in front of their MPI (LD_PRELOAD). One for each of the two ABIs whose mpi.h is here, linked to
# no MPI. Each is compiled from the few files that it uses.
file(GLOB SLUICE_MPIIO_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/mpiio/*.cpp)
set(SLUICE_MPIIO_OTHERS
  src/model/bits.cpp src/model/error.cpp src/model/name.cpp src/mpi/loaded.cpp
  src/storage/background_thread.cpp src/storage/calls.cpp src/storage/direct.cpp
  src/storage/file_system.cpp src/storage/foreign_file.cpp
  src/storage/lease.cpp src/storage/lease_record.cpp src/storage/named_file.cpp
  src/storage/own_process.cpp src/storage/permissions.cpp src/storage/place.cpp
  src/storage/posix.cpp src/storage/posix_folders.cpp src/storage/say.cpp
  src/storage/shared_memory.cpp src/storage/size_limit.cpp src/storage/storage.cpp
  src/storage/writeback.cpp)
list(TRANSFORM SLUICE_MPIIO_OTHERS PREPEND ${CMAKE_SOURCE_DIR}/)

# The files that both share: they see no mpi.h.
add_library(sluice_mpiio_common OBJECT ${SLUICE_MPIIO_OTHERS})
sluice_unity(sluice_mpiio_common)
target_include_directories(sluice_mpiio_common PRIVATE
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(sluice_mpiio_common PRIVATE PkgConfig::XXHASH sluice_flags)
set_target_properties(sluice_mpiio_common PROPERTIES CXX_VISIBILITY_PRESET hidden)

# A test has its own hooks, and what MPI calls stands in C's names.
file(GLOB alone ${CMAKE_SOURCE_DIR}/src/mpiio/face_*.cpp)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/mpiio/hooks.cpp ${alone}
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

set(SLUICE_MPIIO_ABIS "")
foreach(abi openmpi mpich)
  if(NOT SLUICE_MPI_FOLDER_${abi})
    continue()
  endif()
  list(APPEND SLUICE_MPIIO_ABIS ${abi})
  # Objects, for a test program that is linked to them: under a sanitizer nothing is preloaded.
  add_library(sluice_mpiio_${abi}_objects OBJECT ${SLUICE_MPIIO_SOURCES})
  sluice_unity(sluice_mpiio_${abi}_objects)
  target_include_directories(sluice_mpiio_${abi}_objects PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(sluice_mpiio_${abi}_objects SYSTEM PRIVATE
    ${SLUICE_MPI_FOLDER_${abi}})
  target_link_libraries(sluice_mpiio_${abi}_objects PRIVATE sluice_flags)
  target_compile_definitions(sluice_mpiio_${abi}_objects PRIVATE SLUICE_NO_MPI_H)
  set_target_properties(sluice_mpiio_${abi}_objects PROPERTIES CXX_VISIBILITY_PRESET hidden)

  add_library(sluice_mpiio_${abi} MODULE $<TARGET_OBJECTS:sluice_mpiio_${abi}_objects>
    $<TARGET_OBJECTS:sluice_mpiio_common>)
  target_link_libraries(sluice_mpiio_${abi} PRIVATE PkgConfig::XXHASH Threads::Threads
    ${CMAKE_DL_LIBS} sluice_flags)
  set_target_properties(sluice_mpiio_${abi} PROPERTIES
    OUTPUT_NAME sluice-mpiio-${abi} LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/mpiio
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/mpiio/mpiio.map)
  target_link_options(sluice_mpiio_${abi} PRIVATE -Wl,-Bsymbolic -Wl,--as-needed -Wl,-z,nodelete
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/mpiio/mpiio.map)
  if(NOT SLUICE_SANITIZE)
    target_link_options(sluice_mpiio_${abi} PRIVATE -Wl,-z,defs)
  endif()
endforeach()
