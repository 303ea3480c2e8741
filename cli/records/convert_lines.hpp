// convert for records with a template: to the texts that a program writes instead, a file a part,
// and back.
#pragma once

#include <string>

#include "commit/tools/convert.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// Collective. A file of records into a folder, which is made where it is not there: a file a part,
/// and NAME.template with the template, NAME being what follows %d in it. A group in memory at a
/// time. Error exists where a file is there.
commit::Converted convert_to_lines(const Context& context, const std::string& from,
                                   const std::string& folder);

/// Collective. The texts that lie beside a FOLDER/NAME.template into one file of records, a pass
/// through the template a group. The number of ranks must divide that of the files.
commit::Converted convert_from_lines(const Context& context, const std::string& from,
                                     const std::string& to);

/// Collective. A trajectory in the order of its particles, as H5MD: positions, time, step, box and
/// species.
commit::Converted convert_to_h5md(const Context& context, const std::string& from,
                                  const std::string& to, const Options& options);

}  // namespace sluice::cli
