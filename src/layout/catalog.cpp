#include "layout/catalog.hpp"

#include <array>
#include <bit>
#include <type_traits>
#include <variant>

#include "codec/checksum.hpp"
#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::layout {

namespace {

/// Of all words of a row but the last. Never 0, which means that there is no checksum.
std::uint64_t checksum_of(std::span<const std::uint64_t, CommitRow::words> row) {
  const std::uint64_t checksum = codec::checksum(std::as_bytes(row.first<CommitRow::words - 1>()));
  return checksum == 0 ? 1 : checksum;
}

}  // namespace

std::array<std::uint64_t, CommitRow::words> CommitRow::pack() const {
  std::array<std::uint64_t, words> row{
      step,       std::bit_cast<std::uint64_t>(time),      first_word,
      word_count, static_cast<std::uint64_t>(modified_ns), rows_proof,
      number};
  row.back() = checksum_of(row);
  return row;
}

CommitRow CommitRow::unpack(std::span<const std::uint64_t, words> row) {
  const auto modified_ns = static_cast<std::int64_t>(row[4]);
  // A row that was never written is all zeros; every commit has a time of modification.
  const bool is_intact = row.back() == 0 ? modified_ns != 0 : row.back() == checksum_of(row);
  return {row[0],   std::bit_cast<double>(row[1]), row[2], row[3], modified_ns, row[5], row[6],
          is_intact};
}

void Catalog::require_intact_log(const std::string& path, const std::string& remedy) const {
  for (std::size_t c = 0; c < commits_.size(); ++c) {
    if (!commits_[c].is_intact) {
      throw Error(Code::damaged, path + ": the log of commits is damaged: row " +
                                     std::to_string(c) + " does not match its checksum: " + remedy);
    }
  }
}

void RowsProof::add(const std::string& variable, std::uint64_t rows) {
  if (rows != 0) {  // a variable that was added later has none in this step
    const std::array<std::uint64_t, 2> words{codec::checksum(variable), rows};
    sum_ ^= codec::checksum(std::as_bytes(std::span(words)));
  }
}

namespace {

/// The upper half is that of the owner, so that a missing entry can be attributed to it.
constexpr int owner_shift = 32;

std::uint64_t owner_key(const std::string& owner) { return codec::checksum(owner) >> owner_shift; }

std::uint64_t key_of(const std::string& owner, const std::string& what) {
  return owner_key(owner) << owner_shift | codec::checksum(what) >> owner_shift;
}

std::uint64_t key_of(const model::Definition& definition) {
  return key_of(definition.name, "variable");
}

std::uint64_t key_of(const model::Attribute& attribute) {
  return key_of(attribute.owner, "attribute " + attribute.name);
}

std::uint64_t fill_key(const std::string& name) { return key_of(name, "fill, not partial"); }

/// Excludes the shape along the steps, and what other programs change in a copy.
std::uint64_t hash_of(const model::Definition& definition) {
  const bool grows = definition.name == time_name;
  model::ByteWriter out;
  out.put(definition.type.kind);
  out.put(definition.type.bytes);
  out.put(definition.stepped);
  out.put(definition.varying);
  out.put(grows ? model::Dims{} : definition.shape);
  for (const std::string& name : definition.dimensions) {
    out.put(name);
  }
  return codec::checksum(out.take());
}

std::uint64_t hash_of(const model::AttributeValue& held) {
  model::ByteWriter out;
  out.put(held.index());
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<std::string>>) {
          for (const std::string& text : value) {
            out.put(text);
          }
        } else {
          out.put(value);
        }
      },
      held);
  return codec::checksum(out.take());
}

template <class T>
model::AttributeValue in_other_form(const T& one) {
  if constexpr (std::is_same_v<T, bool>) {
    return one;
  } else {
    return std::vector<T>{one};
  }
}
template <class T>
model::AttributeValue in_other_form(const std::vector<T>& list) {
  return list.size() == 1 ? model::AttributeValue(list.front()) : model::AttributeValue(list);
}

template <class T>
model::AttributeValue as_int32(const T& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4) {
    return std::int32_t{value};
  } else {
    return value;
  }
}
template <class T>
model::AttributeValue as_int32(const std::vector<T>& values) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
    return std::vector<std::int32_t>(values.begin(), values.end());
  } else {
    return values;
  }
}

/// netCDF does not tell one element from a list of one: its programs turn the first into the
/// second.
bool has_hash_in_a_form(const model::AttributeValue& value, std::uint64_t hash) {
  return hash_of(value) == hash ||
         hash_of(std::visit([](const auto& v) { return in_other_form(v); }, value)) == hash;
}

/// Is it the value of that hash? Sluice 0.1 took integers of one and two bytes for int32.
bool has_hash(const model::AttributeValue& value, std::uint64_t hash) {
  return has_hash_in_a_form(value, hash) ||
         has_hash_in_a_form(std::visit([](const auto& v) { return as_int32(v); }, value), hash);
}

}  // namespace

void record(Contents& contents, const model::Attribute& attribute) {
  contents[key_of(attribute)] = hash_of(attribute.value);
}

bool is_recorded_name(const Contents& contents, const std::string& name) {
  return contents.count(key_of(name, "variable")) != 0;
}

void record_fills(Contents& contents, const std::vector<model::Definition>& definitions) {
  for (const model::Definition& definition : definitions) {
    if (definition.gives_fill && is_recorded_name(contents, definition.name)) {
      contents[fill_key(definition.name)] = 1;
    }
  }
}

bool is_recorded_fill(const Contents& contents, const std::string& name) {
  return contents.count(fill_key(name)) != 0;
}

bool is_recorded_attribute(const Contents& contents, const std::string& owner,
                           const std::string& name) {
  return contents.count(key_of(owner, "attribute " + name)) != 0;
}

bool is_recorded(const Contents& contents, const model::Definition& definition) {
  const auto found = contents.find(key_of(definition));
  return found != contents.end() && found->second == hash_of(definition);
}

Contents contents_of(const std::vector<StoredVariable>& variables,
                     const std::vector<model::Attribute>& attributes) {
  Contents contents;
  for (const StoredVariable& variable : variables) {
    contents[key_of(variable.definition)] = hash_of(variable.definition);
  }
  for (const model::Attribute& attribute : attributes) {
    record(contents, attribute);
  }
  return contents;
}

std::vector<Departure> Catalog::departures(const std::vector<model::Attribute>& attributes) const {
  std::vector<Departure> departures;
  Contents left = recorded_;
  std::map<std::uint64_t, std::string> owners{{owner_key(""), ""}};
  const auto compare = [&](std::uint64_t key, const std::string& owner, const std::string& what,
                           const auto& is_same) {
    const auto known = left.find(key);
    if (known != left.end()) {
      if (!is_same(known->second)) {
        departures.push_back({owner, what + " from what was committed"});
      }
      left.erase(known);
    }
  };
  for (const StoredVariable& variable : variables_) {
    const std::string& name = variable.definition.name;
    owners.emplace(owner_key(name), name);
    left.erase(fill_key(name));
    compare(key_of(variable.definition), name, "its type, shape or names of dimensions differ",
            [&](std::uint64_t hash) { return hash_of(variable.definition) == hash; });
  }
  for (const model::Attribute& attribute : attributes) {
    owners.emplace(owner_key(attribute.owner), attribute.owner);
    compare(key_of(attribute), attribute.owner, "attribute " + attribute.name + " differs",
            [&](std::uint64_t hash) { return has_hash(attribute.value, hash); });
  }
  // Missing things are known by their hashes only.
  std::map<std::uint64_t, std::size_t> missing;
  for (const auto& [key, value] : left) {
    ++missing[key >> owner_shift];
  }
  std::size_t gone = 0;
  for (const auto& [key, count] : missing) {
    const auto owner = owners.find(key);
    if (owner != owners.end()) {
      departures.push_back({owner->second, std::to_string(count) + " attributes that were " +
                                               "committed are missing"});
    }
    gone += owner == owners.end() ? 1 : 0;
  }
  if (gone != 0) {
    departures.push_back(
        {"", std::to_string(gone) + " variables or groups that were committed are missing"});
  }
  return departures;
}

std::vector<std::uint64_t> steps_of_other_rows(const Catalog& catalog,
                                               std::span<const std::vector<std::uint64_t>> rows) {
  std::vector<std::uint64_t> steps;
  for (const CommitRow& commit : catalog.commits()) {
    if (commit.step >= catalog.steps() || commit.rows_proof == 0) {
      continue;
    }
    RowsProof proof;
    for (std::size_t v = 0; v < rows.size(); ++v) {
      if (commit.step < rows[v].size()) {
        proof.add(catalog.variables()[v].definition.name, rows[v][commit.step]);
      }
    }
    if (commit.rows_proof != proof.value()) {
      steps.push_back(commit.step);
    }
  }
  return steps;
}

void Catalog::read(std::uint32_t, std::uint64_t, const model::Box&, std::span<std::byte>) {
  throw Error(Code::internal, std::string(format()) + ": everything has an address");
}

EncodedTiles Catalog::locate_encoded(std::uint32_t, std::uint64_t, const model::Box&) {
  throw Error(Code::internal, std::string(format()) + ": holds no encoded tiles");
}

}  // namespace sluice::layout
