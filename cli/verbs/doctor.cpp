// doctor: what a run would find here (MPI, HDF5, the file system of a folder, ways of writing to
// it), what is slow or missing, and what to do.
#include <array>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "codec/methods.hpp"
#include "help.hpp"
#include "layout/hdf5/library.hpp"
#include "model/clock.hpp"
#include "mpi/find.hpp"
#include "mpi/process.hpp"
#include "scratch_folder.hpp"
#include "session.hpp"
#include "storage/shared_memory.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using namespace layout::hdf5;  // NOLINT: the calls of libhdf5
using Json = nlohmann::ordered_json;

constexpr std::uint64_t probe_bytes = std::uint64_t{16} << 20;

enum class State : std::uint8_t { fine, slow, missing };

/// One finding.
struct Finding {
  const char* name;
  State state = State::fine;
  std::string found;
  std::string remedy = {};  ///< empty: nothing to do
};

const char* word(State state) {
  return state == State::fine ? "ok" : state == State::slow ? "slow" : "missing";
}

/// A text of the kernel; empty if there is none.
std::string kernel_text(storage::Storage& storage, const std::string& path) {
  try {
    std::string text(256, '\0');
    const auto file = storage.open(path, storage::Access::read);
    text.resize(file->read(0, std::as_writable_bytes(std::span(text))));
    return text.substr(0, text.find('\n'));
  } catch (const Error&) {
    return "";
  }
}

Finding look_at_mpi() {
  std::string known;
  for (const mpi::Part& part : mpi::parts()) {
    known += (known.empty() ? "" : ", ") + std::string(part.abi);
  }
  if (is_mpi_declined()) {
    return {"MPI", State::missing, "not looked for: SLUICE_MPI=none",
            "one rank works without; for several, unset SLUICE_MPI"};
  }
  try {
    mpi::load();
  } catch (const Error& error) {
    return {"MPI", State::missing, std::string(error.what()),
            "one rank works without; for several, install an MPI (with the ABI of " + known +
                "), or set SLUICE_MPI to its libmpi.so"};
  }
  const mpi::Loaded found = mpi::loaded().front();
  return {"MPI", State::fine,
          mpi::version_line() + " (" + found.place + "), called by the ABI of " + found.abi};
}

Finding look_at_hdf5() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
#ifdef SLUICE_HDF5_FILE
  const std::string where = SLUICE_HDF5_FILE;
#else
  const std::string where = "inside the command";
#endif
  const bool has_deflate = codec::deflate_method().has_value();
  const bool has_zstd = codec::zstd_method().has_value();
  Finding finding{"HDF5", State::fine,
                  fmt::format("libhdf5 {}.{}.{} ({}); compressors:{}{}", major, minor, release,
                              where, has_deflate ? " deflate" : "", has_zstd ? " zstd" : "")};
  if (!has_deflate || !has_zstd) {
    finding.state = State::missing;
    finding.remedy = "build with libdeflate and libzstd to compress";
  }
  return finding;
}

const char* reach_text(model::Reach reach) {
  switch (reach) {
    case model::Reach::memory:
      return "memory of this node";
    case model::Reach::node:
      return "disks of this node";
    case model::Reach::server:
      return "one server";
    case model::Reach::parallel:
      return "several servers";
    case model::Reach::unknown:
      break;
  }
  return "unknown reach";
}

void look_at_file_system(storage::Storage& storage, const std::string& folder,
                         std::vector<Finding>& all) {
  const model::FileSystemFacts facts = storage.file_system(folder);
  Finding kind{"file system", State::fine,
               (facts.kind.empty() ? "unknown kind" : facts.kind) + ", " + reach_text(facts.reach)};
  if (facts.reach == model::Reach::server) {
    kind.state = State::slow;
    kind.remedy = "all nodes share one server: use few writers (strategy auto)";
  }
  all.push_back(std::move(kind));
  Finding stripe{"stripe", State::fine, "does not apply"};
  if (facts.reach == model::Reach::parallel) {
    stripe.found = facts.stripes == 0 ? "files have the default number of servers"
                                      : count_text(facts.stripes, "server") + " a file";
    if (facts.stripes == 1) {
      stripe.state = State::slow;
      stripe.remedy = "before the first run: lfs setstripe -c -1 " + printable(folder);
    }
  }
  all.push_back(std::move(stripe));
}

/// Seconds of writing and syncing a new file, which is then removed.
double write_probe(storage::Storage& storage, const std::string& path, std::size_t& alignment) {
  constexpr std::size_t page = 4096;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(page, probe_bytes)), &std::free);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  std::memset(memory.get(), 's', probe_bytes);
  const double start = model::now_s();
  {
    const auto file = storage.open(path, storage::Access::create);
    alignment = file->alignment();
    file->write(0, {memory.get(), probe_bytes});
    file->sync();
  }
  const double taken = model::now_s() - start;
  storage.remove(path);
  return taken;
}

void look_at_writing(const std::string& folder, std::vector<Finding>& all) {
  std::optional<ScratchFolder> scratch;
  std::string path;
  std::size_t alignment = 1;
  double posix_s = 0;
  try {
    scratch.emplace(folder, ".sluice-doctor");
    path = scratch->path() + "/probe";
    posix_s = write_probe(*storage::make("posix"), path, alignment);
  } catch (const Error& error) {
    all.push_back({"writing", State::missing, error.what(), "name a folder that can be written"});
    return;
  }
  all.push_back({"writing", State::fine,
                 bytes_text(probe_bytes) + " and a sync in " + seconds_text(posix_s)});
  const double direct_s = write_probe(*storage::make("direct"), path, alignment);
  Finding direct{"O_DIRECT", State::fine,
                 fmt::format("works in units of {}; the same in {}", bytes_text(alignment),
                             seconds_text(direct_s))};
  if (alignment <= 1) {
    direct.state = State::missing;
    direct.found = "not on this file system";
    direct.remedy = "none needed: storage = \"posix\" is used instead";
  }
  all.push_back(std::move(direct));
  const auto lease = storage::make("posix")->lease(path + ".h5");
  const std::string notice = lease == nullptr ? "no lease" : lease->notice();
  all.push_back({"locks", notice.empty() ? State::fine : State::missing,
                 notice.empty() ? "a second writer of a file is refused" : notice,
                 notice.empty() ? "" : "make sure that only one run at a time writes a file"});
}

Finding look_at_shared_memory() {
  try {
    const auto memory = storage::SharedMemory::make(probe_bytes);
    memory->reserve(0, probe_bytes);
    memory->data()[probe_bytes - 1] = std::byte{1};
  } catch (const Error& error) {
    return {"shared memory", State::missing, error.what(),
            "ranks send messages instead: give the container more shared memory (docker run "
            "--shm-size), or a higher limit"};
  }
  if (!storage::SharedMemory::makes_room_in_parts()) {
    return {"shared memory", State::slow, "works, but all of it must be reserved at once",
            "a kernel from 5.14 on reserves it in parts"};
  }
  return {"shared memory", State::fine, "works, and is reserved in parts"};
}

Finding look_at_huge_pages(storage::Storage& storage) {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  const std::string pages = kernel_text(storage, folder + "enabled");
  const std::string shared = kernel_text(storage, folder + "shmem_enabled");
  if (pages.empty()) {
    return {"huge pages", State::missing, "the kernel has none",
            "large blocks are copied a little slower"};
  }
  Finding finding{"huge pages", State::fine, "memory: " + pages + "; shared: " + shared};
  if (pages.find("[never]") != std::string::npos) {
    finding.state = State::slow;
    finding.remedy = "as root: echo madvise > " + folder + "enabled";
  }
  return finding;
}

int doctor_run(const Context& context, const std::string& folder, bool json) {
  if (!context.is_root()) {
    return fine;
  }
  std::vector<Finding> all{look_at_mpi(), look_at_hdf5()};
  look_at_file_system(context.storage, folder, all);
  look_at_writing(folder, all);
  all.push_back(look_at_shared_memory());
  all.push_back(look_at_huge_pages(context.storage));
  Json document = {{"version", SLUICE_VERSION}, {"folder", folder}, {"findings", Json::array()}};
  Table table({"WHAT", "STATE", "FOUND"});
  std::string remedies;
  for (const Finding& one : all) {
    document["findings"].push_back({{"name", one.name},
                                    {"state", word(one.state)},
                                    {"found", one.found},
                                    {"remedy", one.remedy}});
    table.add({one.name, word(one.state), printable(one.found)});
    if (!one.remedy.empty()) {
      remedies += fmt::format("{}: {}\n", one.name, one.remedy);
    }
  }
  if (json) {
    show_json(document);
    return fine;
  }
  tell("{}", table.text());
  tell("{}", remedies.empty() ? "\nNothing needs to be done.\n" : "\nWhat to do:\n" + remedies);
  return fine;
}

const char* const doctor_examples = R"help(
Examples:
  sluice doctor                        # of the folder that this is
  sluice doctor /scratch/run7          # of the folder that a run will write to
  srun -n 1 sluice doctor /scratch     # as the ranks of a job will find it
  sluice doctor --json)help";

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
  struct DoctorVerb {
    std::string folder = ".";
    bool json = false;
  };
  const auto verb = std::make_shared<DoctorVerb>();
  CLI::App* command =
      add_verb(app, "doctor", "find what is slow or missing on this system",
               "Examines the MPI that a run would call, libhdf5, the file system of a folder\n"
               "and its striping, O_DIRECT, locks, shared memory and huge pages. Writes 16 MiB\n"
               "into the folder and removes them.\n"
               "Exit code: 0, whatever was found.\n",
               doctor_examples);
  command->add_option("FOLDER", verb->folder, "where files are to be written")->type_name("FOLDER");
  command->add_flag("--json", verb->json, "print JSON");
  command->callback([&run, verb] {
    run = [verb](const Context& context) { return doctor_run(context, verb->folder, verb->json); };
  });
}

}  // namespace sluice::cli
