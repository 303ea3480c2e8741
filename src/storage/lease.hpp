// The writer lease on POSIX file systems: a record beside the file, held by an
// open-file-description lock, or, where the file system has no locks, by its existence.
//
// A lock belongs to the descriptor, so it ends with the process however that ends, and two Files of
// one process exclude each other as well. A record that is held by its existence has its time
// renewed by a thread; it is taken over when its process is known to have ended, or, if that ran on
// another system, when its time was not renewed for stale_after_s.
//
// Invariants: the record is not a symbolic link, and has one name; nothing that another program put
// there is changed. A process that removes another's record, or puts its own in the place of it,
// holds the takeover record meanwhile, and looks at the record once more: so a new record is never
// mistaken for the stale one that it replaced. Every holder has a record of its own, a new file: a
// holder that lost its lock without a sign finds that the name is another file's.
#pragma once

#include <memory>
#include <string>

#include "storage/posix_calls.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

/// The lease of `path`, as Storage::lease().
std::unique_ptr<Lease> take_lease(const SystemCalls& calls, const std::string& path);

}  // namespace sluice::storage
