// Verifies every byte of a file by its checksum records, on all ranks together.
//
// Invariants: nothing is written; rank 0 holds the records of one commit at a time, the others
// those of one variable of it, and every rank reads at most one record's bytes at a time; the
// findings of one rank are reported on all; lists of findings are bounded, their counts are not.
#pragma once

#include <string>

#include "commit/tools/findings.hpp"
#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Collective; the same verdict on every rank. `progress` (may be empty) is called on each rank
/// after every record that it compared. Beside a writer: mismatches are checked again as long as
/// the writer changes the file meanwhile, ten times at most; damage is what matched in none of the
/// checks. A damaged or truncated file is a verdict, not an error. Errors: those of opening it
/// (not_found, permission, ...), format if it is not HDF5.
Verdict verify(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const VerifyProgress& progress = {});
/// The same for a part of a set. `volumes`: the elements of variables with steps that the index
/// refers to, which need not be all elements of a row.
Verdict verify_part(exec::Transport& transport, storage::Storage& storage, const std::string& path,
                    const UnitVolumes& volumes, const VerifyProgress& progress);

}  // namespace sluice::commit
