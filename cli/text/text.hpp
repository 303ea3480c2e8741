// Small pieces of text for people.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "model/dims.hpp"

namespace sluice::cli {

/// "96.2 MiB", "17 bytes"
std::string bytes_text(std::uint64_t bytes);
/// "1.2 GiB/s", "" below 1 MiB, where a rate means little.
std::string rate_text(std::uint64_t bytes, double seconds);
/// "30 ms", "0.3 s", "4 min 10 s", "3 h 12 min"
std::string seconds_text(double seconds);
/// "32000 x 3", "scalar"
std::string shape_text(const model::Dims& shape);
/// The shortest digits that identify the value.
std::string number_text(double value);
/// A time for people: 15 digits, so that three times 0.1 is 0.3. For programs: number_text().
std::string time_text(double time);
/// "1 step", "11 steps"
std::string count_text(std::uint64_t count, const std::string& noun);
/// "2026-02-03 14:05:11 UTC"
std::string date_text(std::int64_t ns_since_1970);

/// The remark on a file with a journal or a lease beside it.
std::string unfinished_text(const std::string& path);

// -- output to the terminal: control characters in the text of a file are escaped -----------------
enum class Colour { none, good, bad };
/// Prints several lines to `to` (stdout, stderr). The first is coloured if `to` is a terminal,
/// unless NO_COLOR is set or TERM is dumb.
void show(std::FILE* to, std::string_view text, Colour first_line = Colour::none);
/// To stdout, formatted by fmt.
template <class... Args>
void tell(fmt::format_string<Args...> text, Args&&... args) {
  show(stdout, fmt::format(text, std::forward<Args>(args)...));
}
/// Prints a JSON document, which stays valid.
void show_json_text(std::string_view text);
void show_json(const nlohmann::ordered_json& json);
/// Prints "sluice: what" as one line on stderr, after what was printed before.
void show_error(const std::string& what);

/// `text` if a terminal shows it unchanged, otherwise quoted and escaped.
std::string printable(std::string_view text);
/// At most `columns` columns of it, the last three "..." if it is cut.
std::string shortened(const std::string& text, std::size_t columns);
/// Columns that UTF-8 text takes (one a code point).
std::size_t width_of(std::string_view text);

}  // namespace sluice::cli
