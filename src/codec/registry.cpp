// Which filters there are, and how they are called.
#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>

#include "codec/filter.hpp"
#include "codec/methods.hpp"
#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "sluice/error.hpp"

namespace sluice::codec {

namespace {

/// A new codec is a line here.
constexpr std::array built_in{shuffle_method, fletcher32_method, blosc_method, deflate_method,
                              zstd_method,    gzip_method,       lzf_method};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<const Method>> methods;

  Registry() {
    for (const auto& make_row : built_in) {
      if (auto method = make_row()) {
        add(std::move(*method));
      }
    }
  }
  void add(Method method) {
    std::erase_if(methods, [&](const auto& known) {
      return known->id == method.id || known->name == method.name;
    });
    methods.push_back(std::make_shared<const Method>(std::move(method)));
  }
  template <class Is>
  std::shared_ptr<const Method> find(Is&& is) {
    const std::lock_guard lock(mutex);
    const auto found =
        std::find_if(methods.begin(), methods.end(), [&](const auto& m) { return is(*m); });
    return found == methods.end() ? nullptr : *found;
  }
};

Registry& registry() {
  static auto* const only = new Registry;  // files of static lifetime are closed after main()
  return *only;
}

[[noreturn]] void refuse(const std::string& text) {
  const std::string known = compressor_names();
  throw Error(Code::invalid_argument,
              "compress \"" + text + "\" is not known: use one of " + known +
                  "none, with +noshuffle to leave the bytes in their order, and with round:N+ or "
                  "digits:N+ in front to round floats to N bits or decimal digits" +
                  (known.empty() ? " (this build has no compressor)" : "") +
                  "; or a plugin of HDF5: " + plugin_options());
}

}  // namespace

std::string compressor_names() {
  std::string known;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& method : all.methods) {
    if (method->compresses && !method->is_plugin) {
      known += method->name + ":" + std::to_string(method->lowest_level) + ".." +
               std::to_string(method->highest_level) + ", ";
    }
  }
  return known;
}

std::string default_compressor() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& method : all.methods) {
    if (method->compresses && !method->is_plugin) {
      return method->name + ":" + std::to_string(method->default_level);
    }
  }
  return "none";
}

void add_method(Method method) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.add(std::move(method));
}

bool has_codec(std::uint32_t id) {
  return registry().find([&](const Method& m) { return m.id == id && !m.is_plugin; }) != nullptr;
}

std::shared_ptr<const Method> find_method(std::uint32_t id) {
  auto found = registry().find([&](const Method& m) { return m.id == id; });
  std::string why_not;
  return !found && is_plugin(id) ? find_plugin(id, why_not) : found;
}

std::shared_ptr<const Method> find_method(const std::string& name) {
  return registry().find([&](const Method& m) { return m.name == name && !m.is_plugin; });
}

bool can_decode(const Pipeline& pipeline) {
  if (!refuse_unchecked(pipeline).empty()) {
    return false;
  }
  // How many bytes go into a compressor must be known when its output is decoded.
  bool is_known = true;
  for (const Filter& filter : pipeline) {
    const auto method = find_method(filter.id);
    if (!method || (!has_known_length(*method) && !is_known)) {
      return false;
    }
    is_known = is_known && has_known_length(*method);
  }
  return pipeline.size() <= 32;  // as many as a mask has bits
}

Pipeline parse_pipeline(const std::string& text, std::uint32_t element_bytes) {
  constexpr std::string_view modifier = "+noshuffle";
  const std::string compressor = parse_compression(text).compressor;
  if (auto plugin = parse_plugin(compressor, element_bytes)) {
    return std::move(*plugin);
  }
  std::string_view rest = compressor;
  const bool shuffles = !rest.ends_with(modifier);
  rest.remove_suffix(shuffles ? 0 : modifier.size());
  if (shuffles && (rest.empty() || rest == "none")) {
    return {};
  }
  const std::size_t colon = rest.find(':');
  const auto method = find_method(std::string(rest.substr(0, colon)));
  if (!method || !method->compresses) {
    refuse(text);
  }
  int level = method->default_level;
  if (colon != std::string_view::npos) {
    const std::string_view digits = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    if (error != std::errc{} || end != digits.data() + digits.size() ||
        level < method->lowest_level || level > method->highest_level) {
      refuse(text);
    }
  }
  Pipeline pipeline;
  if (shuffles && element_bytes > 1) {
    pipeline.push_back({shuffle_id, {element_bytes}});
  }
  pipeline.push_back({method->id, {static_cast<std::uint32_t>(level)}});
  return pipeline;
}

std::string pipeline_text(const Pipeline& pipeline) {
  if (has_plugin(pipeline)) {
    return stored_text(pipeline);
  }
  const bool shuffles = pipeline.size() == 2 && pipeline[0].id == shuffle_id;
  if (pipeline.size() != (shuffles ? 2 : 1)) {
    return "";
  }
  const Filter& last = pipeline.back();
  const auto method = find_method(last.id);
  if (!method || !method->compresses) {
    return "";
  }
  const int level =
      last.parameters.empty() ? method->default_level : static_cast<int>(last.parameters[0]);
  if (level < method->lowest_level || level > method->highest_level) {
    return "";
  }
  return method->name + ":" + std::to_string(level) + (shuffles ? "" : "+noshuffle");
}

}  // namespace sluice::codec
