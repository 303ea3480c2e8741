#include "mpiio/hooks.hpp"

namespace sluice::mpiio {

void before_background_write() {}
bool waits_for_pending() { return true; }
std::int64_t least_shared_exchange_bytes() { return 1 << 20; }
bool has_function(const char*) { return true; }

}  // namespace sluice::mpiio
