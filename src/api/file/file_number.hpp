// The files that a process has open, by number: to which of them a variable belongs.
//
// Invariants: 0 is the number of no file; a number is given once, until 2^32 files were opened.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::detail {

/// The number of one open file, during its lifetime.
class FileNumber {
 public:
  explicit FileNumber(const std::string& path);
  ~FileNumber();
  FileNumber(const FileNumber&) = delete;
  FileNumber& operator=(const FileNumber&) = delete;

  std::uint32_t value() const noexcept { return value_; }

 private:
  const std::uint32_t value_;
};

/// The path of an open file; "" if no open file has that number.
std::string path_of_file(std::uint32_t number);

}  // namespace sluice::detail
