// T8 for Zarr stores: any value of zarr.json replaced, bytes of objects changed, with the checksums
// of indices, rows and documents repaired, so that the code behind the checks is reached.
#include <nlohmann/json.hpp>

#include "codec/checksum.hpp"
#include "crash/snapshot.hpp"
#include "exec/transport/solo_transport.hpp"
#include "fuzz/read_all.hpp"
#include "layout/catalog.hpp"
#include "layout/zarr/manifest.hpp"
#include "support/errors.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* store = "out.zarr";
constexpr const char* root = "out.zarr/zarr.json";

FileSet store_with(const std::string& compress, bool many_ranks) {
  const auto storage = storage::make_memory();
  exec::run_local(many_ranks ? 3 : 1, 1, [&](exec::Transport& transport) {
    Options options;
    options.strategy = "shared";
    options.format = "zarr";
    options.compress = compress;
    File out(detail::open_on(transport, storage, store, Mode::write, options));
    const auto ranks = transport.size();
    const Variable v = out.define<double>("density", {6, 4}, {.steps = true, .unit = "1"});
    const Variable x = out.define<float>("grid/x", {6});
    out.set_attribute("", "title", std::string("a title"));
    out.set_attribute("grid", "list", std::vector<double>{1, 2.5});
    Giver<float> once;
    once.put(out, x, 5, {6}, slab({6}, transport.rank(), ranks));
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      Step step = out.begin_step({.time = 1});
      giver.put(step, v, s, {6, 4}, slab({6, 4}, transport.rank(), ranks));
      step.end();
    }
    out.close();
  });
  FileSet files;
  for (const std::string& path : storage->paths()) {
    files[path] = storage->contents(path);
  }
  return files;
}

/// Every value in a document, so that each can be replaced.
void collect(Json& json, std::vector<Json*>& all) {
  all.push_back(&json);
  for (Json& inner : json) {
    if (json.is_structured()) {
      collect(inner, all);
    }
  }
}

Json hostile_value(std::mt19937_64& random, const std::vector<Json*>& others) {
  static const std::vector<Json> values{0,
                                        1,
                                        -1,
                                        2,
                                        7,
                                        1U << 30,
                                        0x7fffffffULL,
                                        0x80000000ULL,
                                        1ULL << 60,
                                        1ULL << 61,
                                        1ULL << 63,
                                        ~0ULL,
                                        1e300,
                                        -0.5,
                                        true,
                                        nullptr,
                                        "",
                                        "..",
                                        "../../out",
                                        "/etc",
                                        "a/../../b",
                                        "NaN",
                                        "start",
                                        "end",
                                        "blosc",
                                        "gzip",
                                        "zstd",
                                        "sharding_indexed",
                                        "uint8",
                                        "complex128",
                                        "\x1b[2J",
                                        Json::array(),
                                        Json::object(),
                                        Json::array({0}),
                                        Json::array({1ULL << 32, 1ULL << 32})};
  const std::uint64_t pick = random() % (values.size() + 8);
  return pick < values.size() ? values[pick] : *others[random() % others.size()];
}

void change_document(Json& document, std::mt19937_64& random) {
  std::vector<Json*> all;
  collect(document, all);
  Json& chosen = *all[random() % all.size()];
  const auto kind = random() % 8;
  if (kind == 0 && chosen.is_structured() && !chosen.empty()) {
    auto at = chosen.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % chosen.size()));
    chosen.erase(at);
  } else if (kind == 1 && chosen.is_object() && !chosen.empty()) {
    static const std::vector<std::string> names{"../../x", "..",    "/abs", "a//b",      "time",
                                                "sluice",  "c.0.0", "",     "\x1b]0;x\a"};
    chosen[names[random() % names.size()]] = chosen.begin().value();
  } else {
    chosen = hostile_value(random, all);
  }
}

/// With its checksum, so that its content is read.
FuzzBytes sealed(const Json& document) { return bytes_of(layout::zarr::sealed_text(document)); }

void change_root(FuzzBytes& bytes, std::mt19937_64& random) {
  if (random() % 8 == 0) {
    bytes = Mutator(random()).mutate(bytes);
    return;
  }
  Json document = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                              reinterpret_cast<const char*>(bytes.data()) + bytes.size());
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    change_document(document, random);
  }
  const bool has_attributes = document.is_object() && document.contains("attributes");
  bytes = has_attributes && document["attributes"].is_object() ? sealed(document)
                                                               : bytes_of(document.dump(1));
}

/// Repairs the checksums of the rows of the log.
void repair_rows(FuzzBytes& bytes) {
  constexpr std::size_t row_bytes = layout::CommitRow::words * 8;
  for (std::size_t at = 0; at + row_bytes <= bytes.size(); at += row_bytes) {
    std::array<std::uint64_t, layout::CommitRow::words> row{};
    std::memcpy(row.data(), &bytes[at], row_bytes);
    row = layout::CommitRow::unpack(row).pack();
    std::memcpy(&bytes[at], row.data(), row_bytes);
  }
}

/// The length of the index at the front of a shard; 0 if there is none.
std::size_t index_of(const FuzzBytes& bytes) {
  for (std::size_t n = 16; n + 4 <= std::min<std::size_t>(bytes.size(), 4096); n += 16) {
    std::uint32_t sum = 0;
    std::memcpy(&sum, &bytes[n], sizeof sum);
    if (sum == codec::crc32c(std::span(bytes).first(n))) {
      return n;
    }
  }
  return 0;
}

void change_object(const std::string& path, FuzzBytes& bytes, std::mt19937_64& random) {
  const std::size_t index = index_of(bytes);
  Mutator mutator(random(), random() % 4 != 0);
  if (path.find("/sluice/commits/") != std::string::npos) {
    FuzzBytes used(bytes.begin(), bytes.begin() + 4 * 64);
    used = mutator.mutate(used);
    std::copy_n(used.begin(), std::min<std::size_t>(used.size(), 4 * 64), bytes.begin());
    repair_rows(bytes);
  } else if (index != 0 && random() % 2 == 0) {
    FuzzBytes front = Mutator(random(), true).mutate({bytes.begin(), bytes.begin() + index});
    std::copy(front.begin(), front.end(), bytes.begin());
    const std::uint32_t sum = codec::crc32c(std::span(bytes).first(index));
    std::memcpy(&bytes[index], &sum, sizeof sum);
  } else {
    bytes = mutator.mutate(bytes);
  }
}

TEST(Fuzz, ZarrStores) {
  const std::vector<FileSet> samples{store_with("", false), store_with("", true),
                                     store_with("deflate:6", true)};
  for (const FileSet& sample : samples) {
    EXPECT_NO_THROW(do_all(storage_with(sample), store, true));
  }
  const auto change = [&](std::mt19937_64& random) {
    FileSet files = samples[random() % samples.size()];
    if (random() % 3 != 0) {
      change_root(files[root], random);
    } else {
      auto at = files.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % files.size()));
      change_object(at->first, at->second, random);
    }
    return files;
  };
  run_mutants("zarr", static_cast<std::uint64_t>(case_count(600, 100, 100000)), change,
              [&](const auto& storage) { do_all(storage, store, true); });
}

/// A few bytes that claim, or cost, very much.
TEST(Fuzz, ZarrDocumentsThatAreTooMuch) {
  const FileSet sample = store_with("", true);
  const auto expect_refused = [&](const std::string& what, const FuzzBytes& document) {
    FileSet files = sample;
    files[root] = document;
    EXPECT_TRUE(run_mutant(what.c_str(), 0, files, [&](const auto& storage) {
      do_all(storage, store, true);
    })) << what;
  };
  const std::string deep = "{\"a\":" + std::string(500000, '[') + std::string(500000, ']') + "}";
  expect_refused("500,000 levels", bytes_of(deep));
  std::string wide = "{";
  for (int i = 0; i < 200000; ++i) {
    wide += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  }
  expect_refused("200,000 names", bytes_of(wide + "}"));
  const auto with = [&](const std::function<void(Json&)>& change) {
    Json document = Json::parse(
        std::string(reinterpret_cast<const char*>(sample.at(root).data()), sample.at(root).size()));
    change(document);
    return sealed(document);
  };
  expect_refused("checksums that wrap", with([](Json& d) {
                   d["attributes"]["sluice"]["checksum_chunk_words"] = 1ULL << 61;
                 }));
  expect_refused("2^30 chunks", with([](Json& d) {
                   Json& array = d["consolidated_metadata"]["metadata"]["density"];
                   array["shape"] = {3, 1 << 30, 4};
                   array["chunk_grid"]["configuration"]["chunk_shape"] = {1, 1, 4};
                 }));
  expect_refused("steps without commits",
                 with([](Json& d) { d["attributes"]["sluice"]["steps"] = 1ULL << 60; }));
}

/// A variable names all its dimensions or none.
TEST(Fuzz, ZarrDimensionsOfAnotherCount) {
  const FileSet sample = store_with("", false);
  const Json whole = Json::parse(
      std::string(reinterpret_cast<const char*>(sample.at(root).data()), sample.at(root).size()));
  for (const Json& names : {Json::array({"a"}), Json::array({"a", "b", "c"}), Json::array()}) {
    Json document = whole;
    for (Json& variable : document["attributes"]["sluice"]["variables"]) {
      if (variable["name"] == "density") {
        variable["dimensions"] = names;
      }
    }
    FileSet files = sample;
    files[root] = sealed(document);
    if (names.empty()) {
      EXPECT_NO_THROW(sluice_snapshot(storage_with(files), store));
    } else {
      expect_error(thrown_by([&] { sluice_snapshot(storage_with(files), store); }), Code::damaged,
                   {"density", "dimensions"});
    }
    run_mutant("dimensions", names.size(), files,
               [&](const auto& storage) { do_all(storage, store, true); });
  }
}

/// T6: no flipped bit of any object goes unnoticed: values, attributes and times are as they were,
/// or the reader refuses the store, or `verify` does not say ok.
TEST(Damage, FlippedBitsOfAStore) {
  const FileSet sample = store_with("", true);
  const Snapshot golden = sluice_snapshot(storage_with(sample), store);
  std::size_t tried = 0;
  std::size_t harmless = 0;
  std::size_t refused = 0;
  std::size_t verified = 0;
  for (const auto& [path, whole] : sample) {
    const std::size_t stride = path == root ? (is_long() ? 1 : 37) : (is_long() ? 7 : 1777);
    for (std::size_t bit = 0; bit < 8 * whole.size() && !HasFailure(); bit += stride, ++tried) {
      FileSet files = sample;
      files[path][bit / 8] ^= std::byte(1U << bit % 8);
      const auto storage = storage_with(files);
      try {
        if (sluice_snapshot(storage, store) == golden) {
          ++harmless;
          continue;
        }
      } catch (const Error&) {
        ++refused;
        continue;
      }
      ++verified;
      const auto alone = exec::make_solo();
      EXPECT_NE(commit::verify(*alone, *storage, store).state, commit::State::ok)
          << "bit " << bit << " of " << path;
    }
  }
  std::printf(
      "T6 flipped bits of a Zarr store: %zu tried, %zu refused by the reader, %zu found by verify, "
      "%zu without effect, 0 unnoticed\n",
      tried, refused, verified, harmless);
}

/// Another program rewrites the document, with other white space: that is not damage, and it is
/// reported.
TEST(Damage, ARootDocumentWrittenAnewIsNoDamage) {
  FileSet files = store_with("", false);
  Json document = Json::parse(
      std::string(reinterpret_cast<const char*>(files[root].data()), files[root].size()));
  document["attributes"]["title"] = "another title";
  files[root] = bytes_of(document.dump(4));
  const auto storage = storage_with(files);
  EXPECT_NO_THROW(sluice_snapshot(storage, store));
  {
    const auto alone = exec::make_solo();
    const commit::Verdict verdict = commit::verify(*alone, *storage, store);
    EXPECT_EQ(verdict.state, commit::State::ok);
    ASSERT_EQ(verdict.uncovered.size(), 1U);
    EXPECT_NE(verdict.uncovered[0].find("another program"), std::string::npos);
  }
  files[root] = bytes_of(document.dump(1));
  EXPECT_THROW(sluice_snapshot(storage_with(files), store), Error) << "edited, or damaged";
}

}  // namespace
}  // namespace sluice::test
