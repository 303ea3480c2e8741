// An entry as bytes and back; little-endian, all counts have 32 bits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "layout/records/entry.hpp"

namespace sluice::layout::records {

std::vector<std::byte> entry_text(const Entry& entry);
/// Error damaged, naming `path`, if the checksum does not match or the bytes are invalid.
Entry entry_of(std::span<const std::byte> text, const std::string& path);

}  // namespace sluice::layout::records
