#include "commit/parts_files.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <random>

#include "codec/checksum.hpp"
#include "commit/journal.hpp"
#include "commit/recovery.hpp"
#include "exec/agree.hpp"
#include "layout/hdf5/index.hpp"

namespace sluice::commit {

using layout::Part;
using layout::PartSet;

std::string parts_folder(const std::string& path, const std::string& parts_dir) {
  const std::filesystem::path beside = path + ".parts";
  return parts_dir.empty() ? beside.string()
                           : (std::filesystem::path(parts_dir) / beside.filename()).string();
}

std::string part_file(const std::string& folder, std::uint64_t number, const std::string& path) {
  constexpr std::size_t digits = 6;
  std::string name = std::to_string(number);
  name.insert(0, digits - std::min(digits, name.size()), '0');
  const std::string ending = std::filesystem::path(path).extension().string();
  return folder + "/" + name + (ending.empty() ? ".h5" : ending);
}

std::uint64_t draw_id() {
  // The clock beside the device: one of them is different whatever the machine makes of the other.
  std::random_device device;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::array<std::uint64_t, 3> seeds{device(), device(), static_cast<std::uint64_t>(now)};
  return codec::checksum(std::as_bytes(std::span(seeds)));
}

namespace {

[[noreturn]] void refuse(Code code, const std::string& index_path, const std::string& part,
                         const std::string& why) {
  throw Error(code, index_path + ": its part " + part + " " + why);
}

}  // namespace

void check_part(storage::Storage& storage, const std::string& index_path, const PartSet& set,
                std::size_t part) {
  const Part& known = set.parts[part];
  const std::string path = layout::part_path(index_path, known.path);
  if (!storage.exists(path)) {
    refuse(Code::not_found, index_path, path,
           "is missing: bring it back, or run sluice collect where it lies");
  }
  const std::uint64_t bytes = storage.open(path, storage::Access::read)->size();
  if (bytes < known.bytes) {
    refuse(Code::truncated, index_path, path,
           "has " + std::to_string(bytes) + " bytes, the index knows " +
               std::to_string(known.bytes) + ": an older copy, or cut");
  }
  layout::hdf5::PartIdentity found;
  try {
    open_committed(storage, path, [&](storage::File& file) {
      found = layout::hdf5::read_identity(file, known.commits - 1);
    });
  } catch (const Error& e) {
    throw Error(e.code(), index_path + ": its part " + e.what());
  }
  if (found.set_id != set.id || found.part_id != known.id) {
    refuse(Code::format, index_path, path,
           found.set_id != set.id ? "belongs to another set: bring back the right file"
                                  : "is another part of the set: was it renamed?");
  }
  if (found.commits < known.commits || found.stamp_ns != known.stamp_ns) {
    refuse(Code::format, index_path, path, "does not hold the steps that the index knows");
  }
}

void check_parts(exec::Transport& transport, storage::Storage& storage,
                 const std::string& index_path, const PartSet& set, bool recovers) {
  exec::together(transport, [&] {
    const auto ranks = static_cast<std::size_t>(transport.size());
    for (auto p = static_cast<std::size_t>(transport.rank()); p < set.parts.size(); p += ranks) {
      const std::string path = layout::part_path(index_path, set.parts[p].path);
      if (recovers && storage.exists(journal_path(path))) {
        recover(storage, path, false);
      }
      check_part(storage, index_path, set, p);
    }
  });
}

}  // namespace sluice::commit
