// Which variables of another program's file cannot be read here, though the file can.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commit/publish/damage.hpp"
#include "exec/transport/transport.hpp"
#include "layout/catalog.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// By name, why: a filter that is not there, a checksum that fails, raw data in a file that is not
/// there. Reads every variable on rank 0, a few MiB at a time. Nothing where Sluice wrote the file,
/// or it has steps: then what cannot be read is an error. Collective.
using Unread = std::map<std::string, std::string>;
Unread find_unread(exec::Transport& transport, storage::Storage& storage, const std::string& path);
/// Datasets, and the attributes that attributes() has met, of types that are not read, each with
/// the type.
std::vector<std::string> unread_data_of(const layout::Catalog& catalog);
/// What a file has that no variable of it holds, each with the reason: also empty groups and
/// committed types.
std::vector<layout::UnreadableDataset> unreadable_in(layout::Catalog& catalog);
/// The same, a line each.
std::vector<std::string> unreadable_of(layout::Catalog& catalog);
/// A line for each of `unread` that is not among those left out: it was carried without being read.
std::vector<std::string> carried_unread(const Unread& unread,
                                        const std::vector<std::string>& left_out);

}  // namespace sluice::commit
