// T9, T10: what an attacker can write with correct checksums. Counts of 0, 2^31 and 2^64 - 1,
// extents that overlap or leave the file, links that form loops or leave it, names that climb.
//
// Each is refused with an Error, or read for what it is; no allocation is larger than the file
// allows (fuzz/harness.hpp), and nothing outside the file is followed.
#include <array>
#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "codec/checksum.hpp"
#include "commit/publish/journal.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/verify.hpp"
#include "crash/snapshot.hpp"
#include "exec/transport/solo_transport.hpp"
#include "fuzz/harness.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/npy/header.hpp"
#include "layout/records/entry_text.hpp"
#include "model/name.hpp"
#include "storage/scratch.hpp"
#include "support/errors.hpp"
#include "support/part_paths.hpp"

namespace sluice::test {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::array<std::uint64_t, 8> hostile{
    0, 1, 0x7fffffff, 0x80000000, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, ~0ULL};

struct Tally {
  std::size_t files = 0;
  std::size_t refused = 0;

  /// One file, passed to one reader.
  template <class Read>
  void put(std::size_t bytes, const Read& read, const std::string& what) {
    ++files;
    largest_bytes = 0;
    try {
      read();
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& e) {
      ADD_FAILURE() << what << ": " << e.what();
    }
    EXPECT_LE(largest_bytes.load(), own_bytes + copies * bytes) << what;
  }
  void print(const char* what) const {
    std::printf("%s: %zu files, %zu refused\n", what, files, refused);
  }
};

/// Every reader of a file in the memory of a test.
void read_all(const std::shared_ptr<storage::MemoryStorage>& storage) {
  exec::run_local(
      1, 1, [&](exec::Transport& transport) { commit::verify(transport, *storage, "out.h5"); });
  sluice_snapshot(storage, "out.h5");
}

FuzzBytes bytes_of_words(const Words& words) {
  const auto raw = std::as_bytes(std::span(words));
  return {raw.begin(), raw.end()};
}

std::string place(std::size_t word, std::uint64_t value) {
  return "word " + std::to_string(word) + " = " + std::to_string(value);
}

TEST(Hostile, WordsOfASet) {
  layout::PartSet set = set_of_two();
  set.mappings = {set.mappings[0], set.mappings[0]};  // they overlap
  const Words whole = set.words();
  EXPECT_NO_THROW(layout::PartSet::from_words(whole, "out.h5"));
  Tally tally;
  for (std::size_t at = 0; at + 1 < whole.size(); ++at) {
    std::vector<std::uint64_t> values(hostile.begin(), hostile.end());
    const std::uint64_t left = 8 * (whole.size() - 2 - at);  // bytes of words after this one
    values.insert(values.end(), {left, left + 1, left + 7, left + 8});
    for (const std::uint64_t value : values) {
      Words words = whole;
      words[at] = value;
      words.back() = codec::checksum(std::as_bytes(std::span(words).first(words.size() - 1)));
      tally.put(
          8 * words.size(), [&] { layout::PartSet::from_words(words, "out.h5"); },
          place(at, value));
    }
  }
  EXPECT_GT(tally.refused, 0U);
  tally.print("T9 words of a set");
}

/// Counts and offsets of a journal that is complete by its checksums.
TEST(Hostile, Journals) {
  const FuzzBytes file = hdf5_files()[0];
  commit::Journal journal;
  journal.commit = 3;
  journal.end = file.size();
  const auto first = file.begin() + 512;
  journal.runs.push_back({512, {first, first + 16}, FuzzBytes(16, std::byte{2})});
  journal.runs.push_back({528, {first + 16, first + 32}, FuzzBytes(16, std::byte{3})});
  const FuzzBytes whole = journal.to_bytes();
  Words all(whole.size() / 8);
  std::memcpy(all.data(), whole.data(), whole.size());
  Tally tally;
  for (std::size_t at = 1; at < all.size(); ++at) {
    for (const std::uint64_t value : hostile) {
      Words words = all;
      words[at] = value;
      const auto payload = std::as_bytes(std::span(words).subspan(8));
      words[6] = codec::checksum(payload.first(std::min<std::uint64_t>(words[2], payload.size())));
      words[7] = codec::checksum(std::as_bytes(std::span(words).first(7)));
      const auto storage = storage::make_memory();
      storage->put("out.h5", file);
      storage->put(commit::journal_path("out.h5"), bytes_of_words(words));
      tally.put(
          file.size() + 8 * words.size(), [&] { read_all(storage); }, place(at, value));
      EXPECT_EQ(storage->contents("out.h5"), file) << "a reader changed the file";
    }
  }
  EXPECT_GT(tally.refused, 0U);
  tally.print("T9 journals");
}

/// Rows of the log and checksum records, with the row's own checksum right.
TEST(Hostile, LogsAndRecords) {
  Tally tally;
  for (const FuzzBytes& whole : hdf5_files()) {
    const auto storage = storage::make_memory();
    storage->put("out.h5", whole);
    const auto file = storage->open("out.h5", storage::Access::read);
    const auto catalog = layout::hdf5::Catalog::open(*file);
    for (const layout::CommitRow& row : catalog->commits()) {
      const auto try_words = [&](const Words& there, bool is_row) {
        const FuzzBytes raw = bytes_of_words(there);
        const auto at = std::search(whole.begin(), whole.end(), raw.begin(), raw.end());
        ASSERT_NE(at, whole.end());
        for (std::size_t w = 0; w < there.size(); ++w) {
          for (const std::uint64_t value : hostile) {
            Words words = there;
            words[w] = value;
            if (is_row) {
              words[7] = codec::checksum(std::as_bytes(std::span(words).first(7)));
            }
            FuzzBytes bytes = whole;
            std::ranges::copy(bytes_of_words(words), bytes.begin() + (at - whole.begin()));
            const auto damaged = storage::make_memory();
            damaged->put("out.h5", bytes);
            tally.put(
                bytes.size(), [&] { read_all(damaged); }, place(w, value));
          }
        }
      };
      const auto words = row.pack();
      try_words({words.begin(), words.end()}, true);
      if (row.word_count != 0) {
        try_words(catalog->checksum_words(row), false);
      }
    }
  }
  EXPECT_GT(tally.refused, 0U);
  tally.print("T9 logs of commits and checksum records");
}

TEST(Hostile, NumpyHeaders) {
  layout::npy::Header header;
  header.type = type_of<double>();
  header.extents = {3, 4};
  const FuzzBytes whole = layout::npy::header_text(header);
  const std::string text(reinterpret_cast<const char*>(whole.data()), whole.size());
  Tally tally;
  for (const char* shape : {"18446744073709551615,",
                            "18446744073709551615, 2",
                            "2147483648, 2147483648",
                            "4294967296, 4294967296",
                            "4294967296, 4294967297",
                            "0, 18446744073709551615",
                            "18446744073709551616, 1",
                            "-1, 4",
                            "3, -4",
                            "1e9, 4",
                            "3, 4, 5, 6, 7, 8, 9, 1, 1",
                            "3 4",
                            "3,, 4",
                            "(3, 4)",
                            "'3', 4",
                            "None",
                            "True, 4",
                            "3, 4), (5",
                            "9223372036854775807, 8",
                            "3, 4, 'x': (",
                            "1073741824, 1073741824"}) {
    for (const char* descriptor : {"<f8", "<f4", "|u1", "<c16", "|S4294967295", "<f16"}) {
      std::string other = text;
      other.replace(other.find("3, 4"), 4, shape);
      other.replace(other.find("<f8"), 3, descriptor);
      const FuzzBytes bytes = bytes_of(other + std::string(96, 'x'));
      tally.put(
          bytes.size(),
          [&] {
            const auto storage = storage::make_memory();
            storage->put("out.npy", bytes);
            layout::npy::read_header(*storage->open("out.npy", storage::Access::read));
          },
          std::string(descriptor) + " (" + shape + ")");
    }
  }
  EXPECT_GT(tally.refused, 100U);
  tally.print("T9 numpy headers");
}

/// A variable names all its dimensions or none.
TEST(Hostile, RecordsWithDimensionsOfAnotherCount) {
  for (const std::size_t names : {0, 1, 2, 3}) {
    layout::records::Entry entry;
    model::Definition definition;
    definition.name = "density";
    definition.type = type_of(Kind::f64);
    definition.shape = {6, 4};
    definition.dimensions.assign(names, "a");
    entry.definitions.push_back(definition);
    const auto text = layout::records::entry_text(entry);
    const auto read = [&] { layout::records::entry_of(text, "out.records"); };
    if (names == 0 || names == 2) {
      EXPECT_NO_THROW(read()) << names;
    } else {
      expect_error(thrown_by(read), Code::damaged, {"an entry of the file is damaged"});
    }
  }
}

/// The structure of a store, and the last element of every variable.
void read_corners(const std::shared_ptr<storage::MemoryStorage>& storage) {
  const auto alone = exec::make_solo();
  commit::Input in(*alone, *storage, "out.zarr", {});
  for (std::uint32_t v = 0; v < in.variables().size(); ++v) {
    const model::Definition& d = in.variables()[v].definition;
    if (d.shape.volume() == 0 || (d.stepped && in.steps() == 0)) {
      continue;
    }
    model::Box corner = model::whole(d.shape);
    for (int i = 0; i < d.shape.rank(); ++i) {
      corner.start[i] = d.shape[i] - 1;
      corner.count[i] = 1;
    }
    std::vector<std::byte> value(d.type.bytes);
    in.get(commit::dense_request(v, d.stepped ? in.steps() - 1 : 0, corner, value.data(), d.type));
  }
}

/// Every number of the root document of a store.
TEST(Hostile, ZarrDocuments) {
  const auto whole = storage::make_memory();
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, whole, "out.zarr", Mode::write, {.strategy = "shared"}));
    const Variable v = out.define<double>("density", {6, 4}, {.steps = true, .chunk = {3, 2}});
    for (std::uint64_t s = 0; s < 2; ++s) {
      Giver<double> giver;
      Step step = out.begin_step({.time = 1});
      giver.put(step, v, s, {6, 4}, slab({6, 4}, transport.rank(), 2));
      step.end();
    }
    out.close();
  });
  EXPECT_NO_THROW(read_corners(whole));
  const FuzzBytes root = whole->contents("out.zarr/zarr.json");
  const std::string text(reinterpret_cast<const char*>(root.data()), root.size());
  Tally tally;
  bool in_quotes = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    in_quotes = in_quotes != (text[at] == '"');
    const bool begins = std::isdigit(static_cast<unsigned char>(text[at])) != 0 && !in_quotes;
    const std::size_t end = begins ? text.find_first_not_of("0123456789.e+-", at) : at;
    for (const char* value : {"0", "1", "2147483648", "4294967297", "9223372036854775807",
                              "18446744073709551615", "-1", "1e300"}) {
      if (!begins) {
        break;
      }
      const auto storage = storage::make_memory();
      for (const std::string& name : whole->paths()) {
        storage->put(name, whole->contents(name));
      }
      storage->put("out.zarr/zarr.json", bytes_of(text.substr(0, at) + value + text.substr(end)));
      tally.put(
          text.size(), [&] { read_corners(storage); },
          "byte " + std::to_string(at) + " of zarr.json = " + value);
    }
    at = begins ? end - 1 : at;
  }
  EXPECT_GT(tally.refused, 100U);
  tally.print("T9 zarr documents");
}

/// Groups that hold themselves, links that lead to nothing, to themselves, or out of the file.
TEST(Hostile, Links) {
  const storage::Scratch scratch;
  const std::string outside = scratch / "outside.h5";
  const std::string path = scratch / "out.h5";
  const hid_t other = H5Fcreate(outside.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate(H5S_SCALAR);
  H5Dclose(
      H5Dcreate2(other, "secret", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(other);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Dclose(H5Dcreate2(file, "plain", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Gclose(H5Gcreate2(file, "ring", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_hard(file, "/", file, "ring/up", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_hard(file, "ring", file, "ring/self", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/ring/soft", file, "ring/soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/nothing/here", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
  for (const std::string& target : {outside, std::string("../../../../etc/passwd"),
                                    std::string("/dev/zero"), std::string("out.h5")}) {
    const std::string name = "external " + std::to_string(target.size());
    H5Lcreate_external(target.c_str(), "/secret", file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  ASSERT_GE(H5Fclose(file), 0);
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    const auto storage = storage::make_posix();
    commit::Input in(transport, *storage, path, {});
    std::vector<std::string> names;
    for (const commit::InputVariable& variable : in.variables()) {
      names.push_back(variable.definition.name);
    }
    EXPECT_EQ(names, std::vector<std::string>{"plain"});
    EXPECT_THROW(in.find("external 6"), Error);
    commit::verify(transport, *storage, path);
  });
}

/// An index that is its own part.
TEST(Hostile, ASetThatHoldsItself) {
  const auto storage = storage::make_memory();
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, storage, "out.h5", Mode::write,
                             {.strategy = "file-per-process"}));
    const Variable v = out.define<double>("density", {6}, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, 1, {6}, slab({6}, transport.rank(), 2));
    step.end();
    out.close();
  });
  storage->put(part_paths(*storage, "out.h5")[0], storage->contents("out.h5"));
  EXPECT_THROW(sluice_snapshot(storage, "out.h5"), Error);
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    EXPECT_EQ(commit::verify(transport, *storage, "out.h5").state, commit::State::damaged);
  });
}

/// T10: refused on every rank, in every format, and nothing of it is in the file.
TEST(Hostile, Names) {
  std::vector<std::string> names{"",
                                 "/",
                                 "/etc/passwd",
                                 "..",
                                 "../x",
                                 "a/../../x",
                                 ".",
                                 "a/./b",
                                 "a//b",
                                 "a/",
                                 std::string("a\0b", 3),
                                 std::string(256, 'x'),
                                 std::string(70000, 'y'),
                                 "a/" + std::string(4096, 'z'),
                                 "\xff\xfe",
                                 "\xc0\xaf..\xc0\xaf",
                                 "\xed\xa0\x80",
                                 "sluice",
                                 "sluice/commits"};
  std::size_t tried = 0;
  for (const char* ending : {"out.h5", "out.nc", "out.npy", "out.rec", "out.zarr"}) {
    for (const char* form : {"stacked", "grouped"}) {
      for (const std::string& name : names) {
        const auto storage = storage::make_memory();
        if (std::string(form) == "grouped" && std::string(ending) != "out.h5") {
          continue;
        }
        std::array<Error, 4> met{Error(Code::ok, ""), Error(Code::ok, ""), Error(Code::ok, ""),
                                 Error(Code::ok, "")};
        exec::run_local(2, 1, [&](exec::Transport& transport) {
          const auto r = static_cast<std::size_t>(transport.rank());
          File out(detail::open_on(transport, storage, ending, Mode::write, {.hdf5_layout = form}));
          met[r] = thrown_by([&] { out.define<double>(name, {4}); });
          met[2 + r] = thrown_by([&] { out.close(); });
        });
        for (const Error& error : met) {
          EXPECT_NE(error.code(), Code::ok) << ending << ": " << model::quoted(name);
          EXPECT_LT(std::string(error.what()).size(), 600U);
        }
        EXPECT_FALSE(storage->exists(ending)) << model::quoted(name);
        ++tried;
      }
    }
  }
  for (const char* part : {"../out.h5", "a/../../b.h5", "..", "", "/x/../../etc/passwd"}) {
    EXPECT_THROW(layout::part_path("folder/out.h5", part), Error) << part;
    ++tried;
  }
  EXPECT_GE(tried, 100U);
  std::printf("T10 %zu names, each refused\n", tried);
}

}  // namespace
}  // namespace sluice::test
