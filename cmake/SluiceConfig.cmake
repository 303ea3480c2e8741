# find_package(Sluice [COMPONENTS C CXX Fortran]): targets Sluice::c, Sluice::cxx, Sluice::fortran.
#
# Each brings the headers or modules, the library, and that language's interface of MPI. Without
# COMPONENTS: those of C, CXX and Fortran whose language the project uses and that are installed.
# Which of the installed libraries is right (libsluice-openmpi, libsluice-mpich) is asked of the MPI
# that find_package(MPI) finds; Sluice_MPI (openmpi or mpich) says it where the program that asks
# cannot be run, as when cross-compiling. Sets Sluice_MPI_NAME.
include(CMakeFindDependencyMacro)

set(_sluice_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB _sluice_files RELATIVE ${_sluice_folder} ${_sluice_folder}/Sluice-*.cmake)
set(_sluice_there "")
foreach(_sluice_file ${_sluice_files})
  if(_sluice_file MATCHES "^Sluice-([a-z]+)\\.cmake$")
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
set(Sluice_MPI_NAME "${Sluice_MPI}")
foreach(_sluice_language ${_sluice_languages})
  set(_sluice_said "${MPI_${_sluice_language}_LIBRARY_VERSION_STRING}")
  if(NOT Sluice_MPI_NAME AND _sluice_said MATCHES "Open MPI")
    set(Sluice_MPI_NAME openmpi)
  elseif(NOT Sluice_MPI_NAME AND _sluice_said MATCHES "MPICH")
    set(Sluice_MPI_NAME mpich)
  endif()
endforeach()
list(JOIN _sluice_there ", " _sluice_list)
if(NOT Sluice_MPI_NAME AND _sluice_there MATCHES "^[a-z]+$")
  set(Sluice_MPI_NAME ${_sluice_there})  # nobody could be asked, and there is but one
elseif(NOT Sluice_MPI_NAME)
  _sluice_give_up("which MPI this is could not be found out; set Sluice_MPI to one of: "
    "${_sluice_list}")
endif()
if(NOT Sluice_MPI_NAME IN_LIST _sluice_there)
  _sluice_give_up("the MPI in use is ${Sluice_MPI_NAME}, and here is Sluice for: ${_sluice_list}")
endif()

# -- the targets ----------------------------------------------------------------------------------
include(${_sluice_folder}/Sluice-${Sluice_MPI_NAME}.cmake)
foreach(_sluice_language ${_sluice_languages})
  set(Sluice_${_sluice_language}_FOUND TRUE)
  string(TOLOWER ${_sluice_language} _sluice_target)
  set(_sluice_target Sluice::${_sluice_target})
  if(_sluice_language STREQUAL "Fortran")
    include(${_sluice_folder}/SluiceFortran-${Sluice_MPI_NAME}.cmake OPTIONAL
      RESULT_VARIABLE Sluice_Fortran_FOUND)
    if(NOT Sluice_Fortran_FOUND AND Sluice_FIND_REQUIRED_Fortran)
      _sluice_give_up("the Fortran modules for ${Sluice_MPI_NAME} are not installed here")
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
