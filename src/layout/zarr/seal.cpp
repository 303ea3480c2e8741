#include "layout/zarr/seal.hpp"

#include "codec/checksum.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

namespace {

const std::string no_seal(seal_digits, '0');

std::string seal_of(std::string_view text) {
  constexpr const char* digits = "0123456789abcdef";
  std::uint64_t sum = codec::checksum(text);
  std::string seal(seal_digits, '0');
  for (std::size_t i = seal_digits; i-- > 0; sum >>= 4) {
    seal[i] = digits[sum & 15];
  }
  return seal;
}

/// What Sluice says of itself in a root document; nullptr where it says nothing.
const Json* own_in(const Json& root) {
  const auto attributes = root.find("attributes");
  if (attributes == root.end() || !attributes->is_object()) {
    return nullptr;
  }
  const auto own = attributes->find(own_name);
  return own != attributes->end() && own->is_object() ? &*own : nullptr;
}

}  // namespace

bool check_seal(const std::string& text, const Json& root, const std::string& path) {
  const Json* own = own_in(root);
  const Json seal = own != nullptr ? own->value(seal_name, Json()) : Json();
  if (seal.is_string() && seal.get<std::string>().size() == seal_digits) {
    const auto digits = seal.get<std::string>();
    const std::size_t at = text.find(digits);
    std::string sealed = text;
    if (at != std::string::npos && seal_of(sealed.replace(at, seal_digits, no_seal)) == digits) {
      return true;
    }
  }
  if (text_of(root, Json::error_handler_t::replace) == text) {
    throw Error(Code::damaged,
                path + ": " + document_name +
                    ": does not match its checksum: it is damaged, or was edited by hand: restore "
                    "it from a copy, or, if it was meant, rewrite it with python3 -m json.tool");
  }
  return false;
}

std::string sealed_text(Json root) {
  if (own_in(root) == nullptr) {
    return text_of(root);
  }
  root["attributes"][own_name][seal_name] = no_seal;
  std::string text = text_of(root);
  // The one of this object, which begins with it.
  const std::string key = "\"" + std::string(seal_name) + "\": \"" + no_seal;
  const std::size_t at = text.find(key, text.find("\n  \"" + std::string(own_name) + "\": {"));
  if (at == std::string::npos) {
    throw Error(Code::internal, "a root document without a place for its checksum");
  }
  return text.replace(at + key.size() - seal_digits, seal_digits, seal_of(text));
}

}  // namespace sluice::layout::zarr
