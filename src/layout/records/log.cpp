#include "layout/records/log.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "codec/checksum.hpp"
#include "layout/records/entry_text.hpp"

namespace sluice::layout::records {

namespace {

// As in PNG: a byte that is not ASCII, and line ends that a transfer as text would change.
constexpr std::array<char, 16> magic = {'\x89', 'S', 'L', 'U', 'I', 'C',    'E',  '\r',
                                        '\n',   'R', 'E', 'C', 'S', '\x1a', '\n', '\0'};
constexpr std::uint32_t version = 1;
/// A root that is being changed at this moment does not match its checksum; reading again succeeds.
constexpr int most_looks = 5;

std::vector<std::byte> begin_of(storage::File& file, std::size_t bytes) {
  std::vector<std::byte> text(bytes);
  text.resize(file.read(0, text));
  return text;
}

[[noreturn]] void refuse_root(storage::File& file) {
  throw Error(Code::damaged, file.path() + ": the header of the file is damaged");
}

}  // namespace

std::vector<std::byte> root_text(const Root& root) {
  std::array<std::uint64_t, 4> words{root.entries, root.offset, root.bytes, 0};
  words[3] = codec::checksum(std::as_bytes(std::span(words).first(3)));
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> header_text(const Root& root) {
  std::vector<std::byte> text(header_bytes);
  std::memcpy(text.data(), magic.data(), magic.size());
  std::memcpy(text.data() + magic.size(), &version, sizeof version);
  const std::vector<std::byte> inner = root_text(root);
  std::copy(inner.begin(), inner.end(), text.begin() + root_offset);
  return text;
}

bool is_log(storage::File& file) {
  const std::vector<std::byte> text = begin_of(file, magic.size());
  return text.size() == magic.size() && std::memcmp(text.data(), magic.data(), magic.size()) == 0;
}

Root read_root(storage::File& file) {
  for (int look = 0; look < most_looks; ++look) {
    const std::vector<std::byte> text = begin_of(file, header_bytes);
    if (text.size() < magic.size() || std::memcmp(text.data(), magic.data(), magic.size()) != 0) {
      throw Error(Code::format, file.path() + ": not a file of format records");
    }
    if (text.size() < header_bytes) {
      throw Error(Code::truncated, file.path() + ": truncated: ends inside its header");
    }
    std::uint32_t found = 0;
    std::memcpy(&found, text.data() + magic.size(), sizeof found);
    Root root;
    std::memcpy(&root, text.data() + root_offset, sizeof root);
    const std::vector<std::byte> expected = header_text(root);
    if (text == expected) {
      return root;
    }
    if (found != version &&
        std::equal(text.begin() + root_offset, text.end(), expected.begin() + root_offset)) {
      throw Error(Code::version, file.path() + ": is of format records, version " +
                                     std::to_string(found) + ": this library reads version " +
                                     std::to_string(version));
    }
  }
  refuse_root(file);
}

std::vector<Entry> read_entries(storage::File& file, const Root& root) {
  std::vector<Entry> entries;
  const std::uint64_t size = file.size();
  std::uint64_t end = size;
  for (Root at = root; at.entries != 0;) {
    const bool is_inside =
        at.offset >= header_bytes && at.offset <= end && at.bytes <= end - at.offset;
    if (!is_inside) {
      const bool is_cut = end == size && at.offset >= header_bytes && at.offset < absent - at.bytes;
      throw Error(is_cut ? Code::truncated : Code::damaged,
                  file.path() + (is_cut ? ": truncated: ends before its newest entry"
                                        : ": an entry of the file is damaged"));
    }
    std::vector<std::byte> text(at.bytes);
    if (file.read(at.offset, text) != text.size()) {
      throw Error(Code::truncated, file.path() + ": truncated: ends inside an entry");
    }
    entries.push_back(entry_of(text, file.path()));
    const Root previous = entries.back().previous;
    if (previous.entries != at.entries - 1) {
      throw Error(Code::damaged, file.path() + ": an entry of the file is damaged");
    }
    end = at.offset;
    at = previous;
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

}  // namespace sluice::layout::records
