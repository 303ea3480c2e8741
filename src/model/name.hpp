// Which names variables, groups and attributes may have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::model {

/// Longest path component that file systems and tools take, in bytes.
inline constexpr std::size_t max_component_bytes = 255;

/// Returns where `name` is a relative path of non-empty components separated by `/`, none of them
/// `.` or `..` or longer than 255 bytes, valid UTF-8 and without NUL. Error bad_name with the
/// reason otherwise.
void check_name(std::string_view name);

/// Is `text` UTF-8 without overlong forms, surrogates and code points above U+10FFFF?
bool is_utf8(std::string_view text) noexcept;

/// The name of the file at `path` without its ending.
std::string stem_of(const std::string& path);

/// `text` in double quotes for messages: at most `max_bytes` of it, everything but printable ASCII
/// and valid UTF-8 escaped as \xNN.
std::string quoted(std::string_view text, std::size_t max_bytes = 64);

}  // namespace sluice::model
