#include "exec/notify/completion_tracker.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

Outcome::Outcome(std::uint64_t commit, const std::exception_ptr& why, int own_rank)
    : number(commit) {
  if (!why) {
    return;
  }
  failed = 1;
  const std::vector<std::byte> message = detail::failure_message(why);
  model::ByteReader in(message);
  code = in.get<Code>();
  rank = in.get<int>();
  std::string words = in.get_string();
  if (rank < 0) {
    words.insert(0, rank_prefix(own_rank));
    rank = own_rank;
  }
  const std::size_t length = std::min(words.size(), sizeof text - 1);
  std::memcpy(text, words.data(), length);
  text[length] = '\0';
}

std::exception_ptr Outcome::failure() const {
  return failed == 0 ? nullptr : std::make_exception_ptr(Error(code, text, rank));
}

}  // namespace sluice::exec
