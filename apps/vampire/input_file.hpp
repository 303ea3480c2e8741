// VAMPIRE's own input file: `category:keyword = value !unit`, and the material file that it names.
//
// A useful part of its keywords is understood. One that is not known is an error that names the
// nearest known one; one that is known and has no meaning here is a note. Lengths are in Angstrom,
// times in seconds, fields in tesla where no unit is given.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace vampire {

/// Applies the file; what it does not set gets VAMPIRE's own defaults. Returns notes. The material
/// file is in the folder of the input; if it is missing, cobalt is used, with a note. Error
/// invalid_argument with file, line and remedy.
std::vector<std::string> apply_input(const std::string& path, const ReadText& read,
                                     Options& options);

}  // namespace vampire
