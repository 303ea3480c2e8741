#include "mpiio/hooks.hpp"

#include "storage/file_system.hpp"

namespace sluice::mpiio {

void before_background_write() {}
bool waits_for_pending() { return true; }
std::int64_t least_shared_exchange_bytes() { return 1 << 20; }
bool may_attach_memory() { return true; }
bool has_function(const char*) { return true; }
bool is_on_nfs(const std::string& path) { return storage::file_system_facts(path).kind == "nfs"; }

}  // namespace sluice::mpiio
