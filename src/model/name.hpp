// The names that variables, groups and attributes may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

/// Longest path component that file systems and tools accept, in bytes.
inline constexpr std::size_t max_component_bytes = 255;

/// Returns if `name` is a relative path of non-empty components separated by `/`, none of them `.`
/// or `..` or longer than 255 bytes, valid UTF-8 and without NUL. Otherwise Error bad_name with the
/// reason.
void check_name(std::string_view name);

/// Does `name` pass check_name()?
bool is_name(std::string_view name);

/// As check_name(), for a name that the file at `path` claims: Error damaged. Sluice checks names
/// when it writes, so an invalid name in a file is damage or an attack.
void check_read_name(std::string_view name, const std::string& path);

/// Is `text` UTF-8 without overlong forms, surrogates and code points above U+10FFFF?
bool is_utf8(std::string_view text) noexcept;

/// The group that a variable of that name is in; empty: the root.
std::string group_of(const std::string& name);

/// The name of the file at `path` without its extension.
std::string stem_of(const std::string& path);

/// `text` in double quotes for messages: at most `max_bytes` of it, everything but printable ASCII
/// and valid UTF-8 escaped as \xNN.
std::string quoted(std::string_view text, std::size_t max_bytes = 64);

/// For a name that none of a file's variables has: "no variable y (there are: x, z)".
std::string absent_variable_text(const std::string& name, const std::vector<std::string>& known);

/// The destination of text that may come from a file; it decides what is escaped and how.
enum class Shown : std::uint8_t {
  line,   ///< one line: everything that is not printable becomes \xNN
  lines,  ///< several lines: the same, except ends of lines and tabs
  json,   ///< a JSON document: \u00NN, which means the same there
};

/// `text` made safe for a terminal: without control characters (C0, DEL, C1), those that change the
/// direction of writing, and bytes that are not UTF-8. Text that has none is unchanged; escaping
/// twice gives the same as once.
std::string escaped(std::string_view text, Shown shown);

}  // namespace sluice::model
