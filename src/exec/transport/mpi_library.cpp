#include "exec/transport/mpi_library.hpp"

#include <algorithm>
#include <mpi.h>

#include "sluice/error.hpp"

#define SLUICE_TEXT(x) #x
#define SLUICE_DIGITS(x) SLUICE_TEXT(x)

namespace sluice::exec {

namespace {

/// The MPI whose header this file is compiled with.
#if defined(OPEN_MPI)
constexpr bool compiled_for_open_mpi = true;
constexpr const char* compiled_for =
    "Open MPI v" SLUICE_DIGITS(OMPI_MAJOR_VERSION) "." SLUICE_DIGITS(OMPI_MINOR_VERSION);
#elif defined(MPICH_VERSION)
constexpr bool compiled_for_open_mpi = false;
constexpr const char* compiled_for = "MPICH Version: " MPICH_VERSION;
#else
constexpr bool compiled_for_open_mpi = false;
constexpr const char* compiled_for = "an MPI that is neither Open MPI nor MPICH";
#endif

/// What answers in this process, in its own words. A program that shows another MPI to all its
/// libraries answers in this one's place.
std::string answering_mpi() {
  // Another MPI writes as much as its own header allows: 256 bytes in Open MPI's, 8192 in MPICH's.
  constexpr std::size_t most_of_any = 65536;
  std::string room(std::max<std::size_t>(most_of_any, MPI_MAX_LIBRARY_VERSION_STRING), '\0');
  int length = 0;
  MPI_Get_library_version(room.data(), &length);
  room.resize(std::min(room.size(), static_cast<std::size_t>(std::max(length, 0))));
  return room;
}

bool is_own(const std::string& said) {
  return (said.find("Open MPI") != std::string::npos) == compiled_for_open_mpi;
}

/// "MPICH Version: 4.0.2", of many lines.
std::string first_line(const std::string& said) {
  std::string line = said.substr(0, said.find('\n'));
  for (char& c : line) {
    c = c == '\t' ? ' ' : c;
  }
  return line.substr(0, line.find('\0'));
}

}  // namespace

const std::string& mpi_library() {
  static const std::string text = [] {
    const std::string said = answering_mpi();
    return is_own(said) ? said : std::string(compiled_for);
  }();
  return text;
}

void require_own_mpi() {
  static const std::string foreign = [] {
    const std::string said = answering_mpi();
    return is_own(said) ? std::string() : first_line(said);
  }();
  if (!foreign.empty()) {
    throw Error(Code::mpi, "sluice: open: this program runs '" + foreign +
                               "', but libsluice was built for '" + compiled_for +
                               "': build both with one MPI, or link the libsluice of the other");
  }
}

}  // namespace sluice::exec
