// Owners of libhdf5 ids, and conversion of its errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "layout/hdf5/library.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::hdf5 {

/// Owns one id and closes it with the function for its kind.
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
  /// Releases the id without closing it.
  hid_t release() noexcept { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
};

/// Suppresses libhdf5's error output during its lifetime.
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

/// The innermost message of libhdf5's error stack, "" if there is none.
std::string last_error();
/// "`what`: libhdf5: <its innermost message>": Error version if libhdf5 met a version that it does
/// not know, truncated if the file is shorter than its superblock says, else format.
Error library_error(const std::string& what);

/// Keeps the exception that the storage threw in a callback of the current libhdf5 call of this
/// thread, which can only report failure. The check of that call rethrows it.
void note_storage_failure(const Error& error);
std::optional<Error> take_storage_failure();

/// The `result` of a libhdf5 call, or library_error(); if the storage failed, the code and text of
/// the storage.
hid_t checked(hid_t result, const std::string& what);
/// The same for calls that return a status.
void check(herr_t status, const std::string& what);
/// The result of a call that returns yes (positive), no (0) or failure (negative). A failure is
/// never a no: an Error, as in checked().
bool is_yes(htri_t answer, const std::string& what);
/// For a call that returns the same value for "none" and "failed": the error of checked() if it
/// failed.
void check_no_error(const std::string& what);
/// After a call whose failure says something about the file: throws the failure of the storage, if
/// it was that, and not about an object.
void throw_storage_failure();
/// The error of the storage in a call that succeeded all the same: libhdf5 reads a source of a
/// virtual dataset that cannot be opened as the fill value.
void check_storage(const std::string& what);
/// Is there a link at each name of `path`, which is relative to `where`? Error format if a link
/// cannot be looked up; the target of a link does not matter.
bool has_link(hid_t where, const std::string& path);
/// Does an error concern one object of the file, not the storage or this process?
inline bool concerns_object(const Error& e) {
  return e.code() == Code::format || e.code() == Code::version || e.code() == Code::damaged ||
         e.code() == Code::unsupported;
}
/// Returns the result of `work`; adds the file to the text of its errors, if missing.
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
