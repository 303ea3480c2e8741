// What an answer of an object store means: whether to ask again, and the Error in words.
#pragma once

#include <string>

#include "sluice/error.hpp"
#include "storage/object/http.hpp"

namespace sluice::storage {

/// 5xx, 429, what the network did, and errors of that kind inside another answer.
bool may_try_again(const HttpAnswer& answer);
/// No answer of the store: a try that was given up, and may be carried out later all the same.
bool may_arrive(const HttpAnswer& answer);
/// Is there an error inside an answer of 200?
bool holds_error(const HttpAnswer& answer);
/// Are the credentials those of a session that is over?
bool has_expired(const HttpAnswer& answer);
bool is_missing_bucket(const HttpAnswer& answer);

/// Error locked: the object of a conditional put is another writer's. `text`: what failed.
Error overtaken(const std::string& text);

struct FailedCall {
  std::string at;    ///< "s3://bucket/key"
  std::string what;  ///< "write", ...
  std::string bucket;
  std::string region;
  bool is_conditional = false;
  int tries = 1;
  double elapsed_s = 0;
};
Error object_error(const FailedCall& call, const HttpAnswer& answer);

}  // namespace sluice::storage
