#include "layout/part_set.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "codec/checksum.hpp"
#include "model/name.hpp"
#include "storage/calls.hpp"

namespace sluice::layout {

namespace {

/// "SLUICSET", followed by the version.
constexpr std::uint64_t magic = 0x5445534349554c53ULL;
constexpr std::uint64_t version = 1;

std::uint64_t checksum_of(std::span<const std::uint64_t> words) {
  return codec::checksum(std::as_bytes(words));
}

class WordWriter {
 public:
  void put(std::uint64_t word) { words_.push_back(word); }
  void put(const std::string& text) {
    put(text.size());
    const std::size_t at = words_.size();
    words_.resize(at + (text.size() + 7) / 8);
    std::memcpy(words_.data() + at, text.data(), text.size());
  }
  std::vector<std::uint64_t> take() {
    put(checksum_of(words_));
    return std::move(words_);
  }

 private:
  std::vector<std::uint64_t> words_;
};

class WordReader {
 public:
  WordReader(std::span<const std::uint64_t> words, const std::string& path)
      : words_(words), path_(path) {}

  std::uint64_t get() {
    if (at_ == words_.size()) {
      damaged();
    }
    return words_[at_++];
  }
  /// An index of an earlier version does not say how its variables are compressed.
  bool at_end() const { return at_ == words_.size(); }
  /// A list whose entries take at least one word each.
  std::size_t get_count() { return get_below(words_.size() - at_ + 1); }
  std::uint64_t get_below(std::uint64_t limit) {
    const std::uint64_t value = get();
    if (value >= limit) {
      damaged();
    }
    return value;
  }
  std::string get_string() {
    const std::uint64_t size = get();
    if (size > (words_.size() - at_) * 8) {
      damaged();
    }
    std::string text(size, '\0');
    std::memcpy(text.data(), words_.data() + at_, size);
    at_ += (size + 7) / 8;
    return text;
  }
  [[noreturn]] void damaged() const {
    throw Error(Code::damaged, path_ + ": the list of parts in /sluice is damaged");
  }

 private:
  std::span<const std::uint64_t> words_;
  const std::string& path_;
  std::size_t at_ = 0;
};

void put_mapping(const Mapping& mapping, WordWriter& out) {
  out.put(mapping.variable);
  out.put(mapping.part);
  out.put(mapping.dataset);
  out.put(static_cast<std::uint64_t>(mapping.box.start.rank()) * 2 + (mapping.listed ? 1 : 0));
  out.put(mapping.first_step);
  out.put(mapping.steps);
  out.put(mapping.first_row);
  out.put(mapping.offset);
  for (int d = 0; d < mapping.box.start.rank(); ++d) {
    out.put(mapping.box.start[d]);
    out.put(mapping.box.count[d]);
  }
}

Mapping get_mapping(const PartSet& set, WordReader& in) {
  Mapping mapping;
  mapping.variable = static_cast<std::uint32_t>(in.get_below(set.variables.size()));
  mapping.part = static_cast<std::uint32_t>(in.get_below(set.parts.size()));
  mapping.dataset = static_cast<std::uint32_t>(in.get_below(set.datasets.size()));
  const std::uint64_t shape = in.get_below(2 * (model::max_rank + 1));
  mapping.listed = shape % 2 != 0;
  mapping.first_step = in.get();
  mapping.steps = in.get();
  mapping.first_row = in.get();
  mapping.offset = in.get();
  for (std::uint64_t d = 0; d < shape / 2; ++d) {
    mapping.box.start.push_back(in.get());
    mapping.box.count.push_back(in.get());
  }
  return mapping;
}

}  // namespace

bool PartSet::has(const std::string& name) const {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const SetVariable& v) { return v.name == name; });
}

void PartSet::leave(const std::vector<std::string>& names) {
  constexpr std::uint32_t gone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> numbers_left(variables.size(), gone);
  std::vector<SetVariable> kept;
  const std::unordered_set<std::string_view> left(names.begin(), names.end());
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (left.count(variables[v].name) == 0) {
      numbers_left[v] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(variables[v]);
    }
  }
  variables = std::move(kept);
  std::erase_if(mappings, [&](const Mapping& m) { return numbers_left[m.variable] == gone; });
  for (Mapping& mapping : mappings) {
    mapping.variable = numbers_left[mapping.variable];
  }
}

std::uint32_t PartSet::dataset_number(const std::string& name) {
  for (; numbered < datasets.size(); ++numbered) {
    numbers.emplace(datasets[numbered], static_cast<std::uint32_t>(numbered));
  }
  const auto [found, is_new] = numbers.emplace(name, static_cast<std::uint32_t>(datasets.size()));
  if (is_new) {
    datasets.push_back(name);
    ++numbered;
  }
  return found->second;
}

std::vector<std::uint64_t> PartSet::words() const {
  WordWriter out;
  out.put(magic);
  out.put(version);
  out.put(id);
  out.put(strategy);
  out.put(variables.size());
  for (const SetVariable& variable : variables) {
    out.put(variable.name);
    out.put(variable.stepped ? 1 : 0);
  }
  out.put(datasets.size());
  for (const std::string& dataset : datasets) {
    out.put(dataset);
  }
  out.put(parts.size());
  for (const Part& part : parts) {
    out.put(part.path);
    out.put(part.id);
    out.put(part.commits);
    out.put(static_cast<std::uint64_t>(part.stamp_ns));
    out.put(part.bytes);
  }
  out.put(mappings.size());
  for (const Mapping& mapping : mappings) {
    put_mapping(mapping, out);
  }
  // Behind everything else, where readers that do not know of it do not look.
  for (const SetVariable& variable : variables) {
    out.put(variable.compress);
  }
  return out.take();
}

PartSet PartSet::from_words(std::span<const std::uint64_t> words, const std::string& path) {
  if (words.size() < 3 || words[0] != magic ||
      checksum_of(words.first(words.size() - 1)) != words.back()) {
    WordReader(words, path).damaged();
  }
  if (words[1] != version) {
    throw Error(Code::version, path + ": its list of parts has version " +
                                   std::to_string(words[1]) + ", this library reads version " +
                                   std::to_string(version) + ": use a newer Sluice");
  }
  WordReader in(words.subspan(2, words.size() - 3), path);
  PartSet set;
  set.id = in.get();
  set.strategy = in.get_string();
  set.variables.resize(in.get_count());
  for (SetVariable& variable : set.variables) {
    variable.name = in.get_string();
    model::check_read_name(variable.name, path);
    variable.stepped = in.get() != 0;
  }
  set.datasets.resize(in.get_count());
  for (std::string& dataset : set.datasets) {
    dataset = in.get_string();
  }
  set.parts.resize(in.get_count());
  for (Part& part : set.parts) {
    part.path = in.get_string();
    part.id = in.get();
    part.commits = in.get();
    part.stamp_ns = static_cast<std::int64_t>(in.get());
    part.bytes = in.get();
  }
  const std::size_t count = in.get_count();
  set.mappings.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    set.mappings.push_back(get_mapping(set, in));
  }
  for (std::size_t v = 0; v < set.variables.size() && !in.at_end(); ++v) {
    set.variables[v].compress = in.get_string();
  }
  return set;
}

std::uint64_t bytes_of(const PartSet& set) {
  std::uint64_t bytes = 0;
  for (const Part& part : set.parts) {
    bytes += part.bytes;
  }
  return bytes;
}

std::string part_path(const std::string& index_path, const std::string& part) {
  using std::filesystem::path;
  const path named(part);
  const bool leaves =
      std::any_of(named.begin(), named.end(), [](const path& p) { return p == ".."; });
  if (part.empty() || leaves || part.find('\0') != std::string::npos) {
    throw Error(Code::bad_name,
                index_path + ": refers to a part outside its folder: " + model::quoted(part));
  }
  return named.is_absolute() ? part : (path(index_path).parent_path() / named).string();
}

std::string name_in_index(const std::string& index_path, const std::string& part) {
  using std::filesystem::path;
  const path folder = path(storage::absolute_path(index_path)).parent_path();
  const path whole(storage::absolute_path(part));
  const path relative = whole.lexically_relative(folder);
  const bool is_below = !relative.empty() && *relative.begin() != "..";
  return is_below ? relative.string() : whole.string();
}

}  // namespace sluice::layout
