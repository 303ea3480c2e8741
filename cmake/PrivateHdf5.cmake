# Which libhdf5 the library loads for itself (src/layout/hdf5/library.hpp): the shared one that it
# was configured with, so that a program's own libhdf5 stays apart. Sets SLUICE_HDF5_FILE and
# SLUICE_HDF5_SONAME; empty where libhdf5 is static
# (SLUICE_STATIC_DEPENDENCIES), which is linked in and hidden instead.
option(SLUICE_HDF5_PRIVATE "Load libhdf5 beside the program's own instead of linking to it" ON)

set(SLUICE_HDF5_FILE "")
set(SLUICE_HDF5_SONAME "")
if(SLUICE_HDF5_PRIVATE AND NOT SLUICE_STATIC_DEPENDENCIES)
  find_library(SLUICE_HDF5_FOUND NAMES hdf5 hdf5_serial HINTS ${HDF5_LIBRARY_DIRS} NO_CACHE)
  if(SLUICE_HDF5_FOUND MATCHES "\\.so")
    file(REAL_PATH ${SLUICE_HDF5_FOUND} SLUICE_HDF5_FILE)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${SLUICE_HDF5_FILE}
      OUTPUT_VARIABLE facts COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "SONAME +([^ \n]+)" match "${facts}")
    set(SLUICE_HDF5_SONAME ${CMAKE_MATCH_1})
    # The links that come with another patch release stay right: name the file by its SONAME.
    cmake_path(REPLACE_FILENAME SLUICE_HDF5_FILE ${SLUICE_HDF5_SONAME} OUTPUT_VARIABLE named)
    if(EXISTS ${named})
      set(SLUICE_HDF5_FILE ${named})
    endif()
  endif()
endif()

if(NOT SLUICE_HDF5_FILE AND HDF5_LINK_LIBRARIES MATCHES "libhdf5[^;]*\\.a")
  target_compile_definitions(sluice_core PUBLIC SLUICE_HDF5_INSIDE)
endif()
if(SLUICE_HDF5_FILE)
  target_compile_definitions(sluice_core PUBLIC
    SLUICE_HDF5_FILE="${SLUICE_HDF5_FILE}" SLUICE_HDF5_SONAME="${SLUICE_HDF5_SONAME}")
  target_link_libraries(sluice_core PUBLIC ${CMAKE_DL_LIBS})
endif()
