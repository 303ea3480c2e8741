#include "mpi/find.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

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

namespace {

constexpr const char* version_function = "MPI_Get_library_version";

std::string answer_of(void* function) {
  // An MPI writes as much as its own header allows: 256 bytes in Open MPI's, 8192 in MPICH's.
  constexpr std::size_t most_of_any = 65536;
  std::string room(most_of_any, '\0');
  int length = 0;
  reinterpret_cast<int (*)(char*, int*)>(function)(room.data(), &length);
  room.resize(std::min(room.size(), static_cast<std::size_t>(std::max(length, 0))));
  return room;
}

std::string file_of(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// By what tells the ABIs apart: Open MPI's handles are addresses of its own objects, the standard
/// ABI says its version, and the others are known by their names.
std::string abi_of(void* handle, const std::string& said) {
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) {
    return "Open MPI";
  }
  if (void* const ask = dlsym(handle, "MPI_Abi_get_version"); ask != nullptr) {
    int major = -1;
    int minor = -1;
    reinterpret_cast<int (*)(int*, int*)>(ask)(&major, &minor);
    if (major > 0) {
      return "MPI 5";
    }
  }
  for (const char* name : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", "ParaStation"}) {
    if (said.find(name) != std::string::npos) {
      return "MPICH";
    }
  }
  return "";
}

/// The MPI that answers behind `handle`, unless it is in `all`.
void add(void* handle, std::vector<Candidate>& all) {
  void* const function = dlsym(handle, version_function);
  if (function == nullptr) {
    return;
  }
  Candidate candidate;
  candidate.handle = handle;
  candidate.place = file_of(function);
  for (const Candidate& known : all) {
    if (known.place == candidate.place) {
      return;
    }
  }
  candidate.said = answer_of(function);
  candidate.abi = abi_of(handle, candidate.said);
  for (const Part& part : parts()) {
    candidate.part = candidate.abi == part.abi ? &part : candidate.part;
  }
  all.push_back(std::move(candidate));
}

/// Paths of loaded files that may be an MPI, or depend on one.
std::vector<std::string> likely_files() {
  std::vector<std::string> paths;
  const auto note = [](dl_phdr_info* info, std::size_t, void* context) {
    const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.find("mpi") != std::string::npos || name.find("MPI") != std::string::npos) {
      static_cast<std::vector<std::string>*>(context)->push_back(path);
    }
    return 0;
  };
  dl_iterate_phdr(note, &paths);
  return paths;
}

}  // namespace

bool Candidate::is_running() const {
  const auto ask = [&](const char* name) {
    int flag = 0;
    void* const function = dlsym(handle, name);
    if (function != nullptr) {
      reinterpret_cast<int (*)(int*)>(function)(&flag);
    }
    return flag != 0;
  };
  return ask("MPI_Initialized") && !ask("MPI_Finalized");
}

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  add(RTLD_DEFAULT, all);
  for (const std::string& path : likely_files()) {
    // It is there already; the handle keeps it, for its functions may be called from now on.
    if (void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD); handle != nullptr) {
      const std::size_t before = all.size();
      add(handle, all);
      if (all.size() == before) {
        dlclose(handle);
      }
    }
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
    // Global, for what an MPI loads itself expects to find it.
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
  // An MPI in a folder of its own has its libraries beside its launcher.
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
