#include "compare/stored.hpp"

#include <filesystem>

#include "commit/publish/recovery.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "sluice/error.hpp"
#include "storage/object/by_path.hpp"

namespace sluice::cli {

Stored open_stored(storage::Storage& storage, const std::string& path,
                   const std::function<void(Catalog&)>& look) {
  std::unique_ptr<Catalog> catalog;
  commit::Committed committed = commit::open_committed(storage, path, [&](storage::File& file) {
    catalog.reset();
    catalog = layout::open_catalog(layout::format_in(file, "auto"), file);
    look(*catalog);
  });
  return {std::move(committed.file), std::move(catalog), committed.is_unfinished};
}

void require_known_ending(const std::string& to, const std::string& format,
                          const std::string& otherwise) {
  const std::string ending = layout::ending_of(to);
  if (format != "auto" || ending.empty() || layout::format_of_ending(to) != nullptr) {
    return;
  }
  std::string known;
  for (const layout::Format* one : layout::formats()) {
    if (*one->endings != '\0') {
      known += std::string(known.empty() ? "" : ", ") + one->option + " (" + one->endings + ")";
    }
  }
  throw Error(Code::invalid_argument,
              to + ": no format has the ending " + ending + ": use one of " + known + otherwise);
}

std::uint64_t bytes_on_disk(storage::Storage& storage, const std::string& path) {
  if (!layout::is_store(storage, path)) {
    return storage.open(path, storage::Access::read)->size();
  }
  if (const auto listed = storage::bytes_of_objects(storage, path)) {
    return *listed;
  }
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  }
  return bytes;
}

}  // namespace sluice::cli
