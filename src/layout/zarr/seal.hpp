// The checksum of the root document, in its attribute `sluice`: of the document's text with zeros
// in the place of the digits.
#pragma once

#include <string>

#include "layout/zarr/metadata.hpp"

namespace sluice::layout::zarr {

/// The group, and the attribute of the root, that are Sluice's own.
inline constexpr const char* own_name = "sluice";
inline constexpr const char* seal_name = "checksum";
inline constexpr std::size_t seal_digits = 16;

/// The text of a root document, with its checksum where Sluice says something in it.
std::string sealed_text(Json root);
/// Is the root document of Sluice as it was written? False where another program wrote it anew,
/// which lays the text out in another way. Damage does not: Error damaged where the layout is that
/// of Sluice and the checksum does not match.
bool check_seal(const std::string& text, const Json& root, const std::string& path);

}  // namespace sluice::layout::zarr
