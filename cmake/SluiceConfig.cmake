# find_package(Sluice [COMPONENTS C CXX Fortran]): targets Sluice::c, Sluice::cxx, Sluice::fortran.
#
# Each brings the headers or modules, the library, and that language's interface of MPI. Without
# COMPONENTS: those of C, CXX and Fortran whose language the project uses and that are installed.
# The library serves any MPI. Only the compiled Fortran modules belong to one: which of those that
# are installed is right is asked of the MPI that find_package(MPI) finds; Sluice_MPI (openmpi or
# mpich) says it where the program that asks cannot be run, as when cross-compiling. Where none is
# right, compile the sources in share/sluice/fortran with your compiler (docs/install.md).
include(CMakeFindDependencyMacro)

set(_sluice_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB _sluice_files RELATIVE ${_sluice_folder} ${_sluice_folder}/SluiceFortran-*.cmake)
set(_sluice_there "")
foreach(_sluice_file ${_sluice_files})
  if(_sluice_file MATCHES "^SluiceFortran-([a-z]+)\\.cmake$")
    list(APPEND _sluice_there ${CMAKE_MATCH_1})
  endif()
endforeach()

macro(_sluice_give_up)
  set(Sluice_FOUND FALSE)
  set(Sluice_NOT_FOUND_MESSAGE "${ARGN}")
  return()
endmacro()

# -- which languages ------------------------------------------------------------------------------
get_property(_sluice_enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
set(_sluice_languages ${Sluice_FIND_COMPONENTS})
if(NOT _sluice_languages)
  foreach(_sluice_language C CXX Fortran)
    if(_sluice_language IN_LIST _sluice_enabled)
      list(APPEND _sluice_languages ${_sluice_language})
      set(Sluice_FIND_REQUIRED_${_sluice_language} FALSE)
    endif()
  endforeach()
endif()
foreach(_sluice_language ${_sluice_languages})
  if(NOT _sluice_language MATCHES "^(C|CXX|Fortran)$")
    _sluice_give_up("no component ${_sluice_language}: there are C, CXX and Fortran")
  endif()
  if(NOT _sluice_language IN_LIST _sluice_enabled)
    _sluice_give_up("component ${_sluice_language}: the project does not use that language; "
      "write it into project(... LANGUAGES ${_sluice_language})")
  endif()
endforeach()

# -- which MPI ------------------------------------------------------------------------------------
set(MPI_CXX_SKIP_MPICXX ON)
set(MPI_DETERMINE_LIBRARY_VERSION ON)
find_dependency(MPI COMPONENTS ${_sluice_languages})

# -- the targets ----------------------------------------------------------------------------------
include(${_sluice_folder}/SluiceLibrary.cmake)

# Sets Sluice_MPI_NAME: of which MPI the Fortran modules have to be.
macro(_sluice_name_mpi)
  set(Sluice_MPI_NAME "${Sluice_MPI}")
  if(NOT Sluice_MPI_NAME AND MPI_Fortran_LIBRARY_VERSION_STRING MATCHES "Open MPI")
    set(Sluice_MPI_NAME openmpi)
  elseif(NOT Sluice_MPI_NAME AND MPI_Fortran_LIBRARY_VERSION_STRING MATCHES "MPICH")
    set(Sluice_MPI_NAME mpich)
  elseif(NOT Sluice_MPI_NAME AND _sluice_there MATCHES "^[a-z]+$")
    set(Sluice_MPI_NAME ${_sluice_there})  # nobody could be asked, and there is but one
  endif()
endmacro()

foreach(_sluice_language ${_sluice_languages})
  set(Sluice_${_sluice_language}_FOUND TRUE)
  string(TOLOWER ${_sluice_language} _sluice_target)
  set(_sluice_target Sluice::${_sluice_target})
  if(_sluice_language STREQUAL "Fortran")
    _sluice_name_mpi()
    list(JOIN _sluice_there ", " _sluice_list)
    set(Sluice_Fortran_FOUND FALSE)
    if(Sluice_MPI_NAME IN_LIST _sluice_there)
      include(${_sluice_folder}/SluiceFortran-${Sluice_MPI_NAME}.cmake)
      set(Sluice_Fortran_FOUND TRUE)
    elseif(Sluice_FIND_REQUIRED_Fortran)
      _sluice_give_up("the MPI in use is '${Sluice_MPI_NAME}', and here are Fortran modules for: "
        "'${_sluice_list}'; set Sluice_MPI, or compile those in share/sluice/fortran yourself")
    endif()
  elseif(NOT TARGET ${_sluice_target})
    add_library(${_sluice_target} INTERFACE IMPORTED)
    target_link_libraries(${_sluice_target} INTERFACE
      Sluice::library MPI::MPI_${_sluice_language})
  endif()
endforeach()
if(TARGET Sluice::cxx)
  target_compile_features(Sluice::cxx INTERFACE cxx_std_20)
endif()
