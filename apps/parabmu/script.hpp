// The script language: one command a line, `#` begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm.hpp"

namespace parabmu {

struct Command {
  std::string name;  ///< aliases already replaced
  std::vector<std::string> arguments;
  std::uint64_t line = 0;
};

/// Reads the whole script. Error format (`path:line: why`) for an unknown command or a wrong number
/// of arguments, before anything of it runs. Local.
std::vector<Command> read_script(const std::string& path);

/// Every command with its arguments, a line each: for --help.
std::string script_help();

/// `read_script` on rank 0, for all ranks. Collective.
std::vector<Command> share_script(MPI_Comm comm, const std::string& path);

}  // namespace parabmu
