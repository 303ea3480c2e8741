// Zarr stores with objects that a crash, a full disk or a copy that was cut off left empty or
// short: only an object that is not there has the fill value.
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "layout/local_files.hpp"
#include "layout/zarr/objects.hpp"
#include "storage/forwarding.hpp"
#include "storage/store_version.hpp"

namespace sluice::test {
namespace {

constexpr const char* group3 = R"({"zarr_format": 3, "node_type": "group"})";
constexpr const char* group2 = R"({"zarr_format": 2})";
constexpr const char* array3 =
    R"({"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 9,
        "codecs": [{"name": "bytes"}], "attributes": {}})";
constexpr const char* array2 =
    R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|i1", "fill_value": 9,
        "order": "C", "compressor": null, "filters": null})";

class ZarrCut : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    files_.put_text("s.zarr/" + name, text);
  }
  void put_group(int version) {
    files_ = {};
    put(version == 3 ? "zarr.json" : ".zgroup", version == 3 ? group3 : group2);
    put(version == 3 ? "x/zarr.json" : "x/.zarray", version == 3 ? array3 : array2);
  }
  Error opening() {
    return files_.caught(2, [&](exec::Transport& transport) {
      const File in = files_.open(transport, "s.zarr", Mode::read);
    });
  }
  Error reading(std::vector<std::int8_t>& got) {
    return files_.caught(2, [&](exec::Transport& transport) {
      File in = files_.open(transport, "s.zarr", Mode::read);
      std::vector<std::int8_t> own(4);
      in.get<std::int8_t>(in.find("x"), own.data());
      if (transport.rank() == 0) {
        got = own;
      }
    });
  }
  LocalFiles files_;
};

TEST_F(ZarrCut, AChunkOfNoBytesIsNotTheFillValue) {
  for (const int version : {2, 3}) {
    put_group(version);
    const std::string chunk = version == 3 ? "x/c/" : "x/";
    put(chunk + "0", "\1\2");
    std::vector<std::int8_t> got;
    EXPECT_EQ(reading(got).code(), Code::ok);
    EXPECT_EQ(got, (std::vector<std::int8_t>{1, 2, 9, 9}));
    put(chunk + "1", "");
    expect_error(reading(got), Code::truncated, {"s.zarr/" + chunk + "1", "0 bytes"});
    put(chunk + "1", "\3");
    expect_error(reading(got), Code::truncated, {"x, chunk at"});
  }
}

TEST_F(ZarrCut, ADocumentOfNoBytesHidesNothing) {
  for (const auto& [version, name] : {std::pair(3, "y/zarr.json"),
                                      {2, "y/.zarray"},
                                      {2, "y/.zgroup"},
                                      {2, "x/.zattrs"},
                                      {2, ".zattrs"}}) {
    put_group(version);
    ASSERT_EQ(opening().code(), Code::ok);
    put(name, "");
    expect_error(opening(), Code::truncated, {std::string("s.zarr/") + name, "0 bytes"});
  }
}

TEST_F(ZarrCut, AttributesOfTheRootAreOfBoundedSize) {
  put_group(2);
  files_.storage()->open("s.zarr/.zattrs", storage::Access::create)->resize(6ULL << 30);
  expect_error(opening(), Code::unsupported, {"s.zarr/.zattrs", "6442450944 bytes"});
}

/// A store whose objects turn out to be shorter than they were.
class Shrinking final : public storage::ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return ForwardingFile::read(offset, bytes.first(bytes.size() / 2));
  }
};

TEST_F(ZarrCut, AnObjectThatEndsBeforeItsSizeIsTruncated) {
  put_group(3);
  put("x/c/0", "\1\2");
  Shrinking store(storage::open_manifest(*files_.storage(), "s.zarr", "zarr.json", "s.zarr"));
  const Error error = thrown_by(
      [&] { layout::zarr::read_object(store, "x/c/0", layout::zarr::new_addresses(2), 2); });
  expect_error(error, Code::truncated, {"s.zarr/x/c/0", "1 bytes"});
}

}  // namespace
}  // namespace sluice::test
