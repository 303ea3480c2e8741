# The machines of the model (share/machines/*.toml), compiled into the library, so that the command
# knows them wherever it is; installed beside it for whoever writes one of their own.
file(GLOB machines CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/share/machines/*.toml)
set(texts "")
foreach(machine ${machines})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${machine})
  cmake_path(GET machine STEM name)
  file(READ ${machine} text)
  string(APPEND texts "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/machine_texts.cpp @ONLY CONTENT [[
// Made by cmake/Machines.cmake.
#include <array>

#include "sim/machine.hpp"

namespace sluice::sim {

std::span<const MachineText> machine_texts() {
  static const auto all = std::to_array<MachineText>({
@texts@  });
  return all;
}

}  // namespace sluice::sim
]])
target_sources(sluice_core PRIVATE ${CMAKE_BINARY_DIR}/machine_texts.cpp)
