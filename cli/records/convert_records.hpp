// convert for MFDn's wave functions: a folder of Fortran records to one HDF5 file, and back.
#pragma once

#include <string>

#include "commit/tools/convert.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// Collective. Is `path` a folder of such files?
bool is_record_folder(const Context& context, const std::string& path);

/// Collective. The ranks share the files; one state in memory at a time. Error format if they do
/// not have the same number of records, or records that are not whole float32.
commit::Converted convert_from_records(const Context& context, const std::string& folder,
                                       const std::string& to, const Options& options);

/// Collective. Converts a file with LENGTHS and GRP01/EigenVector01 and so on into a folder, which
/// is created if necessary; the files must not exist. Error format if there is no wave function, or
/// LENGTHS is not that of them. Other variables are left out, properties where they were filled in.
commit::Converted convert_to_records(const Context& context, const std::string& from,
                                     const std::string& folder);

}  // namespace sluice::cli
