// The first failure of a rank, kept until the rounds of an exchange are over.
#pragma once

#include <exception>

namespace sluice::mpiio {

class Kept {
 public:
  template <class Action>
  void run(Action&& action) {
    if (failure_) {
      return;
    }
    try {
      action();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace sluice::mpiio
