#include "exec/transport/read_text.hpp"

#include <algorithm>
#include <span>

#include "exec/transport/agree.hpp"

namespace sluice::exec {

namespace {

/// Files without a known size (a pipe, /proc) are read in steps of this many bytes.
constexpr std::size_t least_step_bytes = 1 << 16;

std::vector<std::byte> whole_file(storage::Storage& storage, const std::string& path) {
  const auto file = storage.open(path, storage::Access::read);
  // One byte more: the first read finds the end, and on_root() has space for its mark.
  std::vector<std::byte> bytes(std::max<std::size_t>(file->size() + 1, least_step_bytes));
  std::size_t filled = 0;
  while (const std::size_t found = file->read(filled, std::span(bytes).subspan(filled))) {
    filled += found;
    if (filled == bytes.size()) {
      bytes.resize(2 * bytes.size());  // it grows while it is read
    }
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

std::string read_on_root(Transport& transport, storage::Storage& storage, const std::string& path) {
  const std::vector<std::byte> bytes =
      on_root(transport, [&] { return whole_file(storage, path); });
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace sluice::exec
