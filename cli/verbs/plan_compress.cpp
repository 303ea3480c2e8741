#include "verbs/plan_compress.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "codec/filter.hpp"
#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "commit/read/input.hpp"
#include "draw/bars.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/encoding.hpp"
#include "layout/formats/formats.hpp"
#include "layout/rounding.hpp"
#include "model/clock.hpp"
#include "new_file.hpp"
#include "text/table.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t most_sample_bytes = 32ULL << 20;
/// As the writer's largest tile.
constexpr std::uint64_t tile_bytes = 4ULL << 20;

/// What one choice does with a sample.
struct Measured {
  std::string option;
  std::uint64_t bytes = 0;
  double encode_s = 0;
  double decode_s = 0;
  double largest_error = 0;
  double largest_relative_error = 0;
};

struct Sample {
  model::Definition definition;
  std::uint64_t step = 0;
  std::uint64_t step_bytes = 0;
  Bytes bytes;
};

/// From the middle of a step: whole rows, if one fits into the sample, otherwise whole rows of one
/// index of the first dimension, and so on.
model::Box sample_box(const model::Dims& shape, std::uint32_t element_bytes) {
  model::Box box = model::whole(shape);
  std::uint64_t bytes = shape.volume() * element_bytes;
  for (int d = 0; d < shape.rank() && bytes > most_sample_bytes; ++d) {
    const std::uint64_t row_bytes = bytes / shape[d];
    box.count[d] = std::clamp<std::uint64_t>(most_sample_bytes / row_bytes, 1, shape[d]);
    box.start[d] = (shape[d] - box.count[d]) / 2;
    bytes = row_bytes * box.count[d];
  }
  return box;
}

/// Of the last step.
Sample sample_of(commit::Input& input, std::uint32_t variable) {
  Sample sample;
  sample.definition = input.variables()[variable].definition;
  const model::Definition& d = sample.definition;
  sample.step = d.stepped ? input.steps() - 1 : 0;
  const model::Dims shape = input.shape(variable, sample.step);
  const model::Box box = sample_box(shape, d.type.bytes);
  sample.step_bytes = shape.volume() * d.type.bytes;
  sample.bytes.resize(box.volume() * d.type.bytes);
  input.get(commit::dense_request(variable, sample.step, box, sample.bytes.data(), d.type));
  return sample;
}

template <class Number>
void compare(std::span<const std::byte> before, std::span<const std::byte> after, Measured& into) {
  for (std::size_t at = 0; at + sizeof(Number) <= before.size(); at += sizeof(Number)) {
    Number x = 0;
    Number y = 0;
    std::memcpy(&x, before.data() + at, sizeof x);
    std::memcpy(&y, after.data() + at, sizeof y);
    if (std::isfinite(x) && x != y) {
      const double error = std::abs(static_cast<double>(x) - static_cast<double>(y));
      into.largest_error = std::max(into.largest_error, error);
      into.largest_relative_error =
          std::max(into.largest_relative_error, error / std::abs(static_cast<double>(x)));
    }
  }
}

/// The filters of one tile of so many elements.
codec::Pipeline pipeline_for(const Type& type, const std::string& option, std::uint64_t elements) {
  model::Definition definition;
  definition.name = option;
  definition.type = type;
  definition.compress = option;
  definition.shape = {elements};
  return layout::settled_in(*layout::formats().front(), definition, definition.shape);
}

Measured measure(const Sample& sample, const std::string& option) {
  model::Definition definition = sample.definition;
  definition.compress = option;
  const std::uint32_t element = definition.type.bytes;
  const auto rounding = layout::rounding_of(definition);
  const std::uint64_t most = std::max<std::uint64_t>(1, tile_bytes / element) * element;
  Measured measured{option};
  std::optional<codec::Coder> coder;
  Bytes tile;
  Bytes decoded;
  for (std::uint64_t at = 0; at < sample.bytes.size(); at += most) {
    const auto dense = std::span(sample.bytes)
                           .subspan(at)
                           .first(std::min<std::uint64_t>(most, sample.bytes.size() - at));
    if (!coder || dense.size() != tile.size()) {
      coder.emplace(pipeline_for(definition.type, option, dense.size() / element));
    }
    tile.assign(dense.begin(), dense.end());
    decoded.resize(tile.size());
    const double begin = model::now_s();
    if (rounding) {
      rounding->apply(element, definition.fill, tile);
    }
    const auto encoded = coder->encode(tile);
    const Bytes stored(encoded.bytes.begin(), encoded.bytes.end());
    const double middle = model::now_s();
    coder->decode(stored, encoded.mask, decoded);
    measured.decode_s += model::now_s() - middle;
    measured.encode_s += middle - begin;
    measured.bytes += stored.size();
    if (definition.type.kind == Kind::f32) {
      compare<float>(dense, decoded, measured);
    } else if (definition.type.kind == Kind::f64) {
      compare<double>(dense, decoded, measured);
    }
  }
  return measured;
}

/// Is the plugin there, and does it take such elements?
bool is_usable(const Type& type, const std::string& option) {
  constexpr std::uint64_t some_elements = 1024;
  try {
    codec::require_plugins(pipeline_for(type, option, some_elements));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Compressors of this build, quick and thorough, a few plugins of HDF5 that keep all bits, and in
/// front of the last compressor a few roundings.
std::vector<std::string> choices_for(const Type& type) {
  std::vector<std::string> choices;
  for (const char* name : {"deflate", "zstd"}) {
    if (const auto method = codec::find_method(std::string(name))) {
      choices.push_back(fmt::format("{}:{}", name, method->lowest_level));
      choices.push_back(fmt::format("{}:{}", name, method->default_level));
    }
  }
  const std::string behind = choices.empty() ? "" : choices.back();
  for (const char* plugin : {"lz4", "bitshuffle:zstd,3", "blosc2:zstd,5"}) {
    if (is_usable(type, plugin)) {
      choices.emplace_back(plugin);
    }
  }
  if (behind.empty() || (type.kind != Kind::f32 && type.kind != Kind::f64)) {
    return choices;
  }
  const bool is_double = type.kind == Kind::f64;
  for (const int bits : {7, 10, 13, 16, 23, 33}) {
    if (bits < (is_double ? 52 : 23)) {
      choices.push_back(fmt::format("round:{}+{}", bits, behind));
    }
  }
  for (const int digits : {2, 3, 4, 5, 7, 10}) {
    if (digits < (is_double ? 15 : 6)) {
      choices.push_back(fmt::format("digits:{}+{}", digits, behind));
    }
  }
  return choices;
}

std::string error_text(double error) { return error == 0 ? "-" : fmt::format("{:.1e}", error); }

Json json_of(const Sample& sample, const std::vector<Measured>& all) {
  Json rows = Json::array();
  for (const Measured& one : all) {
    rows.push_back({{"compress", one.option},
                    {"bytes", one.bytes},
                    {"encode_s", one.encode_s},
                    {"decode_s", one.decode_s},
                    {"largest_error", one.largest_error},
                    {"largest_relative_error", one.largest_relative_error}});
  }
  return {{"variable", sample.definition.name},
          {"type", type_name(sample.definition.type)},
          {"step", sample.step},
          {"step_bytes", sample.step_bytes},
          {"sample_bytes", sample.bytes.size()},
          {"choices", rows}};
}

std::string text_of(const Sample& sample, const std::vector<Measured>& all) {
  const auto bytes = static_cast<double>(sample.bytes.size());
  Table table({"COMPRESS", ">SIZE", ">OF 100 %", ">ENCODE", ">DECODE", ">ERROR", ">RELATIVE"});
  for (const Measured& one : all) {
    table.add({one.option, bytes_text(one.bytes),
               fmt::format("{:.1f}", 100 * static_cast<double>(one.bytes) / bytes),
               rate_text(sample.bytes.size(), one.encode_s),
               rate_text(sample.bytes.size(), one.decode_s), error_text(one.largest_error),
               error_text(one.largest_relative_error)});
  }
  return fmt::format("{}: {}, {} of the {} of step {}\n{}", printable(sample.definition.name),
                     type_name(sample.definition.type), bytes_text(sample.bytes.size()),
                     bytes_text(sample.step_bytes), sample.step, table.text(2));
}

/// A bar for each choice: what is left of the sample, then the speed and the loss.
Bars bars_of(const Sample& sample, const std::vector<Measured>& all) {
  Bars bars{fmt::format("{}: {}, size after compression, speed of one core, largest relative error",
                        printable(sample.definition.name), type_name(sample.definition.type)),
            {}};
  for (const Measured& one : all) {
    const double part = static_cast<double>(one.bytes) /
                        static_cast<double>(std::max<std::size_t>(1, sample.bytes.size()));
    bars.bars.push_back({one.option, part,
                         fmt::format("{:5.1f} %  {:>10}  {:>8}", 100 * part,
                                     rate_text(sample.bytes.size(), one.encode_s),
                                     error_text(one.largest_relative_error)),
                         one.largest_error != 0});
  }
  return bars;
}

/// Variables that are worth it, or the one that is named.
std::vector<std::uint32_t> wanted_of(commit::Input& input, const std::string& variable) {
  std::vector<std::uint32_t> wanted;
  if (!variable.empty()) {
    wanted.push_back(input.find(variable));
  }
  for (std::uint32_t v = 0; variable.empty() && v < input.variables().size(); ++v) {
    const model::Definition& d = input.variables()[v].definition;
    const bool is_there = !d.stepped || input.steps() != 0;
    if (is_there && input.shape(v, d.stepped ? input.steps() - 1 : 0).volume() * d.type.bytes >=
                        layout::worth_encoding_bytes) {
      wanted.push_back(v);
    }
  }
  return wanted;
}

void draw(const Context& context, const std::vector<Bars>& panels, const std::string& to) {
  constexpr int picture_width = 1100;
  const Picture picture = draw_bars(panels, picture_width);
  const auto bytes = encode_png(picture.bytes(), picture.width(), picture.height());
  write_new_file(context.storage, to, bytes);
}

void check_picture(const Context& context, const std::string& to) {
  if (!to.empty() && !to.ends_with(".png")) {
    throw Error(Code::invalid_argument, to + ": pictures end in .png");
  }
  if (!to.empty()) {
    require_new(context.storage, to);
  }
}

}  // namespace

int plan_compress(const Context& context, const std::string& sample, const std::string& variable,
                  bool as_json, const std::string& picture) {
  check_picture(context, picture);
  const auto alone = exec::make_solo();
  commit::Input input(*alone, context.storage, sample, Options{});
  const std::vector<std::uint32_t> wanted = wanted_of(input, variable);
  std::vector<Bars> panels;
  Json json = Json::array();
  std::string text;
  for (const std::uint32_t v : wanted) {
    const model::Definition& d = input.variables()[v].definition;
    if (d.stepped && input.steps() == 0) {
      throw Error(Code::invalid_argument, sample + ": " + d.name + " has no steps yet");
    }
    const Sample taken = sample_of(input, v);
    std::vector<Measured> all;
    for (const std::string& option : choices_for(d.type)) {
      all.push_back(measure(taken, option));
    }
    json.push_back(json_of(taken, all));
    text += (text.empty() ? "" : "\n") + text_of(taken, all);
    panels.push_back(bars_of(taken, all));
  }
  if (!picture.empty() && !panels.empty()) {
    draw(context, panels, picture);
  }
  if (as_json) {
    show_json(json);
  } else if (wanted.empty()) {
    tell("{}: no variable has 4 KiB a step: nothing is worth it\n", printable(sample));
  } else {
    tell("{}\nOne core. ERROR and RELATIVE: the largest of any value; -: none.\n", text);
  }
  return fine;
}

}  // namespace sluice::cli
