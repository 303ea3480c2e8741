// The mappings of a set, in as much memory as their dimensions need: every rank that reads a set
// has all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/part_set.hpp"

namespace sluice::commit {

class MappingList {
 public:
  MappingList() = default;
  explicit MappingList(std::span<const layout::Mapping> mappings);

  std::size_t size() const noexcept { return entries_.size(); }
  layout::Mapping operator[](std::size_t i) const;
  std::uint32_t variable(std::size_t i) const noexcept { return entries_[i].variable; }
  /// layout::Mapping::holds()
  bool holds(std::size_t i, std::uint64_t step) const noexcept {
    const Entry& entry = entries_[i];
    return step >= entry.first_step && step - entry.first_step < entry.steps;
  }

  class Iterator {
   public:
    Iterator(const MappingList& list, std::size_t at) : list_(&list), at_(at) {}
    layout::Mapping operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const MappingList* list_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  struct Entry {
    std::uint64_t first_step = 0;
    std::uint64_t steps = 0;
    std::uint64_t first_row = 0;
    std::uint64_t offset = 0;
    std::uint64_t box = 0;  ///< of its first number, in numbers_
    std::uint32_t variable = 0;
    std::uint32_t part = 0;
    std::uint32_t dataset = 0;
    std::uint8_t rank = 0;
    bool listed = false;
  };

  std::vector<Entry> entries_;
  std::vector<std::uint64_t> numbers_;  ///< of each box: its start, then its count
};

}  // namespace sluice::commit
