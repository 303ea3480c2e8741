// The pages of a listing, which end whatever the store answers.
//
// Invariant: no token is followed twice, no page comes twice running, and pages without entries are
// few.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/error.hpp"
#include "storage/object/bucket.hpp"

namespace sluice::storage {

class Pages {
 public:
  Pages(Bucket& bucket, std::string prefix, bool by_folder, int most = 1000)
      : bucket_(bucket), prefix_(std::move(prefix)), by_folder_(by_folder), most_(most) {}

  bool at_end() const noexcept { return is_over_; }
  Listing next() {
    Listing page = bucket_.list(prefix_, by_folder_, token_, most_);
    empty_ += page.keys.empty() && page.folders.empty() ? 1 : 0;
    const bool is_same = !page.keys.empty() && page.keys == last_ && !token_.empty();
    last_ = page.keys;
    if (is_same || empty_ > most_empty || (!page.next.empty() && !seen_.insert(page.next).second)) {
      refuse("one page after the other leads to no end");
    }
    token_ = page.next;
    is_over_ = token_.empty();
    return page;
  }
  /// What was on the last page is removed: what is left is listed from the first page on.
  void begin_again(const Listing& removed) {
    same_ = removed.keys == removed_ ? same_ + 1 : 0;
    if (same_ > most_same) {
      refuse("what was removed is listed again and again");
    }
    removed_ = removed.keys;
    seen_.clear();
    token_.clear();
    is_over_ = false;
  }

 private:
  static constexpr std::size_t most_empty = 1000;
  static constexpr std::size_t most_same = 100;

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::io, bucket_.url_text(prefix_) + ": list failed: " + what +
                              ": check the endpoint (AWS_ENDPOINT_URL), or a proxy before it");
  }

  Bucket& bucket_;
  const std::string prefix_;
  const bool by_folder_;
  const int most_;
  std::string token_;
  std::set<std::string> seen_;
  std::size_t empty_ = 0;
  std::vector<std::string> last_;  ///< of the last page
  std::vector<std::string> removed_;
  std::size_t same_ = 0;
  bool is_over_ = false;
};

}  // namespace sluice::storage
