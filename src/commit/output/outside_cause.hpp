// Why an output can commit nothing any more.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "sluice/error.hpp"

namespace sluice::commit {

/// Where the file was moved, cut, or taken over, no commit has failed half-way: later calls say
/// what has happened.
class OutsideCause {
 public:
  /// An error of a commit: the first from outside counts. `is_last`: no later one can be made.
  void note(const Error& error, bool is_last) {
    const bool is_outside = error.code() == Code::locked || error.code() == Code::changed_outside;
    if (!cause_ && is_last && is_outside) {
      cause_ = error;
    }
  }
  void note(const std::exception_ptr& failure) {
    try {
      if (failure) {
        std::rethrow_exception(failure);
      }
    } catch (const Error& e) {
      note(e, true);
    } catch (...) {
      return;  // of this process
    }
  }
  [[noreturn]] void refuse(const std::string& path) const {
    throw cause_ ? Error(*cause_)
                 : Error(Code::wrong_state,
                         path + ": an earlier commit failed half-way: reopen the file to continue");
  }

 private:
  std::optional<Error> cause_;
};

}  // namespace sluice::commit
