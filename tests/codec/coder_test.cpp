// Pipelines: every byte is restored, data that does not shrink is stored unchanged, and no input,
// however damaged, makes a decoder read or write outside its spans.
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "codec/checksum.hpp"
#include "codec/filter.hpp"
#include "codec/zstd_frame.hpp"
#include "sluice/error.hpp"

namespace sluice::codec {
namespace {

using Bytes = std::vector<std::byte>;

/// `kind` 0: noise, 1: zeros, 2: a slow ramp of doubles, 3: few values.
Bytes make_bytes(std::size_t count, int kind, std::mt19937& draw) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double ramp = 1.0 + 1e-3 * static_cast<double>(i / 8);
    Bytes eight(8);
    std::memcpy(eight.data(), &ramp, 8);
    bytes[i] = kind == 0   ? static_cast<std::byte>(draw())
               : kind == 1 ? std::byte{0}
               : kind == 2 ? eight[i % 8]
                           : static_cast<std::byte>(draw() % 3);
  }
  return bytes;
}

std::vector<std::string> options() {
  std::vector<std::string> all;
  for (const char* name : {"deflate", "zstd"}) {
    if (const auto method = find_method(std::string(name))) {
      for (const int level : {method->lowest_level, method->default_level}) {
        all.push_back(method->name + ":" + std::to_string(level));
        all.push_back(all.back() + "+noshuffle");
      }
    }
  }
  return all;
}

Bytes from_hex(const std::string& digits) {
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// Of numcodecs: the numbers 0 to 599, divided by 7, as uint32, with shuffled bits.
const char* const lz4_chunk =
    "020124046009000060090000bd00000014000000720000007f803fe00ff803fe0700317f00c0ff0f00fcff07"
    "00317f000000f0ffffff0700311200010012ff0100020d0012000d000060000002000f0e0017080200033600"
    "030200081a000f1c00100025000f0200050352000f0200020f3400050f0200200f6000000f4600200f020000"
    "5000000000000d0000001f000100ffff415000000000000d0000001f000100ffff415000000000000d000000"
    "1f000100ffff41500000000000";
const char* const blosclz_chunk =
    "020104046009000060090000ad000000140000005f00000026803fe00ff803fee03a0607f800c0ff0f00fcff"
    "e03a060700000000f0ffffffe03a060dff00000000000000ffffffffffffe0360de00300a051a001a058a000"
    "e0181be0052ee00500e0053ce00501e01337e02600e00a66e0405d020000000e0000002300000000e0ffff4a"
    "03020000000e0000002300000000e0ffff4a03020000000e0000002300000000e0ffff4a0302000000";

TEST(Coder, BloscReadsLz4AndBloscLz) {
  Bytes expected(4 * 600);
  for (std::uint32_t i = 0; i < 600; ++i) {
    const std::uint32_t value = i / 7;
    std::memcpy(expected.data() + 4 * i, &value, 4);
  }
  std::mt19937 draw(3);
  for (const char* chunk : {lz4_chunk, blosclz_chunk}) {
    Coder coder({{blosc_id, {4, 0, 0, 1}}});
    const Bytes stored = from_hex(chunk);
    Bytes back(expected.size());
    coder.decode(stored, 0, back);
    EXPECT_EQ(back, expected);
    for (int n = 0; n < 20000; ++n) {
      Bytes bad = stored;
      for (int changes = 0; changes < 1 + n % 3; ++changes) {
        bad[draw() % bad.size()] = static_cast<std::byte>(draw());
      }
      bad.resize(n % 5 == 0 ? draw() % bad.size() : bad.size());
      try {
        coder.decode(bad, 0, back);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::damaged);
      }
    }
  }
}

TEST(Coder, BloscKeepsWhatDoesNotShrink) {
  std::mt19937 draw(2);
  for (const std::uint32_t filter : {deflate_id, zstd_id}) {
    if (!find_method(filter)) {
      continue;
    }
    for (const std::uint32_t element : {1U, 4U, 16U}) {
      Coder coder({{blosc_id, {element, 1, filter, 1}}});
      for (const std::size_t count : {0, 1, 9, 4096, 70001}) {
        for (int kind = 0; kind < 4; ++kind) {
          const Bytes dense = make_bytes(count, kind, draw);
          const Coder::Encoded encoded = coder.encode(dense);
          EXPECT_EQ(encoded.mask, 0u);
          EXPECT_LE(encoded.bytes.size(), count + 16);
          if (count > 1000 && kind != 0) {
            EXPECT_LT(encoded.bytes.size(), count / 2);
          }
          Bytes stored(encoded.bytes.begin(), encoded.bytes.end());
          Bytes back(count, std::byte{0x5a});
          coder.decode(stored, 0, back);
          EXPECT_EQ(back, dense) << element << " " << count << " " << kind;
          // After any change or truncation: an error, or other bytes, within the spans.
          for (int n = 0; n < 20; ++n) {
            Bytes bad = stored;
            bad[draw() % bad.size()] = static_cast<std::byte>(draw());
            bad.resize(draw() % 3 == 0 ? draw() % bad.size() : bad.size());
            try {
              coder.decode(bad, 0, back);
            } catch (const Error& error) {
              EXPECT_EQ(error.code(), Code::damaged);
            }
          }
        }
      }
    }
  }
}

TEST(Checksum, Crc32cIsTheOneOfTheStandards) {
  const std::string digits = "123456789";  // the check value of every catalogue of CRCs
  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283U);
}

/// The values that its author gives, and HDF5's own tests.
TEST(Checksum, Lookup3IsTheOneOfHdf5) {
  const std::string text = "Four score and seven years ago";
  EXPECT_EQ(lookup3({}), 0xdeadbeefU);
  EXPECT_EQ(lookup3(std::as_bytes(std::span(text))), 0x17770551U);
}

TEST(Coder, EveryByteComesBack) {
  ASSERT_FALSE(options().empty()) << "built without libdeflate and libzstd: nothing to test";
  std::mt19937 draw(1);
  for (const std::string& option : options()) {
    for (const std::uint32_t element : {1U, 2U, 4U, 8U, 13U, 16U}) {
      Coder coder(parse_pipeline(option, element));
      for (const std::size_t count : {0, 1, 7, 4096, 70001}) {
        for (int kind = 0; kind < 4; ++kind) {
          const Bytes dense = make_bytes(count, kind, draw);
          const Coder::Encoded encoded = coder.encode(dense);
          const Bytes stored(encoded.bytes.begin(), encoded.bytes.end());
          EXPECT_LE(stored.size(), dense.size());
          Bytes back(count, std::byte{0x5a});
          coder.decode(stored, encoded.mask, back);
          EXPECT_EQ(back, dense) << option << " " << element << " " << count << " " << kind;
        }
      }
    }
  }
}

TEST(Coder, WhatDoesNotShrinkIsLeftOut) {
  std::mt19937 draw(2);
  const Bytes noise = make_bytes(10000, 0, draw);
  for (const std::string& option : options()) {
    const Pipeline pipeline = parse_pipeline(option, 8);
    Coder coder(pipeline);
    const Coder::Encoded encoded = coder.encode(noise);
    EXPECT_EQ(encoded.mask, (1U << pipeline.size()) - 1) << option;
    EXPECT_EQ(encoded.bytes.data(), noise.data());
  }
}

TEST(Coder, ShufflingHelpsDoubles) {
  std::mt19937 draw(3);
  const Bytes ramp = make_bytes(1 << 20, 2, draw);
  for (const char* name : {"deflate", "zstd"}) {
    if (find_method(std::string(name))) {
      Coder shuffled(parse_pipeline(name, 8));
      Coder plain(parse_pipeline(std::string(name) + "+noshuffle", 8));
      EXPECT_LT(shuffled.encode(ramp).bytes.size(), plain.encode(ramp).bytes.size()) << name;
    }
  }
}

/// Decodes into the middle of a larger buffer; the edges must not change. True if it was refused.
bool refuses(Coder& coder, std::span<const std::byte> stored, std::uint32_t mask,
             std::size_t dense_bytes) {
  constexpr std::size_t margin = 64;
  Bytes held(dense_bytes + 2 * margin, std::byte{0x5a});
  // A copy of exact length, so that a sanitizer detects a read beyond its end.
  const Bytes exact(stored.begin(), stored.end());
  bool refused = false;
  try {
    coder.decode(exact, mask, std::span(held).subspan(margin, dense_bytes));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::damaged);
    refused = true;
  }
  for (std::size_t i = 0; i < margin; ++i) {
    EXPECT_EQ(held[i], std::byte{0x5a});
    EXPECT_EQ(held[held.size() - 1 - i], std::byte{0x5a});
  }
  return refused;
}

TEST(Coder, DamagedInputStaysInsideItsSpans) {
  std::mt19937 draw(4);
  for (const std::string& option : options()) {
    Pipeline pipeline = parse_pipeline(option, 4);
    pipeline.push_back({fletcher32_id, {}});
    Pipeline without = pipeline;
    without.pop_back();
    for (const Pipeline& one : {pipeline, without}) {
      Coder coder(one);
      const Bytes dense = make_bytes(20000, 3, draw);
      const Coder::Encoded encoded = coder.encode(dense);
      const Bytes good(encoded.bytes.begin(), encoded.bytes.end());
      EXPECT_FALSE(refuses(coder, good, 0, dense.size()));
      // Another size than the index says, in both directions, is only an error.
      EXPECT_TRUE(refuses(coder, good, 0, dense.size() - 1)) << option;
      EXPECT_TRUE(refuses(coder, good, 0, dense.size() + 1)) << option;
      EXPECT_TRUE(refuses(coder, {}, 0, dense.size())) << option;
      for (int i = 0; i < 300; ++i) {
        Bytes bad = good;
        const bool cuts = draw() % 3 == 0;
        if (cuts) {
          bad.resize(draw() % bad.size());
        } else {
          for (unsigned hits = 1 + draw() % 4; hits-- > 0;) {
            bad[draw() % bad.size()] ^= static_cast<std::byte>(1 + draw() % 255);
          }
        }
        const bool refused = refuses(coder, bad, 0, dense.size());
        EXPECT_TRUE(refused || !cuts) << option;
        if (one.back().id == fletcher32_id && bad != good) {
          EXPECT_TRUE(refused) << option;
        }
        refuses(coder, bad, draw() % 8, dense.size());
      }
      for (int i = 0; i < 100; ++i) {
        refuses(coder, make_bytes(draw() % 3000, 0, draw), 0, draw() % 3000);
      }
    }
  }
}

/// Of c-blosc2: the numbers 0 to 99 as int32, with LZ4 and shuffled bytes.
const char* const blosc2_chunk =
    "050125049001000090010000980000000100000000000100000000000000000024000000640000000001020304"
    "05060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031"
    "32333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e"
    "5f60616263000000000000000000000000";

TEST(Coder, ChunksOfBlosc2AreUnsupported) {
  Coder coder({{blosc_id, {4, 1, deflate_id, 1}}});
  const Bytes stored = from_hex(blosc2_chunk);
  Bytes back(400);
  try {
    coder.decode(stored, 0, back);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_NE(std::string(error.what()).find("Blosc2"), std::string::npos) << error.what();
  }
  // What is not whole, or of another size, is damage as ever.
  for (std::size_t length = 0; length < stored.size(); ++length) {
    EXPECT_TRUE(refuses(coder, std::span(stored).first(length), 0, back.size())) << length;
  }
  EXPECT_TRUE(refuses(coder, stored, 0, back.size() + 1));
}

/// Of h5py: a hundred bytes of 7, then the numbers 0 to 9.
const char* const lzf_chunk = "010707e059000900010203040506070809";

TEST(Coder, LzfIsRead) {
  Bytes sevens(100, std::byte{7});
  for (int i = 0; i < 10; ++i) {
    sevens.push_back(static_cast<std::byte>(i));
  }
  Coder coder({{32000, {4, 0, 110}}});
  Bytes back(sevens.size());
  coder.decode(from_hex(lzf_chunk), 0, back);
  EXPECT_EQ(back, sevens);
  // Literals, then the longest repetitions from the greatest distance and from the least.
  std::mt19937 draw(7);
  Bytes expected = make_bytes(8192, 0, draw);
  Bytes stored;
  for (std::size_t at = 0; at < expected.size(); at += 32) {
    stored.push_back(std::byte{31});
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(at);
    stored.insert(stored.end(), begin, begin + 32);
  }
  for (const auto& [code, distance] : {std::pair("ffffff", 8192U), {"e0ff00", 1U}}) {
    const Bytes repetition = from_hex(code);
    stored.insert(stored.end(), repetition.begin(), repetition.end());
    for (int i = 0; i < 264; ++i) {
      expected.push_back(expected[expected.size() - distance]);
    }
  }
  back.resize(expected.size());
  coder.decode(stored, 0, back);
  EXPECT_EQ(back, expected);
}

TEST(Coder, DamagedLzfIsRefused) {
  Coder coder(Pipeline{{32000, {}}});
  const Bytes stored = from_hex(lzf_chunk);
  ASSERT_FALSE(refuses(coder, stored, 0, 110));
  EXPECT_TRUE(refuses(coder, stored, 0, 109));
  EXPECT_TRUE(refuses(coder, stored, 0, 111));
  for (std::size_t length = 0; length < stored.size(); ++length) {
    EXPECT_TRUE(refuses(coder, std::span(stored).first(length), 0, 110)) << length;
  }
  // Literals that are not there, repetitions of what is in front of the output or not whole, more
  // than the output holds, and what comes behind its end.
  for (const char* bad : {"050102", "2000", "000120", "0001e0", "0001e001", "00012001",
                          "0001e0ff00", "020102030004", "02010203ff"}) {
    EXPECT_TRUE(refuses(coder, from_hex(bad), 0, 3)) << bad;
  }
  std::mt19937 draw(7);
  for (int n = 0; n < 20000; ++n) {
    Bytes bad = stored;
    for (int changes = 0; changes < 1 + n % 3; ++changes) {
      bad[draw() % bad.size()] = static_cast<std::byte>(draw());
    }
    refuses(coder, bad, 0, 110);  // or gives other bytes, within its bounds
    refuses(coder, make_bytes(draw() % 300, n % 4, draw), 0, draw() % 3000);
  }
}

TEST(Coder, WhatDoesNotShrinkKeepsItsChecksum) {
  std::mt19937 draw(4);
  const Bytes dense = make_bytes(5000, 0, draw);
  for (const std::string& option : options()) {
    for (const std::uint32_t element_bytes : {1, 4}) {
      Pipeline pipeline = parse_pipeline(option, element_bytes);
      const auto others = static_cast<std::uint32_t>((1U << pipeline.size()) - 1);
      pipeline.push_back({fletcher32_id, {}});
      SCOPED_TRACE(option);
      Coder coder(pipeline);
      const Coder::Encoded encoded = coder.encode(dense);
      EXPECT_EQ(encoded.mask, others);
      ASSERT_EQ(encoded.bytes.size(), dense.size() + 4);
      Bytes stored(encoded.bytes.begin(), encoded.bytes.end());
      Bytes back(dense.size());
      coder.decode(stored, encoded.mask, back);
      EXPECT_EQ(back, dense);
      for (const std::size_t at : {std::size_t{0}, std::size_t{2500}, dense.size() + 3}) {
        stored[at] ^= std::byte{1};
        EXPECT_TRUE(refuses(coder, stored, others, dense.size())) << at;
        stored[at] ^= std::byte{1};
      }
      const Bytes zeros(5000);
      EXPECT_EQ(coder.encode(zeros).mask, 0u);
    }
  }
}

/// Of Python: two bytes of 7, a hundred of 9, as a gzip file.
const char* const gzip_file = "1f8b08000000000002036367e7a4030000d77794ab66000000";

TEST(Coder, TheLengthBehindGzipAndBloscIsThatOfTheirBytes) {
  if (!find_method(deflate_id)) {
    GTEST_SKIP() << "this build has no deflate";
  }
  Bytes dense(102, std::byte{9});
  dense[0] = dense[1] = std::byte{7};
  Coder blosc({{blosc_id, {1, 0, deflate_id, 1}}});
  const auto chunk = blosc.encode(dense).bytes;
  const Bytes blosc_bytes(chunk.begin(), chunk.end());
  ASSERT_LT(blosc_bytes.size(), dense.size());
  for (const std::uint32_t id : {gzip_id, blosc_id}) {
    const Bytes inside = id == gzip_id ? from_hex(gzip_file) : blosc_bytes;
    Coder summed(Pipeline{{fletcher32_id, {}}});
    const auto stored = summed.encode(inside).bytes;
    Bytes bytes(stored.begin(), stored.end());
    Coder coder({{id, {1, 0, deflate_id, 1}}, {fletcher32_id, {}}});
    EXPECT_FALSE(refuses(coder, bytes, 0, dense.size())) << id;
    Bytes back(dense.size());
    coder.decode(bytes, 0, back);
    EXPECT_EQ(back, dense) << id;
    EXPECT_TRUE(refuses(coder, bytes, 0, dense.size() + 1)) << id;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] ^= std::byte{1};
      EXPECT_TRUE(refuses(coder, bytes, 0, dense.size())) << id << " " << at;
      bytes[at] ^= std::byte{1};
      EXPECT_TRUE(refuses(coder, Bytes(bytes.begin(), bytes.begin() + static_cast<int>(at)), 0,
                          dense.size()));
    }
    EXPECT_FALSE(can_decode({{id, {}}, {deflate_id, {1}}})) << id;
  }
}

TEST(Coder, ABombEndsAtTheKnownSize) {
  const Bytes zeros(8 << 20);
  for (const std::string& option : options()) {
    Coder coder(parse_pipeline(option, 1));
    const Coder::Encoded encoded = coder.encode(zeros);
    const Bytes bomb(encoded.bytes.begin(), encoded.bytes.end());
    ASSERT_LT(bomb.size(), zeros.size() / 100);
    EXPECT_TRUE(refuses(coder, bomb, 0, 1000)) << option;
  }
}

TEST(ZstdFrame, MayBeAsLongAsItMayBe) {
  if (!has_zstd()) {
    GTEST_SKIP() << "this build has no zstd";
  }
  // 100 bytes, and the frame's own checksum.
  const Bytes frame = from_hex("28b52ffd24645d000018616162020040297e022c4e355f40");
  for (const std::uint64_t most : {100, 101, 4096, 5000}) {
    EXPECT_EQ(from_zstd_frame(frame, most, "x").size(), 100u) << most;
  }
  for (const std::uint64_t most : {0, 1, 99}) {
    EXPECT_THROW(from_zstd_frame(frame, most, "x"), Error) << most;
  }
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_THROW(from_zstd_frame(std::span(frame).first(size), 100, "x"), Error) << size;
  }
}

TEST(Coder, WrongSizesOfUnfilteredBytesAreRefused) {
  const Pipeline pipeline{{shuffle_id, {4}}};
  Coder coder(pipeline);
  EXPECT_TRUE(refuses(coder, Bytes(10), 1, 12));
  EXPECT_TRUE(refuses(coder, Bytes(10), 0, 12));
  EXPECT_FALSE(refuses(coder, Bytes(12), 1, 12));
}

TEST(Registry, OptionsAndPipelinesAgree) {
  for (const std::string& option : options()) {
    const Pipeline pipeline = parse_pipeline(option, 8);
    EXPECT_EQ(pipeline_text(pipeline), option);
    EXPECT_TRUE(can_decode(pipeline));
  }
  EXPECT_TRUE(parse_pipeline("none", 8).empty());
  EXPECT_TRUE(parse_pipeline("", 8).empty());
  EXPECT_EQ(pipeline_text({}), "");
}

TEST(Registry, UnknownOptionsNameTheKnown) {
  for (const char* option : {"defleat:6", "deflate:", "deflate:x", "deflate:99", "deflate:0",
                             "shuffle", "none+noshuffle", "+noshuffle", "deflate:6+more"}) {
    try {
      parse_pipeline(option, 8);
      ADD_FAILURE() << option;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("none"), std::string::npos) << e.what();
    }
  }
}

/// Inverts every bit.
class Inverter final : public Worker {
 public:
  std::size_t encode(const Parameters&, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    for (std::size_t i = 0; i < std::min(in.size(), out.size()); ++i) {
      out[i] = ~in[i];
    }
    return out.size() < in.size() ? 0 : in.size();
  }
  bool decode(const Parameters& parameters, std::span<const std::byte> in,
              std::span<std::byte> out) override {
    return in.size() == out.size() && encode(parameters, in, out) == in.size();
  }
};

TEST(Registry, TakesOthers) {
  const Pipeline pipeline{{65000, {}}};
  EXPECT_FALSE(can_decode(pipeline));
  EXPECT_THROW(Coder{pipeline}, Error);
  add_method({"invert", 65000, false, 0, 1, 1, 1, [] { return std::make_unique<Inverter>(); }});
  ASSERT_TRUE(can_decode(pipeline));
  Coder coder(pipeline);
  const Bytes dense(100, std::byte{0x0f});
  const auto encoded = coder.encode(dense);
  EXPECT_EQ(encoded.bytes[0], std::byte{0xf0});
}

TEST(Registry, TwoCompressorsCannotBeUndone) {
  if (!options().empty()) {
    const Filter one = parse_pipeline(options()[0], 1)[0];
    EXPECT_FALSE(can_decode({one, one}));
  }
}

}  // namespace
}  // namespace sluice::codec
