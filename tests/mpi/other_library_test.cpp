// A program of another MPI than the library's: said in one line, before anything is called with a
// communicator that means nothing to it.
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <sluice/sluice.hpp>
#include <string>

/// What the other MPI would answer in the library's place, as the first of the process: MPICH with
/// more bytes than Open MPI's header has room for.
extern "C" int MPI_Get_library_version(char* version, int* length) {
#ifdef OPEN_MPI
  const std::string text = "MPICH Version:\t4.0.2\nMPICH configure:\t" + std::string(5000, '-');
#else
  const std::string text = "Open MPI v4.1.4, package: another";
#endif
  std::memcpy(version, text.c_str(), text.size() + 1);
  *length = static_cast<int>(text.size());
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string met = "nothing";
  bool is_right = false;
  try {
    sluice::File out(MPI_COMM_WORLD, "other.h5", sluice::Mode::write);
  } catch (const sluice::Error& error) {
    met = error.what();
    is_right = error.code() == sluice::Code::mpi && met.find('\n') == std::string::npos &&
               met.find("this program runs '") != std::string::npos &&
               met.find("libsluice was built for '") != std::string::npos;
  }
  if (!is_right) {
    std::fprintf(stderr, "met: %s\n", met.c_str());
  }
  MPI_Finalize();
  return is_right ? 0 : 1;
}
