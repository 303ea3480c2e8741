#include "new_file.hpp"

#include "commit/publish/agreed_path.hpp"
#include "commit/publish/atomic_file.hpp"
#include "guard.hpp"
#include "sluice/error.hpp"
#include "storage/endings.hpp"

namespace sluice::cli {

std::string unfinished_path(const Context& context, const std::string& to) {
  const std::string path = commit::agreed_path(context.transport, context.storage, to);
  return context.is_root() ? path + storage::convert_ending : "";
}

void require_new(storage::Storage& storage, const std::string& path) {
  if (storage.whole_files(path) != nullptr) {
    throw Error(Code::unsupported, path +
                                       ": an object store is no place for what the command "
                                       "makes: name a file of this machine");
  }
  if (storage.exists(path)) {
    throw Error(Code::exists, path + ": exists already: name another file");
  }
}

void write_new_file(storage::Storage& storage, const std::string& path,
                    std::span<const std::byte> bytes) {
  require_new(storage, path);
  const std::string real = storage.real_path(path);
  const LeftToParent left(commit::building_path(real));
  const std::string building = commit::fresh_building_path(storage, real);
  try {
    const auto file = storage.open(building, storage::Access::create);
    file->write(0, bytes);
    file->sync();
    storage.rename_new(building, real);
  } catch (const Error& error) {
    commit::forget_building(storage, real);
    throw commit::naming(error, building, path);
  } catch (...) {
    commit::forget_building(storage, real);
    throw;
  }
}

}  // namespace sluice::cli
