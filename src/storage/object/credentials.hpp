// Who asks, and where: the usual chain of AWS's own programs.
//
// Invariants: a secret is in no message and in no log; files of credentials are read as the user
// has them, at most once in a while, so that a renewed token is taken up.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace sluice::storage {

struct Credentials {
  std::string key;
  std::string secret;
  std::string token;  ///< of a session; empty: none
  bool is_anonymous = false;
};

struct ObjectConfig {
  Credentials credentials;
  std::string endpoint;    ///< "http://host:port"; empty: AWS's own
  std::string region;      ///< never empty
  std::string addressing;  ///< "path", "virtual"; empty: as the endpoint is
};

/// The sections of an INI file: names in lower case, indented lines below `s3 =` as "s3.NAME".
using IniSections = std::map<std::string, std::map<std::string, std::string>>;
IniSections parse_ini(const std::string& text);

/// The value of a variable of the environment; empty: not set.
using Environment = std::function<std::string(const std::string& name)>;
/// The environment of the process.
std::string environment_variable(const std::string& name);

/// By the environment, then the profile's files (AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE,
/// AWS_CONFIG_FILE, ~/.aws). A file in ~/.aws that cannot be read is an error only where the
/// environment has no keys, or names a profile. Error permission for `path` if nothing gives
/// credentials, format if what they give cannot be used.
ObjectConfig object_config(const std::string& path, const Environment& environment);

}  // namespace sluice::storage
