# libsluice: what programs link to, whatever their MPI. The objects of sluice_core, of which only
# the public interface is visible (src/api/sluice.map). SONAME: the major version, while that is 0
# also the minor one.
#
# SLUICE_MPI_NAME: the MPI that tests, apps and Fortran modules are built with here.
if(MPI_CXX_LIBRARY_VERSION_STRING MATCHES "Open MPI")
  set(SLUICE_MPI_NAME openmpi)
elseif(MPI_CXX_LIBRARY_VERSION_STRING MATCHES "MPICH")
  set(SLUICE_MPI_NAME mpich)
else()
  string(REGEX MATCH "^[A-Za-z]*" SLUICE_MPI_NAME "${MPI_CXX_LIBRARY_VERSION_STRING}")
  string(TOLOWER "mpi${SLUICE_MPI_NAME}" SLUICE_MPI_NAME)
endif()

set(SLUICE_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(SLUICE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

add_library(sluice SHARED $<TARGET_OBJECTS:sluice_core> ${SLUICE_MPI_OBJECTS})
# A wheel has no links: there the file has the name by which programs ask for it.
set(version ${PROJECT_VERSION})
if(SKBUILD)
  set(version ${SLUICE_SOVERSION})
endif()
set_target_properties(sluice PROPERTIES
  VERSION ${version}
  SOVERSION ${SLUICE_SOVERSION}
  LINKER_LANGUAGE CXX
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/api/sluice.map)
target_include_directories(sluice PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
# Which of MPI's interfaces a program needs is its own choice once the library is installed: see
# SluiceConfig.cmake.
target_link_libraries(sluice
  INTERFACE $<BUILD_INTERFACE:$<TARGET_NAME_IF_EXISTS:MPI::MPI_CXX>>
  PRIVATE PkgConfig::XXHASH ${SLUICE_COMPRESSORS} Threads::Threads ${CMAKE_DL_LIBS}
    sluice_flags)
if(NOT SLUICE_HDF5_FILE)  # found static or shared, as it was found
  target_link_libraries(sluice PRIVATE PkgConfig::HDF5)
endif()
# -Bsymbolic: the library's own calls reach its own functions, whatever the program defines.
# --exclude-libs: a libhdf5 that was linked statically stays as hidden as the rest.
# nodelete: MPI calls the library in MPI_Finalize, maybe after an interpreter has closed it.
target_link_options(sluice PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/api/sluice.map
  -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
if(NOT SLUICE_SANITIZE)
  target_link_options(sluice PRIVATE -Wl,-z,defs)
endif()
sluice_older_symbols(sluice)
add_library(Sluice::sluice ALIAS sluice)
