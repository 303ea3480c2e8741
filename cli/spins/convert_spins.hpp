// convert, for the spins of atoms: between VAMPIRE's folders and files of spins, and to formats of
// other programs.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "commit/tools/convert.hpp"
#include "spins/spin_selection.hpp"
#include "verb.hpp"

namespace sluice::cli {

struct SpinWish {
  std::string from;
  std::string to;
  std::string format;  ///< vampire, text, xyz, vtu, vtkhdf; "": a file of Sluice's
  std::string mode;    ///< of VAMPIRE; "": the files as they were
  int files = 0;       ///< of VAMPIRE; 0: as the mode says
  bool is_text = false;
  bool is_binary = false;
  SpinOptions choice;
  Options options;  ///< of a file of Sluice's
};

/// The group of --mode and the others, in the help.
inline constexpr const char* spin_writing_group = "VAMPIRE";

/// Adds --mode, --files, --text, --binary and the options that select atoms and frames.
void add_spin_wish(CLI::App& command, SpinWish& wish);

/// The spin format of `format`, or of the ending of `to`; "" if it is another one.
std::string spin_format(const std::string& format, const std::string& to);

/// Collective. Error format if `from` has no spins, invalid_argument for options that exclude each
/// other.
commit::Converted convert_spins(const Context& context, const SpinWish& wish);

/// Collective. xyz, text, vtu and vtkhdf, one file for each frame if there are several.
commit::Converted spins_by_frame(const Context& context, SpinSource& source, const SpinWish& wish);

/// `to` with a frame's number before its ending.
std::string numbered(const std::string& to, std::uint32_t frame);

}  // namespace sluice::cli
