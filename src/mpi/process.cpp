#include "mpi/process.hpp"

#include <atomic>
#include <memory>
#include <mutex>

#include "mpi/find.hpp"
#include "sluice/error.hpp"

namespace sluice::mpi {

namespace {

/// The MPI that was decided on.
struct InUse {
  Candidate candidate;
  Library library;
};
std::atomic<const InUse*> in_use{nullptr};

const InUse& used() {
  const InUse* const one = in_use.load(std::memory_order_acquire);
  if (one == nullptr) {
    throw Error(Code::wrong_state, "sluice: no MPI is in use: open a file with a communicator");
  }
  return *one;
}

std::string first_line(const std::string& said) {
  std::string line = said.substr(0, said.find('\n'));
  line = line.substr(0, line.find('\0'));
  for (char& c : line) {
    c = c == '\t' ? ' ' : c;
  }
  return line;
}

std::string quoted(const Candidate& candidate) {
  return "'" + first_line(candidate.said) + "' (" + candidate.place + ")";
}

const char* abi_of(std::int32_t kind) {
  switch (kind) {
    case SLUICE_COMM_OPENMPI:
      return "Open MPI";
    case SLUICE_COMM_MPICH:
      return "MPICH";
    case SLUICE_COMM_STANDARD:
      return "MPI 5";
    default:
      return nullptr;
  }
}

std::string known_abis() {
  std::string text;
  for (const Part& part : parts()) {
    text += (text.empty() ? "" : ", ") + std::string(part.abi);
  }
  return text.empty() ? "none" : text;
}

/// Why the library cannot call this MPI; empty if it can.
std::string trouble_of(const Candidate& candidate) {
  if (candidate.part != nullptr) {
    return "";
  }
  const std::string which =
      candidate.abi.empty() ? "an ABI of its own" : "the ABI of " + candidate.abi;
  return "the MPI of this process is " + quoted(candidate) + ", which has " + which +
         ", but this libsluice was built for: " + known_abis() +
         "; use one of those, or build Sluice with that MPI's mpi.h";
}

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Code::mpi, "sluice: open: " + text);
}

/// The candidate to which a communicator of this kind belongs.
const Candidate& choose(const std::vector<Candidate>& candidates, std::int32_t kind) {
  const char* const abi = abi_of(kind);
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    const bool fits = abi == nullptr || candidate.abi == abi;
    if (fits && (best == nullptr || (candidate.is_running() && !best->is_running()))) {
      best = &candidate;
    }
  }
  if (best == nullptr) {
    refuse("the program was compiled with mpi.h of " + std::string(abi) +
           ", but the MPI of this process is " + quoted(candidates.front()) +
           ": compile and launch it with one MPI");
  }
  return *best;
}

void decide(const Candidate& candidate) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (in_use.load(std::memory_order_acquire) != nullptr) {
    return;
  }
  const std::string trouble = trouble_of(candidate);
  if (!trouble.empty()) {
    refuse(trouble);
  }
  std::string missing;
  const Library library = bind(candidate, missing);
  if (library.comms == nullptr) {
    refuse("the MPI of this process, " + quoted(candidate) + ", has no " + missing +
           ": Sluice needs MPI 3.0 or later");
  }
  // Needed until the program ends.
  in_use.store(new InUse{candidate, library}, std::memory_order_release);
}

}  // namespace

std::vector<Loaded> loaded() {
  std::vector<Loaded> all;
  const InUse* const one = in_use.load(std::memory_order_acquire);
  for (const Candidate& candidate : candidates()) {
    Loaded entry{candidate.said, candidate.place, candidate.abi, trouble_of(candidate),
                 candidate.is_running()};
    const bool is_first = one != nullptr && one->candidate.place == candidate.place;
    all.insert(is_first ? all.begin() : all.end(), std::move(entry));
  }
  return all;
}

bool runs() {
  if (const InUse* const one = in_use.load(std::memory_order_acquire); one != nullptr) {
    return one->candidate.is_running();
  }
  for (const Candidate& candidate : candidates()) {
    if (candidate.is_running()) {
      return true;
    }
  }
  return false;
}

const std::string& version_text() {
  static std::mutex mutex;
  static auto* const texts = new std::vector<std::unique_ptr<std::string>>;  // references to it
                                                                             // have been handed out
  std::string text = "none";
  if (const InUse* const one = in_use.load(std::memory_order_acquire); one != nullptr) {
    text = one->candidate.said;
  } else if (const auto all = candidates(); !all.empty()) {
    text = choose(all, SLUICE_COMM_NULL).said;
  }
  const std::lock_guard lock(mutex);
  for (const auto& known : *texts) {
    if (*known == text) {
      return *known;
    }
  }
  return *texts->emplace_back(std::make_unique<std::string>(text));
}

std::string version_line() { return first_line(version_text()); }

void use(const sluice::Comm& comm) {
  const std::int32_t kind = comm.raw().kind;
  if (kind < SLUICE_COMM_NULL || kind > SLUICE_COMM_SELF) {
    throw Error(Code::invalid_argument, "sluice: open: a communicator of kind " +
                                            std::to_string(kind) +
                                            ": this libsluice is older than the header");
  }
  if (const InUse* const one = in_use.load(std::memory_order_acquire); one != nullptr) {
    const char* const abi = abi_of(kind);
    if (abi != nullptr && one->candidate.abi != abi) {
      choose({one->candidate}, kind);
    }
    return;
  }
  const std::vector<Candidate> all = candidates();
  if (all.empty()) {
    refuse(
        "this process has loaded no MPI that Sluice can call: import mpi4py, or link the program "
        "to a shared libmpi; without MPI, open without a communicator");
  }
  decide(choose(all, kind));
}

void load() {
  if (in_use.load(std::memory_order_acquire) != nullptr) {
    return;
  }
  std::vector<Candidate> all = candidates();
  if (all.empty()) {
    std::string tried;
    load_of_launcher(tried);
    all = candidates();
    if (all.empty()) {
      refuse("no MPI was found for the ranks of this launcher (tried " + tried +
             "): set SLUICE_MPI to the path of its libmpi.so");
    }
  }
  decide(choose(all, SLUICE_COMM_NULL));
}

Comms& comms() { return *used().library.comms; }
Messages& messages() { return *used().library.messages; }
Files& files() { return *used().library.files; }

Comm take(const sluice::Comm& comm) { return comms().comm_of(comm.raw()); }

}  // namespace sluice::mpi
