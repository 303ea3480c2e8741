#include "mpiio/mpi.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "mpi/loaded.hpp"
#include "mpiio/hooks.hpp"
#include "mpiio/settings.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

Functions mpi;
Objects mpi_objects;

namespace {

#ifdef OPEN_MPI
constexpr const char* built_for = "Open MPI";
#else
constexpr const char* built_for = "MPICH";
#endif

/// The MPI of the process; its handle never finds what this library itself defines.
struct Program {
  void* handle = nullptr;
  bool is_ours = false;
};

void* function_of_mpi(void* handle, const char* name) {
  return has_function(name) ? dlsym(handle, name) : nullptr;
}

/// `reached`: the program's own way to its MPI. A program may contain the objects itself (by copy
/// relocations), and then the whole process uses those.
std::string bind_to(void* handle, void* reached) {
  static_cast<void>(reached);  // MPICH has no objects
#define SLUICE_MPIIO_LOOK_FOR(name) \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(function_of_mpi(handle, "PMPI_" #name));
#define SLUICE_MPIIO_FIND(name) \
  SLUICE_MPIIO_LOOK_FOR(name)   \
  if (mpi.name == nullptr) {    \
    return "PMPI_" #name;       \
  }
  SLUICE_MPIIO_FUNCTIONS(SLUICE_MPIIO_FIND)
  SLUICE_MPIIO_LARGE(SLUICE_MPIIO_LOOK_FOR)
#undef SLUICE_MPIIO_FIND
#undef SLUICE_MPIIO_LOOK_FOR
#define SLUICE_MPIIO_FIND(name)                                         \
  mpi_objects.name = static_cast<char*>(dlsym(reached, "ompi_" #name)); \
  if (mpi_objects.name == nullptr) {                                    \
    return "ompi_" #name;                                               \
  }
  SLUICE_MPIIO_OBJECTS(SLUICE_MPIIO_FIND)
#undef SLUICE_MPIIO_FIND
  return "";
}

bool is_switched_off() { return !is_switched_on("SLUICE_MPIIO", true); }

/// The library that a function is in, if that is one of these interfaces; otherwise "".
std::string interface_of(const void* function) {
  Dl_info info{};
  if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  const std::string library = info.dli_fname;
  return library.find("libsluice-mpiio-") != std::string::npos ? library : "";
}

/// The function of that name in the library for the other MPI, if that is loaded after this one;
/// otherwise null.
void* next_interface(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  return interface_of(next).empty() ? nullptr : next;
}

/// What the program's own calls of that name reach. RTLD_DEFAULT would begin with this library,
/// which is linked symbolically.
void* first_of_program(const char* name) {
  static void* const whole = dlopen(nullptr, RTLD_LAZY);
  return whole != nullptr ? dlsym(whole, name) : nullptr;
}

/// Is the library for the other MPI loaded, before this one or after it? What only this one
/// exports is called in either case.
bool has_other_interface() {
  const std::string first = interface_of(first_of_program("MPI_File_open"));
  return next_interface("MPI_File_open") != nullptr ||
         (!first.empty() && first != interface_of(reinterpret_cast<void*>(&is_ours)));
}

/// The rank in the program, as its launcher tells it: the program's MPI is not bound yet, or has
/// other types. -1: it does not.
int rank_by_launcher(const std::string& abi) {
  const char* const own = abi == "Open MPI" ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK";
  // The last one may be that of a launcher around the one of the MPI.
  for (const char* const name : {own, "PMIX_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    if (const char* const text = std::getenv(name); text != nullptr && *text != '\0') {
      return std::atoi(text);
    }
  }
  return -1;
}

/// All ranks find the same: one of them prints it.
void say_it_is_left(const mpi::LoadedMpi& other, const std::string& why) {
  if (rank_by_launcher(other.abi) <= 0) {
    storage::say("MPI-IO is left to the program's own MPI: " + why);
  }
}

Program find_program() {
  Program program;
  const std::vector<mpi::LoadedMpi> all = mpi::loaded_mpis();
  const mpi::LoadedMpi* chosen = nullptr;
  for (const mpi::LoadedMpi& one : all) {
    if (chosen == nullptr || (!chosen->is_running() && one.is_running())) {
      chosen = &one;
    }
  }
  if (chosen == nullptr) {
    return program;
  }
  // By its path: what all the program's calls reach would be this library first.
  program.handle = dlopen(chosen->place.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (is_switched_off() || program.handle == nullptr) {
    return program;
  }
  if (chosen->abi != built_for && has_other_interface()) {
    return program;  // which may be the right one, or reports it
  }
  if (chosen->abi != built_for) {
    say_it_is_left(*chosen, std::string("this library is for ") + built_for +
                                ", the program's MPI is " +
                                chosen->said.substr(0, chosen->said.find_first_of(",\n")));
    return program;
  }
  const std::string missing = bind_to(program.handle, chosen->handle);
  if (!missing.empty()) {
    say_it_is_left(*chosen, chosen->place + " has no " + missing);
  }
  program.is_ours = missing.empty();
  return program;
}

const Program& program() {
  static const Program found = find_program();
  return found;
}

/// Null: nothing behind this library has it.
void* find_function(const char* name) {
  if (void* const next = next_interface(name)) {
    return next;
  }
  return program().handle != nullptr ? dlsym(program().handle, name) : nullptr;
}

/// Which argument of a function with large counts is one; -1: none, as where the extent of a type
/// is asked for, and where a representation is registered.
int count_argument(const std::string& name) {
  if (name.find("_datarep") != std::string::npos ||
      name.find("_type_extent") != std::string::npos) {
    return -1;
  }
  return name.find("_at_") != std::string::npos ? 3 : 2;
}

}  // namespace

bool is_ours() { return program().is_ours; }

FunctionOfProgram function_of_program(const char* name) {
  FunctionOfProgram found{find_function(name)};
  const std::string whole = name;
  if (found.function == nullptr && whole.ends_with("_c")) {
    // The file was opened by the interface that the program calls first.
    found.function = first_of_program(whole.substr(0, whole.size() - 2).c_str());
    found.count = count_argument(whole);
    found.refuses = !is_switched_off() && !interface_of(found.function).empty();
  }
  if (found.function == nullptr) {
    storage::say(std::string("no MPI of this process has ") + name);
    std::abort();
  }
  return found;
}

}  // namespace sluice::mpiio
