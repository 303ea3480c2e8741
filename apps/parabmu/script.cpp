#include "script.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "text.hpp"

namespace parabmu {
namespace {

struct Known {
  const char* name;
  const char* alias;
  std::size_t least;
  std::size_t most;
  const char* help;
};

constexpr Known known[] = {
    {"LOAD_MATERIALS_FILE", "LOAD_MATERIALS", 1, 1, "FILE: lines `id E nu remodel`"},
    {"VOXEL_SIZE", "", 3, 4, "A B C [SCALE]: edges of a voxel, times SCALE"},
    {"ALGORITHM_FEA", "", 1, 1, "JAPCG (Jacobi-preconditioned conjugate gradients)"},
    {"MAX_ITER", "", 1, 1, "N: most iterations"},
    {"TOLERANCE", "", 1, 1, "T: of the residual's norm over that of the first"},
    {"CHECKPOINT", "", 1, 2, "FILE [N]: the solver saves, each N iterations, and goes on"},
    {"BALANCE", "", 1, 1, "on|off: share out planes by their voxels after a parallel read (on)"},
    {"COMPRESS", "", 1, 1, "CODEC of displacements of PARPRINT_X: none (default), deflate:1 to 12"},
    {"LOAD_MCTSCAN", "LOAD_MODEL", 4, 4, "X Y Z FILE: one rank reads the model's text"},
    {"LOAD_MCTSCANPAR", "LOAD_MODELPAR", 4, 4, "X Y Z FILE: all ranks read the model's netCDF"},
    {"SELECTION_OF_NODES", "", 0, 0, "begins the constraints anew"},
    {"SELECT_NODE_FILE", "", 1, 1, "FILE of SELECT_NODE_3D and PRESERVE_NODE_3D lines"},
    {"PRESERVE_NODE_FILE", "", 1, 1, "FILE: the same"},
    {"SELECT_NODE_3D", "", 9, 9, "x y z vx vy vz cx cy cz: c = 0: v is a force, 1: displacement"},
    {"PRESERVE_NODE_3D", "", 9, 9, "the same for nodes that remodelling must keep"},
    {"COMPUTE_SED", "", 0, 0, "solves; strain energy density of every voxel"},
    {"PRINT_X", "PRINT_DISPLACEMENTS", 1, 1, "FILE: ranks write text in turn"},
    {"PARPRINT_X", "PARPRINT_DISPLACEMENTS", 1, 1,
     "FILE: all ranks at once, netCDF; .vtkhdf: for ParaView"},
};

std::string arguments_text(const Known& k) {
  return k.least == k.most ? std::to_string(k.least)
                           : std::to_string(k.least) + " to " + std::to_string(k.most);
}

}  // namespace

std::vector<Command> read_script(const std::string& path) {
  LineReader reader(path);
  std::vector<Command> commands;
  std::string_view line;
  while (reader.next(line)) {
    std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) {
      continue;
    }
    const auto found = std::find_if(std::begin(known), std::end(known), [&](const Known& k) {
      return words[0] == k.name || words[0] == k.alias;
    });
    if (found == std::end(known)) {
      reader.refuse("no command " + words[0] + " (see parabmu --help)");
    }
    const std::size_t given = words.size() - 1;
    if (given < found->least || given > found->most) {
      reader.refuse(words[0] + " takes " + arguments_text(*found) + " arguments, not " +
                    std::to_string(given));
    }
    words.erase(words.begin());
    commands.push_back({found->name, std::move(words), reader.number()});
  }
  return commands;
}

std::string script_help() {
  std::string text;
  for (const Known& k : known) {
    std::string name = k.name;
    if (*k.alias != '\0') {
      name += std::string(" (") + k.alias + ")";
    }
    name.resize(std::max<std::size_t>(name.size() + 2, 28), ' ');
    text += "  " + name + k.help + "\n";
  }
  return text;
}

std::vector<Command> share_script(MPI_Comm comm, const std::string& path) {
  std::vector<Command> commands;
  std::string text;  // line, number of words, words: each ended by NUL
  agree(comm, [&] {
    if (rank_of(comm) != 0) {
      return;
    }
    for (const Command& c : read_script(path)) {
      text +=
          std::to_string(c.line) + '\0' + std::to_string(c.arguments.size()) + '\0' + c.name + '\0';
      for (const std::string& word : c.arguments) {
        text += word + '\0';
      }
    }
  });
  std::uint64_t bytes = text.size();
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm);
  text.resize(bytes);
  broadcast(comm, std::as_writable_bytes(std::span(text)), 0);
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t end = text.find('\0', at);
    std::string word = text.substr(at, end - at);
    at = end + 1;
    return word;
  };
  while (at < text.size()) {
    Command command;
    command.line = std::stoull(next());
    const std::size_t words = std::stoull(next());
    command.name = next();
    for (std::size_t i = 0; i < words; ++i) {
      command.arguments.push_back(next());
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace parabmu
