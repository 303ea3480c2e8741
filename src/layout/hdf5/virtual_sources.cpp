#include "layout/hdf5/virtual_sources.hpp"

#include <filesystem>
#include <set>
#include <utility>

namespace sluice::layout::hdf5 {

namespace {

/// The block number in a name that stands for many files.
constexpr const char* block_number = "%b";

template <class Call>
std::string name_by(Call&& call, hid_t list, std::size_t number) {
  const ssize_t length = call(list, number, nullptr, 0);
  checked(static_cast<hid_t>(length), "source of a virtual dataset");
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  call(list, number, name.data(), name.size());
  name.pop_back();
  return name;
}

/// The places where libhdf5 looks: the name as it is, relative to the folder of the file, or to the
/// working folder.
std::unique_ptr<storage::File> open_source(const std::string& name, const std::string& path,
                                           storage::Storage& storage) {
  using Path = std::filesystem::path;
  const std::string beside = (Path(path).parent_path() / name).string();
  for (const std::string& candidate : {beside, name}) {
    try {
      if (storage.exists(candidate)) {
        return storage.open(candidate, storage::Access::read);
      }
    } catch (const Error&) {
      continue;  // is reported as missing
    }
  }
  return nullptr;
}

bool has_dataset(storage::File& file, const std::string& dataset) {
  DriverState state;
  state.file = &file;
  const Handle access = access_list(state);
  const Handle opened(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get()));
  const std::string name = dataset.substr(dataset.rfind('/', 0) == 0 ? 1 : 0);
  return opened && (name.empty() || has_link(opened.get(), name));
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
  const std::string& path = file_.path();
  std::size_t count = 0;
  check(H5Pget_virtual_count(list, &count), "sources of a virtual dataset");
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string file = name_by(H5Pget_virtual_filename, list, i);
    const std::string dataset = name_by(H5Pget_virtual_dsetname, list, i);
    if (!seen.emplace(file, dataset).second) {
      continue;
    }
    const std::size_t at = file.find(block_number);
    if (at != std::string::npos) {
      continue;  // all of them, starting at 0: that there are none is not an error
    }
    const auto source = open_source(file == "." ? path : file, path, source_storage());
    if (source == nullptr) {
      return file + " is not there";
    }
    if (dataset.find(block_number) == std::string::npos && !has_dataset(*source, dataset)) {
      return file + " has no dataset " + dataset;
    }
  }
  return "";
}

}  // namespace sluice::layout::hdf5
