// A file that is opened by a symbolic link: the target is written, read, locked and recovered; and
// links planted at the names beside a file are not followed.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>

#include "api/file/file_impl.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/tools/verify.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using storage::error_of;

const Shape shape{12, 5};

struct Case {
  const char* name;
  const char* ending;
  const char* strategy;
  bool has_names = true;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SymbolicLinks : public testing::TestWithParam<Case> {
 protected:
  SymbolicLinks() : root_(fs::canonical(scratch_.folder()).string()) {
    fs::create_directories(at("data"));
    fs::create_directories(at("other"));
  }
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  std::string real() const { return at("data/out") + GetParam().ending; }
  std::string link() const { return at("other/link") + GetParam().ending; }

  Options options() const {
    Options options;
    options.strategy = GetParam().strategy;
    options.format = std::string(GetParam().name) == "records" ? "records" : "auto";
    options.durability = Durability::close;
    return options;
  }
  void run(const std::function<void(exec::Transport&)>& body, int ranks = 2) {
    exec::run_local(ranks, ++seed_, body);
  }
  File open(exec::Transport& transport, const std::string& path, Mode mode) {
    return File(detail::open_on(transport, storage_, path, mode,
                                mode == Mode::read ? Options{} : options()));
  }
  void put_step(exec::Transport& transport, File& out, std::uint64_t key) {
    const Variable v = out.define<double>("density", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, key, shape, slab(shape, transport.rank(), transport.size()));
    step.end();
  }
  void write(const std::string& path, Mode mode, std::uint64_t key) {
    run([&](exec::Transport& transport) {
      File out = open(transport, path, mode);
      put_step(transport, out, key);
      out.close();
    });
  }
  void expect(const std::string& path, const std::vector<std::uint64_t>& keys) {
    run([&](exec::Transport& transport) {
      File in = open(transport, path, Mode::read);
      ASSERT_EQ(in.steps(), keys.size()) << path;
      for (std::uint64_t s = 0; s < keys.size(); ++s) {
        expect_values<double>(in, "density", keys[s], shape, whole_box(shape), s);
      }
      if (GetParam().has_names) {
        EXPECT_EQ(commit::verify(transport, *storage_, path).state, commit::State::ok) << path;
      }
    });
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(at(folder))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  void expect_as_documented(const std::string& ending, Mode mode, const std::string& message) const;
  void expect_link_alone() {
    EXPECT_TRUE(fs::is_symlink(link()));
    EXPECT_EQ(names_in("other").size(), 1U) << "everything lies beside the target";
  }

  storage::Scratch scratch_;
  const std::string root_;
  std::shared_ptr<storage::Storage> storage_ = storage::make_posix();
  std::uint64_t seed_ = 0;
};

class LinkedJournal : public SymbolicLinks {};
class LinkedStore : public SymbolicLinks {};

TEST_P(SymbolicLinks, TheTargetIsReplacedAppendedToAndRead) {
  write(real(), Mode::write, 1);
  fs::create_symlink("../data/out" + std::string(GetParam().ending), link());
  expect(link(), {1});
  write(link(), Mode::write, 2);
  expect_link_alone();
  expect(real(), {2});
  write(link(), Mode::append, 3);
  expect_link_alone();
  expect(real(), {2, 3});
  expect(link(), {2, 3});
}

TEST_P(SymbolicLinks, ATargetThatIsNotThereIsMade) {
  fs::create_symlink("../data/out" + std::string(GetParam().ending), link());
  run([&](exec::Transport& transport) {
    EXPECT_EQ(error_of([&] { open(transport, link(), Mode::read); }).code(), Code::not_found);
  });
  write(link(), Mode::create, 4);
  expect_link_alone();
  expect(real(), {4});
  run([&](exec::Transport& transport) {
    EXPECT_EQ(error_of([&] { open(transport, link(), Mode::create); }).code(), Code::exists);
  });
}

TEST_P(SymbolicLinks, OneWriterByWhateverName) {
  write(real(), Mode::write, 1);
  fs::create_symlink(real(), link());
  for (const auto& [first, second] : {std::pair(real(), link()), std::pair(link(), real())}) {
    run([&](exec::Transport& transport) {
      File out = open(transport, first, Mode::append);
      for (const Mode mode : {Mode::append, Mode::write}) {
        const Error error = error_of([&] { open(transport, second, mode); });
        EXPECT_EQ(error.code(), Code::locked) << error.what();
      }
      out.close();
    });
  }
}

TEST_P(SymbolicLinks, ALoopIsAnErrorOnEveryRank) {
  fs::create_symlink(link(), real());
  fs::create_symlink(real(), link());
  for (const Mode mode : {Mode::read, Mode::write, Mode::append}) {
    run([&](exec::Transport& transport) {
      const Error error = error_of([&] { open(transport, link(), mode); });
      EXPECT_EQ(error.code(), Code::permission) << error.what();
      EXPECT_NE(std::string(error.what()).find("loop"), std::string::npos) << error.what();
    });
  }
}

// What a crash left at the real path is found through the link, and vice versa.
TEST_P(LinkedJournal, IsFoundByEveryName) {
  fs::create_symlink(real(), link());
  for (const bool by_link : {true, false}) {
    write(real(), Mode::write, 1);
    const std::string before = content_of(real());
    {
      // A run through the one name that dies when its journal is complete and nothing is in place.
      std::string journal;
      run(
          [&](exec::Transport& transport) {
            File out = open(transport, by_link ? link() : real(), Mode::append);
            put_step(transport, out, 2);
            journal = content_of(commit::journal_path(real()));
            out.close();
          },
          1);
      ASSERT_FALSE(journal.empty()) << "it lies beside the target";
      std::string torn = content_of(real());
      std::copy(before.begin(), before.begin() + 48, torn.begin());
      torn[0] = '\0';
      std::ofstream(real(), std::ios::binary) << torn;
      std::ofstream(commit::journal_path(real()), std::ios::binary) << journal;
    }
    const std::string other = by_link ? real() : link();
    const auto recovery = commit::recover_unattended(*storage_, other, false);
    EXPECT_EQ(recovery.found, commit::Recovery::Found::complete);
    EXPECT_FALSE(fs::exists(commit::journal_path(real())));
    expect_link_alone();
    expect(real(), {1, 2});
  }
}

// -- planted ones ---------------------------------------------------------------------------------

/// The documented behaviour for each name (docs/durability.md) when a run finds a link there.
void SymbolicLinks::expect_as_documented(const std::string& ending, Mode mode,
                                         const std::string& message) const {
  const bool is_left = fs::is_symlink(real() + ending);
  const bool has_journal = std::string(GetParam().ending) != ".zarr";
  if (ending == ".sluice-lease") {
    EXPECT_NE(message.find(real() + ending), std::string::npos) << message;
    EXPECT_TRUE(is_left);
  } else if (ending == ".log.jsonl") {
    EXPECT_EQ(message, "");
    EXPECT_TRUE(is_left);
  } else if (ending == ".sluice-journal" && has_journal && mode == Mode::write) {
    EXPECT_EQ(message, "");
    EXPECT_FALSE(is_left);
  } else if (ending == ".sluice-journal" && has_journal) {
    EXPECT_EQ(is_left, message != "") << message;
  }
}

TEST_P(SymbolicLinks, APlantedOneLeadsNothingAstray) {
  const std::string victim = at("victim");
  for (const Mode mode : {Mode::write, Mode::append}) {
    for (const std::string ending :
         {".sluice-new", ".sluice-journal", ".sluice-lease", ".log.jsonl", ".sluice-begun",
          ".sluice-old", ".sluice-gone", "/zarr.json.sluice-new", "/density/zarr.json.sluice-new",
          "/sluice/log/c.0.0.sluice-new"}) {
      for (const bool is_there : {true, false}) {
        fs::remove_all(real());
        write(real(), Mode::write, 1);
        if (!fs::is_directory(fs::path(real() + ending).parent_path())) continue;
        fs::remove_all(victim);
        if (is_there) std::ofstream(victim) << "untouched";
        fs::remove_all(real() + ending);
        fs::create_symlink(victim, real() + ending);
        std::string message;
        try {
          Options logged = options();
          logged.log = Log::steps;
          run([&](exec::Transport& transport) {
            File out(detail::open_on(transport, storage_, real(), mode, logged));
            put_step(transport, out, 2);
            out.close();
          });
        } catch (const Error& e) {
          message = e.what();
          EXPECT_NE(message.find(real()), std::string::npos) << message;
        }
        EXPECT_EQ(fs::exists(victim), is_there) << ending;
        EXPECT_EQ(content_of(victim), is_there ? "untouched" : "") << ending << ": " << message;
        expect_as_documented(ending, mode, message);
        fs::remove(real() + ending);
        if (message.empty()) {
          expect(real(), mode == Mode::write ? std::vector<std::uint64_t>{2}
                                             : std::vector<std::uint64_t>{1, 2});
        }
        for (const auto& entry : fs::directory_iterator(at("data"))) fs::remove_all(entry);
      }
    }
  }
}

TEST_P(LinkedStore, IsNotLeftByAFolderOfIt) {
  write(real(), Mode::write, 1);
  fs::rename(real() + "/density", at("victim"));
  const std::string document = content_of(at("victim/zarr.json"));
  fs::create_symlink(at("victim"), real() + "/density");
  run([&](exec::Transport& transport) {
    const Error error = error_of([&] {
      File out = open(transport, real(), Mode::append);
      put_step(transport, out, 2);
      out.close();
    });
    EXPECT_EQ(error.code(), Code::permission) << error.what();
    EXPECT_NE(std::string(error.what()).find(real() + "/density"), std::string::npos)
        << error.what();
  });
  EXPECT_EQ(content_of(at("victim/zarr.json")), document);
  EXPECT_FALSE(fs::exists(at("victim/c/1")));
}

// -- the permissions of replaced files
// -------------------------------------------------------------

TEST_P(SymbolicLinks, WhatIsReplacedKeepsItsPermissions) {
  const bool is_folder = std::string(GetParam().ending) == ".zarr";
  const mode_t mode = is_folder ? 0700 : 0600;
  const auto mode_of = [](const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  };
  write(real(), Mode::write, 1);
  ASSERT_EQ(::chmod(real().c_str(), mode), 0);
  const std::string document = real() + "/zarr.json";
  if (is_folder) {
    ASSERT_EQ(::chmod(document.c_str(), 0600), 0);
  }
  write(real(), Mode::write, 2);
  EXPECT_EQ(mode_of(real()), mode);
  if (is_folder) {
    EXPECT_EQ(mode_of(document), 0600U);
  }
  run([&](exec::Transport& transport) {
    File out = open(transport, real(), Mode::append);
    put_step(transport, out, 3);
    if (transport.rank() == 0 && fs::exists(commit::journal_path(real()))) {
      EXPECT_EQ(mode_of(commit::journal_path(real())), mode) << "it holds values of the file";
    }
    out.close();
  });
  EXPECT_EQ(mode_of(real()), mode);
  if (is_folder) {
    EXPECT_EQ(mode_of(document), 0600U);
  }
}

const auto name_of_case = [](const auto& which) { return std::string(which.param.name); };

INSTANTIATE_TEST_SUITE_P(Each, LinkedJournal, testing::Values(Case{"hdf5", ".h5", "shared"}),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Each, LinkedStore, testing::Values(Case{"zarr", ".zarr", "shared"}),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(
    Each, SymbolicLinks,
    testing::Values(Case{"hdf5", ".h5", "shared"}, Case{"netcdf4", ".nc", "serial"},
                    Case{"zarr", ".zarr", "shared"}, Case{"npy", ".npy", "shared", false},
                    Case{"records", ".records", "shared"}, Case{"parts", ".h5", "file-per-process"},
                    Case{"forward", ".h5", "forward"}),
    name_of_case);

}  // namespace
}  // namespace sluice::test
