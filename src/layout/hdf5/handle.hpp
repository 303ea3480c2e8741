// Owning libhdf5 ids, and its errors as ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "layout/hdf5/library.hpp"
#include "sluice/error.hpp"

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

/// What the storage threw into a callback of this thread's present libhdf5 call, which can only
/// answer that it failed. The check of that call throws it with its own code.
void note_storage_failure(const Error& error);
std::optional<Error> take_storage_failure();

/// `result` of a libhdf5 call, or Error format: "`what`: libhdf5: <its message>"; where the storage
/// failed, the storage's code and text.
hid_t checked(hid_t result, const std::string& what);
/// The same for calls that answer with a status.
void check(herr_t status, const std::string& what);
/// The answer of a call that says yes (positive), no (0) or that it failed (negative). A call that
/// failed is never a no: Error format, as of checked().
bool is_yes(htri_t answer, const std::string& what);
/// After a call that answers "none" and "failed" with the same value: Error format if it failed.
void check_no_error(const std::string& what);
/// Is there a link at each name of `path`, which is relative to `where`? Error format where a link
/// cannot be looked up; whatever a link leads to counts as there.
bool has_link(hid_t where, const std::string& path);
/// Is an error a matter of one object of the file, not of the storage or of this process?
inline bool concerns_object(const Error& e) {
  return e.code() == Code::format || e.code() == Code::damaged || e.code() == Code::unsupported;
}
/// What `work` returns; its errors name the file, where they do not yet.
template <class Work>
decltype(auto) naming(const std::string& path, Work&& work) {
  try {
    return work();
  } catch (const Error& e) {
    if (std::string_view(e.what()).find(path) != std::string_view::npos) {
      throw;
    }
    throw Error(e.code(), path + ": " + e.what());
  }
}

inline Handle own(hid_t result, const std::string& what) { return Handle(checked(result, what)); }

}  // namespace sluice::layout::hdf5
