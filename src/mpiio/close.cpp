// Closing a file, and what is told of its use then.
#include <cstdio>
#include <string>

#include "mpiio/file.hpp"
#include "mpiio/kept.hpp"
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

/// A line for each way in which there were calls: writes first.
std::string way_lines(const std::int64_t* sums) {
  std::string text;
  for (int i = 0; i < 2 * Report::ways; ++i) {
    const std::int64_t* const sum = sums + i * 3;
    if (sum[0] == 0) {
      continue;
    }
    const std::int64_t runs = sum[2] > 0 ? sum[2] : 1;
    text += std::string("\n  ") + (i < Report::ways ? "written" : "read") + " by " +
            std::to_string(sum[0]) + " " + way_names[i % Report::ways] + ": " +
            size_text(static_cast<double>(sum[1])) + " in runs of " +
            size_text(static_cast<double>(sum[1]) / static_cast<double>(runs)) + " on average";
  }
  return text;
}

/// Prints the report on rank 0. Collective if it is requested.
void tell_report(const File& file) {
  const Report& report = file.report;
  if (!report.is_wanted()) {
    return;
  }
  constexpr int ways = Report::ways;
  constexpr int numbers = 2 * ways * 3 + 1;
  std::int64_t mine[numbers] = {};
  std::int64_t sums[numbers] = {};
  for (int way = 0; way < ways; ++way) {
    int at = way * 3;
    for (const bool is_write : {true, false}) {
      const Report::Count& count = report.counted(is_write, static_cast<Way>(way));
      mine[at] = count.calls;
      mine[at + 1] = count.bytes;
      mine[at + 2] = count.runs;
      at += ways * 3;
    }
  }
  mine[numbers - 1] = file.behind ? file.behind->staged_bytes() : 0;
  const double seconds[] = {report.write_s, report.read_s, report.sync_s,
                            file.behind ? file.behind->hidden_s() : 0};
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
  record_file({file.path, file.ranks, static_cast<double>(most_us[0]) * 1e-6, sums[0], sums[1],
               sums[reads + 1] + sums[reads + 4] + sums[reads + 7]},
              report.pattern, *file.files);
  if (!report.is_said() && is_recording()) {
    return;
  }
  std::string text = file.path + ": " + std::to_string(file.ranks) +
                     " ranks; in the slowest rank " +
                     seconds_text(static_cast<double>(most_us[0]) * 1e-6) + " writing, " +
                     seconds_text(static_cast<double>(most_us[1]) * 1e-6) + " reading, " +
                     seconds_text(static_cast<double>(most_us[2]) * 1e-6) + " in syncs";
  text += way_lines(sums);
  if (file.behind) {
    text += "\n  written behind: " + size_text(static_cast<double>(sums[numbers - 1])) + ", " +
            seconds_text(static_cast<double>(most_us[3]) * 1e-6) + " in the slowest thread";
  } else if (!report.note().empty()) {
    text += "\n  " + report.note();
  }
  text += file.hints.not_done();
  storage::say(text);
}

/// Some file systems write only now, or now say that a quota is exceeded.
void end_storage(File& file, Kept& kept) {
  kept.run([&] { file.storage->close(); });
  file.storage.reset();
}

}  // namespace

void close_file(File* closing) {
  const std::unique_ptr<File> file(closing);
  Kept of_thread;
  if (file->behind) {
    of_thread.run([&] { file->behind->close(); });
  }
  file->report.pattern.end_step();
  tell_report(*file);
  // No rank returns before all bytes are in the file, even if it determines the size by other
  // means.
  each_then_first(
      *file,
      [&] {
        Kept kept;
        kept.run([&] {
          if (file->behind) {
            file->behind->rethrow();
          }
          of_thread.rethrow();
        });
        if (file->rank != 0) {
          end_storage(*file, kept);
        }
        kept.rethrow();
      },
      [&] {
        Kept kept;
        kept.run([&] {
          if (file->behind) {
            file->storage->sync();  // on one node: it covers the bytes of all
          }
        });
        end_storage(*file, kept);
        if ((file->mode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
          file->files->remove(file->given_path);  // a link, not what it leads to
        }
        kept.rethrow();
      });
}

}  // namespace sluice::mpiio
