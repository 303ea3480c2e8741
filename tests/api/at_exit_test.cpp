// A file of static lifetime, opened before libhdf5 is used: what was put is in it after exit(). Its
// destructor runs after what was registered by atexit() later. A program of its own: in others the
// libhdf5 may be that of the program, too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sluice/sluice.hpp>
#include <string>
#include <sys/wait.h>
#include <vector>

#include "api/file/file_impl.hpp"
#include "exec/transport/solo_transport.hpp"
#include "storage/scratch.hpp"

namespace {

using namespace sluice;  // NOLINT: a program of its own

constexpr std::uint64_t width = 5000;
double g_values[width];
std::optional<File> g_file;  // NOLINT: of static lifetime

File open(const std::string& path, Mode mode, const std::string& strategy) {
  Options options;
  options.strategy = strategy;
  options.storage = "posix";
  return File(std::make_unique<detail::FileImpl>(exec::make_solo(), path, mode, options));
}

void write_until_exit(const std::string& path, const std::string& strategy) {
  for (std::uint64_t i = 0; i < width; ++i) {
    g_values[i] = 0.5 * static_cast<double>(i);
  }
  g_file.emplace(open(path, Mode::write, strategy));
  const Variable fixed = g_file->define<double>("fixed", {width});
  const Variable stepped = g_file->define<double>("stepped", {width}, {.steps = true});
  for (int s = 0; s < 3; ++s) {
    Step step = g_file->begin_step();
    step.put(stepped, g_values);
    step.end();
  }
  g_file->put(fixed, g_values);
  std::exit(0);  // NOLINT: what is tested
}

bool holds_all(const std::string& path) {
  File in = open(path, Mode::read, "serial");
  std::vector<double> got(width, -1);
  bool is_right = in.steps() == 3;
  in.get(in.find("fixed"), got.data());
  is_right = is_right && std::equal(got.begin(), got.end(), g_values);
  in.get(in.find("stepped"), got.data(), {}, 2);
  is_right = is_right && std::equal(got.begin(), got.end(), g_values);
  in.close();
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    write_until_exit(argv[1], argv[2]);
  }
  for (std::uint64_t i = 0; i < width; ++i) {
    g_values[i] = 0.5 * static_cast<double>(i);
  }
  int failures = 0;
  const storage::Scratch scratch;
  for (const std::string strategy : {"serial", "shared", "forward"}) {
    const std::string path = scratch / (strategy + ".h5");
    const std::string command = std::string(argv[0]) + " " + path + " " + strategy;
    const int status = std::system(command.c_str());  // NOLINT: a test
    const bool is_right = WIFEXITED(status) && WEXITSTATUS(status) == 0 && holds_all(path);
    if (!is_right) {
      ++failures;
      std::fprintf(stderr, "FAILED: %s: status %d\n", strategy.c_str(), status);
    }
  }
  return failures;
}
