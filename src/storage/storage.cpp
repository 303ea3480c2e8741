#include "storage/storage.hpp"

#include "storage/calls.hpp"

namespace sluice::storage {

Sizes Objects::sizes_of(std::span<const std::string> names) {
  Sizes sizes;
  for (const std::string& name : names) {
    sizes.push_back(object_bytes(name));
  }
  return sizes;
}

void File::read_collective(std::span<const ReadPiece> pieces) {
  for (const ReadPiece& piece : pieces) {
    const std::size_t got = read(piece.offset, piece.bytes);
    if (got != piece.bytes.size()) {
      throw Error(Code::truncated, path() + ": ends at " + std::to_string(piece.offset + got) +
                                       ", " + std::to_string(piece.bytes.size() - got) +
                                       " bytes short");
    }
  }
}

std::vector<std::string> Storage::list(const std::string& path) {
  throw Error(Code::unsupported, path + ": storage " + name() + " cannot list folders: use posix");
}

void Storage::rename_new(const std::string& from, const std::string& to) {
  if (exists(to)) {
    throw Error(Code::exists, from + ": rename to " + to + " failed: it exists");
  }
  rename(from, to);
}

bool Storage::remove_if(const std::string& path,
                        const std::function<bool(std::unique_ptr<File>)>& is_meant) {
  if (!exists(path) || is_link(path) || is_link(folder_of(path)) ||
      !is_meant(open(path, Access::read))) {
    return false;
  }
  remove(path);
  return true;
}

}  // namespace sluice::storage
