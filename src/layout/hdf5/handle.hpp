// Owning libhdf5 ids, and its errors as ours.
#pragma once

#include <string>
#include <utility>

#include "layout/hdf5/library.hpp"

namespace sluice::layout::hdf5 {

/// Owns one id and closes it with the call that fits its kind.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  hid_t get() const noexcept { return id_; }
  explicit operator bool() const noexcept { return id_ >= 0; }
  void reset();
  /// Gives the id away without closing it.
  hid_t release() noexcept { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
};

/// Silences libhdf5's own printing of errors while it lives.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// The innermost message of libhdf5's error stack, "" where there is none.
std::string last_error();

/// `result` of a libhdf5 call, or Error format: "`what`: libhdf5: <its message>".
hid_t checked(hid_t result, const std::string& what);
/// The same for calls that answer with a status.
void check(herr_t status, const std::string& what);
inline Handle own(hid_t result, const std::string& what) { return Handle(checked(result, what)); }

}  // namespace sluice::layout::hdf5
