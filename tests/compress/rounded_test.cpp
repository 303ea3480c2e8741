// Variables that are rounded before they are compressed: by every strategy and in every format that
// compresses, steps that are appended too; the file says so, its checksums hold, and the caller's
// memory stays as it is.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "api/file/file_impl.hpp"
#include "codec/filter.hpp"
#include "codec/quantise.hpp"
#include "commit/tools/verify.hpp"
#include "layout/local_files.hpp"
#include "sluice/version.h"
#include "support/local_transport.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using model::Box;

constexpr int ranks = 3;
const Shape shape = {40, 30};

std::string option() {
  return std::string("digits:3+") + (codec::find_method("zstd") ? "zstd:1" : "deflate:1");
}

/// Numbers with all their digits, some without any, and the fill value.
template <class T>
Array<T> rough_values(std::uint64_t key, const Box& box) {
  Array<T> values(box.volume());
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    values[k] = index % 97 == 5   ? std::numeric_limits<T>::quiet_NaN()
                : index % 89 == 7 ? -std::numeric_limits<T>::infinity()
                : index % 83 == 9 ? T(1.23456)
                                  : std::sin(T(index + key)) * T(1000);
  });
  return values;
}

template <class T>
Array<T> rounded(Array<T> values) {
  const T fill = T(1.23456);
  codec::parse_compression(option()).rounding->apply(
      sizeof(T), std::as_bytes(std::span(&fill, 1)),
      std::as_writable_bytes(std::span(values.data(), values.size())));
  return values;
}

template <class T>
void expect_same(const Array<T>& got, const Array<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_TRUE(same_bits(got[k], expected[k])) << "element " << k;
  }
}

/// One step, by blocks or by rows; of a file that is appended to, as it was defined.
template <class T>
void write_step(File& out, std::uint64_t key, int rank, const std::string& compress) {
  const Variable v = out.define<T>(
      "v", shape,
      {.steps = true, .partial = true, .fill = T(1.23456), .chunk = {7, 30}, .compress = compress});
  const Box mine = slab(shape, rank, ranks);
  const Array<T> given = rough_values<T>(key, mine);
  const Array<T> before = rough_values<T>(key, mine);
  Step step = out.begin_step();
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < mine.count[0]; ++i) {
    ids.push_back(mine.start[0] + i);
  }
  if (key % 2 == 0) {
    step.put(v, given.data(), selection_of(mine));
  } else {
    step.put_rows(v, ids.data(), ids.size(), given.data());
  }
  step.end();
  expect_same(given, before);
}

template <class T>
void expect_rounded(LocalFiles& files, const std::string& path, std::uint64_t steps) {
  files.run(2, [&](exec::Transport& transport) {
    File in = files.open(transport, path, Mode::read);
    for (std::uint64_t s = 0; s < steps; ++s) {
      Array<T> got(40 * 30);
      in.get<T>(in.find("v"), got.data(), {}, s);
      expect_same(got, rounded(rough_values<T>(s, whole_box(shape))));
    }
    const auto kept = in.attribute("v", "_QuantizeGranularBitRoundNumberOfSignificantDigits");
    EXPECT_EQ(std::get<std::int32_t>(kept), 3);
  });
}

template <class T>
void every_way(const std::string& path, const std::string& strategy) {
  SCOPED_TRACE(path + " " + strategy);
  LocalFiles files;
  Options options;
  options.strategy = strategy;
  options.durability = Durability::none;
  options.ranks_per_node = 2;
  files.run(ranks, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write, options);
    write_step<T>(out, 0, transport.rank(), option());
    write_step<T>(out, 1, transport.rank(), option());
    out.close();
  });
  files.run(ranks, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::append, options);
    write_step<T>(out, 2, transport.rank(), "");
    out.close();
  });
  expect_rounded<T>(files, path, 3);
  files.run(2, [&](exec::Transport& transport) {
    const commit::Verdict verdict = commit::verify(transport, *files.storage(), path);
    EXPECT_EQ(verdict.finding_count, 0u);
    EXPECT_EQ(verdict.bytes, 3u * 40 * 30 * sizeof(T));
  });
}

TEST(Rounded, ByEveryStrategyInEveryFormat) {
  for (const char* strategy : {"serial", "shared", "collective", "forward", "auto"}) {
    for (const char* path : {"f.h5", "f.nc", "f.zarr"}) {
      every_way<float>(path, strategy);
      every_way<double>(path, strategy);
    }
  }
  for (const char* strategy : {"file-per-process", "file-per-node"}) {
    every_way<float>("f.h5", strategy);
    every_way<double>("f.nc", strategy);
  }
}

TEST(Rounded, WhatHasNoDigitsIsRefused) {
  LocalFiles files;
  const auto refused = [&](auto type, const std::string& compress) {
    return files.caught(2, [&](exec::Transport& transport) {
      File out = files.open(transport, "f.h5", Mode::write);
      out.define<decltype(type)>("v", {64}, {.compress = compress});
    });
  };
  expect_error(refused(std::int32_t{}, "round:3+deflate:1"), Code::invalid_argument,
               {"define v", "int32", "leave round:3 out"});
  expect_error(refused(std::complex<float>{}, "round:3+deflate:1"), Code::invalid_argument,
               {"complex64"});
  expect_error(refused(float{}, "round:24+deflate:1"), Code::invalid_argument,
               {"float32 has 23 bits"});
  expect_error(refused(float{}, "round:5"), Code::invalid_argument, {"what compresses them"});
}

TEST(Rounded, AFilesDefaultLeavesIntegersAlone) {
  LocalFiles files;
  Options options;
  options.compress = "round:2+deflate:1";
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, "f.h5", Mode::write, options);
    const Variable whole = out.define<std::int32_t>("whole", {4000});
    const Variable real = out.define<double>("real", {4000});
    if (transport.rank() == 0) {
      const Array<std::int32_t> ones(4000, 1234567);
      const Array<double> tenths(4000, 0.1);
      out.put(whole, ones.data());
      out.put(real, tenths.data());
      out.flush();
    } else {
      out.flush();
    }
    out.close();
  });
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, "f.h5", Mode::read);
    Array<std::int32_t> ones(4000);
    Array<double> tenths(4000);
    in.get<std::int32_t>(in.find("whole"), ones.data(), {});
    in.get<double>(in.find("real"), tenths.data(), {});
    EXPECT_EQ(ones[17], 1234567);
    EXPECT_EQ(tenths[17], 0.09375);
    EXPECT_FALSE(in.has_attribute("whole", "_QuantizeBitRoundNumberOfSignificantBits"));
  });
}

/// Land is 1e20, and nothing is missing.
void write_land(File& out, int rank, const std::string& compress) {
  const Variable v = out.define<float>(
      "sss", shape, {.steps = true, .fill = 1e20, .chunk = {7, 30}, .compress = compress});
  const Box mine = slab(shape, rank, ranks);
  Array<float> given(mine.volume());
  for_each_element(dims_of(shape), mine, [&](std::uint64_t index, std::uint64_t k) {
    given[k] = index % 3 == 0 ? 1e20F : static_cast<float>(index) / 7;
  });
  Step step = out.begin_step();
  step.put(v, given.data(), selection_of(mine));
  step.end();
}

/// Of a file that is open for appending: a hole is an error.
void expect_no_holes(LocalFiles& files, const std::string& path, const Options& options) {
  const Error error = files.caught(ranks, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::append, options);
    EXPECT_FALSE(out.info(out.find("sss")).partial);
    const Array<float> row(30, 1);
    Step step = out.begin_step();
    if (transport.rank() == 0) {
      step.put(out.find("sss"), row.data(), {.start = {0, 0}, .count = {1, 30}});
    }
    step.end();
  });
  EXPECT_EQ(error.code(), Code::hole) << error.what();
}

TEST(Rounded, AFillValueAloneStaysAndAllowsNoHoles) {
  for (const char* path : {"f.h5", "f.nc", "f.zarr", "set.h5", "set.nc"}) {
    SCOPED_TRACE(path);
    LocalFiles files;
    Options options;
    options.strategy = std::string(path).rfind("set", 0) == 0 ? "file-per-process" : "shared";
    const std::string compress = "digits:3+deflate:1";
    files.run(ranks, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::write, options);
      write_land(out, transport.rank(), compress);
      out.close();
    });
    expect_no_holes(files, path, options);
    files.run(ranks, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::append, options);
      write_land(out, transport.rank(), compress);
      out.close();
    });
    expect_no_holes(files, path, options);
    files.run(2, [&](exec::Transport& transport) {
      File in = files.open(transport, path, Mode::read);
      const VariableInfo info = in.info(in.find("sss"));
      EXPECT_FALSE(info.partial);
      EXPECT_EQ(info.fill, Fill(1e20F));
      const Value said = in.attribute("sss", "_FillValue");
      EXPECT_TRUE(said == Value(1e20F) || said == Value(std::vector<float>{1e20F}));
      for (std::uint64_t s = 0; s < 2; ++s) {
        Array<float> got(40 * 30);
        in.get<float>(in.find("sss"), got.data(), {}, s);
        EXPECT_EQ(got[0], 1e20F);
        EXPECT_NE(got[1], 1.0F / 7);
        EXPECT_EQ(got[1197], 1e20F);
      }
    });
  }
}

TEST(Rounded, TheContainerIsThereFromTheFirstCommitOn) {
  for (const char* path : {"f.h5", "f.nc", "f.zarr", "set.nc"}) {
    SCOPED_TRACE(path);
    LocalFiles files;
    Options options;
    options.strategy = std::string(path) == "set.nc" ? "file-per-process" : "shared";
    files.run(ranks, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::write, options);
      write_land(out, transport.rank(), "digits:3+deflate:1");
      File in = files.open(transport, path, Mode::read);  // as after a crash: nothing was closed
      EXPECT_EQ(in.steps(), 1U);
      const auto named = std::get<std::string>(in.attribute("sss", "quantization"));
      EXPECT_TRUE(in.has_attribute(named, "algorithm"));
      EXPECT_NO_THROW(in.find(named));
      in.close();
      out.close();
    });
  }
}

/// What the file says of a variable by CF 1.12, section 8.4: the container and its algorithm.
std::string said_of(File& in, const std::string& name) {
  const auto text = [&](const std::string& owner, const char* attribute) {
    return std::get<std::string>(in.attribute(owner, attribute));
  };
  const std::string container = text(name, "quantization");
  EXPECT_TRUE(in.info(in.find(container)).shape.empty());
  EXPECT_EQ(text(container, "implementation"), std::string("Sluice version ") + SLUICE_VERSION);
  return container + " " + text(container, "algorithm");
}

TEST(Rounded, EachAlgorithmHasItsContainer) {
  for (const char* path : {"f.h5", "f.nc", "f.zarr", "set.nc"}) {
    SCOPED_TRACE(path);
    LocalFiles files;
    Options options;
    options.strategy = std::string(path) == "set.nc" ? "file-per-process" : "shared";
    files.run(2, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::write, options);
      out.define<float>("a", {64}, {.steps = true, .compress = "round:5+deflate:1"});
      out.define<double>("b", {64}, {.steps = true, .compress = "digits:3+deflate:1"});
      out.define<double>("c", {64}, {.steps = true, .compress = "round:7+deflate:1"});
      out.define<double>("d", {64}, {.steps = true, .compress = "deflate:1"});
      out.set_attribute("", "Conventions", std::string("mine"));
      out.close();
    });
    files.run(2, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::append, options);
      out.define<double>("e", {64}, {.steps = true, .compress = "round:9+deflate:1"});
      out.close();
    });
    files.run(2, [&](exec::Transport& transport) {
      File in = files.open(transport, path, Mode::read);
      EXPECT_EQ(said_of(in, "a"), "quantization_info bitround");
      EXPECT_EQ(said_of(in, "b"), "quantization_info_granular_bitround granular_bitround");
      EXPECT_EQ(said_of(in, "c"), "quantization_info bitround");
      EXPECT_FALSE(in.has_attribute("d", "quantization"));
      EXPECT_EQ(said_of(in, "e"), "quantization_info_bitround bitround");
      EXPECT_EQ(std::get<std::int32_t>(in.attribute("a", "quantization_nsb")), 5);
      EXPECT_EQ(std::get<std::int32_t>(in.attribute("b", "quantization_nsd")), 3);
      EXPECT_FALSE(in.has_attribute("b", "quantization_nsb"));
      EXPECT_EQ(std::get<std::string>(in.attribute("", "Conventions")), "mine");
    });
  }
}

}  // namespace
}  // namespace sluice::test
