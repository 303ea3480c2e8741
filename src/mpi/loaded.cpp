#include "mpi/loaded.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <link.h>

namespace sluice::mpi {

namespace {

constexpr const char* version_function = "MPI_Get_library_version";

std::string answer_of(void* function) {
  // An MPI writes as many bytes as its own header allows: 256 in Open MPI's, 8192 in MPICH's.
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

/// How the ABIs are told apart: Open MPI's handles are addresses of its own objects, the standard
/// ABI reports its version, and the others are known by their names.
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

/// The MPI that answers through `handle`, unless it is in `all`.
void add(void* handle, std::vector<LoadedMpi>& all) {
  void* const function = dlsym(handle, version_function);
  if (function == nullptr) {
    return;
  }
  LoadedMpi loaded;
  loaded.handle = handle;
  loaded.place = file_of(function);
  for (const LoadedMpi& known : all) {
    if (known.place == loaded.place) {
      return;
    }
  }
  loaded.said = answer_of(function);
  loaded.abi = abi_of(handle, loaded.said);
  all.push_back(std::move(loaded));
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

bool LoadedMpi::is_running() const {
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

std::vector<LoadedMpi> loaded_mpis() {
  std::vector<LoadedMpi> all;
  add(RTLD_DEFAULT, all);
  for (const std::string& path : likely_files()) {
    // It is loaded already; the handle keeps it loaded, because its functions may be called from
    // now on.
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

}  // namespace sluice::mpi
