// A settings file as a list of text entries.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

/// One `key = value` of a TOML file, at top level or in a table.
struct TomlEntry {
  std::string table;  ///< empty: top level
  std::string key;
  std::string value;  ///< lists with commas, tables as key=value
  std::string place;  ///< "sluice.toml, line 3"
};

/// All entries of `text`, read from `file`, in order. `is_option`: a key whose value may be a
/// table. Error format if it is not TOML, invalid_argument if a value cannot be one of an option (a
/// date).
std::vector<TomlEntry> toml_entries(const std::string& text, const std::string& file,
                                    const std::function<bool(std::string_view)>& is_option);

/// Does the table of that name apply to the file at `path`: is it the file's name, with or without
/// its extension, or its path as the program gives it?
bool is_table_of(std::string_view table, const std::string& path);

}  // namespace sluice::model
