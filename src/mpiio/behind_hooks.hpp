// Where a test makes writing behind late, or wrong: it links its own file in place of
// behind_hooks.cpp, so that nothing of it is in the library.
#pragma once

namespace sluice::mpiio {

/// Called by the writer's thread before each job.
void before_background_write();
/// Does an access wait for the pending bytes that it overlaps? False is a planted bug.
bool waits_for_pending();

}  // namespace sluice::mpiio
