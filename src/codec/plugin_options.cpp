// The options `compress` that name plugins of HDF5. A plugin with a spelling of its own is a row of
// spellings.
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "codec/plugins.hpp"
#include "sluice/error.hpp"

namespace sluice::codec {

namespace {

constexpr std::string_view stored_prefix = "stored:";
/// Of a dataset, as libhdf5 has it (H5Z_MAX_NFILTERS).
constexpr std::size_t most_filters = 32;
constexpr std::string_view with_shuffle = "+shuffle";
constexpr std::string_view without_shuffle = "+noshuffle";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return words;
}

template <class Number>
std::optional<Number> number_in(std::string_view word) {
  Number value{};
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

std::optional<Parameters> numbers_in(std::string_view text) {
  Parameters values;
  for (const std::string_view word : split(text, ',')) {
    const auto value = number_in<std::uint32_t>(word);
    if (!value || values.size() == most_filter_values) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

/// A number in a range, in place of one that is left out: `otherwise`.
std::optional<std::uint32_t> level_in(const std::vector<std::string_view>& words, std::size_t at,
                                      std::uint32_t least, std::uint32_t most,
                                      std::uint32_t otherwise) {
  if (words.size() <= at) {
    return otherwise;
  }
  const auto level = number_in<std::uint32_t>(words[at]);
  return level && *level >= least && *level <= most ? level : std::nullopt;
}

template <std::size_t count>
std::optional<std::uint32_t> place_in(const std::array<std::string_view, count>& names,
                                      std::string_view word) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!names[i].empty() && names[i] == word) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return std::nullopt;
}

/// A number alone.
std::optional<Parameters> one_level(std::string_view text, std::uint32_t least, std::uint32_t most,
                                    std::uint32_t otherwise) {
  const auto words = split(text, ',');
  const auto level = level_in(words, 0, least, most, otherwise);
  return level && words.size() <= 1 ? std::optional(Parameters{*level}) : std::nullopt;
}

std::optional<Parameters> parse_lz4(std::string_view text) {
  return one_level(text, 0, 1U << 30, 0);
}

std::optional<Parameters> parse_bzip2(std::string_view text) { return one_level(text, 1, 9, 9); }

/// Block size (0: its own choice), compressor, level.
std::optional<Parameters> parse_bitshuffle(std::string_view text) {
  constexpr std::array<std::string_view, 4> compressors{"none", "", "lz4", "zstd"};
  constexpr std::uint32_t zstd = 3;
  const auto words = split(text, ',');
  const auto compressor = place_in(compressors, words.empty() ? "lz4" : words[0]);
  const auto level = level_in(words, 1, 1, 22, 3);
  if (!compressor || !level || words.size() > (*compressor == zstd ? 2U : 1U)) {
    return std::nullopt;
  }
  return *compressor == zstd ? Parameters{0, *compressor, *level} : Parameters{0, *compressor};
}

/// Four values that set_local fills in, level, shuffle, compressor.
std::optional<Parameters> parse_any_blosc(std::string_view text) {
  constexpr std::array<std::string_view, 6> compressors{"blosclz", "lz4",  "lz4hc",
                                                        "snappy",  "zlib", "zstd"};
  constexpr std::array<std::string_view, 3> shuffles{"noshuffle", "shuffle", "bitshuffle"};
  const auto words = split(text, ',');
  const auto compressor = place_in(compressors, words.empty() ? "lz4" : words[0]);
  const auto level = level_in(words, 1, 0, 9, 5);
  const auto shuffle = place_in(shuffles, words.size() > 2 ? words[2] : "shuffle");
  if (!compressor || !level || !shuffle || words.size() > 3) {
    return std::nullopt;
  }
  return Parameters{0, 0, 0, 0, *level, *shuffle, *compressor};
}

/// "accuracy=0.01": the word and a positive number.
struct Bound {
  std::string_view word;
  double value = 0;
};
std::optional<Bound> bound_in(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) {
    return std::nullopt;
  }
  const auto value = number_in<double>(text.substr(sign + 1));
  return value && std::isfinite(*value) && *value > 0
             ? std::optional(Bound{text.substr(0, sign), *value})
             : std::nullopt;
}

std::optional<Parameters> parse_zfp(std::string_view text) {
  constexpr double most_precision = 64;
  if (text == "reversible") {
    return Parameters{5, 0, 0, 0, 0, 0};
  }
  const auto bound = bound_in(text);
  if (!bound) {
    return std::nullopt;
  }
  const auto bits = std::bit_cast<std::array<std::uint32_t, 2>>(bound->value);
  if (bound->word == "rate") {
    return Parameters{1, 0, bits[0], bits[1], 0, 0};
  }
  if (bound->word == "precision" && bound->value <= most_precision &&
      std::floor(bound->value) == bound->value) {
    return Parameters{2, 0, static_cast<std::uint32_t>(bound->value), 0, 0, 0};
  }
  return bound->word == "accuracy" ? std::optional(Parameters{3, 0, bits[0], bits[1], 0, 0})
                                   : std::nullopt;
}

/// The mode, and a bound of each mode, high word first.
template <std::size_t count>
std::optional<Parameters> parse_modes(std::string_view text,
                                      const std::array<std::string_view, count>& words,
                                      const std::array<std::uint32_t, count>& modes) {
  const auto bound = bound_in(text);
  const auto mode = bound ? place_in(words, bound->word) : std::nullopt;
  if (!mode) {
    return std::nullopt;
  }
  Parameters values(1 + 2 * 4, 0);
  const auto bits = std::bit_cast<std::uint64_t>(bound->value);
  values[0] = modes[*mode];
  values[1 + 2 * *mode] = static_cast<std::uint32_t>(bits >> 32);
  values[2 + 2 * *mode] = static_cast<std::uint32_t>(bits);
  return values;
}

std::optional<Parameters> parse_sz3(std::string_view text) {
  return parse_modes<4>(text, {"abs", "rel", "norm2", "psnr"}, {0, 1, 2, 3});
}

std::optional<Parameters> parse_sz(std::string_view text) {
  return parse_modes<3>(text, {"abs", "rel", "pointwise"}, {0, 1, 10});
}

struct Spelling {
  const char* name;
  std::uint32_t id;
  const char* example;
  std::optional<Parameters> (*parse)(std::string_view text);
};
constexpr std::array spellings{
    Spelling{"lz4", 32004, "lz4", parse_lz4},
    Spelling{"bzip2", 307, "bzip2:9", parse_bzip2},
    Spelling{"bitshuffle", 32008, "bitshuffle:zstd,3", parse_bitshuffle},
    Spelling{"blosc", 32001, "blosc:lz4,5", parse_any_blosc},
    Spelling{"blosc2", 32026, "blosc2:zstd,5,bitshuffle", parse_any_blosc},
    Spelling{"zfp", 32013, "zfp:accuracy=0.01", parse_zfp},
    Spelling{"sz3", 32024, "sz3:abs=0.01", parse_sz3},
    Spelling{"sz", 32017, "sz:abs=0.01", parse_sz},
};
constexpr std::string_view by_number = "filter";
constexpr const char* number_example = "filter:32001,0,0,0,0,5,1,1";

[[noreturn]] void refuse_plugin(const std::string& text, const std::string& why) {
  throw Error(Code::invalid_argument, "compress \"" + text + "\": " + why);
}

/// "filter:32001,0,0": the number, and the values that H5Pset_filter takes.
Filter parse_number(const std::string& text, std::string_view values) {
  auto numbers = numbers_in(values);
  if (!numbers || numbers->empty()) {
    refuse_plugin(text, std::string("give the filter's number and at most ") +
                            std::to_string(most_filter_values) +
                            " values, as whole numbers: " + number_example);
  }
  const std::uint32_t id = numbers->front();
  if (!is_plugin(id) && id != zstd_id) {
    refuse_plugin(text, std::to_string(id) +
                            " is no plugin of HDF5: those have numbers from 256, and HDF5's own "
                            "filters are named (deflate)");
  }
  numbers->erase(numbers->begin());
  return {id, std::move(*numbers)};
}

Pipeline parse_stored(const std::string& text) {
  Pipeline pipeline;
  for (const std::string_view word :
       split(std::string_view(text).substr(stored_prefix.size()), '+')) {
    auto numbers = numbers_in(word);
    if (!numbers || numbers->empty()) {
      refuse_plugin(text, "is no list of filters");
    }
    const std::uint32_t id = numbers->front();
    numbers->erase(numbers->begin());
    pipeline.push_back({id, std::move(*numbers)});
  }
  if (pipeline.empty() || pipeline.size() > most_filters) {
    refuse_plugin(text, "is no list of filters");
  }
  return pipeline;
}

}  // namespace

bool is_stored_text(const std::string& text) { return text.starts_with(stored_prefix); }

std::optional<Pipeline> parse_plugin(const std::string& text, std::uint32_t element_bytes) {
  if (is_stored_text(text)) {
    return parse_stored(text);
  }
  std::string_view rest = text;
  const bool is_shuffled = rest.ends_with(with_shuffle);
  const bool is_plain = rest.ends_with(without_shuffle);
  rest.remove_suffix(is_shuffled ? with_shuffle.size() : is_plain ? without_shuffle.size() : 0);
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  const std::string_view name = rest.substr(0, colon);
  const std::string_view values = rest.substr(std::min(rest.size(), colon + 1));
  std::optional<Filter> filter;
  if (name == by_number) {
    filter = parse_number(text, values);
  }
  for (const Spelling& row : spellings) {
    if (name == row.name) {
      auto parsed = row.parse(values);
      if (!parsed) {
        refuse_plugin(text, std::string("write it as in ") + row.example);
      }
      filter = Filter{row.id, std::move(*parsed)};
    }
  }
  if (!filter) {
    return std::nullopt;
  }
  const KnownPlugin* known = name == by_number ? nullptr : find_known_plugin(filter->id);
  Pipeline pipeline;
  if (element_bytes > 1 && !is_plain && (is_shuffled || (known != nullptr && known->shuffles))) {
    pipeline.push_back({shuffle_id, {element_bytes}});
  }
  pipeline.push_back(std::move(*filter));
  // What a plugin decodes has been checked, and so has what no checksum of values covers.
  if (is_plugin(pipeline.back().id)) {
    pipeline.push_back({fletcher32_id, {}});
  }
  return pipeline;
}

std::string stored_text(const Pipeline& pipeline) {
  std::string text{stored_prefix};
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    text += (i == 0 ? "" : "+") + std::to_string(pipeline[i].id);
    for (const std::uint32_t value : pipeline[i].parameters) {
      text += "," + std::to_string(value);
    }
  }
  return text;
}

std::string text_for_copy(const std::string& text) {
  if (!is_stored_text(text)) {
    return text;
  }
  Pipeline pipeline = parse_stored(text);
  const bool is_checked = pipeline.back().id == fletcher32_id;
  pipeline.resize(pipeline.size() - (is_checked ? 1 : 0));
  const bool is_shuffled = pipeline.size() == 2 && pipeline[0].id == shuffle_id;
  if (pipeline.size() != (is_shuffled ? 2 : 1) || is_lossy(pipeline)) {
    return "";
  }
  const Filter& filter = pipeline.back();
  const KnownPlugin* known = find_known_plugin(filter.id);
  const std::size_t first = known == nullptr || known->values_of_chunk < 0
                                ? filter.parameters.size() + 1
                                : static_cast<std::size_t>(known->values_of_chunk);
  if (first > filter.parameters.size()) {
    return "";
  }
  std::string copy = std::string(by_number) + ":" + std::to_string(filter.id);
  for (std::size_t i = first; i < filter.parameters.size(); ++i) {
    copy += "," + std::to_string(filter.parameters[i]);
  }
  return copy + (is_shuffled ? std::string(with_shuffle) : "");
}

std::string plugin_options() {
  std::string all;
  for (const Spelling& row : spellings) {
    all += std::string(row.example) + ", ";
  }
  return all + number_example;
}

}  // namespace sluice::codec
