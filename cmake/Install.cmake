# `cmake --install`: the library, its headers, the Fortran modules and their sources, the command,
# and what consumers find them by (find_package(Sluice), pkg-config).
#
# Whatever depends on the MPI carries its name, so that builds for several MPIs share one prefix;
# what does not (headers, Fortran sources, SluiceConfig.cmake) is the same in all of them. No
# installed file has the prefix in it: a prefix can be moved. Components: library, fortran, command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SLUICE_CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
set(SLUICE_MODULE_FOLDER ${CMAKE_INSTALL_LIBDIR}/sluice-${SLUICE_MPI_NAME}/modules)

# An MPI outside the linker's folders is found again without LD_LIBRARY_PATH.
set_target_properties(sluice PROPERTIES EXPORT_NAME library INSTALL_RPATH_USE_LINK_PATH ON)
target_include_directories(sluice INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS sluice EXPORT Sluice-${SLUICE_MPI_NAME}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT library FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# The driver for programs of HDF5 needs no MPI: the same for all of them.
install(TARGETS sluice_hdf5_driver
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice/hdf5_driver COMPONENT library)

# -- Fortran: compiled modules for this compiler and MPI, sources for any other -------------------
file(GLOB fortran_sources CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/fortran/*.f90 ${CMAKE_SOURCE_DIR}/fortran/*.[ch])
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

# -- the command: sluice-openmpi, sluice-mpich, and `sluice`, a link to the first one installed ---
if(TARGET sluice_cli)
  set(command sluice-${SLUICE_MPI_NAME})
  install(PROGRAMS $<TARGET_FILE:sluice_cli> DESTINATION ${CMAKE_INSTALL_BINDIR}
    RENAME ${command} COMPONENT command)
  install(CODE "
    set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/sluice\")
    if(NOT EXISTS \"\${link}\")
      file(CREATE_LINK ${command} \"\${link}\" SYMBOLIC)
    endif()" COMPONENT command)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/share/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/sluice
    COMPONENT command FILES_MATCHING PATTERN "*.toml")
endif()

# -- find_package(Sluice COMPONENTS C CXX Fortran) ------------------------------------------------
install(EXPORT Sluice-${SLUICE_MPI_NAME} NAMESPACE Sluice::
  DESTINATION ${SLUICE_CONFIG_FOLDER} COMPONENT library)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/SluiceConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/SluiceConfig.cmake
  ${CMAKE_BINARY_DIR}/install/SluiceConfigVersion.cmake
  DESTINATION ${SLUICE_CONFIG_FOLDER} COMPONENT library)

# -- pkg-config sluice-openmpi, sluice-openmpi-fortran --------------------------------------------
# sluice_pkg_config(NAME TEMPLATE COMPONENT MPI_PACKAGE): MPI_PACKAGE says how to reach MPI; where
# it is not there, the consumer's compiler has to be mpicc, mpicxx or mpifort.
function(sluice_pkg_config name template component SLUICE_PC_MPI)
  pkg_check_modules(SLUICE_PC_${SLUICE_PC_MPI} QUIET ${SLUICE_PC_MPI})
  if(NOT SLUICE_PC_${SLUICE_PC_MPI}_FOUND)
    set(SLUICE_PC_MPI "")
  endif()
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE SLUICE_PC_UP)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/${template} ${CMAKE_BINARY_DIR}/install/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/install/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
set(mpi_packages ${SLUICE_MPI_NAME} ${SLUICE_MPI_NAME})
if(SLUICE_MPI_NAME STREQUAL "openmpi")
  set(mpi_packages ompi-c ompi-fort)
endif()
list(POP_FRONT mpi_packages c_package fortran_package)
sluice_pkg_config(sluice-${SLUICE_MPI_NAME} sluice.pc.in library ${c_package})
if(TARGET sluice_fortran)
  sluice_pkg_config(sluice-${SLUICE_MPI_NAME}-fortran sluice-fortran.pc.in fortran
    ${fortran_package})
endif()
