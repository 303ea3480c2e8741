#include "mpiio/behind_hooks.hpp"

namespace sluice::mpiio {

void before_background_write() {}
bool waits_for_pending() { return true; }

}  // namespace sluice::mpiio
