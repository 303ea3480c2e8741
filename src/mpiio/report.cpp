#include "mpiio/report.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "mpiio/file.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

constexpr const char* way_names[] = {"independent calls of ranks",
                                     "collective calls of ranks, each its own",
                                     "collective calls of ranks, exchanged"};

std::string size_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  char text[32] = {};
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

std::string seconds_text(double seconds) {
  char text[32] = {};
  std::snprintf(text, sizeof text, "%.3f s", seconds);
  return text;
}

}  // namespace

Report::Report() {
  const char* const word = std::getenv("SLUICE_EXPLAIN");
  is_said_ = word != nullptr && *word != '\0' && std::string(word) != "0";
  is_wanted_ = is_said_ || is_recording();
}

void Report::count(bool is_write, Way way, std::int64_t bytes, std::int64_t runs) {
  Count& count = (is_write ? written_ : read_)[static_cast<int>(way)];
  ++count.calls;
  count.bytes += bytes;
  count.runs += runs;
}

void Report::tell(const File& file) const {
  if (!is_wanted_) {
    return;
  }
  constexpr int numbers = 2 * ways * 3 + 1;
  std::int64_t mine[numbers] = {};
  std::int64_t sums[numbers] = {};
  for (int way = 0; way < ways; ++way) {
    int at = way * 3;
    for (const Count* count : {&written_[way], &read_[way]}) {
      mine[at] = count->calls;
      mine[at + 1] = count->bytes;
      mine[at + 2] = count->runs;
      at += ways * 3;
    }
  }
  mine[numbers - 1] = file.behind ? file.behind->staged_bytes() : 0;
  const double seconds[] = {write_s, read_s, sync_s, file.behind ? file.behind->hidden_s() : 0};
  constexpr int times = 4;
  std::int64_t mine_us[times] = {};
  std::int64_t most_us[times] = {};
  for (int i = 0; i < times; ++i) {
    mine_us[i] = static_cast<std::int64_t>(seconds[i] * 1e6);
  }
  check(mpi.Reduce(mine, sums, numbers, MPI_INT64_T, MPI_SUM, 0, file.comm), "summing up");
  check(mpi.Reduce(mine_us, most_us, times, MPI_INT64_T, MPI_MAX, 0, file.comm), "summing up");
  if (file.rank != 0) {
    return;
  }
  constexpr int reads = ways * 3;
  record_file(file, {static_cast<double>(most_us[0]) * 1e-6, sums[0], sums[1],
                     sums[reads + 1] + sums[reads + 4] + sums[reads + 7]});
  if (!is_said_ && is_recording()) {
    return;
  }
  std::string text = file.path + ": " + std::to_string(file.ranks) +
                     " ranks; in the slowest rank " +
                     seconds_text(static_cast<double>(most_us[0]) * 1e-6) + " writing, " +
                     seconds_text(static_cast<double>(most_us[1]) * 1e-6) + " reading, " +
                     seconds_text(static_cast<double>(most_us[2]) * 1e-6) + " in syncs";
  for (int i = 0; i < 2 * ways; ++i) {
    const std::int64_t* const sum = sums + i * 3;
    if (sum[0] == 0) {
      continue;
    }
    const std::int64_t runs = sum[2] > 0 ? sum[2] : 1;
    text += std::string("\n  ") + (i < ways ? "written" : "read") + " by " +
            std::to_string(sum[0]) + " " + way_names[i % ways] + ": " +
            size_text(static_cast<double>(sum[1])) + " in runs of " +
            size_text(static_cast<double>(sum[1]) / static_cast<double>(runs)) + " on average";
  }
  if (file.behind) {
    text += "\n  written behind: " + size_text(static_cast<double>(sums[numbers - 1])) + ", " +
            seconds_text(static_cast<double>(most_us[3]) * 1e-6) + " in the slowest thread";
  } else if (!note_.empty()) {
    text += "\n  " + note_;
  }
  text += file.hints.not_done();
  storage::say(text);
}

}  // namespace sluice::mpiio
