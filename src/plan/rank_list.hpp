// Ranks, ascending. Equidistant ranks, the usual case, take no memory: a rank that makes a plan
// need not hold a list as long as there are writers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sluice::plan {

class RankList {
 public:
  RankList() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a list is a list
  RankList(std::vector<int> ranks) : listed_(std::move(ranks)), count_(listed_.size()) {}
  RankList(std::initializer_list<int> ranks) : RankList(std::vector<int>(ranks)) {}
  /// first, first + spacing, ...; spacing > 0.
  static RankList spaced(int first, int spacing, int count) {
    RankList list;
    list.first_ = first;
    list.spacing_ = spacing;
    list.count_ = static_cast<std::size_t>(count);
    return list;
  }

  std::size_t size() const noexcept { return count_; }
  int operator[](std::size_t i) const noexcept {
    return listed_.empty() ? first_ + static_cast<int>(i) * spacing_ : listed_[i];
  }
  /// The first `count` of them, at most size().
  RankList first(std::size_t count) const {
    RankList list = *this;
    list.listed_.resize(std::min(listed_.size(), count));
    list.count_ = count;
    return list;
  }
  /// Index of a rank in the list, -1 if it is not in it.
  int index_of(int rank) const noexcept {
    if (listed_.empty()) {
      const int distance = rank - first_;
      const bool is_there = distance >= 0 && distance % spacing_ == 0 &&
                            static_cast<std::size_t>(distance / spacing_) < count_;
      return is_there ? distance / spacing_ : -1;
    }
    const auto found = std::find(listed_.begin(), listed_.end(), rank);
    return found == listed_.end() ? -1 : static_cast<int>(found - listed_.begin());
  }
  std::vector<int> all() const {
    std::vector<int> ranks;
    ranks.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      ranks.push_back((*this)[i]);
    }
    return ranks;
  }

 private:
  std::vector<int> listed_;  ///< empty: equidistant
  int first_ = 0;
  int spacing_ = 1;
  std::size_t count_ = 0;
};

}  // namespace sluice::plan
