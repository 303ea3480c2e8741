// convert for records with a template: to the texts that a program would write instead, one file
// for each part, and back.
#pragma once

#include <string>

#include "commit/tools/convert.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// Collective. Converts a file of records into a folder, which is created if necessary: one file
/// for each part, and NAME.template with the template, NAME being what follows %d in it. Holds one
/// group in memory. The files get their names when all are complete. Error exists if a file exists.
commit::Converted convert_to_lines(const Context& context, const std::string& from,
                                   const std::string& folder);

/// Collective. Converts the texts beside a FOLDER/NAME.template into one file of records, one pass
/// through the template for each group. The number of ranks must divide that of the files.
commit::Converted convert_from_lines(const Context& context, const std::string& from,
                                     const std::string& to);

/// Collective. Converts a trajectory to H5MD, in the order of its particles: positions, time, step,
/// box and species.
commit::Converted convert_to_h5md(const Context& context, const std::string& from,
                                  const std::string& to, const Options& options);

}  // namespace sluice::cli
