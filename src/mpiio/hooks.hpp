// Where tests make writing behind late, or wrong, choose ways by other sizes, or play a machine
// that is not here: they link their own file in place of hooks.cpp, so that nothing of it is in the
// library.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::mpiio {

/// Called by the writer's thread before each job.
void before_background_write();
/// Does an access wait for the pending bytes that it overlaps? False is a planted bug.
bool waits_for_pending();
/// Exchanges of fewer bytes are sent, not copied through memory that the ranks share.
std::int64_t least_shared_exchange_bytes();
/// May a function of the MPI be looked up? False plays an MPI that does not have it.
bool has_function(const char* name);
bool is_on_nfs(const std::string& path);
/// False plays ranks in containers of their own, which do not see each other's processes.
bool may_attach_memory();

}  // namespace sluice::mpiio
