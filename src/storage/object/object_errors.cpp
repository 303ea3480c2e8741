#include "storage/object/object_errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <ctime>
#include <string_view>

#include "storage/object/xml.hpp"

namespace sluice::storage {

namespace {

struct Meaning {
  std::string_view code;  ///< of the store
  Code is;
  const char* remedy;
};

constexpr std::array meanings{
    Meaning{"NoSuchBucket", Code::not_found,
            "there is no such bucket: check its name and the endpoint (AWS_ENDPOINT_URL), or make "
            "it"},
    Meaning{"NoSuchKey", Code::not_found, "there is no such object"},
    Meaning{"AccessDenied", Code::permission,
            "the store does not allow it: check the rights of these credentials on the bucket"},
    Meaning{"AllAccessDisabled", Code::permission, "the bucket is switched off"},
    Meaning{"InvalidAccessKeyId", Code::permission,
            "the store does not know this key: check AWS_ACCESS_KEY_ID, or AWS_PROFILE"},
    Meaning{"SignatureDoesNotMatch", Code::permission,
            "the secret does not belong to the key, or the region (AWS_REGION) is wrong"},
    Meaning{"AuthorizationHeaderMalformed", Code::permission,
            "the region (AWS_REGION) is not that of the bucket"},
    Meaning{"ExpiredToken", Code::permission,
            "the credentials have expired: renew them and open the file again"},
    Meaning{"TokenRefreshRequired", Code::permission,
            "the credentials have expired: renew them and open the file again"},
    Meaning{"InvalidToken", Code::permission, "the token of the session is not valid: renew it"},
    Meaning{"MethodNotAllowed", Code::permission, "the store can only be read"},
    Meaning{"PermanentRedirect", Code::io, "the bucket has another endpoint or region"},
    Meaning{"InvalidBucketName", Code::bad_name, "the name of the bucket is none"},
    Meaning{"KeyTooLongError", Code::bad_name, "the name of an object has more than 1024 bytes"},
    Meaning{"QuotaExceeded", Code::no_space, "free space and repeat the step"},
    Meaning{"InsufficientStorage", Code::no_space, "free space and repeat the step"},
    Meaning{"XMinioStorageFull", Code::no_space, "free space and repeat the step"},
    Meaning{"EntityTooLarge", Code::unsupported, "the store takes no object as large as this"},
};

/// A word of the server, for a message: nothing that it says beside it.
std::string code_in(const HttpAnswer& answer) {
  constexpr std::size_t most_letters = 64;
  const std::string code = xml_text(answer.text, "Code");
  const bool is_word =
      code.size() <= most_letters &&
      std::all_of(code.begin(), code.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  return is_word ? code : "";
}

std::string tries_text(const FailedCall& call) {
  return call.tries <= 1 ? ""
                         : " after " + std::to_string(call.tries) + " tries in " +
                               std::to_string(std::lround(call.elapsed_s)) + " s";
}

std::string answer_text(const HttpAnswer& answer) {
  if (answer.status == 0) {
    return answer.failure;
  }
  const std::string code = code_in(answer);
  std::string text = std::to_string(answer.status) + (code.empty() ? "" : " " + code);
  if (!answer.is_whole && !answer.failure.empty()) {
    text += ", " + answer.failure;
  }
  return text;
}

/// Of this machine against the store.
std::string skew_text(const HttpAnswer& answer) {
  const std::int64_t there_s = http_date(answer.header("date"));
  const std::int64_t here_s = std::time(nullptr);
  const std::string by =
      there_s == 0 ? "" : " by " + std::to_string(std::abs(here_s - there_s)) + " s";
  return "the clock of this machine differs from the store's" + by + ": correct it (NTP)";
}

Error conditional_error(const std::string& text, const HttpAnswer& answer) {
  if (answer.status == 501 || answer.status == 400) {
    return {Code::unsupported,
            text + ": the store has no conditional puts, by which a commit is decided"};
  }
  return overtaken(text);
}

std::string plain_remedy(long status) {
  if (status == 0 || status / 100 == 2 || status / 100 == 5 || status == 429) {
    return "check the endpoint (AWS_ENDPOINT_URL), the network and the store, and repeat the step";
  }
  if (status == 401 || status == 403) {
    return "the store does not allow it: check the credentials, their rights and the clock";
  }
  if (status == 404) {
    return "there is no such object";
  }
  if (status / 100 == 3) {
    return "the bucket has another endpoint or region";
  }
  return "the store does not take the request";
}

}  // namespace

Error overtaken(const std::string& text) {
  return {Code::locked, text + ": another writer changed the store meanwhile: open the file again"};
}

bool may_try_again(const HttpAnswer& answer) {
  if (answer.status == 501 || answer.is_hopeless) {
    return false;
  }
  constexpr std::array<std::string_view, 4> passing{"RequestTimeout", "SlowDown", "InternalError",
                                                    "ServiceUnavailable"};
  return answer.status == 0 || answer.status == 429 || answer.status / 100 == 5 ||
         (answer.status / 100 == 2 && !answer.is_whole) ||
         std::find(passing.begin(), passing.end(), code_in(answer)) != passing.end();
}

bool may_arrive(const HttpAnswer& answer) {
  constexpr long bad_gateway = 502;
  constexpr long gateway_timeout = 504;
  return (answer.status == 0 && answer.was_sent) || answer.status == bad_gateway ||
         answer.status == gateway_timeout;
}

bool holds_error(const HttpAnswer& answer) {
  return answer.status / 100 == 2 && !xml_text(answer.text, "Code").empty();
}

bool has_expired(const HttpAnswer& answer) {
  const std::string code = code_in(answer);
  return code == "ExpiredToken" || code == "TokenRefreshRequired";
}

bool is_missing_bucket(const HttpAnswer& answer) { return code_in(answer) == "NoSuchBucket"; }

Error object_error(const FailedCall& call, const HttpAnswer& answer) {
  const std::string text =
      call.at + ": " + call.what + " failed" + tries_text(call) + ": " + answer_text(answer);
  const std::string code = code_in(answer);
  if (code == "RequestTimeTooSkewed") {
    return {Code::io, text + ": " + skew_text(answer)};
  }
  if (call.is_conditional && (answer.status == 412 || answer.status == 409 ||
                              answer.status == 501 || code == "NotImplemented")) {
    return conditional_error(text, answer);
  }
  const std::string region = answer.header("x-amz-bucket-region");
  if (!region.empty() && region != call.region &&
      std::all_of(region.begin(), region.end(),
                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; })) {
    return {Code::io, text + ": the bucket is in region " + region + ": set AWS_REGION"};
  }
  for (const Meaning& meaning : meanings) {
    if (code == meaning.code) {
      return {meaning.is, text + ": " + meaning.remedy};
    }
  }
  const Code is = answer.status == 401 || answer.status == 403 ? Code::permission
                  : answer.status == 404                       ? Code::not_found
                  : answer.status == 507                       ? Code::no_space
                                                               : Code::io;
  return {is, text + ": " + plain_remedy(answer.status)};
}

}  // namespace sluice::storage
