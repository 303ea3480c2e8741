# The parts of the library that call an MPI (src/mpi/part*.cpp), one for each ABI whose mpi.h is
# here: Open MPI's, MPICH's, and the one that MPI 5 defines. None of them is linked to an MPI: which
# one a process has is found at run time (src/mpi/process.hpp). Sets SLUICE_MPI_ABIS, and
# SLUICE_MPI_FOLDER_<abi>, where the mpi.h of each is.
#
# Headers are looked for in SLUICE_MPI_HEADERS, then where the compilers that MPIs bring say, then
# in the usual folders.
set(SLUICE_MPI_HEADERS "" CACHE STRING "Folders with an mpi.h or mpi_abi.h, each of another MPI")

# Folders that a compiler of an MPI (mpicc) hands on.
function(sluice_folders_of_wrapper wrapper result)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE line ERROR_QUIET
    RESULT_VARIABLE code)
  set(folders "")
  if(code EQUAL 0)
    string(REGEX MATCHALL "-I *[^ \n]+" flags "${line}")
    foreach(flag ${flags})
      string(REGEX REPLACE "^-I *" "" folder "${flag}")
      list(APPEND folders ${folder})
    endforeach()
  endif()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

set(folders ${SLUICE_MPI_HEADERS} ${MPI_C_INCLUDE_DIRS} ${MPI_CXX_INCLUDE_DIRS})
foreach(name mpicc mpicc.openmpi mpicc.mpich)
  find_program(SLUICE_WRAPPER ${name} NO_CACHE)
  if(SLUICE_WRAPPER)
    sluice_folders_of_wrapper(${SLUICE_WRAPPER} found)
    list(APPEND folders ${found})
  endif()
  unset(SLUICE_WRAPPER)
endforeach()
list(APPEND folders /usr/include)
list(REMOVE_DUPLICATES folders)

set(SLUICE_MPI_ABIS "")
set(SLUICE_MPI_OBJECTS "")
# sluice_mpi_part(ABI FOLDER [DEFINITION]): unless there is one for that ABI already.
function(sluice_mpi_part abi folder)
  if(abi IN_LIST SLUICE_MPI_ABIS)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/mpi/part*.cpp)
  add_library(sluice_mpi_${abi} OBJECT ${sources})
  target_compile_definitions(sluice_mpi_${abi} PRIVATE
    SLUICE_NO_MPI_H SLUICE_MPI_PART=${abi} ${ARGN})
  target_include_directories(sluice_mpi_${abi} PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(sluice_mpi_${abi} SYSTEM PRIVATE ${folder})
  target_link_libraries(sluice_mpi_${abi} PRIVATE sluice_flags)
  set(SLUICE_MPI_ABIS ${SLUICE_MPI_ABIS} ${abi} PARENT_SCOPE)
  set(SLUICE_MPI_FOLDER_${abi} ${folder} PARENT_SCOPE)
  set(SLUICE_MPI_OBJECTS ${SLUICE_MPI_OBJECTS} $<TARGET_OBJECTS:sluice_mpi_${abi}> PARENT_SCOPE)
endfunction()
foreach(folder ${folders})
  if(EXISTS ${folder}/mpi_abi.h)
    sluice_mpi_part(standard ${folder} SLUICE_MPI_STANDARD_HEADER)
  endif()
  if(EXISTS ${folder}/mpi.h)
    file(STRINGS ${folder}/mpi.h facts
      REGEX "# *define +(OPEN_MPI|MPICH_VERSION|I_MPI_VERSION|MVAPICH2?_VERSION) ")
    if(facts MATCHES "OPEN_MPI")
      sluice_mpi_part(openmpi ${folder})
    elseif(facts)
      sluice_mpi_part(mpich ${folder})
    endif()
  endif()
endforeach()

target_sources(sluice_core PRIVATE ${SLUICE_MPI_OBJECTS})
foreach(abi ${SLUICE_MPI_ABIS})
  string(TOUPPER ${abi} name)
  set_property(SOURCE src/mpi/find.cpp APPEND PROPERTY COMPILE_DEFINITIONS SLUICE_MPI_${name})
endforeach()
