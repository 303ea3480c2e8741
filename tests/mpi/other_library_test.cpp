// A communicator of another MPI than that of the process: refused with one line, before any call
// with the foreign handle. And the reported MPI of the process.
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <sluice/sluice.h>
#include <sluice/sluice.hpp>
#include <string>

namespace {

bool is_in(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// The error of opening with a communicator of `kind`; "" if it works.
std::string refusal(std::int32_t kind, sluice::Code expected) {
  try {
    sluice::File out(sluice_comm{kind, 0, 4}, "other.h5", sluice::Mode::write);
  } catch (const sluice::Error& error) {
    return error.code() == expected ? error.what() : std::string("wrong code: ") + error.what();
  }
  return "";
}

int failures = 0;

void expect(bool is_right, const std::string& said) {
  if (!is_right) {
    std::fprintf(stderr, "met: %s\n", said.c_str());
    ++failures;
  }
}

}  // namespace

int main(int argc, char** argv) {
  char own[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(own, &length);
  // Before MPI_Init, too.
  expect(std::strncmp(sluice_mpi_library(), own, 20) == 0, sluice_mpi_library());
  const bool is_open_mpi = is_in(own, "Open MPI");
  const std::int32_t other = is_open_mpi ? SLUICE_COMM_MPICH : SLUICE_COMM_OPENMPI;
  MPI_Init(&argc, &argv);
  // The first open of the process, then one after the MPI has been decided on.
  for (int i = 0; i < 2; ++i) {
    const std::string said = refusal(other, sluice::Code::mpi);
    expect(!is_in(said, "\n") && is_in(said, "the program was compiled with mpi.h of ") &&
               is_in(said, is_open_mpi ? "of MPICH" : "of Open MPI") && is_in(said, "libmpi"),
           said);
    sluice::File fine(MPI_COMM_SELF, "own.h5", sluice::Mode::write);
    fine.close();
  }
  expect(is_in(refusal(99, sluice::Code::invalid_argument), "older than the header"), "kind 99");
  expect(is_in(refusal(SLUICE_COMM_NULL, sluice::Code::invalid_argument), "null"), "no comm");
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
