# `cmake --install`: the library, its headers, the Fortran modules and their sources, the command
# with its completion, manual pages, examples, and what consumers find them by
# (find_package(Sluice), pkg-config). A Python package has the same tree inside it.
#
# Only the compiled Fortran modules depend on the MPI; they carry its name, so that builds for
# several share one prefix. No installed file has the prefix in it: a prefix can be moved.
# Components: library, fortran, command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)  # the folders inside the package, whatever the system's are called
  set(CMAKE_INSTALL_LIBDIR lib)
  set(CMAKE_INSTALL_INCLUDEDIR include)
  set(CMAKE_INSTALL_DATADIR share)
  set(CMAKE_INSTALL_MANDIR share/man)
  set(CMAKE_INSTALL_FULL_LIBDIR ${CMAKE_INSTALL_PREFIX}/lib)
  set(SLUICE_NAMELINK NAMELINK_SKIP)
  set(SLUICE_PC_LIBS "-l:libsluice.so.${SLUICE_SOVERSION} -Wl,-rpath,\${libdir}")
else()
  set(SLUICE_NAMELINK "")
  set(SLUICE_PC_LIBS -lsluice)
endif()
# The C interface as the Python package imports it. The script is run by its path: the package
# itself would need what is being built.
if(SKBUILD)
  find_package(Python REQUIRED COMPONENTS Interpreter)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/install)
  # pip builds in an environment that Python finds by its PYTHONPATH: cffi is there.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env
      PYTHONPATH=${CMAKE_SOURCE_DIR}/python/sluice:$ENV{PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
      ${Python_EXECUTABLE} -c
      "import pathlib, _header; _header.declare(pathlib.Path('install/_declared.py').absolute())"
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${CMAKE_BINARY_DIR}/install/_declared.py DESTINATION . COMPONENT library)
endif()
set(SLUICE_CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
set(SLUICE_MODULE_FOLDER ${CMAKE_INSTALL_LIBDIR}/sluice-${SLUICE_MPI_NAME}/modules)

set_target_properties(sluice PROPERTIES EXPORT_NAME library)
target_include_directories(sluice INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS sluice EXPORT SluiceLibrary
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library ${SLUICE_NAMELINK})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT library FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sluice
  COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sluice COMPONENT library
  PATTERN CMakeLists.txt EXCLUDE)

# The driver for programs of HDF5 needs no MPI: the same for all of them.
install(TARGETS sluice_hdf5_driver
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice/hdf5_driver COMPONENT library)

# In front of programs' own MPI: found by name, LD_PRELOAD=libsluice-mpiio-openmpi.so.
foreach(abi IN LISTS SLUICE_MPIIO_ABIS)
  install(TARGETS sluice_mpiio_${abi}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
endforeach()

# -- Fortran: compiled modules for this compiler and MPI, sources for any other -------------------
file(GLOB fortran_sources CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/fortran/*.[fF]90 ${CMAKE_SOURCE_DIR}/fortran/*.inc
  ${CMAKE_SOURCE_DIR}/fortran/*.[ch])
install(FILES ${fortran_sources} DESTINATION ${CMAKE_INSTALL_DATADIR}/sluice/fortran
  COMPONENT library)
if(TARGET sluice_fortran)
  set_target_properties(sluice_fortran PROPERTIES
    EXPORT_NAME fortran OUTPUT_NAME sluice-fortran-${SLUICE_MPI_NAME})
  target_include_directories(sluice_fortran
    INTERFACE $<INSTALL_INTERFACE:${SLUICE_MODULE_FOLDER}>)
  install(TARGETS sluice_fortran EXPORT SluiceFortran-${SLUICE_MPI_NAME}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT fortran
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT fortran)
  install(DIRECTORY $<TARGET_PROPERTY:sluice_fortran,Fortran_MODULE_DIRECTORY>/
    DESTINATION ${SLUICE_MODULE_FOLDER} COMPONENT fortran
    FILES_MATCHING PATTERN "*.mod" PATTERN "*.smod")
  install(EXPORT SluiceFortran-${SLUICE_MPI_NAME} NAMESPACE Sluice::
    DESTINATION ${SLUICE_CONFIG_FOLDER} COMPONENT fortran)
endif()

# -- the command, and the names by which it converts VOX-FE's texts --------------------------------
if(TARGET sluice_cli)
  if(SKBUILD)
    install(PROGRAMS $<TARGET_FILE:sluice_cli> DESTINATION ${SKBUILD_SCRIPTS_DIR}
      COMPONENT command)
    # A wheel holds no links.
    set(txt2hdf5 "convert")
    set(hdf52txt "convert --format text")
    foreach(name txt2hdf5 hdf52txt)
      file(WRITE ${CMAKE_BINARY_DIR}/install/${name}
        "#!/bin/sh\n# sluice ${${name}}: a converter of VOX-FE's images, by the name of its tool.\n"
        "exec \"$(dirname \"$(readlink -f \"$0\")\")/sluice\" ${${name}} \"$@\"\n")
      install(PROGRAMS ${CMAKE_BINARY_DIR}/install/${name} DESTINATION ${SKBUILD_SCRIPTS_DIR}
        COMPONENT command)
    endforeach()
  else()
    install(PROGRAMS $<TARGET_FILE:sluice_cli> DESTINATION ${CMAKE_INSTALL_BINDIR}
      COMPONENT command)
    foreach(name txt2hdf5 hdf52txt)
      install(FILES $<TARGET_FILE_DIR:sluice_cli>/${name} DESTINATION ${CMAKE_INSTALL_BINDIR}
        COMPONENT command)
    endforeach()
  endif()
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/share/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/sluice
    COMPONENT command FILES_MATCHING PATTERN "*.toml")
  # Of a Python package: beside bin, where man and the shell look for them.
  set(shared ${CMAKE_INSTALL_DATADIR})
  if(SKBUILD)
    set(shared ${SKBUILD_DATA_DIR}/share)
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/share/completion/sluice
    DESTINATION ${shared}/bash-completion/completions COMPONENT command)
  install(FILES ${CMAKE_SOURCE_DIR}/share/man/sluice.1
    DESTINATION ${shared}/man/man1 COMPONENT command)
endif()
include(cmake/ManualPages.cmake)

# -- find_package(Sluice COMPONENTS C CXX Fortran) ------------------------------------------------
install(EXPORT SluiceLibrary NAMESPACE Sluice::
  DESTINATION ${SLUICE_CONFIG_FOLDER} COMPONENT library)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/SluiceConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/SluiceConfig.cmake
  ${CMAKE_BINARY_DIR}/install/SluiceConfigVersion.cmake
  DESTINATION ${SLUICE_CONFIG_FOLDER} COMPONENT library)

# -- pkg-config sluice, sluice-openmpi (with that MPI), sluice-openmpi-fortran --------------------
# sluice_pkg_config(NAME TEMPLATE COMPONENT): into lib/pkgconfig.
function(sluice_pkg_config name template component)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE SLUICE_PC_UP)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/${template} ${CMAKE_BINARY_DIR}/install/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/install/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
# The same with an MPI, for compilers that know of none. Where the MPI has no pkg-config file, the
# consumer's compiler has to be mpicc, mpicxx or mpifort.
function(sluice_pkg_config_of_mpi name template component SLUICE_PC_MPI)
  pkg_check_modules(SLUICE_PC_${SLUICE_PC_MPI} QUIET ${SLUICE_PC_MPI})
  if(NOT SLUICE_PC_${SLUICE_PC_MPI}_FOUND)
    set(SLUICE_PC_MPI "")
  endif()
  sluice_pkg_config(${name} ${template} ${component})
endfunction()
sluice_pkg_config(sluice sluice.pc.in library)
set(mpi_packages ${SLUICE_MPI_NAME} ${SLUICE_MPI_NAME})
if(SLUICE_MPI_NAME STREQUAL "openmpi")
  set(mpi_packages ompi-c ompi-fort)
endif()
list(POP_FRONT mpi_packages c_package fortran_package)
if(NOT SKBUILD AND MPI_CXX_FOUND)
  sluice_pkg_config_of_mpi(sluice-${SLUICE_MPI_NAME} sluice-mpi.pc.in library ${c_package})
endif()
if(TARGET sluice_fortran)
  sluice_pkg_config_of_mpi(sluice-${SLUICE_MPI_NAME}-fortran sluice-fortran.pc.in fortran
    ${fortran_package})
endif()
