#include "exec/transport/agree.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "model/bytes.hpp"
#include "storage/endings.hpp"

namespace sluice::exec {

std::string rank_prefix(int rank) { return "rank " + std::to_string(rank) + ": "; }

std::string text_without_rank(const Error& e) {
  std::string text = e.what();
  const std::string prefix = rank_prefix(e.rank());
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

Error naming_rank(const Error& e, int rank) {
  return {e.code(), rank_prefix(rank) + text_without_rank(e), rank};
}

namespace {

/// Without `ending` wherever is_temporary() holds for what follows it.
template <class IsTemporary>
std::string without_ending(std::string text, std::string_view ending, IsTemporary&& is_temporary) {
  for (std::size_t at = text.find(ending); at != std::string::npos; at = text.find(ending, at)) {
    if (is_temporary(std::string_view(text).substr(at + ending.size()))) {
      text.erase(at, ending.size());
    } else {
      at += ending.size();
    }
  }
  return text;
}

/// Under its temporary name nobody looks for a file or store that is being made, unless it kept
/// that.
std::string without_temporary_names(std::string text) {
  text = without_ending(std::move(text), storage::new_ending, [](std::string_view rest) {
    return rest.starts_with(": ") && !rest.starts_with(": rename to ");
  });
  return without_ending(std::move(text), storage::begun_ending, [](std::string_view rest) {
    return rest.empty() || rest.starts_with('/');
  });
}

}  // namespace

Error naming_file(const Error& given, const std::string& path) {
  const Error e(given.code(), without_temporary_names(given.what()), given.rank());
  const std::string text = e.what();
  const std::string bare = text_without_rank(e);
  // A relative path names it as well as the absolute one.
  const std::string first = bare.substr(0, bare.find(": "));
  const std::string name = path.substr(path.rfind('/') + 1);
  if (path.empty() || text.find(path) != std::string::npos || first == name ||
      first.ends_with("/" + name)) {
    return e;
  }
  const std::string rank = text.substr(0, text.size() - bare.size());
  return {e.code(), rank + path + ": " + bare, e.rank()};
}

void abandon(Transport& transport, const std::string& path, const char* what,
             const std::string& why, const std::exception_ptr& met) noexcept {
  try {
    Error error(Code::wrong_state, path + ": " + what + " was abandoned before its close" +
                                       (why.empty() ? "" : ": " + why));
    try {
      if (met) {
        std::rethrow_exception(met);
      }
    } catch (const Error& e) {
      error = naming_file(e, path);
    }
    transport.abandon(error.rank() < 0 ? naming_rank(error, transport.rank()) : error);
  } catch (const std::exception&) {
    // No memory for the text: the others end by their own time limit.
  }
}

namespace detail {

std::vector<std::byte> failure_message(const std::exception_ptr& failure) {
  model::ByteWriter out;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& e) {
    out.put(e.code());
    out.put(e.rank());
    out.put(std::string(e.what()));
  } catch (const std::bad_alloc&) {
    out.put(Code::over_budget);
    out.put(-1);
    out.put(std::string("out of memory"));
  } catch (const std::exception& e) {
    out.put(Code::internal);
    out.put(-1);
    out.put(std::string(e.what()));
  } catch (...) {
    out.put(Code::internal);
    out.put(-1);
    out.put(std::string("an exception of the program's own kind"));
  }
  return out.take();
}

void throw_message(std::span<const std::byte> message, int rank) {
  model::ByteReader in(message);
  const auto code = in.get<Code>();
  const int named = in.get<int>();
  const std::string text = in.get_string();
  const Error error(code, text, named);
  throw named >= 0 ? error : naming_rank(error, rank);
}

void throw_failure_of(Transport& transport, int rank, const std::exception_ptr& failure) {
  std::vector<std::byte> message;
  if (transport.rank() == rank) {
    message = failure_message(failure);
  }
  transport.broadcast(message, rank);
  throw_message(message, rank);
}

}  // namespace detail

void agree(Transport& transport, const std::exception_ptr& failure, std::span<std::int64_t> extra) {
  std::vector<std::int64_t> values(extra.begin(), extra.end());
  // The lowest failing rank wins a maximum over (size - rank).
  values.push_back(failure ? transport.size() - transport.rank() : 0);
  transport.allreduce(values, Op::max);
  std::copy(values.begin(), values.end() - 1, extra.begin());
  if (values.back() != 0) {
    detail::throw_failure_of(transport, transport.size() - static_cast<int>(values.back()),
                             failure);
  }
}

Failures failures_at_root(Transport& transport, int root, std::exception_ptr failure) {
  std::int64_t value = failure ? transport.size() - transport.rank() : 0;
  transport.reduce({&value, 1}, Op::max, root);
  Failures all{std::move(failure)};
  if (transport.rank() == root && value != 0) {
    all.lowest_rank = transport.size() - static_cast<int>(value);
  }
  return all;
}

}  // namespace sluice::exec
