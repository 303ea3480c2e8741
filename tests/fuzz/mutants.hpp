// Passes mutants of files to a reader: as many as a count or a time allows, each with a watchdog.
//
// A reader returns or throws Error. It ends within mutant_seconds, or the program is aborted with
// the number of the mutant; no allocation of it is larger than the files and the budget allow.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "fuzz/harness.hpp"
#include "support/watch.hpp"

namespace sluice::test {

/// Files by their path.
using FileSet = std::map<std::string, FuzzBytes>;
using Change = std::function<FileSet(std::mt19937_64&)>;
using ReadFiles = std::function<void(const std::shared_ptr<storage::MemoryStorage>&)>;

inline constexpr unsigned mutant_seconds = 30;

/// What a watched reader may allocate at once besides copies of its file.
inline constexpr std::uint64_t budget_bytes = 16 << 20;

inline std::uint64_t mutants_seed() {
  const char* text = std::getenv("SLUICE_FUZZ_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20261121;
}

/// SLUICE_FUZZ_SECONDS: each reader gets that many seconds instead of a number of mutants.
inline double seconds_a_reader() {
  const char* text = std::getenv("SLUICE_FUZZ_SECONDS");
  return text != nullptr ? std::strtod(text, nullptr) : 0;
}

inline std::shared_ptr<storage::MemoryStorage> storage_with(const FileSet& files) {
  auto storage = storage::make_memory();
  for (const auto& [path, bytes] : files) {
    storage->put(path, bytes);
  }
  return storage;
}

inline std::size_t bytes_in(const FileSet& files) {
  std::size_t all = 0;
  for (const auto& [path, bytes] : files) {
    all += bytes.size();
  }
  return all;
}

/// Writes the files of a mutant that failed below SLUICE_FUZZ_KEEP, if that is set.
inline void keep_mutant(const char* name, std::uint64_t number, const FileSet& files) {
  const char* folder = std::getenv("SLUICE_FUZZ_KEEP");
  if (folder == nullptr) {
    return;
  }
  const auto storage = storage::make("posix");
  for (const auto& [path, bytes] : files) {
    const std::string to =
        std::string(folder) + "/" + name + "-" + std::to_string(number) + "/" + path;
    storage->make_folder(to.substr(0, to.rfind('/')));
    storage->open(to, storage::Access::create)->write(0, bytes);
  }
}

/// One mutant. True if the reader refused it.
inline bool run_mutant(const char* name, std::uint64_t number, const FileSet& files,
                       const ReadFiles& read) {
  const auto storage = storage_with(files);
  bool is_refused = false;
  begin_watch("T8 " + std::string(name) + ": mutant " + std::to_string(number), mutant_seconds);
  largest_bytes = 0;
  try {
    read(storage);
  } catch (const Error&) {
    is_refused = true;
  } catch (const std::exception& e) {
    ADD_FAILURE() << name << ", mutant " << number << ": " << e.what();
  }
  end_watch();
  EXPECT_LE(largest_bytes.load(), own_bytes + copies * bytes_in(files))
      << name << ", mutant " << number;
  return is_refused;
}

/// `change` makes a mutant of some sample, and repairs the checksums that would hide it.
inline void run_mutants(const char* name, std::uint64_t count, const Change& change,
                        const ReadFiles& read) {
  std::mt19937_64 random(mutants_seed());
  const double limit_s = seconds_a_reader();
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  std::uint64_t tried = 0;
  std::uint64_t refused = 0;
  for (; limit_s > 0 ? seconds() < limit_s : tried < count; ++tried) {
    const FileSet files = change(random);
    refused += run_mutant(name, tried, files, read) ? 1 : 0;
    if (testing::Test::HasFailure()) {
      keep_mutant(name, tried, files);
      break;
    }
  }
  std::printf("T8 %s: %llu mutants in %.0f s, %llu refused, seed %llu\n", name,
              static_cast<unsigned long long>(tried), seconds(),
              static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(mutants_seed()));
  std::fflush(stdout);
}

}  // namespace sluice::test
