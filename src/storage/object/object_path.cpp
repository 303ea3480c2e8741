// Addresses of objects, and how they are encoded.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "model/name.hpp"
#include "sluice/error.hpp"
#include "storage/object/bucket.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

namespace {

constexpr const char* scheme = "s3://";
constexpr std::size_t most_key_bytes = 1024;  // of S3

bool is_plain(unsigned char c) {
  return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_' || c == '.' || c == '~';
}

bool is_bucket(const std::string& name) {
  return name.size() >= 3 && name.size() <= 63 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.';
         });
}

}  // namespace

bool is_object_path(const std::string& path) { return path.rfind(scheme, 0) == 0; }

ObjectPath parse_object_path(const std::string& path) {
  const std::string rest = path.substr(std::strlen(scheme));
  const std::size_t slash = rest.find('/');
  ObjectPath parsed{rest.substr(0, slash),
                    slash == std::string::npos ? "" : rest.substr(slash + 1)};
  while (!parsed.key.empty() && parsed.key.back() == '/') {
    parsed.key.pop_back();
  }
  if (!is_bucket(parsed.bucket)) {
    throw Error(Code::bad_name, model::escaped(path, model::Shown::line) +
                                    ": the bucket has 3 to 63 small letters, digits, hyphens and "
                                    "dots: s3://BUCKET/PREFIX");
  }
  const bool has_empty =
      parsed.key.find("//") != std::string::npos || (!parsed.key.empty() && parsed.key[0] == '/');
  if (has_empty || parsed.key.size() > most_key_bytes) {
    throw Error(Code::bad_name,
                model::escaped(path, model::Shown::line) +
                    (has_empty ? ": has an empty folder in it" : ": has more than 1024 bytes"));
  }
  return parsed;
}

std::string url_encoded(const std::string& text, const char* keep) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char one : text) {
    const auto c = static_cast<unsigned char>(one);
    if (is_plain(c) || (one != '\0' && std::strchr(keep, one) != nullptr)) {
      encoded += one;
    } else {
      encoded += {'%', digits[c >> 4], digits[c & 15]};
    }
  }
  return encoded;
}

}  // namespace sluice::storage
