// One rank reads an input file for all: one open, the same bytes, the same error.
#include "exec/transport/read_text.hpp"

#include <gtest/gtest.h>
#include <set>

#include "sluice/error.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/world.hpp"

namespace sluice::exec {
namespace {

std::shared_ptr<storage::MemoryStorage> storage_with(const std::string& name,
                                                     const std::string& bytes) {
  auto memory = storage::make_memory();
  memory->put(name, std::as_bytes(std::span(bytes)));
  return memory;
}

std::string text_of(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += "material[" + std::to_string(text.size()) + "]:damping-constant = 0.1\n";
  }
  text.resize(bytes);
  return text;
}

TEST(ReadText, ThousandsOfRanksAreOneOpen) {
  const int many = test::case_count(6144, 512, 6144);  // each rank is a thread
  const std::string text = text_of(5000);
  const auto memory = storage_with("input", text);
  const auto log = std::make_shared<storage::Log>();
  int equal = 0;
  run_local(many, 1, [&](Transport& transport) {
    storage::RecordingStorage storage(memory, log, transport.rank());
    equal += read_on_root(transport, storage, "input") == text;
  });
  EXPECT_EQ(equal, many);
  const storage::Counters counters = log->counters("input");
  EXPECT_EQ(counters.opens, 1U);
  EXPECT_EQ(counters.bytes_read, text.size());
  EXPECT_EQ(counters.open_now, 0U);
}

TEST(ReadText, EverySizeArrivesWhole) {
  for (const std::size_t bytes : {0UL, 1UL, 65535UL, 65536UL, 65537UL, 3'000'001UL}) {
    const std::string text = text_of(bytes);
    const auto memory = storage_with("input", text);
    run_local(3, 1, [&](Transport& transport) {
      EXPECT_EQ(read_on_root(transport, *memory, "input"), text);
    });
  }
}

TEST(ReadText, AMissingFileIsTheSameErrorOnAll) {
  std::set<std::string> said;
  int failures = 0;
  run_local(5, 1, [&](Transport& transport) {
    try {
      read_on_root(transport, *storage::make_memory(), "inptu");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::not_found);
      said.insert(error.what());
      ++failures;
    }
  });
  EXPECT_EQ(failures, 5);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.begin()->find("inptu"), std::string::npos);
}

}  // namespace
}  // namespace sluice::exec
