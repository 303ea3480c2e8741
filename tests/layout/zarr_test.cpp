// Zarr stores: what crashes leave, damage, and an existing store at the path.
#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include "codec/filter.hpp"
#include "commit/publish/recovery.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "layout/local_files.hpp"
#include "layout/zarr/manifest.hpp"
#include "support/faulty_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::test {
namespace {

const Shape shape = {16, 256};
constexpr const char* path = "s.zarr";

class Zarr : public testing::Test {
 protected:
  void write(Mode mode, std::uint64_t key, std::uint64_t steps, const std::string& compress = "",
             bool puts_other = true) {
    files_.run(2, [&](exec::Transport& transport) {
      Options options;
      options.checksum = false;
      File out = files_.open(transport, path, mode, options);
      const Variable v = out.define<std::int32_t>(
          "g/v", shape, {.steps = true, .chunk = {4, 256}, .compress = compress});
      const Variable w = out.define<std::int32_t>("w", shape, {.steps = true, .partial = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        const model::Box mine = slab(shape, transport.rank(), transport.size());
        Array<std::int32_t> values(mine.volume());
        for (std::uint64_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<std::int32_t>(key + s);
        }
        Step step = out.begin_step({.time = 1});
        step.put(v, values.data(), selection_of(mine));
        if (puts_other) {
          step.put(w, values.data(), selection_of(mine));
        }
        step.end();
      }
      out.close();
    });
  }
  std::int32_t value(const std::string& name, std::uint64_t step) {
    std::int32_t got = -1;
    files_.run(1, [&](exec::Transport& transport) {
      File in = files_.open(transport, path, Mode::read);
      in.get<std::int32_t>(in.find(name), &got, {.start = {9, 7}, .count = {1, 1}}, step);
    });
    return got;
  }
  Error reading() {
    return files_.caught(3, [&](exec::Transport& transport) {
      File in = files_.open(transport, path, Mode::read);
      Array<std::int32_t> got(16 * 256);
      in.get<std::int32_t>(in.find("g/v"), got.data(), {}, 0);
    });
  }
  std::vector<std::byte> object(const std::string& name) {
    return files_.storage()->contents(path + ("/" + name));
  }
  void put_object(const std::string& name, const std::vector<std::byte>& bytes) {
    files_.storage()->put(path + ("/" + name), bytes);
  }
  LocalFiles files_;
};

TEST_F(Zarr, OneObjectAStepOrAShardAWriter) {
  write(Mode::write, 5, 1);
  const auto paths = files_.storage()->paths();
  for (const char* name : {"/g/v/c.0.0.0", "/g/v/c.0.1.0", "/w/c.0.0.0", "/time/c.0", "/zarr.json",
                           "/g/zarr.json", "/g/v/zarr.json"}) {
    EXPECT_NE(std::find(paths.begin(), paths.end(), path + std::string(name)), paths.end()) << name;
  }
  EXPECT_EQ(object("w/c.0.0.0").size(), 16u * 256 * 4);
  // Of a shard: the index, on a page, and the chunks.
  EXPECT_EQ(object("g/v/c.0.1.0").size(), 4096u + 2 * 4 * 256 * 4);
}

TEST_F(Zarr, CompressedShardsHoldNothingBesides) {
  if (!codec::find_method(codec::deflate_id)) {
    GTEST_SKIP() << "built without libdeflate";
  }
  write(Mode::write, 5, 1, "deflate:1");
  for (const char* name : {"g/v/c.0.0.0", "g/v/c.0.1.0"}) {
    const auto bytes = object(name);
    std::uint64_t end = layout::zarr::index_bytes(2);
    for (const auto& entry : layout::zarr::decode_index(std::span(bytes).first(end), name)) {
      EXPECT_EQ(entry.offset, end) << name;
      end += entry.bytes;
    }
    EXPECT_EQ(bytes.size(), end) << name;
    EXPECT_LT(bytes.size(), 500u) << name;
  }
}

/// Rank 1 alone puts a part of 7 x 5 elements.
TEST_F(Zarr, TinyChunksAndPartsOfThem) {
  const Shape small = {7, 5};
  for (const char* compress : {"none", "deflate:1"}) {
    if (std::string(compress) != "none" && !codec::find_method(codec::deflate_id)) {
      continue;
    }
    for (const Shape& chunk : {Shape{1, 1}, Shape{2, 3}, Shape{7, 1}, Shape{7, 5}}) {
      files_.run(3, [&](exec::Transport& transport) {
        File out = files_.open(transport, path, Mode::write, {});
        const Variable v = out.define<double>(
            "v", small,
            {.steps = true, .partial = true, .fill = -1, .chunk = chunk, .compress = compress});
        const std::vector<double> values(6, 4.0);
        Step step = out.begin_step();
        if (transport.rank() == 1) {
          step.put(v, values.data(), {.start = {3, 1}, .count = {2, 3}});
        }
        step.end();
        out.close();
      });
      files_.run(2, [&](exec::Transport& transport) {
        File in = files_.open(transport, path, Mode::read);
        Array<double> got(35);
        in.get<double>(in.find("v"), got.data());
        for (std::uint64_t i = 0; i < 35; ++i) {
          const bool is_put = i / 5 >= 3 && i / 5 < 5 && i % 5 >= 1 && i % 5 < 4;
          EXPECT_EQ(got[i], is_put ? 4.0 : -1.0) << compress << " element " << i;
        }
      });
    }
  }
}

/// c-blosc, by which other programs read, decodes no larger block than (INT_MAX - 1020) / 3.
TEST_F(Zarr, CompressedChunksAreSuchAsBloscDecodes) {
  model::Definition d;
  d.name = "v";
  d.type = type_of(Kind::u8);
  d.stepped = true;
  d.compress = "deflate:1";
  if (!codec::find_method(codec::deflate_id)) {
    GTEST_SKIP() << "built without libdeflate";
  }
  for (const char* format : {"zarr", "icechunk"}) {
    d.shape = d.chunk = {715'827'543};
    d.compress = "deflate:1";
    EXPECT_FALSE(layout::accepts(layout::format_named(format), d));
    d.shape = {715'827'542};  // which bounds the chunk
    EXPECT_TRUE(layout::accepts(layout::format_named(format), d));
    d.shape = {715'827'543};
    d.compress.clear();
    EXPECT_TRUE(layout::accepts(layout::format_named(format), d));
  }
}

/// A writer has fewer objects open than a commit has: all are synced.
TEST_F(Zarr, ManyVariablesAreSynced) {
  const auto log = std::make_shared<storage::Log>();
  files_.run(2, [&](exec::Transport& transport) {
    const auto recording =
        std::make_shared<storage::RecordingStorage>(files_.storage(), log, transport.rank());
    File out(detail::open_on(transport, recording, path, Mode::write, {.strategy = "serial"}));
    std::vector<double> values(100, 1.0);
    Step step = out.begin_step();
    for (int i = 0; i < 100; ++i) {
      const Variable v = out.define<double>("v" + std::to_string(i), {200}, {.steps = true});
      const std::uint64_t first = transport.rank() == 0 ? 0 : 100;
      step.put(v, values.data(), {.start = {first}, .count = {100}});
    }
    step.end();
    std::set<std::uint64_t> dirty;
    for (const storage::Record& record : log->records()) {
      if (record.call == storage::Call::write) {
        dirty.insert(record.inode);
      } else if (record.call == storage::Call::sync) {
        dirty.erase(record.inode);
      }
    }
    EXPECT_EQ(dirty.size(), 0u);
    out.close();
  });
}

TEST_F(Zarr, DocumentsThatACrashLeftOldAreWrittenFromTheRoot) {
  write(Mode::write, 5, 1);
  const auto old = object("g/v/zarr.json");
  write(Mode::append, 6, 1);
  const auto now = object("g/v/zarr.json");
  ASSERT_NE(old, now);
  put_object("g/v/zarr.json", old);
  files_.storage()->remove(path + std::string("/w/zarr.json"));
  EXPECT_EQ(value("g/v", 1), 6);  // the root counts
  EXPECT_EQ(commit::recover_unattended(*files_.storage(), path, true).changed, 2u);
  EXPECT_EQ(object("g/v/zarr.json"), old);
  EXPECT_EQ(commit::recover_unattended(*files_.storage(), path, false).changed, 2u);
  EXPECT_EQ(object("g/v/zarr.json"), now);
  EXPECT_EQ(commit::recover_unattended(*files_.storage(), path, false).changed, 0u);
}

TEST_F(Zarr, ObjectsOfAStepThatNeverCameDoNotShineThrough) {
  write(Mode::write, 5, 1);
  put_object("w/c.1.0.0", std::vector<std::byte>(16 * 256 * 4, std::byte{0x5a}));
  put_object("g/v/c.1.0.0", std::vector<std::byte>(100, std::byte{0x5a}));
  write(Mode::append, 6, 1, "", false);
  EXPECT_EQ(value("g/v", 1), 6);
  EXPECT_EQ(value("w", 0), 5);
  EXPECT_EQ(value("w", 1), 0);
}

TEST_F(Zarr, AStoreIsPutBackWhereTheNextOneDiesBeforeItsFirstCommit) {
  write(Mode::write, 5, 1);
  layout::begin_store(*files_.storage(), path, layout::format_named("zarr"), true);
  EXPECT_EQ(reading().code(), Code::format);
  commit::recover_unattended(*files_.storage(), path, false);
  EXPECT_EQ(value("g/v", 0), 5);
  // Also if not even the folder of the next one existed.
  layout::begin_store(*files_.storage(), path, layout::format_named("zarr"), true);
  files_.storage()->remove_folder(path);
  expect_error(reading(), Code::format, {path, "sluice recover"});
  EXPECT_EQ(commit::recover_unattended(*files_.storage(), path, true).changed, 1u);
  EXPECT_EQ(commit::recover_unattended(*files_.storage(), path, false).changed, 1u);
  EXPECT_EQ(value("g/v", 0), 5);
  layout::begin_store(*files_.storage(), path, layout::format_named("zarr"), true);
  write(Mode::append, 8, 1);
  EXPECT_EQ(value("g/v", 0), 5);
  EXPECT_EQ(value("g/v", 1), 8);
  write(Mode::write, 30, 1);
  EXPECT_EQ(value("g/v", 0), 30);
  EXPECT_FALSE(files_.storage()->exists(path + std::string(storage::old_ending)));
}

TEST_F(Zarr, LaterStepsAreDropped) {
  write(Mode::write, 5, 3);
  files_.run(2, [&](exec::Transport& transport) {
    Options options;
    options.restart_after = 0;
    File out = files_.open(transport, path, Mode::append, options);
    EXPECT_EQ(out.steps(), 1u);
    out.close();
  });
  write(Mode::append, 40, 1);
  EXPECT_EQ(value("g/v", 0), 5);
  EXPECT_EQ(value("g/v", 1), 40);
  files_.run(1, [&](exec::Transport& transport) {
    File in = files_.open(transport, path, Mode::read);
    EXPECT_EQ(in.steps(), 2u);
  });
}

TEST_F(Zarr, DamageNamesTheVariableAndTheChunk) {
  if (!codec::find_method(codec::deflate_id)) {
    GTEST_SKIP() << "built without libdeflate";
  }
  write(Mode::write, 5, 1, "deflate:6");
  ASSERT_EQ(reading().code(), Code::ok);
  const std::string name = "g/v/c.0.1.0";
  const auto whole = object(name);
  const std::uint64_t index_bytes = layout::zarr::index_bytes(2);
  auto index = layout::zarr::decode_index(std::span(whole).first(index_bytes), "");
  ASSERT_EQ(index.size(), 2u);
  auto with_index = [&](std::uint64_t offset, std::uint64_t bytes) {
    auto changed = index;
    changed[1] = {offset, bytes};
    auto damaged = whole;
    const auto text = layout::zarr::encode_index(changed);
    std::copy(text.begin(), text.end(), damaged.begin());
    put_object(name, damaged);
    return reading();
  };
  const std::vector<std::string> where{"g/v", "chunk at (", "12, 0)"};
  // A wrong size or place.
  expect_error(with_index(index[1].offset, index[1].bytes / 2), Code::damaged, where);
  expect_error(with_index(index[1].offset, 1ULL << 60), Code::damaged, where);
  expect_error(with_index(1ULL << 60, index[1].bytes), Code::damaged, where);
  expect_error(with_index(index[0].offset, 0), Code::damaged, where);
  // An index that does not match its checksum.
  auto damaged = whole;
  damaged[3] ^= std::byte{1};
  put_object(name, damaged);
  expect_error(reading(), Code::damaged, {"g/v", "c.0.1.0", "checksum"});
  // A chunk of other bytes, and one that claims to be a gigabyte.
  damaged = whole;
  for (std::uint64_t i = 16; i < index[1].bytes; ++i) {
    damaged[index[1].offset + i] = std::byte{0x5a};
  }
  put_object(name, damaged);
  expect_error(reading(), Code::damaged, where);
  damaged = whole;
  const std::uint32_t gigabyte = 1 << 30;
  std::memcpy(&damaged[index[1].offset + 4], &gigabyte, sizeof gigabyte);
  put_object(name, damaged);
  expect_error(reading(), Code::damaged, where);
  // A truncated shard.
  put_object(name, {whole.begin(), whole.begin() + 10});
  expect_error(reading(), Code::truncated, {"g/v", "c.0.1.0"});
  put_object(name, {});
  expect_error(reading(), Code::truncated, {"g/v", "c.0.1.0", "0 bytes"});
}

// What could not be looked up is not remembered as nothing.
TEST_F(Zarr, AnObjectThatCouldNotBeAskedForIsAskedForAgain) {
  write(Mode::write, 5, 1);
  const auto faults = std::make_shared<storage::Faults>();
  const auto faulty = std::make_shared<storage::FaultyStorage>(files_.storage(), faults);
  files_.run(1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, faulty, path, Mode::read, {}));
    faults->add({.call = storage::Call::exists, .path_part = "g/v/c"});
    std::int32_t got = -1;
    const auto get = [&] {
      in.get<std::int32_t>(in.find("g/v"), &got, {.start = {9, 7}, .count = {1, 1}}, 0);
    };
    EXPECT_THROW(get(), Error);
    EXPECT_EQ(faults->fired(), 1u);
    get();
    EXPECT_EQ(got, 5);
  });
}

// A copy by another program has no commits; a store that lost them is damaged, and no such copy.
TEST_F(Zarr, AStoreWhoseCommitsAreLostIsDamagedAndNoCopy) {
  write(Mode::write, 5, 2);
  const std::vector<std::byte> root = object("zarr.json");
  const std::string whole(reinterpret_cast<const char*>(root.data()), root.size());
  const auto put_root = [&](std::string text, const std::string& word, const std::string& by) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      text.replace(at, word.size(), by);
    }
    files_.put_text(path + std::string("/zarr.json"), text);
  };
  put_root(whole, "sluice/commits", "sluice/commitz");
  expect_error(reading(), Code::damaged, {path, "sluice/commits", "from a copy"});
  // Every node of Sluice's own: only the layout of the text shows who wrote it.
  put_root(whole, "\"sluice/", "\"sluicf/");
  put_root(std::string(reinterpret_cast<const char*>(object("zarr.json").data()),
                       object("zarr.json").size()),
           "\"sluice\": {\n    \"zarr", "\"sluicf\": {\n    \"zarr");
  expect_error(reading(), Code::damaged, {path, "does not match its checksum"});
  put_object("zarr.json", root);
  for (const std::string& name : files_.storage()->paths()) {
    if (name.find("sluice/commits") != std::string::npos) {
      files_.storage()->remove(name);
    }
  }
  expect_error(reading(), Code::truncated, {"sluice/commits"});
}

TEST_F(Zarr, AReferenceToNothingIsAnErrorEachTime) {
  files_.put_text("r.json", R"({"version": 1, "refs": {
    ".zgroup": "{\"zarr_format\": 2}",
    "v/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1",
      "fill_value": 7, "order": "C", "filters": null, "compressor": null},
    "v/0": ["gone.bin"]}})");
  files_.run(1, [&](exec::Transport& transport) {
    File in = files_.open(transport, "r.json", Mode::read);
    std::vector<std::uint8_t> got(2);
    for (int tries = 0; tries < 3; ++tries) {
      try {
        in.get<std::uint8_t>(in.find("v"), got.data(), {}, 0);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::not_found) << error.what();
      }
    }
  });
}

TEST_F(Zarr, ARootThatIsNoneIsRefused) {
  write(Mode::write, 5, 1);
  for (const char* text : {"{", "{}", "[]", "{\"zarr_format\": 3}", "{\"zarr_format\": 2}"}) {
    files_.put_text(path + std::string("/zarr.json"), text);
    const Code code = reading().code();
    EXPECT_TRUE(code == Code::truncated || code == Code::version || code == Code::damaged ||
                code == Code::format)
        << text << ": " << code_name(code);
  }
}

// Documents of both versions and of references, with a value of another type somewhere in them.
TEST_F(Zarr, AValueOfAnotherTypeIsDamageThatNamesTheStore) {
  const std::string group = R"({"zarr_format": 2})";
  const std::string v3 = R"("zarr.json": {"zarr_format": 3, "node_type": "group"})";
  const std::vector<std::map<std::string, std::string>> stores = {
      {{"r.json", "{" + v3 + R"(, "x/zarr.json": {"node_type": 7}})"}},
      {{"r.json", R"({"zarr.json": {"zarr_format": 3, "node_type": 5}})"}},
      {{"r.json", R"({"zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": 7}})"}},
      {{"r.json", R"({".zgroup": {"zarr_format": 2}, "x/.zarray": {"shape": 7}})"}},
      {{"r.zarr/.zmetadata", R"({"metadata": {"x/.zarray": 7}})"}},
      {{"r.zarr/.zgroup", group},
       {"r.zarr/x/.zgroup", group},
       {"r.zarr/x/.zattrs", "{}"},
       {"r.zarr/y/.zarray",
        R"({"dtype": "<f8", "shape": [1], "chunks": [1], "compressor": {"id": 7}})"}},
      {{"r.zarr/zarr.json", R"({"zarr_format": 3, "node_type": "group",
                                "consolidated_metadata": {"metadata": {"x": 7}}})"}}};
  for (const auto& store : stores) {
    LocalFiles files;
    for (const auto& [name, text] : store) {
      files.put_text(name, text);
    }
    const std::string& first = store.begin()->first;
    const std::string name = first.substr(0, first.find('/'));
    const Error error = files.caught(2, [&](exec::Transport& transport) {
      const File in = files.open(transport, name, Mode::read);
    });
    expect_error(error, Code::damaged, {name + ":"});
  }
}

// In version 2, and in references, the attribute is never Sluice's, whatever is in it.
TEST_F(Zarr, AnAttributeCalledSluiceInVersion2IsLeftOut) {
  for (const char* claim :
       {R"({"sluice": {"version": "1.0"}, "a": 1})", R"({"sluice": {"version": 1}, "a": 1})",
        R"({"sluice": {"version": 99, "steps": -1}, "a": 1})"}) {
    files_.put_text("v2.zarr/.zgroup", R"({"zarr_format": 2})");
    files_.put_text("v2.zarr/.zattrs", claim);
    files_.put_text("r.json",
                    R"({".zgroup": {"zarr_format": 2}, ".zattrs": )" + std::string(claim) + "}");
    for (const char* name : {"v2.zarr", "r.json"}) {
      files_.run(1, [&](exec::Transport& transport) {
        File in = files_.open(transport, name, Mode::read);
        EXPECT_EQ(in.attribute_names(""), std::vector<std::string>{"a"}) << name << " " << claim;
      });
    }
  }
}

}  // namespace
}  // namespace sluice::test
