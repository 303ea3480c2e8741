#include "layout/zarr/references.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "model/base64.hpp"
#include "model/bytes.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"
#include "storage/calls.hpp"

namespace sluice::layout::zarr {

namespace {

/// Sorted, and so parsed in a time that grows with its length, however many names it has.
using Sorted = nlohmann::json;
using Templates = std::map<std::string, std::string>;

constexpr int most_reference_levels = 16;
/// No system opens a file by a longer path.
constexpr std::size_t most_name_bytes = 4096;
/// By templates; a name of several hundred bytes for each of the shortest references.
constexpr std::size_t most_growth = 64;
constexpr std::string_view base64_mark = "base64:";
constexpr std::array<const char*, 5> document_names{".zgroup", ".zarray", ".zattrs", ".zmetadata",
                                                    document_name};

std::string last_of(const std::string& key) { return key.substr(key.rfind('/') + 1); }

bool is_document(const std::string& key) {
  return std::find(document_names.begin(), document_names.end(), last_of(key)) !=
         document_names.end();
}

class Reading {
 public:
  explicit Reading(std::string path) : path_(std::move(path)) {}

  std::map<std::string, Reference> read(std::span<const std::byte> text) {
    const Sorted root = parsed(text);
    most_added_ = most_growth * text.size();
    const bool is_version1 = root.contains("refs") && root.at("refs").is_object();
    if (is_version1) {
      take_head(root);
    }
    std::map<std::string, Reference> all;
    for (const auto& [key, value] : (is_version1 ? root.at("refs") : root).items()) {
      all.emplace(key, reference(key, value));
    }
    return all;
  }

 private:
  [[noreturn]] void refuse(Code code, const std::string& why) const {
    throw Error(code, path_ + ": " + why);
  }

  Sorted parsed(std::span<const std::byte> text) const {
    const auto* first = reinterpret_cast<const char*>(text.data());
    const auto shallow = [&](int depth, Sorted::parse_event_t, Sorted&) {
      if (depth > most_reference_levels) {
        refuse(Code::damaged,
               "references in more than " + std::to_string(most_reference_levels) + " levels");
      }
      return true;
    };
    try {
      Sorted root = Sorted::parse(first, first + text.size(), shallow);
      if (!root.is_object()) {
        refuse(Code::damaged, "references that are no object of JSON");
      }
      return root;
    } catch (const Sorted::parse_error& e) {
      refuse(e.byte > text.size() ? Code::truncated : Code::damaged, e.what());
    }
  }

  void take_head(const Sorted& root) {
    const Sorted told = root.value("version", Sorted(1));
    if (told != 1) {
      refuse(Code::version, "references of version " + told.dump() +
                                "; versions 0 and 1 are "
                                "read");
    }
    if (root.contains("gen") && !root.at("gen").empty()) {
      refuse(Code::unsupported,
             "references with generators (\"gen\"): write each of them out, as "
             "fsspec.implementations.reference.ReferenceFileSystem(FILE).references has them");
    }
    const Sorted templates = root.value("templates", Sorted::object());
    for (const auto& [name, value] : templates.items()) {
      if (!value.is_string() ||
          value.get_ref<const std::string&>().find("{{") != std::string::npos) {
        refuse(Code::unsupported, "references with the template " + name +
                                      ", which is a function: write its results instead");
      }
      templates_[name] = value.get<std::string>();
    }
  }

  /// With the values of templates: "{{u}}/x.h5".
  std::string expanded(const std::string& key, const std::string& text) {
    std::string made;
    std::size_t from = 0;
    for (std::size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", from)) {
      const std::size_t end = text.find("}}", at);
      std::string name = end == std::string::npos ? "" : text.substr(at + 2, end - at - 2);
      name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
      const auto found = templates_.find(name);
      if (found == templates_.end()) {
        refuse(Code::unsupported, "the reference " + model::quoted(text) +
                                      " needs a template that is not given, or calls one: write "
                                      "its result instead");
      }
      take_expanded(key, made.size() + at - from + found->second.size(), found->second.size());
      made.append(text, from, at - from).append(found->second);
      from = end + 2;
    }
    made.append(text, from);
    take_expanded(key, made.size(), 0);
    return made;
  }

  /// A template of a few letters may stand for many: `bytes` of a name, `added` by a template.
  void take_expanded(const std::string& key, std::size_t bytes, std::size_t added) {
    added_ += added;
    if (bytes > most_name_bytes || added_ > most_added_) {
      refuse(Code::damaged,
             "the reference " + model::quoted(key) +
                 (bytes > most_name_bytes
                      ? " names a file by more than " + std::to_string(most_name_bytes) + " bytes"
                      : ": templates make the text more than " + std::to_string(most_growth) +
                            " times as long"));
    }
  }

  /// The path below the folder of the reference file.
  std::string file_of(const std::string& key, const std::string& url) {
    std::string name = expanded(key, url);
    for (const std::string_view local : {"file://", "local://"}) {
      name = name.starts_with(local) ? name.substr(local.size()) : name;
    }
    if (name.find("://") != std::string::npos) {
      refuse(Code::unsupported, "a reference to " + model::quoted(name) +
                                    ", which is no file: copy it beside the reference file");
    }
    using Path = std::filesystem::path;
    const Path folder = storage::folder_of(storage::absolute_path(path_));
    const Path wanted = Path(name).lexically_normal();
    const std::string text =
        (wanted.is_absolute() ? wanted.lexically_relative(folder) : wanted).string();
    if (text == "." || !model::is_name(text)) {  // no name goes up
      refuse(Code::bad_name,
             "a reference to " + model::quoted(name) +
                 ", which is not in the folder of the reference file or below it: move the "
                 "reference file to a folder that holds all of its files");
    }
    return text;
  }

  Reference reference(const std::string& key, const Sorted& value) {
    Reference made;
    if (value.is_string()) {
      const auto text = value.get<std::string>();
      made.bytes = text.starts_with(base64_mark) ? decoded(key, text.substr(base64_mark.size()))
                                                 : model::bytes_of(text);
      return made;
    }
    if (value.is_object() && is_document(key)) {
      made.bytes = model::bytes_of(value.dump());
      return made;
    }
    const bool is_range = value.is_array() && value.size() == 3 && value[0].is_string() &&
                          value[1].is_number_unsigned() && value[2].is_number_unsigned();
    const bool is_whole = value.is_array() && value.size() == 1 && value[0].is_string();
    if (!is_range && !is_whole) {
      refuse(Code::damaged, "the reference " + model::quoted(key) +
                                " is neither text nor [file] nor [file, offset, length]");
    }
    made.file = file_of(key, value[0].get_ref<const std::string&>());
    made.is_whole = is_whole;
    if (is_range) {
      made.offset = value[1].get<std::uint64_t>();
      made.length = value[2].get<std::uint64_t>();
    }
    return made;
  }

  /// Some writers leave the padding out.
  std::vector<std::byte> decoded(const std::string& key, std::string text) const {
    constexpr std::size_t group_letters = 4;
    text.resize((text.size() + group_letters - 1) / group_letters * group_letters, '=');
    auto bytes = model::bytes_of_base64(text);
    if (!bytes) {
      refuse(Code::damaged, "the reference " + model::quoted(key) + " is not in base64");
    }
    return *std::move(bytes);
  }

  const std::string path_;
  Templates templates_;
  std::size_t added_ = 0;       ///< bytes by templates
  std::size_t most_added_ = 0;  ///< of them
};

}  // namespace

References References::parse(std::span<const std::byte> text, const std::string& path) {
  References references;
  references.all_ = Reading(path).read(text);
  return references;
}

const Reference* References::find(const std::string& key) const {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;
}

bool References::has_inline_chunks(const std::string& array) const {
  const std::string begin = array.empty() ? "" : array + "/";
  for (auto at = all_.lower_bound(begin); at != all_.end() && at->first.starts_with(begin); ++at) {
    if (at->second.is_inline() && !is_document(at->first)) {
      return true;
    }
  }
  return false;
}

Json References::documents(const std::string& path) const {
  Json documents = Json::object();
  for (const auto& [key, reference] : all_) {
    if (!is_document(key)) {
      continue;
    }
    if (!reference.is_inline()) {
      throw Error(Code::unsupported, path + ": the document " + model::quoted(key) +
                                         " is in another file: write its text into the reference "
                                         "file");
    }
    documents[key] = zarr::parse(reference.bytes, path, key);
  }
  return documents;
}

bool is_references(storage::File& file) {
  const std::string name = last_of(file.path());
  return name.ends_with(references_ending) && file.object_bytes(name).value_or(0) != 0;
}

References read_references(storage::File& file) {
  std::vector<std::byte> text(file.object_bytes(last_of(file.path())).value_or(0));
  text.resize(file.read(0, text));
  return References::parse(text, file.path());
}

}  // namespace sluice::layout::zarr
