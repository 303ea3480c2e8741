#include "text/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <unistd.h>

#include "model/name.hpp"
#include "storage/endings.hpp"
#include "storage/lease_record.hpp"

namespace sluice::cli {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return value < 99.95 ? fmt::format("{:.1f} {}", value, units[unit])
                       : fmt::format("{:.0f} {}", value, units[unit]);
}

std::string rate_text(std::uint64_t bytes, double seconds) {
  if (seconds <= 0 || bytes < (1 << 20)) {
    return "";
  }
  return bytes_text(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)) + "/s";
}

std::string seconds_text(double seconds) {
  if (seconds < 1) {
    return fmt::format("{:.0f} ms", std::max(1.0, seconds * 1000));
  }
  if (seconds < 10) {
    return fmt::format("{:.2f} s", seconds);
  }
  const auto whole = static_cast<std::uint64_t>(std::min(seconds + 0.5, 1e12));
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  if (whole < 3600) {
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string shape_text(const model::Dims& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

std::string number_text(double value) {
  if (std::isnan(value)) {
    return "nan";  // to_chars prints the sign of a NaN, which has no meaning
  }
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

std::string time_text(double time) { return fmt::format("{:.15g}", time); }

std::string count_text(std::uint64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string date_text(std::int64_t ns_since_1970) {
  const std::time_t seconds = ns_since_1970 / 1'000'000'000;
  std::tm parts{};
  std::array<char, 40> buffer;
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return "?";
  }
  return buffer.data();
}

std::string unfinished_text(const std::string& path) {
  if (storage::is_object_path(path)) {
    return "  being written, or its writer ended without closing it: the next one that "
           "appends goes on\n";
  }
  std::error_code none;
  const auto real = std::filesystem::weakly_canonical(path, none);
  const std::optional<bool> is_written =
      storage::is_holder_running(storage::lease_path(none ? path : real.string()));
  if (!is_written) {
    return fmt::format(
        "  being written, or its writer ended without closing it (then: sluice recover {})\n",
        printable(path));
  }
  return *is_written ? "  being written\n"
                     : fmt::format("  its writer ended without closing it: sluice recover {}\n",
                                   printable(path));
}

namespace {

/// https://no-color.org: any value but an empty one. Open MPI gives its ranks a terminal as stdout,
/// wherever that of mpirun leads.
bool shows_colours(std::FILE* to) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    return false;
  }
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb" && isatty(fileno(to)) == 1;
}

}  // namespace

void show(std::FILE* to, std::string_view text, Colour first_line) {
  std::string out = model::escaped(text, model::Shown::lines);
  if (first_line != Colour::none && shows_colours(to)) {
    out.insert(std::min(out.find('\n'), out.size()), "\033[0m");
    out.insert(0, first_line == Colour::good ? "\033[32m" : "\033[31m");
  }
  std::fwrite(out.data(), 1, out.size(), to);
}

void show_json_text(std::string_view text) {
  const std::string out = model::escaped(text, model::Shown::json);
  std::fwrite(out.data(), 1, out.size(), stdout);
}

void show_json(const nlohmann::ordered_json& json) {
  show_json_text(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void show_error(const std::string& what) {
  std::fflush(stdout);
  const std::string line = model::escaped(what, model::Shown::line);
  const bool coloured = shows_colours(stderr);
  std::fprintf(stderr, "%ssluice:%s %s\n", coloured ? "\033[1;31m" : "", coloured ? "\033[0m" : "",
               line.c_str());
}

std::string printable(std::string_view text) {
  if (model::escaped(text, model::Shown::line) == text) {
    return std::string(text);
  }
  return model::quoted(text, std::numeric_limits<std::size_t>::max());
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

std::string shortened(const std::string& text, std::size_t columns) {
  if (width_of(text) <= columns || columns < 3) {
    return text;
  }
  std::size_t at = 0;
  for (std::size_t column = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    column += begins ? 1 : 0;
    if (column > columns - 3) {
      break;
    }
  }
  return text.substr(0, at) + "...";
}

}  // namespace sluice::cli
