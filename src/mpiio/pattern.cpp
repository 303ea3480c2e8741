#include "mpiio/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <span>
#include <unistd.h>

#include "mpiio/errors.hpp"
#include "sluice/error.hpp"
#include "storage/say.hpp"

namespace sluice::mpiio {

namespace {

constexpr const char* signature = "{\"sluice_mpiio_record\": 1,";
constexpr std::size_t most_series = 1000;
/// A pause of this length, and as long as the writing before it, ends a step.
constexpr double least_pause_s = 0.1;

double between(std::chrono::steady_clock::time_point from,
               std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Files whose paths differ in their numbers only, and that as many ranks wrote.
struct Series {
  std::int64_t files = 0;
  std::int64_t steps = 0;
  double seconds = 0;
  Closed closed;
  std::map<Pattern::Key, Pattern::Kind> kinds;
};

std::string without_numbers(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

std::string json_string(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    const bool is_plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    json += is_plain ? c : '?';
  }
  return json + '"';
}

/// With a point, whatever the program's locale has.
std::string number(double value) {
  constexpr int digits = 6;
  std::array<char, 40> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value,
                                     std::chars_format::general, digits);
  return {text.data(), written.ptr};
}

std::string json_of(const Series& series) {
  std::string json =
      "{\"path\": " + json_string(series.closed.path) +
      ", \"files\": " + std::to_string(series.files) +
      ", \"ranks\": " + std::to_string(series.closed.ranks) +
      ", \"steps\": " + std::to_string(series.steps) +
      ",\n   \"open_s\": " + number(series.seconds) +
      ", \"write_s\": " + number(series.closed.write_s) +
      ", \"independent_write_calls\": " + std::to_string(series.closed.independent_calls) +
      ", \"independent_write_bytes\": " + std::to_string(series.closed.independent_bytes) +
      ", \"read_bytes\": " + std::to_string(series.closed.read_bytes) +
      ",\n   \"collective_writes\": [";
  bool is_first = true;
  for (const auto& [key, kind] : series.kinds) {
    json += std::string(is_first ? "" : ",") + "\n    {\"mean_run_bytes\": " +
            std::to_string(kind.bytes / std::max<std::int64_t>(kind.runs, 1)) +
            ", \"interleaved\": " + (key.interleaves ? "true" : "false") +
            ", \"calls\": " + std::to_string(kind.calls) +
            ", \"bytes\": " + std::to_string(kind.bytes) +
            ", \"alignment_bytes\": " + std::to_string(1 << kind.least_alignment_log2) + "}";
    is_first = false;
  }
  return json + "]}";
}

class Recorder {
 public:
  static Recorder& all() {
    static auto* const recorder = new Recorder;
    return *recorder;
  }

  void add(const Closed& closed, const Pattern& pattern, storage::Storage& files) {
    const std::lock_guard lock(mutex_);
    const std::string path = without_numbers(closed.path);
    if (!series_.contains(path) && series_.size() >= most_series) {
      return;
    }
    Series& series = series_[path];
    series.closed.path = path;
    series.closed.ranks = closed.ranks;
    ++series.files;
    series.steps += pattern.steps();
    series.seconds += pattern.seconds();
    series.closed.write_s += closed.write_s;
    series.closed.independent_calls += closed.independent_calls;
    series.closed.independent_bytes += closed.independent_bytes;
    series.closed.read_bytes += closed.read_bytes;
    for (const auto& [key, kind] : pattern.kinds()) {
      Pattern::Kind& sum = series.kinds[key];
      sum.calls += kind.calls;
      sum.bytes += kind.bytes;
      sum.runs += kind.runs;
      sum.least_alignment_log2 = std::min(sum.least_alignment_log2, kind.least_alignment_log2);
    }
    write(files);
  }

 private:
  void write(storage::Storage& files) {
    std::string text = std::string(signature) + "\n \"series\": [";
    bool is_first = true;
    for (const auto& [path, series] : series_) {
      text += (is_first ? "\n  " : ",\n  ") + json_of(series);
      is_first = false;
    }
    text += "]}\n";
    if (!is_checked_ && files.exists(path_)) {
      std::string there(std::string(signature).size(), '\0');
      const auto old = files.open(path_, storage::Access::read);
      old->read(0, std::as_writable_bytes(std::span(there)));
      if (there != signature) {
        throw Error(Code::exists, path_ + ": is no record of MPI-IO, and is left as it is");
      }
    }
    is_checked_ = true;
    const std::string fresh = path_ + ".new-" + std::to_string(::getpid());
    files.open(fresh, storage::Access::create)->write(0, std::as_bytes(std::span(text)));
    files.rename(fresh, path_);
  }

  std::mutex mutex_;
  std::map<std::string, Series> series_;
  const std::string path_ = std::getenv("SLUICE_MPIIO_RECORD");
  bool is_checked_ = false;  ///< what is there is ours
};

}  // namespace

int alignment_log2(std::int64_t offset) {
  constexpr int most = 20;
  return std::min(most, std::countr_zero(static_cast<std::uint64_t>(offset)));
}

void Pattern::note(const Written& written) {
  if (written.bytes == 0) {
    return;
  }
  const auto now = Clock::now();
  if (is_dirty_) {
    const double pause_s = between(last_, now);
    if (pause_s > least_pause_s && pause_s > between(burst_, last_)) {
      end_step();
    }
  }
  burst_ = is_dirty_ ? burst_ : now;
  is_dirty_ = true;
  last_ = now;
  const std::int64_t mean = written.bytes / std::max<std::int64_t>(written.runs, 1);
  const auto run_log2 = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(mean)));
  Kind& kind = kinds_[{run_log2, written.interleaves}];
  ++kind.calls;
  kind.bytes += written.bytes;
  kind.runs += written.runs;
  kind.least_alignment_log2 = std::min(kind.least_alignment_log2, written.alignment_log2);
}

void Pattern::end_step() {
  steps_ += is_dirty_ ? 1 : 0;
  is_dirty_ = false;
}

double Pattern::seconds() const { return between(begin_, Clock::now()); }

bool is_recording() {
  const char* const path = std::getenv("SLUICE_MPIIO_RECORD");
  return path != nullptr && *path != '\0';
}

void record_file(const Closed& closed, const Pattern& pattern, storage::Storage& files) {
  int world_rank = 0;
  check(mpi.Comm_rank(MPI_COMM_WORLD, &world_rank), "asking for the rank");
  if (world_rank != 0 || !is_recording()) {
    return;
  }
  try {
    Recorder::all().add(closed, pattern, files);
  } catch (const std::exception& e) {
    storage::say(std::string("SLUICE_MPIIO_RECORD: ") + e.what());
  }
}

}  // namespace sluice::mpiio
