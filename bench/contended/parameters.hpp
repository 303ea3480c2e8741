// What the mounted file system is made of, as the user says it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::contended {

using Clock = std::chrono::steady_clock;
using Duration = Clock::duration;
using TimePoint = Clock::time_point;

struct Parameters {
  unsigned targets = 4;
  std::uint64_t stripe_bytes = 1 << 20;
  double bandwidth_bytes_per_s = 100e6;  ///< of one target, for reads and writes together
  double latency_s = 0.5e-3;             ///< of one request to a target, and of a sync
  double lock_s = 1.5e-3;                ///< a stripe's lock goes from one process to another
  std::uint64_t dirty_bytes = 1 << 20;   ///< of a process, on their way to one target
  double metadata_s = 0.25e-3;           ///< a turn at the metadata server
  bool is_silent = false;                ///< no attribute tells how files are striped
  unsigned threads = 64;                 ///< requests that are served at one time
  std::string backing;                   ///< the folder that holds the data
  std::string mount;
};

/// The parameters of a command line. Ends the program where they are wrong or help is asked for.
Parameters parse(int argc, char** argv);

/// "1MiB", "100 MB/s", "0.5ms" as bytes, bytes a second or seconds; throws std::invalid_argument
/// that names the units.
double bytes_of(const std::string& text);
double bandwidth_of(const std::string& text);
double seconds_of(const std::string& text);

inline Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace sluice::contended
