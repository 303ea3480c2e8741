// The little of XML that object stores answer with: elements with text, no more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

/// The texts between <name> and </name>, in order, not decoded. An element within one of the same
/// name is not looked for.
std::vector<std::string_view> xml_elements(std::string_view text, std::string_view name);
/// The first of them, decoded; empty: none.
std::string xml_text(std::string_view text, std::string_view name);
/// Replaces the five entities of XML and those that are numbers.
std::string xml_decoded(std::string_view text);

}  // namespace sluice::storage
