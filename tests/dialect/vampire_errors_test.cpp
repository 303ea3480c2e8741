// Bad snapshots: one clear error, the same on every rank, and never a crash.
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "dialect/vampire/snapshot.hpp"
#include "dialect/vampire_folder.hpp"
#include "sluice/error.hpp"
#include "support/local_transport.hpp"

namespace sluice::dialect::vampire {
namespace {

/// Reads everything on 3 ranks.
std::vector<Error> errors_of(const std::shared_ptr<storage::Storage>& storage,
                             const std::string& folder = "run") {
  std::vector<Error> errors(3, Error(Code::ok, ""));
  exec::run_local(3, 2, [&](exec::Transport& transport) {
    try {
      Snapshot snapshot = open(transport, storage, folder);
      const auto [first, end] = share(snapshot.atoms(), transport.rank(), transport.size());
      snapshot.read_coordinates(first, end - first);
      const Frame frame = snapshot.frame(1);
      snapshot.read_spins(frame, first, end - first);
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(transport.rank())] = error;
    }
  });
  return errors;
}

void expect_error(const std::vector<Error>& errors, Code code,
                  const std::vector<std::string>& parts) {
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_STREQ(error.what(), errors[0].what());
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << part << " in: " << error.what();
    }
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST(VampireErrors, MissingFolders) {
  const Folder folder({});
  expect_error(errors_of(folder.storage(), "nowhere"), Code::not_found,
               {"nowhere: no such folder"});
  Folder no_meta({});
  no_meta.remove("atoms-coords.meta");
  expect_error(errors_of(no_meta.storage()), Code::not_found, {"run/atoms-coords.meta"});
  Folder no_frame({.frames = 1});
  expect_error(errors_of(no_frame.storage()), Code::not_found,
               {"no snapshot 1", "there are the numbers 0"});
  Folder none({.frames = 0});
  expect_error(errors_of(none.storage()), Code::not_found, {"there is none"});
}

TEST(VampireErrors, TruncatedBinary) {
  Folder folder({.rows = {5, 5}});
  const std::string name = "spins-00000001-000001.data";
  const std::string whole = folder.text_of(name);
  folder.put(name, whole.substr(0, 100));
  expect_error(errors_of(folder.storage()), Code::truncated, {"run/" + name, "128", "100"});
  folder.put(name, whole.substr(0, 3));
  EXPECT_NE(errors_of(folder.storage())[2].code(), Code::ok);
  folder.put(name, "");
  expect_error(errors_of(folder.storage()), Code::truncated, {"run/" + name, "empty"});
}

TEST(VampireErrors, TruncatedText) {
  Folder folder({.text = true, .rows = {5, 50}});
  const std::string name = "spins-00000001-000001.data";
  const std::string whole = folder.text_of(name);
  folder.put(name, whole.substr(0, whole.size() - 4));
  expect_error(errors_of(folder.storage()), Code::truncated, {"run/" + name});
  folder.put(name, whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  expect_error(errors_of(folder.storage()), Code::truncated, {"run/" + name, "50", "49"});
  folder.put(name, whole + "1\t0\t0\n");
  expect_error(errors_of(folder.storage()), Code::format, {"run/" + name, "50", "51"});
}

TEST(VampireErrors, TextThatIsNoRow) {
  for (const char* row : {"1\t2", "1\t2\t3\t4", "a\tb\tc", "nan\t0\t0", "0\tinf\t0", "1e999 0 x",
                          "1e999\t0\t0", "0\t-1e+999\t0", "0\t0\t0.00001e400", "1234e306 0 0"}) {
    Folder folder({.text = true, .rows = {3}});
    folder.put("spins-00000001-000000.data", std::string("3\n0\t0\t1\n") + row + "\n0\t0\t1\n");
    expect_error(errors_of(folder.storage()), Code::format,
                 {"spins-00000001-000000.data", "offset 8", "3 numbers"});
  }
  Folder folder({.text = true, .rows = {3}});
  folder.put("atoms-coords-000000.data", "3\n0 0 1 2 3\n0.5 0 1 2 3\n0 0 1 2 3\n");
  expect_error(errors_of(folder.storage()), Code::format, {"atom 1", "integer"});
}

TEST(VampireErrors, TinyNumbersAreZero) {
  for (const char* row : {"1e-999\t0\t1", "0\t-2.5e-400\t1", "0.001e-323 0 1", "12.5e-350 0 1"}) {
    Folder folder({.text = true, .rows = {3}});
    folder.put("spins-00000001-000000.data", std::string("3\n0\t0\t1\n") + row + "\n0\t0\t1\n");
    expect_error(errors_of(folder.storage()), Code::ok, {});
  }
}

TEST(VampireErrors, ListedFilesThatAreAbsent) {
  Folder folder({.rows = {5, 5}});
  folder.remove("spins-00000001-000001.data");
  expect_error(errors_of(folder.storage()), Code::not_found,
               {"run/spins-00000001.meta", "spins-00000001-000001.data", "5 of 10"});
  Folder all({.rows = {5, 5}});
  all.remove("atoms-coords-000000.data");
  all.remove("atoms-coords-000001.data");
  expect_error(errors_of(all.storage()), Code::not_found,
               {"run/atoms-coords.meta", "1 others", "0 of 10"});
}

TEST(VampireErrors, TextAndBinaryMixed) {
  Folder folder({.rows = {5, 5}});
  folder.put("spins-00000001-000001.data", "1\n0\t0\t1\n");
  expect_error(errors_of(folder.storage()), Code::format,
               {"spins-00000001-000001.data", "is text", "is binary"});
}

TEST(VampireErrors, CountsThatLie) {
  Folder binary({.rows = {5}});
  const std::string name = "spins-00000001-000000.data";
  std::string bytes = binary.text_of(name);
  for (const std::uint64_t count : {std::uint64_t{6}, std::uint64_t{1} << 55}) {
    std::memcpy(bytes.data(), &count, 8);
    binary.put(name, bytes);
    expect_error(errors_of(binary.storage()), Code::truncated, {name});
  }
  Folder text({.text = true, .rows = {5}});
  text.put(name, "1000000000000000000\n0\t0\t1\n");
  expect_error(errors_of(text.storage()), Code::truncated, {name});
  text.put(name, "99999999999999999999999\n0\t0\t1\n");
  expect_error(errors_of(text.storage()), Code::format, {name});
  Folder sum({.rows = {5, 5}});
  sum.replace("atoms-coords.meta", "atoms: 10", "atoms: 11");
  expect_error(errors_of(sum.storage()), Code::format, {"hold 10 atoms", "says 11"});
}

TEST(VampireErrors, MetasThatAreNone) {
  const std::vector<std::tuple<std::string, std::string, std::string, Code>> cases{
      {"atoms-coords.meta", "Format: binary", "Format: morse", Code::format},
      {"atoms-coords.meta", "Number of atoms: 10", "Number of atoms: -1", Code::format},
      {"atoms-coords.meta", "Number of atoms: 10", "Number of items: 10", Code::format},
      {"atoms-coords.meta", "materials: 2", "materials: 999999999999", Code::format},
      {"atoms-coords.meta", "files: 1", "files: 18446744073709551615", Code::format},
      {"atoms-coords.meta", "files: 1", "files: 2", Code::truncated},
      {"atoms-coords.meta", "files: 1", "files: 0", Code::format},
      {"atoms-coords.meta", "0\t1.72", "x\t1.72", Code::format},
      {"atoms-coords.meta", "0\t1.72", "0\tinf", Code::format},
      {"atoms-coords.meta", "atoms-coords-0", "../atoms-coords-0", Code::bad_name},
      {"atoms-coords.meta", "atoms-coords-0", "/atoms-coords-0", Code::bad_name},
      {"atoms-coords.meta", "atoms-coords-000000.data", "..", Code::bad_name},
      {"spins-00000001.meta", "Field: 1\t-2.5\t0", "Field: 1 -2.5 0", Code::format},
      {"spins-00000001.meta", "Time: ", "Uhr: ", Code::format},
      {"spins-00000001.meta", "Temperature: 300", "Temperature: hot\x01\xff", Code::format},
  };
  for (const auto& [name, from, to, code] : cases) {
    Folder folder({});
    folder.replace(name, from, to);
    expect_error(errors_of(folder.storage()), code, {"run/" + name});
  }
  Folder empty({});
  empty.put("atoms-coords.meta", "");
  expect_error(errors_of(empty.storage()), Code::truncated, {"run/atoms-coords.meta"});
}

TEST(VampireErrors, RangesOutsideTheSnapshot) {
  const Folder folder({});
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    Snapshot snapshot = open(transport, folder.storage(), "run");
    const std::uint64_t first = transport.rank() == 1 ? 8 : 0;  // only rank 1 asks for too much
    try {
      snapshot.read_coordinates(first, 3);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::out_of_bounds);
    }
  });
}

/// Damages bytes at random: the result is an Error or a snapshot, in bounded memory.
void fuzz(const Made& made, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    Folder folder(made);
    auto paths = folder.storage()->paths();
    const std::string name = paths[random() % paths.size()].substr(4);
    std::string bytes = folder.text_of(name);
    for (std::uint64_t change = 1 + random() % 3; change > 0 && !bytes.empty(); --change) {
      const std::size_t at = random() % std::min<std::size_t>(bytes.size(), 1 + random() % 600);
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.resize(at);
          break;
        case 2:
          bytes.insert(at, bytes.substr(at, random() % 40));
          break;
        default:
          bytes[at] = "0123456789\t\n#-./"[random() % 16];
      }
    }
    folder.put(name, bytes);
    const auto errors = errors_of(folder.storage());
    for (const Error& error : errors) {
      ASSERT_STREQ(error.what(), errors[0].what()) << name;
      ASSERT_NE(error.code(), Code::internal) << error.what();
    }
  }
}

TEST(VampireErrors, DamagedBinaryFolders) { fuzz({.rows = {3, 4}}, 11); }
TEST(VampireErrors, DamagedTextFolders) { fuzz({.text = true, .rows = {3, 4}}, 12); }

}  // namespace
}  // namespace sluice::dialect::vampire
