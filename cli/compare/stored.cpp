#include "compare/stored.hpp"

#include <filesystem>

#include "commit/publish/recovery.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "sluice/error.hpp"
#include "storage/object/by_path.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

/// A store may be written meanwhile: what is gone when it is looked at has no bytes.
std::uint64_t bytes_in_folder(const std::string& path) {
  const auto is_there = [](const std::string& name, std::error_code problem) {
    if (problem && problem != std::errc::no_such_file_or_directory) {
      throw Error(Code::io, name + ": cannot tell its size: " + problem.message());
    }
    return !problem;
  };
  std::error_code problem;
  std::uint64_t bytes = 0;
  fs::directory_iterator at(path, problem);
  while (is_there(path, problem) && at != fs::directory_iterator()) {
    const std::string name = at->path().string();
    std::error_code gone;
    const fs::file_type type = at->symlink_status(gone).type();
    if (type == fs::file_type::directory) {
      bytes += bytes_in_folder(name);
    } else if (is_there(name, gone) && at->is_regular_file(gone)) {
      const std::uint64_t size = at->file_size(gone);
      bytes += is_there(name, gone) ? size : 0;
    }
    at.increment(problem);
  }
  return bytes;
}

}  // namespace

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
  return bytes_in_folder(path);
}

}  // namespace sluice::cli
