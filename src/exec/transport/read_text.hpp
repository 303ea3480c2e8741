// A small file that every rank needs, such as a program's input: opened and read by one rank.
//
// Invariant: however many ranks there are, the file is opened once and each of its bytes is read
// once; the others get them by broadcast. A failure is one Error, the same on every rank.
#pragma once

#include <string>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// All bytes of the file. Collective. Every rank holds the whole file, briefly twice. Errors
/// not_found, permission, io.
std::string read_on_root(Transport& transport, storage::Storage& storage, const std::string& path);

}  // namespace sluice::exec
