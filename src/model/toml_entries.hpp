// What a file of settings says, as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

/// One `key = value` of a TOML file, at its top or in a table there.
struct TomlEntry {
  std::string table;  ///< empty: at the top
  std::string key;
  std::string value;  ///< lists with commas, tables as key=value
  std::string place;  ///< "sluice.toml, line 3"
};

/// Everything that `text`, read from `file`, says, in order. `is_option`: such a key may have a
/// table as its value. Error format where it is no TOML, invalid_argument where a value is none of
/// an option (a date).
std::vector<TomlEntry> toml_entries(const std::string& text, const std::string& file,
                                    const std::function<bool(std::string_view)>& is_option);

/// Does the table of that name concern the file at `path`: has it its name, with or without its
/// ending, or its path?
bool is_table_of(std::string_view table, const std::string& path);

}  // namespace sluice::model
