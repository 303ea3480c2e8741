#include "storage/object/xml.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace sluice::storage {

namespace {

/// As UTF-8; nothing where it is no character.
std::string utf8(unsigned code) {
  const auto low = [](unsigned bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (code == 0 || code > 0x10FFFF) return "";
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), low(code)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), low(code >> 6), low(code)};
  return {static_cast<char>(0xF0 | (code >> 18)), low(code >> 12), low(code >> 6), low(code)};
}

std::string entity_text(std::string_view entity) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> known{
      {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}}};
  for (const auto& [name, text] : known) {
    if (entity == name) return std::string(text);
  }
  if (entity.size() < 2 || entity[0] != '#') return "";
  const bool is_hex = entity[1] == 'x';
  entity.remove_prefix(is_hex ? 2 : 1);
  unsigned code = 0;
  const auto read =
      std::from_chars(entity.data(), entity.data() + entity.size(), code, is_hex ? 16 : 10);
  return read.ec == std::errc() && read.ptr == entity.data() + entity.size() ? utf8(code) : "";
}

}  // namespace

std::vector<std::string_view> xml_elements(std::string_view text, std::string_view name) {
  const std::string open = "<" + std::string(name);
  const std::string close = "</" + std::string(name) + ">";
  std::vector<std::string_view> found;
  for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at)) {
    at += open.size();
    const char next = at < text.size() ? text[at] : '\0';
    if (next != '>' && next != ' ' && next != '\n' && next != '\r' && next != '\t') {
      continue;  // another name that begins with this one
    }
    const std::size_t begin = text.find('>', at);
    const std::size_t end = text.find(close, at);
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
      break;
    }
    found.push_back(text.substr(begin + 1, end - begin - 1));
    at = end + close.size();
  }
  return found;
}

std::string xml_text(std::string_view text, std::string_view name) {
  const auto found = xml_elements(text, name);
  return found.empty() ? std::string() : xml_decoded(found.front());
}

std::string xml_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const std::size_t amp = text.find('&');
    decoded += text.substr(0, amp);
    if (amp == std::string_view::npos) break;
    const std::size_t end = text.find(';', amp);
    if (end == std::string_view::npos) {
      decoded += text.substr(amp);
      break;
    }
    decoded += entity_text(text.substr(amp + 1, end - amp - 1));
    text.remove_prefix(end + 1);
  }
  return decoded;
}

}  // namespace sluice::storage
