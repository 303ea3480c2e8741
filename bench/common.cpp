#include "common.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace sluice::bench {
namespace {

constexpr auto idle_pause = std::chrono::milliseconds(5);
constexpr std::uint64_t samples_per_rank = 64;
constexpr std::uint64_t sample_elements = 512;

// MPI's own waits spin or yield; a program out of turn must do neither.
void wait_asleep(MPI_Request request) {
  int done = 0;
  while (true) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    std::this_thread::sleep_for(idle_pause);
  }
}

// The next line of rank 0's stdin, on every rank; false at its end.
bool next_line(const World& world, std::string& line) {
  std::int64_t length = -1;
  if (world.rank() == 0 && std::getline(std::cin, line)) {
    length = static_cast<std::int64_t>(line.size());
  }
  MPI_Request request;
  MPI_Ibcast(&length, 1, MPI_INT64_T, 0, world.comm(), &request);
  wait_asleep(request);
  if (length < 0) return false;
  line.resize(static_cast<std::size_t>(length));
  MPI_Bcast(line.data(), static_cast<int>(length), MPI_CHAR, 0, world.comm());
  return true;
}

void answer(const Job& job, const Values& values) {
  std::ostringstream out;
  out.precision(9);
  out << "{\"contestant\": \"" << job.contestant() << "\", \"values\": {";
  const char* separator = "";
  for (const auto& [name, value] : values) {
    out << separator << '"' << name << "\": " << value;
    separator = ", ";
  }
  out << "}}";
  std::cout << out.str() << std::endl;
}

void run_jobs(World& world, const Contestants& contestants) {
  std::string line;
  while (next_line(world, line)) {
    const Job job(line);
    const auto found = contestants.find(job.contestant());
    if (found == contestants.end()) {
      throw std::runtime_error("no contestant is called " + job.contestant());
    }
    const Values values = found->second(world, job);
    // The answer lets the next contestant remove the file that other ranks may still be verifying.
    // The ranks sleep until then: one that works alone is not to share its core with their waiting.
    MPI_Request all_done;
    MPI_Ibarrier(world.comm(), &all_done);
    wait_asleep(all_done);
    if (world.rank() == 0) answer(job, values);
  }
}

}  // namespace

Job::Job(const std::string& line) {
  std::istringstream words(line);
  std::getline(words, contestant_, '\t');
  for (std::string word; std::getline(words, word, '\t');) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw std::runtime_error("job: not of the form key=value: " + word);
    }
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

std::string Job::text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw std::runtime_error("job: no value for " + key);
  return found->second;
}

std::string Job::text(const std::string& key, const std::string& fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? fallback : found->second;
}

std::uint64_t Job::number(const std::string& key) const {
  const std::string value = text(key);
  std::uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || parsed != end) {
    throw std::runtime_error("job: " + key + " is not a number: " + value);
  }
  return number;
}

std::uint64_t Job::number(const std::string& key, std::uint64_t fallback) const {
  return values_.contains(key) ? number(key) : fallback;
}

std::uint64_t elements_of(const Job& job) {
  const std::uint64_t elements = job.number("elements", 0);
  return elements != 0 ? elements : job.number("mib") * (1 << 20) / sizeof(double);
}

World::World(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

void World::Free::operator()(double* memory) const { std::free(memory); }

std::span<const double> World::data(std::uint64_t elements) {
  if (elements > elements_) {
    memory_.reset();
    const std::size_t pages = (elements * sizeof(double) + page_bytes - 1) / page_bytes;
    memory_.reset(static_cast<double*>(std::aligned_alloc(page_bytes, pages * page_bytes)));
    if (!memory_) throw std::bad_alloc();
    elements_ = elements;
    for (std::uint64_t i = 0; i < elements; ++i) memory_[i] = pattern(rank_, i);
  }
  return {memory_.get(), elements};
}

double pattern(int rank, std::uint64_t index) {
  // Exact and never zero: 20 bits of rank above 32 of index.
  return static_cast<double>((static_cast<std::uint64_t>(rank) + 1) << 32) +
         static_cast<double>(index);
}

Stopwatch::Stopwatch(MPI_Comm comm) : comm_(comm) {
  MPI_Barrier(comm_);
  start_s_ = MPI_Wtime();
}

void Stopwatch::mark(const std::string& name) { marks_.emplace_back(name, MPI_Wtime() - start_s_); }

Values Stopwatch::finish() {
  for (auto& [name, seconds] : marks_) {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
  }
  return marks_;
}

void verify(const World& world, std::uint64_t elements, const ReadSample& read) {
  const int writer = (world.rank() + 1) % world.ranks();
  const std::uint64_t count = std::min(sample_elements, elements);
  const std::uint64_t last = elements - count;
  std::array<double, sample_elements> found{};
  for (std::uint64_t k = 0; k < samples_per_rank; ++k) {
    // Odd starts, so that samples straddle pages, requests and chunks.
    const std::uint64_t spread = last / (samples_per_rank - 1) * k;
    const std::uint64_t first = k + 1 == samples_per_rank ? last : std::min(last, spread | (k > 0));
    read(writer, first, count, found.data());
    for (std::uint64_t i = 0; i < count; ++i) {
      const double expected = pattern(writer, first + i);
      if (std::bit_cast<std::uint64_t>(found[i]) == std::bit_cast<std::uint64_t>(expected))
        continue;
      std::ostringstream message;
      message.precision(17);
      message << "verify: element " << first + i << " of rank " << writer << " is " << found[i]
              << ", " << expected << " was written";
      throw std::runtime_error(message.str());
    }
  }
}

void start_afresh(const World& world, const std::string& path) {
  if (world.rank() == 0) {
    std::filesystem::remove_all(path);
    std::filesystem::remove_all(path + ".parts");
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) fail("open", folder);
    if (syncfs(descriptor) != 0) fail("syncfs", folder);
    close(descriptor);
  }
  MPI_Barrier(world.comm());
}

void fail(const std::string& what, const std::string& path) {
  throw std::runtime_error(what + ": " + path + ": " + std::strerror(errno));
}

void check_mpi(int status, const char* call, const std::string& path) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string(call) + ": " + path + ": " + text);
}

void sync_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  if (fsync(descriptor) != 0) fail("fsync", path);
  close(descriptor);
}

void settle_file(const std::string& path) {
  sync_file(path);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
}

int serve(int argc, char** argv, const Contestants& contestants) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const auto& [name, run] : contestants) std::puts(name.c_str());
    return 0;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  World world(MPI_COMM_WORLD);
  try {
    run_jobs(world, contestants);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: rank %d: %s\n", world.rank(), error.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace sluice::bench
