#pragma once

namespace sluice::model {

/// A flag that is true while the object lives.
class Raised {
 public:
  explicit Raised(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

}  // namespace sluice::model
