// The method that VAMPIRE's modes replace: text, and after every line a flush, so that each atom
// costs a system call.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "contestants.hpp"

namespace sluice::bench {
namespace {

std::string file_of(const std::string& folder, int rank) {
  return folder + "/atoms-" + std::to_string(rank) + ".cfg";
}

/// The numbers of the next rank's file are there, in six digits.
void verify_lines(const World& world, const std::string& folder, std::uint64_t elements) {
  const int writer = (world.rank() + 1) % world.ranks();
  std::ifstream lines(file_of(folder, writer));
  std::uint64_t rows = 0;
  lines >> rows;
  std::uint64_t right = 0;
  for (double found = 0; lines >> found; ++right) {
    const double expected = pattern(writer, right);
    if (!(std::abs(found - expected) <= 1e-5 * expected)) break;
  }
  if (rows != elements / 3 || right != elements) {
    throw std::runtime_error("verify: number " + std::to_string(right) + " of " +
                             file_of(folder, writer) + " is missing or wrong");
  }
}

Values write_lines(World& world, const Job& job) {
  const std::string folder = job.text("path");
  const auto data = world.data(elements_of(job));
  const std::string path = file_of(folder, world.rank());
  start_afresh(world, folder);

  Stopwatch watch(world.comm());
  std::filesystem::create_directory(folder);
  std::ofstream file(path);
  file << data.size() / 3 << std::endl;
  for (std::size_t i = 0; i + 2 < data.size(); i += 3) {
    file << data[i] << '\t' << data[i + 1] << '\t' << data[i + 2] << std::endl;
  }
  file.close();
  if (!file) fail("write", path);
  watch.mark("write_s");
  sync_file(path);
  watch.mark("close_s");
  const Values values = watch.finish();
  if (job.number("verify")) verify_lines(world, folder, data.size());
  return values;
}

}  // namespace

void add_vampire_lines(Contestants& contestants) { contestants["vampire/lines"] = write_lines; }

}  // namespace sluice::bench
