// The files of a set of parts: what they are called, and whether they are what the index says.
//
// Invariant: no part is read, appended to a set or collected before it was found to be the very
// file that the index means: there, long enough, with the ids of its set and of itself, and with
// the commit that the index knows as the last one. Otherwise an Error names the index and the part.
#pragma once

#include <cstdint>
#include <string>

#include "exec/transport.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// The folder in which an index at `path` has its parts: `<path>.parts`, or, where `parts_dir` is
/// given, a folder of that name in it.
std::string parts_folder(const std::string& path, const std::string& parts_dir);
/// A part's path in a folder: "000012.h5", with the ending of the index.
std::string part_file(const std::string& folder, std::uint64_t number, const std::string& path);

/// 64 bits that no other run draws.
std::uint64_t draw_id();

/// Local. Error not_found, truncated (it holds less than the index says) or format (it is of
/// another set, or of another run of the same name).
void check_part(storage::Storage& storage, const std::string& index_path,
                const layout::PartSet& set, std::size_t part);
/// Collective: the ranks share the parts; the same Error on every rank. With `recovers` what a
/// crash left undone in a part is done first (the caller holds the lease of the index).
void check_parts(exec::Transport& transport, storage::Storage& storage,
                 const std::string& index_path, const layout::PartSet& set, bool recovers);

}  // namespace sluice::commit
