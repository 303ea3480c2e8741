// What is said of openings that were refused.
//
// Invariant: HDF5 opens a file that it is about to replace (mode "w") for writing before, in a way
// that nothing tells from an opening to change it. So nothing is said of that until it is known
// whether HDF5 goes on to replace it: at the next opening, or when the process ends.
#pragma once

#include <string>

namespace sluice::plugin {

/// Before every opening. `makes`: a new file, in place of what is there or not.
void settle_refusal(const std::string& path, bool makes) noexcept;
/// Says `text` of an opening to change the file at `path`, unless the next opening makes it anew.
void say_unless_made(const std::string& path, const std::string& text) noexcept;

}  // namespace sluice::plugin
