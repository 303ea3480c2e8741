// In place of src/mpiio/hooks.cpp: the writer's thread is late by a random time of
// SLUICE_TEST_MPIIO_LATE_MS=LEAST-MOST before each job, and SLUICE_TEST_MPIIO_NO_WAITS=1 is a
// planted bug: accesses do not wait for what is pending. The smallest exchanges go through shared
// memory. SLUICE_TEST_MPIIO_OLD_MPI=1: the MPI has no functions with large counts, as those of
// MPI 3.1. SLUICE_TEST_MPIIO_NFS=1: files are on NFS; =clients: on the others, as rank 0 is on the
// server. SLUICE_TEST_MPIIO_CONTAINERS=1: each rank is in one of its own.
#include "mpiio/hooks.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace sluice::mpiio {

void before_background_write() {
  int least = 0;
  int most = 0;
  const char* const text = std::getenv("SLUICE_TEST_MPIIO_LATE_MS");
  if (text == nullptr || std::sscanf(text, "%d-%d", &least, &most) != 2) {
    return;
  }
  thread_local std::minstd_rand random(static_cast<unsigned>(::getpid()));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(std::uniform_int_distribution<int>(least, most)(random)));
}

std::int64_t least_shared_exchange_bytes() { return 0; }

bool has_function(const char* name) {
  return std::getenv("SLUICE_TEST_MPIIO_OLD_MPI") == nullptr ||
         !std::string_view(name).ends_with("_c");
}

bool is_on_nfs(const std::string&) {
  const char* const who = std::getenv("SLUICE_TEST_MPIIO_NFS");
  const char* const open_mpi = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* const rank = open_mpi != nullptr ? open_mpi : std::getenv("PMI_RANK");
  const bool is_first = rank != nullptr && std::string_view(rank) == "0";
  return who != nullptr && !(is_first && std::string_view(who) == "clients");
}

bool may_attach_memory() { return std::getenv("SLUICE_TEST_MPIIO_CONTAINERS") == nullptr; }

bool waits_for_pending() { return std::getenv("SLUICE_TEST_MPIIO_NO_WAITS") == nullptr; }

}  // namespace sluice::mpiio
