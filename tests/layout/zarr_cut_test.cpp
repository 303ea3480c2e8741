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

TEST_F(ZarrCut, AttributesOfTheRootAreOfBoundedSize) {
  put_group(2);
  files_.storage()->open("s.zarr/.zattrs", storage::Access::create)->resize(6ULL << 30);
  expect_error(opening(), Code::unsupported, {"s.zarr/.zattrs", "6442450944 bytes"});
}

}  // namespace
}  // namespace sluice::test
