// Options from the environment, from sluice.toml and from code: which one is effective, and the
// errors for misspellings.
#include "api/config/settings.hpp"

#include <filesystem>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/config/option_table.hpp"
#include "api/file/file_impl.hpp"
#include "sluice/error.hpp"
#include "storage/scratch.hpp"
#include "storage/storage.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"

namespace sluice::settings {
namespace {

using test::Environment;
using test::expect_error;
using test::thrown_by;

TEST(OptionTable, EveryValueSurvivesBeingText) {
  Options odd;
  odd.format = "npy";
  odd.hdf5_layout = "grouped";
  odd.strategy = "collective";
  odd.files = Files::allow_multiple;
  odd.autotune = false;
  odd.writers = 3;
  odd.first_writer = 1;
  odd.writer_spacing = 2;
  odd.writer_map = "0,4,8";
  odd.readers = 5;
  odd.tiles = "cyclic";
  odd.tile_bytes = (1 << 20) + 1;
  odd.coalesce = false;
  odd.coalesce_bytes = 2 << 20;
  odd.stripe_bytes = 4 << 20;
  odd.parts_dir = "/some where";
  odd.compress = "zstd:3";
  odd.ranks_per_node = 2;
  odd.storage = "posix";
  odd.hints = "cb_nodes=1";
  odd.budget_bytes = 3ULL << 40;
  odd.durability = Durability::close;
  odd.check = Check::volume;
  odd.checksum = false;
  odd.log = Log::steps;
  odd.timeout_s = 0.1;
  odd.staging_idle_s = 7.5;
  odd.apply_every_s = 1.5;
  odd.rectilinear = Rectilinear::always;
  odd.branch = "trial";
  odd.tags = "step-{step}";
  odd.restart_after = 7;
  odd.keep_last = 3;
  odd.split_steps = 100;
  odd.split_bytes = 1 << 20;
  odd.on_error = OnError::skip_step;
  const Options defaults;
  for (const Option& option : option_table()) {
    EXPECT_NE(option.get(odd), option.get(defaults)) << option.name << " is not in this test";
    Options made;
    option.set(made, option.get(odd));
    EXPECT_EQ(option.get(made), option.get(odd)) << option.name;
    option.set(made, option.get(defaults));
    EXPECT_EQ(option.get(made), option.get(defaults)) << option.name;
  }
}

TEST(OptionTable, BytesMayHaveUnits) {
  const Option& budget = *find_option("budget_bytes");
  const std::vector<std::pair<std::string, std::uint64_t>> expected{
      {"0", 0}, {"4096", 4096}, {"4 KiB", 4096}, {"3MiB", 3 << 20}, {" 2 GiB ", 2ULL << 30}};
  for (const auto& [text, bytes] : expected) {
    Options options;
    budget.set(options, text);
    EXPECT_EQ(options.budget_bytes, bytes) << text;
  }
  for (const char* wrong : {"", "MiB", "4 MB", "-1", "1.5 MiB", "99999999999 TiB", "4 MiB more"}) {
    Options options;
    expect_error(thrown_by([&] { budget.set(options, wrong); }), Code::invalid_argument,
                 {"number of bytes"});
  }
}

TEST(OptionTable, PartsAreSplitByStepsOrBytes) {
  const Option& steps = *find_option("split_steps");
  const Option& bytes = *find_option("split_bytes");
  Options options;
  steps.set(options, "12");
  bytes.set(options, "3 GiB");
  EXPECT_EQ(options.split_steps, 12u);
  EXPECT_EQ(options.split_bytes, 3ULL << 30);
  EXPECT_EQ(bytes.get(options), "3 GiB");
  for (const char* wrong : {"", "steps", "100 steps", "-1", "1.5", "many"}) {
    EXPECT_EQ(thrown_by([&] { steps.set(options, wrong); }).code(), Code::invalid_argument)
        << wrong;
  }
  EXPECT_EQ(thrown_by([&] { find_option("keep_last")->set(options, "-1"); }).code(),
            Code::invalid_argument);
}

TEST(OptionTable, WrongValuesAreNamed) {
  const auto refused = [](const char* name, const char* text) {
    Options options;
    return thrown_by([&] { find_option(name)->set(options, text); });
  };
  expect_error(refused("writers", "many"), Code::invalid_argument, {"\"many\"", "whole number"});
  expect_error(refused("writers", "-1"), Code::invalid_argument, {"negative"});
  expect_error(refused("timeout_s", "-0.5"), Code::invalid_argument, {"negative"});
  expect_error(refused("timeout_s", "nan"), Code::invalid_argument, {"negative"});
  expect_error(refused("durability", "always"), Code::invalid_argument,
               {"always", "none, close, step, auto"});
  expect_error(refused("files", "two"), Code::invalid_argument, {"one, allow_multiple"});
  expect_error(refused("check", "some"), Code::invalid_argument, {"off, volume, full"});
  expect_error(refused("checksum", "maybe"), Code::invalid_argument, {"true or false"});
}

TEST(OptionTable, TheNearestNameIsFound) {
  EXPECT_STREQ(nearest_option("stratgey").name, "strategy");
  EXPECT_STREQ(nearest_option("writer").name, "writers");
  EXPECT_STREQ(nearest_option("tile").name, "tile_bytes");
  EXPECT_STREQ(nearest_option("keep").name, "keep_last");
  EXPECT_STREQ(nearest_option("budget_mib").name, "budget_bytes");
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(ParseOptions, TakesTomlOverTheBase) {
  Options base;
  base.readers = 7;
  const Options options = parse_options(
      "strategy = \"collective\"\nwriters = 4\nbudget_bytes = \"64 MiB\"\nchecksum = false\n"
      "timeout_s = 2.5\nwriter_map = [0, 4, 8]\nhints = { cb_nodes = 1, romio_cb_write = \"on\" }",
      base);
  EXPECT_EQ(options.strategy, "collective");
  EXPECT_EQ(options.writers, 4);
  EXPECT_EQ(options.budget_bytes, 64ULL << 20);
  EXPECT_FALSE(options.checksum);
  EXPECT_EQ(options.timeout_s, 2.5);
  EXPECT_EQ(options.writer_map, "0,4,8");
  EXPECT_EQ(options.hints, "cb_nodes=1,romio_cb_write=on");
  EXPECT_EQ(options.readers, 7);
  EXPECT_EQ(parse_options("").strategy, Options{}.strategy);
}

TEST(ParseOptions, SaysWhatIsWrongAndWhere) {
  expect_error(thrown_by([] { parse_options("writers = 4\nstratgey = \"serial\""); }),
               Code::invalid_argument, {"line 2", "stratgey", "did you mean strategy?"});
  expect_error(thrown_by([] { parse_options("writers = = 4"); }), Code::format,
               {"line 1", "\"writers = = 4\""});
  expect_error(thrown_by([] { parse_options("writers = 4\n  strategy = shared "); }), Code::format,
               {"line 2", "strategy: \"shared\"", "write strategy = \"shared\""});
  expect_error(thrown_by([] { parse_options("writers = \"x\""); }), Code::invalid_argument,
               {"line 1", "writers"});
  expect_error(thrown_by([] { parse_options("writers = 1979-05-27"); }), Code::invalid_argument,
               {"dates"});
  expect_error(thrown_by([] { parse_options("[spins]\nwriters = 1"); }), Code::invalid_argument,
               {"spins"});
}

std::string told(const std::string& text, const std::string& path) {
  std::string all;
  for (const Override& one : overrides_of_toml(text, "sluice.toml", path)) {
    all += one.name + "=" + one.value + " (" + one.from + ") ";
  }
  return all;
}

TEST(Toml, ATableCountsForItsOutputOnly) {
  const std::string text =
      "writers = 2\n[spins]\nwriters = 4\nstrategy = 'serial'\n[\"other.h5\"]\nwriters = 8\n";
  EXPECT_EQ(told(text, "none.h5"), "writers=2 (sluice.toml) ");
  const std::string spins =
      "writers=2 (sluice.toml) strategy=serial (sluice.toml [spins]) writers=4 (sluice.toml "
      "[spins]) ";
  EXPECT_EQ(told(text, "spins.h5"), spins);
  EXPECT_EQ(told(text, "out/spins.nc"), spins);
  EXPECT_EQ(told(text, "spins"), spins);
  EXPECT_EQ(told(text, "other.h5"), "writers=2 (sluice.toml) writers=8 (sluice.toml [other.h5]) ");
  EXPECT_EQ(told(text, "other.nc"), "writers=2 (sluice.toml) ");
  const std::string of_folder = "[\"out/a.h5\"]\nwriters = 3\n";
  EXPECT_EQ(told(of_folder, "out/a.h5"), "writers=3 (sluice.toml [out/a.h5]) ");
  for (const char* path : {"a.h5", "/run/a.h5", "/about/a.h5", "out/a.h5/b"}) {
    EXPECT_EQ(told(of_folder, path), "");
  }
}

TEST(Toml, SlipsInTablesOfOtherOutputsAreErrorsToo) {
  expect_error(thrown_by([] { told("[spins]\n\nwriter = 4\n", "none.h5"); }),
               Code::invalid_argument,
               {"sluice.toml, line 3", "\"writer\"", "did you mean writers?"});
  expect_error(thrown_by([] { told("[spins]\nwriters = 'x'\n", "none.h5"); }),
               Code::invalid_argument, {"sluice.toml, line 2", "writers"});
}

TEST(Environment, NamesAreInCapitals) {
  const char* const environment[] = {"HOME=/",
                                     "SLUICE_STRATEGY=serial",
                                     "SLUICE_TIMEOUT_S=3",
                                     "SLUICE_DATA=/data",
                                     "SLUICE_LONG=1",
                                     "SLUICE_CONFIG=",
                                     nullptr};
  const auto overrides = overrides_of_environment(environment);
  ASSERT_EQ(overrides.size(), 2u);
  EXPECT_EQ(overrides[0].name, "strategy");
  EXPECT_EQ(overrides[0].from, "SLUICE_STRATEGY");
  EXPECT_EQ(overrides[1].value, "3");
  const char* const slip[] = {"SLUICE_WRITTERS=4", nullptr};
  expect_error(thrown_by([&] { overrides_of_environment(slip); }), Code::invalid_argument,
               {"SLUICE_WRITTERS", "did you mean SLUICE_WRITERS?"});
  Options options;
  expect_error(thrown_by([&] {
                 override_with({{"writers", "x", "SLUICE_WRITERS"}}, options);
               }),
               Code::invalid_argument, {"SLUICE_WRITERS", "writers", "\"x\""});
}

class Resolve : public testing::Test {
 public:
  void write(const std::string& text) {
    const auto file = storage::make_posix()->open(path_, storage::Access::create);
    file->write(0, std::as_bytes(std::span(text)));
  }
  /// On 3 ranks, each of which requests another number of readers in its code.
  std::vector<Settings> resolved() {
    std::vector<Settings> all(3);
    exec::run_local(3, 1, [&](exec::Transport& transport) {
      Options code;
      code.writers = 1;
      code.readers = transport.rank();
      all[static_cast<std::size_t>(transport.rank())] = resolve(transport, "spins.h5", code);
    });
    return all;
  }

  storage::Scratch scratch_;
  std::string path_ = scratch_ / "settings.toml";
};

TEST_F(Resolve, EnvironmentOverFileOverCode) {
  write("writers = 2\ntile_bytes = \"1 MiB\"\n[spins]\nwriters = 3\nstripe_bytes = 4096\n");
  const Environment environment{
      {"SLUICE_CONFIG", path_}, {"SLUICE_WRITERS", "4"}, {"SLUICE_EXPLAIN", "1"}};
  const auto all = resolved();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(all[rank].options.writers, 4);
    EXPECT_EQ(all[rank].options.tile_bytes, 1u << 20);
    EXPECT_EQ(all[rank].options.stripe_bytes, 4096u);
    EXPECT_EQ(all[rank].options.readers, static_cast<int>(rank)) << "what nobody overrides stays";
    EXPECT_TRUE(all[rank].explain);
  }
  const std::string text = explain_options("spins.h5", all[1]);
  for (const std::string& line : {std::string("writers         4                   SLUICE_WRITERS"),
                                  "stripe_bytes    4 KiB               " + path_ + " [spins]",
                                  "tile_bytes      1 MiB               " + path_ + "\n",
                                  std::string("readers         1                   code"),
                                  std::string("durability      auto                default")}) {
    EXPECT_NE(text.find(line), std::string::npos) << "no \"" << line << "\" in\n" << text;
  }
}

TEST_F(Resolve, ErrorsReachEveryRank) {
  write("writer = 2\n");
  const Environment environment{{"SLUICE_CONFIG", path_}};
  std::vector<Error> errors(3, Error(Code::ok, ""));
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    errors[static_cast<std::size_t>(transport.rank())] =
        thrown_by([&] { resolve(transport, "spins.h5", {}); });
  });
  for (const Error& error : errors) {
    expect_error(error, Code::invalid_argument, {"settings.toml, line 1", "did you mean writers?"});
    EXPECT_STREQ(error.what(), errors[0].what());
  }
}

TEST_F(Resolve, AFileThatIsToldOfMustBeThere) {
  const Environment environment{{"SLUICE_CONFIG", path_}};
  const Error error = thrown_by([&] { resolved(); });
  EXPECT_STREQ(code_name(error.code()), code_name(Code::not_found)) << error.what();
}

/// In a folder of its own, with the settings as sluice.toml.
class FoundSettings : public Resolve {
 protected:
  FoundSettings() {
    path_ = scratch_ / "sluice.toml";
    std::filesystem::current_path(scratch_.folder());
  }
  ~FoundSettings() override { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(FoundSettings, AreToldWhereTheyChangeWhatBecomesOfTheSteps) {
  write("durability = \"none\"\nwriters = 2\n[spins]\nkeep_last = 3\nparts_dir = \"/elsewhere\"\n");
  for (const Settings& settings : resolved()) {
    EXPECT_EQ(settings.notice,
              "sluice.toml in the current folder sets durability = \"none\", keep_last = \"3\", "
              "parts_dir = \"/elsewhere\"");
  }
  {
    const Environment told{{"SLUICE_CONFIG", "sluice.toml"}};
    EXPECT_EQ(resolved()[0].notice, "") << "somebody has named it";
  }
  const Environment environment{
      {"SLUICE_DURABILITY", "auto"}, {"SLUICE_KEEP_LAST", "0"}, {"SLUICE_PARTS_DIR", ""}};
  EXPECT_EQ(resolved()[0].notice, "") << "it changes nothing";
}

TEST_F(FoundSettings, AreNotToldOtherwise) {
  write("writers = 2\nstrategy = \"serial\"\n");
  EXPECT_EQ(resolved()[0].options.writers, 2);
  EXPECT_EQ(resolved()[0].notice, "");
}

TEST_F(FoundSettings, AreSaidOnceInAProcess) {
  write("on_error = \"skip_step\"\n");
  std::vector<std::string> said;
  set_message_handler([&](const std::string& text) { said.push_back(text); });
  const auto memory = storage::make_memory();
  for (int time = 0; time < 2; ++time) {
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      detail::open_on(transport, memory, "a.h5", Mode::write)->close();
    });
  }
  set_message_handler(nullptr);
  EXPECT_EQ(said, std::vector<std::string>{
                      "sluice: sluice.toml in the current folder sets on_error = \"skip_step\""});
}

TEST_F(FoundSettings, OfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files to others";
  write("durability = \"none\"\n");
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  const Error error = thrown_by([&] { resolved(); });
  expect_error(error, Code::permission, {"sluice.toml", "65534", "SLUICE_CONFIG"});
  const Environment told{{"SLUICE_CONFIG", "sluice.toml"}};
  EXPECT_EQ(resolved()[0].options.durability, Durability::none);
}

/// Left as root by `sudo -u`, or removed by another job: a file of an absolute path can be opened.
TEST_F(FoundSettings, AFolderThatCannotBeSearchedHasNone) {
  {
    write("writers = 2\n");
    std::filesystem::create_directory("gone");
    std::filesystem::current_path("gone");
    std::filesystem::remove(scratch_ / "gone");
    EXPECT_EQ(resolved()[0].options.writers, 1);
    std::filesystem::current_path(scratch_.folder());
  }
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user, whom only root can be";
  std::filesystem::permissions(scratch_.folder(), std::filesystem::perms::owner_all);
  constexpr uid_t nobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed =
        ::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
    const Settings found = resolved()[1];
    EXPECT_EQ(found.options.writers, 1);
    EXPECT_NE(found.notice.find("was not searched for sluice.toml: Permission denied"),
              std::string::npos)
        << found.notice;
    const Environment told{{"SLUICE_CONFIG", "sluice.toml"}};
    expect_error(thrown_by([&] { resolved(); }), Code::permission, {"sluice.toml"});
    ::_exit(changed && !HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(FoundSettings, APipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  ::alarm(20);  // ends the test if it would hang
  expect_error(thrown_by([&] { resolved(); }), Code::io, {"sluice.toml", "pipe"});
  ::alarm(0);
}

TEST_F(Resolve, NothingIsReadWhereTheVariableIsEmpty) {
  const Environment environment{{"SLUICE_CONFIG", ""}, {"SLUICE_EXPLAIN", "0"}};
  EXPECT_EQ(resolved()[2].options.writers, 1);
  EXPECT_FALSE(resolved()[0].explain);
}

}  // namespace
}  // namespace sluice::settings
