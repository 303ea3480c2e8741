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

/// Sets what the file says; what it does not say gets VAMPIRE's own defaults. Returns notes. The
/// material file lies in the folder of the input; where it is missing, cobalt is taken, with a
/// note. Error invalid_argument with file, line and remedy.
std::vector<std::string> apply_input(const std::string& path, const ReadText& read,
                                     Options& options);

}  // namespace vampire
