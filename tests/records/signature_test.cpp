// Signatures: any runs are restored, loops take constant space, invalid bytes are damage.
#include "layout/records/signature.hpp"

#include <gtest/gtest.h>
#include <random>

#include "support/errors.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using Stretch = layout::records::Run;
using layout::records::SignatureCoder;
using layout::records::SignatureReader;

constexpr layout::records::ScalarCode i4 = 3;
constexpr layout::records::ScalarCode f8 = 10;
constexpr layout::records::ScalarCode c5 = 14 + 256 * 5;

std::vector<std::byte> coded(const std::vector<Stretch>& runs) {
  SignatureCoder coder;
  for (const Stretch& run : runs) {
    coder.add(run);
  }
  return coder.finish();
}

std::vector<Stretch> decoded(std::span<const std::byte> text) {
  SignatureReader reader(text);
  std::vector<Stretch> runs;
  for (Stretch run; reader.next(run);) {
    runs.push_back(run);
  }
  return runs;
}

TEST(Signature, OfALoopTakesConstantSpace) {
  for (const std::vector<Stretch>& body :
       {std::vector<Stretch>{{i4, 1}, {f8, 3}},
        std::vector<Stretch>{{f8, 1}, {i4, 1}, {f8, 1}, {i4, 2}},
        std::vector<Stretch>{{i4, 1}, {f8, 1}, {i4, 1}, {c5, 1}, {f8, 1}, {c5, 1}}}) {
    std::vector<Stretch> runs{{c5, 1}};  // before the loop
    for (int i = 0; i < 100000; ++i) {
      runs.insert(runs.end(), body.begin(), body.end());
    }
    const auto text = coded(runs);
    EXPECT_LT(text.size(), 100U);
    EXPECT_EQ(decoded(text), runs);
  }
}

TEST(Signature, OfALoopOverMoleculesTakesConstantSpace) {
  std::vector<Stretch> runs;
  for (int block = 0; block < 100; ++block) {
    // Chains of several lengths, then hundreds of single particles: one place of the body looks
    // like many others, until hundreds of runs back.
    for (const int length : {10, 10, 10, 10, 20, 20}) {
      for (int i = 0; i < length; ++i) {
        runs.push_back({i4, i == 0 ? 8U : 6U});
        runs.push_back({f8, 6});
      }
    }
    for (int i = 0; i < 320; ++i) {
      runs.push_back({i4, 8});
      runs.push_back({f8, 6});
    }
  }
  const auto text = coded(runs);
  EXPECT_LT(text.size(), 200U);
  EXPECT_EQ(decoded(text), runs);
}

TEST(Signature, OfAnythingComesBack) {
  std::mt19937_64 random(3);
  const int cases = case_count(200, 50, 5000);
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t kinds = 1 + random() % 6;
    const std::uint64_t counts = 1 + random() % 4;
    const std::size_t length = random() % 5000;
    std::vector<Stretch> runs;
    std::vector<Stretch> body;
    while (runs.size() < length) {
      if (body.empty() || random() % 8 == 0) {  // another loop, maybe of a former one's runs
        body.assign(1 + random() % 40, Stretch{});
        for (Stretch& run : body) {
          run = {static_cast<std::uint32_t>(1 + random() % kinds), 1 + random() % counts};
        }
      }
      runs.insert(runs.end(), body.begin(), body.end());
    }
    EXPECT_EQ(decoded(coded(runs)), runs) << "case " << i;
  }
}

TEST(Signature, CanBeUsedAgain) {
  SignatureCoder coder;
  coder.add({i4, 7});
  coder.finish();
  coder.restart();
  coder.add({f8, 1ULL << 60});
  EXPECT_EQ(decoded(coder.finish()), (std::vector<Stretch>{{f8, 1ULL << 60}}));
  coder.restart();
  EXPECT_TRUE(coder.finish().empty());
}

TEST(Signature, ThatMakesNoSenseIsDamage) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> text;
    for (const int value : values) {
      text.push_back(static_cast<std::byte>(value));
    }
    return text;
  };
  for (const auto& text :
       {bytes({1, 1}), bytes({0, 3, 1, 2, 1}), bytes({0, 3, 0}), bytes({0, 99, 1}), bytes({0, 3}),
        bytes({0x80}), bytes({0, 3, 1, 1, 0}),
        bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})}) {
    expect_error(thrown_by([&] { decoded(text); }), Code::damaged, {"signature"});
  }
}

}  // namespace
}  // namespace sluice::test
