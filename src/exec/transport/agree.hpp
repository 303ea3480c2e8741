// Agreement on failures: all ranks learn whether one of them failed, and fail alike.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "exec/transport/transport.hpp"
#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

/// Collective. `failure` is this rank's error (null: none). Returns on every rank or throws the
/// same Error on every rank: that of the lowest rank that failed, prefixed by its number. `extra`
/// is reduced by maximum in the same call; also if it throws.
void agree(Transport& transport, const std::exception_ptr& failure,
           std::span<std::int64_t> extra = {});

/// Whether `e` says that other ranks can no longer be reached: one did not answer in time, or MPI
/// failed. The ranks cannot agree after it.
inline bool ranks_unreachable(const Error& e) {
  return e.code() == Code::timeout || e.code() == Code::mpi;
}

/// The exception that `work` throws; null if it does not.
template <class Work>
std::exception_ptr failure_of(Work&& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// Collective. Runs `work`, which must not send or receive by `transport`, and agrees on its
/// outcome: if it throws on any rank, every rank throws the error of the lowest such rank.
template <class Work>
void together(Transport& transport, Work&& work) {
  agree(transport, failure_of(work));
}

/// The failures of all ranks, collected at one of them.
struct Failures {
  std::exception_ptr own;  ///< of this rank
  int lowest_rank = -1;    ///< the lowest rank that failed, on the root only; -1: none
};

/// Collective. `failure` is this rank's error (null: none). Nothing is thrown: on_root() does.
Failures failures_at_root(Transport& transport, int root, std::exception_ptr failure);

/// Collective. Runs `work` on rank 0 only; its result, or its error, is sent to every rank. If a
/// rank has failed before, `work` is not run, and every rank throws the error of the lowest one.
/// Work that returns bytes: these; that takes a model::ByteWriter&: a RootReader of what it wrote;
/// that returns nothing: nothing.
template <class Work>
auto on_root(Transport& transport, Work&& work, const Failures& before = {});

/// "rank 3: ", as the text of an Error that names a rank begins.
std::string rank_prefix(int rank);
/// The text of `e` without the rank that it names.
std::string text_without_rank(const Error& e);
/// `e` as an error of `rank`, which its text names in front.
Error naming_rank(const Error& e, int rank);
/// `e`, with the file name added after the rank if its text does not contain it. A file that is
/// still made under a temporary name is called by the name that it gets.
Error naming_file(const Error& e, const std::string& path);

/// Transport::abandon() with `met`, an error that the other ranks have not heard of; without one
/// with Error wrong_state "PATH: WHAT was abandoned before its close: WHY".
void abandon(Transport& transport, const std::string& path, const char* what,
             const std::string& why, const std::exception_ptr& met = nullptr) noexcept;

/// Runs `work`; adds the file `path` to an Error that it throws.
template <class Work>
decltype(auto) for_file(const std::string& path, Work&& work) {
  try {
    return work();
  } catch (const Error& e) {
    throw naming_file(e, path);
  }
}

// -- implementation -------------------------------------------------------------------------------

namespace detail {
struct HeldBytes {
  std::vector<std::byte> held;
};
}  // namespace detail

/// Reads what rank 0 wrote, and owns it.
class RootReader : private detail::HeldBytes, public model::ByteReader {
 public:
  explicit RootReader(std::vector<std::byte> bytes)
      : HeldBytes{std::move(bytes)}, ByteReader(held) {}
  RootReader(RootReader&&) = default;  // the bytes stay where they are
  RootReader(const RootReader&) = delete;
  RootReader& operator=(const RootReader&) = delete;
};

namespace detail {
/// code, rank that the error names (-1: none yet), text
std::vector<std::byte> failure_message(const std::exception_ptr& failure);
[[noreturn]] void throw_message(std::span<const std::byte> message, int rank);
/// Collective. The error of `rank`, which has it in `failure`, on every rank.
[[noreturn]] void throw_failure_of(Transport& transport, int rank,
                                   const std::exception_ptr& failure);

template <class Work>
constexpr bool writes = std::is_invocable_v<Work&, model::ByteWriter&>;

template <class Work>
std::vector<std::byte> run_for_bytes(Work& work) {
  if constexpr (writes<Work>) {
    model::ByteWriter out;
    work(out);
    return out.take();
  } else if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
    work();
    return {};
  } else {
    return work();
  }
}

/// As on_root(), on rank `root`.
template <class Work>
std::vector<std::byte> on_rank(Transport& transport, int root, Work& work, const Failures& before) {
  enum class End : std::uint8_t { done, failed, failed_before };
  std::vector<std::byte> message;
  if (transport.rank() == root) {
    End end = End::done;
    if (before.lowest_rank >= 0) {
      end = End::failed_before;
      const auto rank = std::as_bytes(std::span(&before.lowest_rank, 1));
      message.assign(rank.begin(), rank.end());
    } else {
      try {
        message = run_for_bytes(work);
      } catch (...) {
        end = End::failed;
        message = failure_message(std::current_exception());
      }
    }
    message.push_back(static_cast<std::byte>(end));
  }
  transport.broadcast(message, root);
  const auto end = static_cast<End>(message.back());
  message.pop_back();
  if (end == End::failed_before) {
    int rank = 0;
    std::memcpy(&rank, message.data(), sizeof rank);
    throw_failure_of(transport, rank, before.own);
  }
  if (end == End::failed) {
    throw_message(message, root);
  }
  return message;
}

}  // namespace detail

template <class Work>
auto on_root(Transport& transport, Work&& work, const Failures& before) {
  std::vector<std::byte> message = detail::on_rank(transport, 0, work, before);
  if constexpr (detail::writes<Work>) {
    return RootReader(std::move(message));
  } else if constexpr (!std::is_void_v<std::invoke_result_t<Work&>>) {
    return message;
  }
}

}  // namespace sluice::exec
