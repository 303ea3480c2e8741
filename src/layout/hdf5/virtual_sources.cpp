#include "layout/hdf5/virtual_sources.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

namespace sluice::layout::hdf5 {

namespace {

/// Virtual datasets of virtual datasets; no program needs more.
constexpr std::size_t most_depth = 32;
/// Sources of sources, which a crafted file could make more of than it has bytes.
constexpr std::size_t most_nested = 1 << 16;

/// The text that `call(into, bytes)` gives, which returns its length.
template <class Call>
std::string text_by(Call&& call, const char* what) {
  const ssize_t length = call(nullptr, 0);
  checked(static_cast<hid_t>(length), what);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  call(text.data(), text.size());
  text.pop_back();
  return text;
}

/// The places where libhdf5 looks: the name as it is, relative to the folder of the file, or to the
/// working folder. Null, and why, if it cannot be opened in any of them.
std::unique_ptr<storage::File> open_source(const std::string& name, const std::string& path,
                                           storage::Storage& storage, std::string& why) {
  using Path = std::filesystem::path;
  const std::string beside = (Path(path).parent_path() / name).string();
  for (const std::string& candidate : {beside, name}) {
    try {
      if (storage.exists(candidate)) {
        return storage.open(candidate, storage::Access::read);
      }
    } catch (const Error& e) {
      why = e.what();
    }
  }
  if (why.empty()) {
    why = name + " is not there";
  }
  return nullptr;
}

/// A name that may stand for many, as libhdf5 reads it: "%b" is the number of a block, "%%" is "%".
struct SourceName {
  std::string text;
  bool is_pattern = false;  ///< has a "%b"
};

SourceName source_name(const std::string& stored) {
  SourceName name;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const bool is_special = stored[i] == '%' && i + 1 < stored.size();
    const bool is_block = is_special && stored[i + 1] == 'b';
    name.is_pattern = name.is_pattern || is_block;
    name.text += stored[i];
    if (is_special && stored[i + 1] == '%') {
      ++i;
    }
  }
  return name;
}

/// What stands in the way of reading a virtual dataset. libhdf5 reads what it cannot open as the
/// fill value, without an error.
class SourceSearch {
 public:
  explicit SourceSearch(storage::Storage& storage) : storage_(storage) {}

  /// The first source of the dataset with the creation list `list` in the file `path` that
  /// libhdf5 will not find, and why; "" if none. Also the sources of its sources.
  std::string missing(hid_t list, const std::string& path);

 private:
  using Source = std::pair<std::string, std::string>;  // file and dataset

  std::string missing_below(const Source& source, const std::string& path);
  std::string missing_dataset(storage::File& file, const Source& source);

  storage::Storage& storage_;
  std::set<std::string> seen_;  ///< folder, file and dataset of sources that are there
  std::vector<Source> above_;   ///< virtual datasets whose sources are being looked at
  std::size_t nested_ = 0;      ///< sources of sources that were looked at
};

std::string SourceSearch::missing(hid_t list, const std::string& path) {
  std::size_t count = 0;
  check(H5Pget_virtual_count(list, &count), "sources of a virtual dataset");
  for (std::size_t i = 0; i < count; ++i) {
    const SourceName file = source_name(
        text_by([&](char* into,
                    std::size_t bytes) { return H5Pget_virtual_filename(list, i, into, bytes); },
                "file of a source"));
    const SourceName dataset = source_name(
        text_by([&](char* into,
                    std::size_t bytes) { return H5Pget_virtual_dsetname(list, i, into, bytes); },
                "dataset of a source"));
    if (file.is_pattern || dataset.is_pattern) {
      continue;  // all of them, starting at 0: that there are none is not an error
    }
    const Source source(file.text == "." ? path : file.text, dataset.text);
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const std::string identity = folder + '\0' + source.first + '\0' + source.second;
    if (seen_.count(identity) != 0) {
      continue;
    }
    nested_ += above_.empty() ? 0 : 1;
    if (nested_ > most_nested) {
      return "has more than " + std::to_string(most_nested) + " sources of sources";
    }
    std::string why = missing_below(source, path);
    if (!why.empty()) {
      return why;
    }
    seen_.insert(identity);  // not earlier: a source that is met again below itself has no end
  }
  return "";
}

std::string SourceSearch::missing_below(const Source& source, const std::string& path) {
  std::string why;
  const auto file = open_source(source.first, path, storage_, why);
  return file == nullptr ? why : missing_dataset(*file, source);
}

std::string SourceSearch::missing_dataset(storage::File& file, const Source& source) {
  DriverState state;
  state.file = &file;
  state.others = &storage_;
  const Handle access = access_list(state);
  const Handle opened(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get()));
  if (!opened) {
    const auto failure = take_storage_failure();
    return failure ? failure->what() : source.first + " is not an HDF5 file that can be read";
  }
  const Handle dataset(H5Dopen2(opened.get(), source.second.c_str(), H5P_DEFAULT));
  if (!dataset) {
    const auto failure = take_storage_failure();
    return failure ? failure->what() : source.first + " has no dataset " + source.second;
  }
  const Handle list = own(H5Dget_create_plist(dataset.get()), source.second);
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL) {
    return "";
  }
  // An external link may have led to another file, relative to which its sources are named.
  const Source reached(
      text_by(
          [&](char* into, std::size_t bytes) { return H5Fget_name(dataset.get(), into, bytes); },
          "file of a source"),
      source.second);
  if (above_.size() >= most_depth ||
      std::find(above_.begin(), above_.end(), reached) != above_.end()) {
    return source.first + " refers to itself, or is virtual more than " +
           std::to_string(most_depth) + " times";
  }
  above_.push_back(reached);
  std::string why = missing(list.get(), reached.first);
  above_.pop_back();
  return why;
}

}  // namespace

storage::Storage& OtherFiles::source_storage() {
  if (!storage_) {
    storage_ = storage::make_posix();
  }
  return *storage_;
}

hid_t OtherFiles::with_others() {
  if (!opened_) {
    state_.file = &file_;
    state_.others = &source_storage();
    const Handle access = access_list(state_);
    const std::string& path = file_.path();
    opened_ = own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path);
  }
  return opened_.get();
}

std::string OtherFiles::missing_source(hid_t list) {
  const QuietErrors quiet;
  return SourceSearch(source_storage()).missing(list, file_.path());
}

}  // namespace sluice::layout::hdf5
