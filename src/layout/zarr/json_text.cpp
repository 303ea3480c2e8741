// The text of a document as JSON, and back: with the words for numbers that JSON has none for.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "layout/zarr/metadata.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

namespace {

/// Values are copied, compared and written by functions that call themselves, once a level.
constexpr std::size_t most_depth = 64;

/// A name is compared with all names before it in its object: so many comparisons take a second.
constexpr std::uint64_t most_comparisons = 1 << 29;

/// Calls visit(at) for every character of JSON that is in no string; it says where to go on.
template <class Visit>
void each_outside_strings(std::string_view text, Visit&& visit) {
  bool in_text = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (in_text || c == '"') {
      in_text = in_text ? c != '"' : true;
      at += c == '\\' ? 2 : 1;
    } else {
      at = visit(at);
    }
  }
}

/// What makes the document too costly to parse; "" where nothing does.
std::string refusal_of(std::string_view text) {
  std::array<std::uint64_t, most_depth> names{};  ///< of the object open at each level
  std::uint64_t comparisons = 0;
  std::size_t depth = 0;
  std::string why;
  each_outside_strings(text, [&](std::size_t at) {
    const char c = text[at];
    if (c == '[' || c == '{') {
      if (depth == most_depth) {
        why = "more than " + std::to_string(most_depth) + " levels of nesting";
        return text.size();
      }
      names.at(depth++) = 0;
    } else if (depth != 0 && (c == ']' || c == '}')) {
      --depth;
    } else if (depth != 0 && c == ':') {
      comparisons += names.at(depth - 1)++;
      if (comparisons > most_comparisons) {
        why = "too many names in one object";
        return text.size();
      }
    }
    return at + 1;
  });
  return why;
}

/// Words for numbers that JSON has none for. json of Python writes and reads them.
constexpr std::array<std::pair<std::string_view, double>, 3> number_words{
    {{"NaN", std::numeric_limits<double>::quiet_NaN()},
     {"Infinity", std::numeric_limits<double>::infinity()},
     {"-Infinity", -std::numeric_limits<double>::infinity()}}};
/// Begins the texts that stand for such words while JSON is parsed.
constexpr std::string_view escaped_zero = "\\u0000";

/// The text with those words, outside of its strings, as strings; empty where it has none.
std::string without_words(std::string_view text) {
  std::string replaced;
  std::size_t copied = 0;
  each_outside_strings(text, [&](std::size_t at) {
    const char c = text[at];
    if (c != 'N' && c != 'I' && c != '-') {
      return at + 1;
    }
    for (const auto& [word, value] : number_words) {
      if (text.substr(at, word.size()) == word) {
        replaced.append(text.substr(copied, at - copied)).append("\"").append(escaped_zero);
        replaced.append(word).append("\"");
        copied = at + word.size();
        return copied;
      }
    }
    return at + 1;
  });
  return copied == 0 ? "" : replaced.append(text.substr(copied));
}

void restore_numbers(Json& json) {
  if (json.is_structured()) {
    for (Json& one : json) {
      restore_numbers(one);
    }
  } else if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    for (const auto& [word, value] : number_words) {
      if (text.size() == word.size() + 1 && text[0] == '\0' && text.substr(1) == word) {
        json = value;
        return;
      }
    }
  }
}

bool has_words(const Json& json) {
  if (json.is_structured()) {
    return std::any_of(json.begin(), json.end(), has_words);
  }
  return json.is_number_float() && !std::isfinite(json.get<double>());
}

/// The opposite of restore_numbers().
void hide_numbers(Json& json) {
  if (json.is_structured()) {
    for (Json& one : json) {
      hide_numbers(one);
    }
  } else if (has_words(json)) {
    const auto value = json.get<double>();
    const std::size_t at = std::isnan(value) ? 0 : value > 0 ? 1 : 2;
    json = std::string(1, '\0').append(number_words.at(at).first);
  }
}

}  // namespace

std::string text_of(const Json& json, Json::error_handler_t on_error) {
  if (!has_words(json)) {
    return json.dump(1, ' ', false, on_error);
  }
  Json hidden = json;
  hide_numbers(hidden);
  std::string text = hidden.dump(1, ' ', false, on_error);
  for (const auto& [word, value] : number_words) {
    const std::string held = "\"" + std::string(escaped_zero) + std::string(word) + "\"";
    for (std::size_t at = text.find(held); at != std::string::npos; at = text.find(held, at)) {
      text.replace(at, held.size(), word);
    }
  }
  return text;
}

Json parse(std::span<const std::byte> bytes, const std::string& path, const std::string& document) {
  std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::string what = path + ": " + document + ": ";
  if (const std::string why = refusal_of(text); !why.empty()) {
    throw Error(Code::damaged, what + why);
  }
  const std::string replaced = without_words(text);
  text = replaced.empty() ? text : std::string_view(replaced);
  try {
    Json json = Json::parse(text.begin(), text.end());
    if (!json.is_object()) {
      throw Error(Code::damaged, what + "is not an object");
    }
    if (!replaced.empty()) {
      restore_numbers(json);
    }
    return json;
  } catch (const Json::parse_error& e) {
    const bool is_cut = e.byte > text.size();
    throw Error(is_cut ? Code::truncated : Code::damaged,
                what + (is_cut ? "truncated: " : "") + e.what());
  }
}

}  // namespace sluice::layout::zarr
