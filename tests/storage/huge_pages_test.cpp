// Huge pages below memory that ranks share: they change no byte, and none is sought behind the end.
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "storage/shared_memory.hpp"

namespace sluice::storage {
namespace {

constexpr std::uint64_t page = SharedMemory::huge_page_bytes;

std::byte value(std::uint64_t at) { return static_cast<std::byte>(at * 2654435761u >> 13); }

bool has_values(const std::byte* data, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; ++at) {
    if (data[at] != value(at)) {
      return false;
    }
  }
  return true;
}

/// Of the memory that this process shares: kB in huge pages, as the kernel counts them.
std::uint64_t huge_kb_of(const std::byte* data) {
  std::ifstream maps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(data);
      is_there = at >= first && at < last;
    } else if (is_there && line.rfind("ShmemPmdMapped:", 0) == 0) {
      return std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return 0;
}

TEST(HugePages, KeepWhatTheMemoryHolds) {
  const auto memory = SharedMemory::make(3 * page);
  for (std::uint64_t at = 0; at < memory->bytes(); at += 4096) {
    memory->reserve(at, at + 4096);  // small ones
  }
  for (std::uint64_t at = 0; at < memory->bytes(); ++at) {
    memory->data()[at] = value(at);
  }
  const auto other = SharedMemory::attach(memory->key());
  bool is_given = true;
  for (std::uint64_t at = 0; at < 2 * page; at += page) {
    is_given = memory->reserve_huge_page(at) && is_given;
  }
  EXPECT_TRUE(has_values(memory->data(), memory->bytes()));
  EXPECT_TRUE(has_values(other->data(), other->bytes()));
  if (!is_given) {
    GTEST_SKIP() << "the kernel gives no huge pages for shared memory (before Linux 6.1?)";
  }
  EXPECT_GE(huge_kb_of(memory->data()), 2 * page >> 10);
}

TEST(HugePages, AreReservedWhereWholeOnesFit) {
  const auto memory = SharedMemory::make(4 * page);
  EXPECT_EQ(huge_kb_of(memory->data()), 0u);
  memory->reserve(0, memory->bytes());
  for (std::uint64_t at = 0; at < memory->bytes(); ++at) {
    ASSERT_EQ(memory->data()[at], std::byte{0});
    memory->data()[at] = value(at);
  }
  const auto other = SharedMemory::attach(memory->key());
  EXPECT_TRUE(has_values(other->data(), other->bytes()));
  const bool is_given = memory->reserve_huge_page(page);
  EXPECT_EQ(huge_kb_of(memory->data()), is_given ? 3 * page >> 10 : 0u) << "the first has a header";
}

TEST(HugePages, AreNotSoughtBehindTheEnd) {
  const auto memory = SharedMemory::make(page);
  memory->reserve(0, memory->bytes());
  EXPECT_TRUE(memory->reserve_huge_page(0) || huge_kb_of(memory->data()) == 0);
  EXPECT_FALSE(memory->reserve_huge_page(page - 1)) << "it would end behind the memory";
}

}  // namespace
}  // namespace sluice::storage
