#include "mpi/find.hpp"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <utility>

namespace sluice::mpi {

#ifdef SLUICE_MPI_OPENMPI
namespace openmpi {
Library bind(void* (*find)(const char* name, void* context), void* context, std::string& missing);
}
#endif
#ifdef SLUICE_MPI_MPICH
namespace mpich {
Library bind(void* (*find)(const char* name, void* context), void* context, std::string& missing);
}
#endif
#ifdef SLUICE_MPI_STANDARD
namespace standard {
Library bind(void* (*find)(const char* name, void* context), void* context, std::string& missing);
}
#endif

std::span<const Part> parts() {
  static constexpr std::array all{
#ifdef SLUICE_MPI_OPENMPI
      Part{"Open MPI", openmpi::bind},
#endif
#ifdef SLUICE_MPI_MPICH
      Part{"MPICH", mpich::bind},
#endif
#ifdef SLUICE_MPI_STANDARD
      Part{"MPI 5", standard::bind},
#endif
      Part{},  // an array has at least one
  };
  return std::span(all).first(all.size() - 1);
}

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (LoadedMpi& loaded : loaded_mpis()) {
    Candidate candidate;
    static_cast<LoadedMpi&>(candidate) = std::move(loaded);
    for (const Part& part : parts()) {
      candidate.part = candidate.abi == part.abi ? &part : candidate.part;
    }
    all.push_back(std::move(candidate));
  }
  return all;
}

Library bind(const Candidate& candidate, std::string& missing) {
  const auto find = [](const char* name, void* context) { return dlsym(context, name); };
  return candidate.part->bind(find, candidate.handle, missing);
}

void load_of_launcher(std::string& tried) {
  const auto open = [&](const std::string& name) {
    tried += (tried.empty() ? "" : ", ") + name;
    // RTLD_GLOBAL: plugins that an MPI loads expect its symbols.
    return dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
  };
  if (const char* const named = std::getenv("SLUICE_MPI"); named != nullptr && *named != '\0') {
    open(named);
    return;
  }
  constexpr const char* open_mpi = "libmpi.so.40";
  constexpr const char* mpich = "libmpi.so.12";
  constexpr const char* mpich_of_debian = "libmpich.so.12";
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  std::vector<std::string> names{mpich, mpich_of_debian, "libmpi_abi.so.1", "libmpi_abi.so.0"};
  names.insert(is_open_mpi ? names.begin() : names.end(), open_mpi);
  // An MPI in a prefix of its own has its libraries beside its launcher.
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    at = end + 1;
    if (folder.size() < 5 || folder.substr(folder.size() - 4) != "/bin" || folder == "/usr/bin" ||
        folder == "/bin") {
      continue;
    }
    for (const std::string& name : names) {
      const std::string beside = folder.substr(0, folder.size() - 4) + "/lib/" + name;
      if (dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) {
        return;
      }
    }
  }
  for (const std::string& name : names) {
    if (open(name)) {
      return;
    }
  }
}

}  // namespace sluice::mpi
