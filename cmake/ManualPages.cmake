# Manual pages, made in the build: sluice-VERB(1) of what the command says, and section 3 of the
# comments in the C headers (share/man/pages.py). Without Python, or where the command cannot run
# here, there are fewer; that is said.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(SKBUILD OR NOT Python3_Interpreter_FOUND)
  if(NOT SKBUILD)  # a wheel has no MANPATH
    message(STATUS "Sluice: no Python 3: manual pages of section 3 and of the verbs are left out")
  endif()
  return()
endif()
set(man_script ${CMAKE_SOURCE_DIR}/share/man/pages.py)
file(GLOB man_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/sluice/*.h)
set(man_command)
set(man_needs)
if(TARGET sluice_cli AND NOT CMAKE_CROSSCOMPILING)
  set(man_command --command $<TARGET_FILE:sluice_cli>)
  set(man_needs sluice_cli)
endif()
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/man
  COMMAND ${Python3_EXECUTABLE} -B ${man_script} --headers ${CMAKE_SOURCE_DIR}/include/sluice
          --version ${PROJECT_VERSION} --out ${CMAKE_BINARY_DIR}/man ${man_command}
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man/made
  DEPENDS ${man_script} ${man_headers} ${man_needs} VERBATIM)
add_custom_target(manual_pages ALL DEPENDS ${CMAKE_BINARY_DIR}/man/made)
# OPTIONAL: an installation of targets that were built one by one may come without them.
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR}
  COMPONENT command OPTIONAL)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR}
  COMPONENT library OPTIONAL)
