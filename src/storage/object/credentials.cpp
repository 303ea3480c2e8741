#include "storage/object/credentials.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "model/number_text.hpp"
#include "sluice/error.hpp"
#include "storage/small_file.hpp"

namespace sluice::storage {

namespace {

constexpr std::uint64_t most_ini_bytes = 1 << 20;
constexpr const char* default_region = "us-east-1";

bool is_true(const std::string& text) {
  return model::boolean_in(model::lower_case(text)).value_or(false);
}

/// One blank between the words, and the name of a profile without its quotes.
std::string section_name(const std::string& text) {
  std::string name(model::trimmed(text));
  const std::size_t blank = name.find_first_of(" \t");
  if (blank == std::string::npos) {
    return name;
  }
  std::string second(model::trimmed(std::string_view(name).substr(blank)));
  const bool is_quoted = second.size() > 1 && second.front() == second.back() &&
                         (second.front() == '"' || second.front() == '\'');
  second = is_quoted ? second.substr(1, second.size() - 2) : second;
  return name.substr(0, blank) + " " + second;
}

/// A header or an address is made of it.
void require_printable(const std::string& value, const std::string& path, const char* what) {
  const bool is_fine =
      std::all_of(value.begin(), value.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (!is_fine) {
    throw Error(Code::format, path + ": " + what +
                                  " of the credentials has a space or a control character in it");
  }
}

using Section = std::map<std::string, std::string>;

/// What the files must say: else one that cannot be read counts as one that is not there.
enum class Needed : std::uint8_t { no, yes };

IniSections sections_of(const std::string& file, Needed needed) {
  if (file.empty()) {
    return {};
  }
  try {
    return parse_ini(read_small_file(file, most_ini_bytes, Trust::anybody));
  } catch (const Error& e) {
    if (e.code() == Code::not_found || needed == Needed::no) {
      return {};
    }
    throw;
  }
}

Section section_of(const IniSections& sections, const std::string& name) {
  const auto found = sections.find(name);
  return found == sections.end() ? Section{} : found->second;
}

/// Of the file `config`: `[profile default]` comes before `[default]`. The endpoint of S3 of the
/// section that its `services` names becomes "services.endpoint_url", where none is told already.
Section profile_of_config(const IniSections& config, const std::string& profile,
                          const std::string& path, bool has_endpoint) {
  const bool is_plain = profile == "default" && config.count("profile default") == 0;
  Section values = section_of(config, is_plain ? profile : "profile " + profile);
  const std::string services = values["services"];
  if (services.empty() || has_endpoint) {
    return values;
  }
  const auto named = config.find("services " + services);
  if (named == config.end()) {
    throw Error(Code::format, path + ": the profile " + profile +
                                  " of AWS_CONFIG_FILE has services = " + services +
                                  ", and there is no section [services " + services +
                                  "]: add it, or remove the line");
  }
  const auto endpoint = named->second.find("s3.endpoint_url");
  values["services.endpoint_url"] = endpoint == named->second.end() ? "" : endpoint->second;
  return values;
}

Section profile_values(const std::string& path, const Environment& environment) {
  std::string profile = environment("AWS_PROFILE");
  // With keys in the environment only what a user named is missed where it cannot be read.
  const bool has_keys =
      !environment("AWS_ACCESS_KEY_ID").empty() && !environment("AWS_SECRET_ACCESS_KEY").empty();
  const bool may_do_without =
      profile.empty() && (has_keys || is_true(environment("AWS_NO_SIGN_REQUEST")));
  profile = profile.empty() ? "default" : profile;
  const bool has_endpoint =
      !environment("AWS_ENDPOINT_URL_S3").empty() || !environment("AWS_ENDPOINT_URL").empty();
  const std::string home = environment("HOME");
  const auto read = [&](const char* variable, const char* name) {
    const std::string told = environment(variable);
    const std::string of_home = home.empty() ? std::string() : home + "/.aws/" + name;
    return told.empty() ? sections_of(of_home, may_do_without ? Needed::no : Needed::yes)
                        : sections_of(told, Needed::yes);
  };
  Section values =
      profile_of_config(read("AWS_CONFIG_FILE", "config"), profile, path, has_endpoint);
  auto of_file = section_of(read("AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile);
  if (!of_file["aws_access_key_id"].empty()) {
    values.erase("aws_session_token");
  }
  for (auto& [name, value] : of_file) {
    if (!value.empty()) values[name] = value;
  }
  return values;
}

Credentials credentials_of(const std::string& path, const Environment& environment,
                           Section& profile) {
  Credentials found{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                    environment("AWS_SESSION_TOKEN"), false};
  if (found.key.empty() || found.secret.empty()) {
    found = {profile["aws_access_key_id"], profile["aws_secret_access_key"],
             profile["aws_session_token"], false};
  }
  if (found.key.empty() || found.secret.empty()) {
    if (is_true(environment("AWS_NO_SIGN_REQUEST"))) {
      return {"", "", "", true};
    }
    throw Error(Code::permission,
                path +
                    ": no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                    "AWS_PROFILE with ~/.aws/credentials; for a public bucket "
                    "AWS_NO_SIGN_REQUEST=YES");
  }
  require_printable(found.key, path, "the key");
  require_printable(found.secret, path, "the secret");
  require_printable(found.token, path, "the token");
  return found;
}

}  // namespace

IniSections parse_ini(const std::string& text) {
  IniSections sections;
  std::istringstream lines(text);
  std::string section;
  std::string above;  // the name whose indented lines follow
  for (std::string line; std::getline(lines, line);) {
    const std::string content(model::trimmed(line));
    if (content.empty() || content[0] == '#' || content[0] == ';') {
      continue;
    }
    if (content.front() == '[' && content.find(']') != std::string::npos) {
      section = section_name(content.substr(1, content.find(']') - 1));
      above.clear();
      continue;
    }
    const std::size_t equals = content.find('=');
    if (equals == std::string::npos) {
      continue;
    }
    const std::string name = model::lower_case(model::trimmed(content.substr(0, equals)));
    const std::string value(model::trimmed(content.substr(equals + 1)));
    const bool is_below = (line[0] == ' ' || line[0] == '\t') && !above.empty();
    if (!is_below) {
      above = value.empty() ? name : "";
    }
    sections[section][is_below ? above + "." + name : name] = value;
  }
  return sections;
}

std::string environment_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

ObjectConfig object_config(const std::string& path, const Environment& environment) {
  auto profile = profile_values(path, environment);
  ObjectConfig config;
  config.credentials = credentials_of(path, environment, profile);
  const auto first_of = [](std::initializer_list<std::string> values) {
    for (const std::string& value : values) {
      if (!value.empty()) return value;
    }
    return std::string();
  };
  config.endpoint = first_of({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"),
                              profile["services.endpoint_url"], profile["s3.endpoint_url"],
                              profile["endpoint_url"]});
  while (!config.endpoint.empty() && config.endpoint.back() == '/') {
    config.endpoint.pop_back();
  }
  config.region = first_of({environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"),
                            profile["region"], default_region});
  config.addressing =
      profile["s3.addressing_style"] == "auto" ? "" : profile["s3.addressing_style"];
  const bool has_scheme =
      config.endpoint.rfind("http://", 0) == 0 || config.endpoint.rfind("https://", 0) == 0;
  if (!config.endpoint.empty() && !has_scheme) {
    throw Error(Code::format, path +
                                  ": the endpoint (AWS_ENDPOINT_URL) must begin with https:// or "
                                  "http://");
  }
  const bool is_region =
      std::all_of(config.region.begin(), config.region.end(),
                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (!is_region) {
    throw Error(Code::format, path +
                                  ": the region (AWS_REGION) is none: it has letters, digits "
                                  "and hyphens");
  }
  return config;
}

}  // namespace sluice::storage
