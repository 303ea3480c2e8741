// Case checkpoint: what a checkpoint costs the run, and how fast a run gets it back.
//
// Jobs of saving have path, mib (MiB of doubles a rank), saves and verify. They answer with medians
// over the saves after the first, each as on the slowest rank: copy_s (one copy of the same bytes
// into touched memory, by all ranks at once), visible_s (what the run waits for), visible_of_copy
// (the same as a multiple of a copy, save by save), durable_s (until it is on stable storage, by
// its own name).
#pragma once

#include "common.hpp"
#include "overlap.hpp"

namespace sluice::bench {

/// Saves `saves` + 1 checkpoints; each is durable before the next one begins.
Values run_saves(World& world, const Job& job, Background& output);

/// checkpoint/sluice: strategy, keep, scratch (a folder; empty: none), storage, checksum,
/// incremental (0 or 1).
/// checkpoint/partly: a state of ten arrays of which so many percent change between two saves:
/// changes, incremental (0 or 1), and those above. Without copy_s.
/// checkpoint/restart: to (ranks that restore), cold (0 or 1), rereads: answers with restore_s and
/// bare_s, both from opening the file on, and restore_of_bare, pair by pair.
void add_checkpoint(Contestants& contestants);
/// checkpoint/posix: a file a rank under another name, fsync, rename, fsync of the folder.
void add_checkpoint_posix(Contestants& contestants);
/// checkpoint/phdf5-collective, -independent: one new file a checkpoint, synced, then renamed.
void add_checkpoint_phdf5(Contestants& contestants);

}  // namespace sluice::bench
