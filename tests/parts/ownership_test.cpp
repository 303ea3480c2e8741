// A set changes its own parts and nothing else: not those of another set in the same folder, not
// those of an index that was copied or renamed, and no file that an index merely names.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "codec/checksum.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/tools/collect.hpp"
#include "layout/hdf5/index.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "parts/sets.hpp"
#include "support/faulty_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::test {
namespace {

namespace files = std::filesystem;

std::vector<Options> all_options() {
  std::vector<Options> all{SetKind{}.options(), SetKind{"file-per-node", 2}.options()};
  Options split = SetKind{"shared"}.options();
  split.split_steps = 2;
  all.push_back(split);
  Options keep = SetKind{"collective", 2}.options();
  keep.keep_last = 4;
  all.push_back(keep);
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(all[i]);
    all.back().format = "netcdf4";
  }
  return all;
}

std::string text_of(const Options& options) {
  return options.strategy + " " + options.format + (options.keep_last != 0 ? " keep" : "") +
         (options.split_steps != 0 ? " split" : "");
}

class Ownership : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  virtual std::string at(const std::string& name) const { return name; }
  void write(const std::string& name, const Options& options, const Steps& steps) {
    write_set(ranks, storage_, at(name), options, steps);
  }
  void append(const std::string& name, const Options& options, std::uint64_t first,
              std::uint64_t steps = 1) {
    on_ranks(ranks, [&](exec::Transport& transport) {
      File out = open_file(transport, storage_, at(name), Mode::append, options);
      Steps{.first = first, .steps = steps, .slabs = true}.write(out, transport);
      out.close();
    });
  }
  void expect(const std::string& name, const Steps& steps) {
    SCOPED_TRACE(name);
    expect_set(2, storage_, at(name), steps);
  }
  std::vector<std::string> parts(const std::string& name) {
    return part_paths(*storage_, at(name));
  }
  void copy(const std::string& from, const std::string& to) {
    disk_->put(to, disk_->contents(from));
  }
  void clear() {
    for (const std::string& path : disk_->paths()) {
      disk_->remove(path);
    }
  }
  std::size_t count(const std::string& folder) const {
    const auto paths = disk_->paths();
    return static_cast<std::size_t>(
        std::count_if(paths.begin(), paths.end(),
                      [&](const std::string& path) { return path.starts_with(folder + "/"); }));
  }

  std::shared_ptr<storage::MemoryStorage> disk_ = storage::make_memory();
  std::shared_ptr<storage::Storage> storage_ = disk_;
  const Steps old_{.shape = {7, 5}, .steps = 3, .slabs = true};
  const Steps new_{.steps = 4, .slabs = true};
};

TEST_F(Ownership, ARenamedIndexKeepsItsParts) {
  for (const Options& options : all_options()) {
    SCOPED_TRACE(text_of(options));
    clear();
    write("run/out.h5", options, old_);
    disk_->rename("run/out.h5", "run/old.h5");
    write("run/out.h5", options, new_);
    expect("run/old.h5", old_);
    expect("run/out.h5", new_);
    write("run/out.h5", options, old_);  // replaces its own parts, and no others
    expect("run/old.h5", old_);
    expect("run/out.h5", old_);
    EXPECT_EQ(count("run"), 2 + parts("run/out.h5").size() + parts("run/old.h5").size());
  }
}

TEST_F(Ownership, TwoOutputsShareAFolderOfParts) {
  for (Options options : all_options()) {
    SCOPED_TRACE(text_of(options));
    clear();
    options.parts_dir = "/fast";
    write("a/out.h5", options, old_);
    write("b/out.h5", options, new_);
    expect("a/out.h5", old_);
    expect("b/out.h5", new_);
    write("b/out.h5", options, old_);
    expect("a/out.h5", old_);
    expect("b/out.h5", old_);
    EXPECT_EQ(count("/fast"), parts("a/out.h5").size() + parts("b/out.h5").size());
  }
}

TEST_F(Ownership, ACopiedIndexThatIsReplacedLeavesThePartsToTheOriginal) {
  Options plain;
  plain.strategy = "serial";
  plain.durability = Durability::none;
  for (Options options : all_options()) {
    for (const bool is_elsewhere : {false, true}) {
      SCOPED_TRACE(text_of(options) + (is_elsewhere ? ", parts_dir" : ""));
      clear();
      options.parts_dir = is_elsewhere ? "/fast" : "";
      write("run/out.h5", options, old_);
      const std::vector<std::string> copies =
          is_elsewhere ? std::vector<std::string>{"copies/out.h5", "run/copy.h5"}
                       : std::vector<std::string>{"run/copy.h5"};
      const auto before = parts("run/out.h5");
      for (const std::string& name : copies) {
        for (const Options& later : {options, plain}) {
          copy("run/out.h5", name);
          write(name, later, new_);
          expect(name, new_);
          expect("run/out.h5", old_);
        }
      }
      for (const std::string& path : before) {
        EXPECT_TRUE(disk_->exists(path)) << path;
      }
    }
  }
}

TEST_F(Ownership, ACopiedIndexDropsNoStepsOfTheOriginal) {
  Options options = SetKind{"shared"}.options();
  options.keep_last = 3;
  options.parts_dir = "/fast";
  write("out.h5", options, {.steps = 3, .slabs = true});
  copy("out.h5", "copy.h5");
  append("copy.h5", options, 3, 3);
  expect("out.h5", {.steps = 3});
  disk_->rename("copy.h5", "again.h5");
  append("again.h5", options, 6, 3);  // the parts of the copy now belong to no existing index
  expect("out.h5", {.steps = 3});
}

TEST_F(Ownership, CollectingByACopyLeavesThePartsToTheOriginal) {
  Options options = SetKind{}.options();
  options.parts_dir = "/fast";
  write("/run/out.h5", options, old_);
  copy("/run/out.h5", "/run/copy.h5");
  on_ranks(2, [&](exec::Transport& transport) {
    const auto done = commit::collect(transport, *storage_, at("/run/copy.h5"), {});
    EXPECT_EQ(done.moved, 3u);
    EXPECT_EQ(done.left, 3u);
  });
  expect("/run/copy.h5", old_);
  expect("/run/out.h5", old_);
}

TEST_F(Ownership, APlainFileReplacesASetWithItsParts) {
  for (const Durability durability : {Durability::none, Durability::close, Durability::step}) {
    for (const char* strategy : {"serial", "shared", "forward"}) {
      for (const char* folder : {"", "/fast"}) {
        SCOPED_TRACE(std::string(strategy) + " " + folder);
        Options options = SetKind{}.options();
        options.parts_dir = folder;
        write("out.h5", options, old_);
        const auto before = parts("out.h5");
        ASSERT_EQ(before.size(), 3u);
        Options plain;
        plain.strategy = strategy;
        plain.durability = durability;
        on_ranks(ranks, [&](exec::Transport& transport) {
          File out = open_file(transport, storage_, at("out.h5"), Mode::write, plain);
          {
            File in = open_file(transport, storage_, at("out.h5"), Mode::read, {});
            old_.expect(in, transport);
          }
          new_.write(out, transport);
          out.close();
        });
        expect("out.h5", new_);
        for (const std::string& path : before) {
          EXPECT_FALSE(disk_->exists(path)) << path;
        }
      }
    }
  }
}

TEST_F(Ownership, ASetReplacesAPlainFileWithItsJournal) {
  Options plain;
  plain.strategy = "shared";
  write("out.h5", plain, old_);
  disk_->put("out.h5.sluice-journal", std::vector<std::byte>(100));
  write("out.h5", SetKind{}.options(), new_);
  expect("out.h5", new_);
  EXPECT_FALSE(disk_->exists("out.h5.sluice-journal"));
}

/// The parts of a replaced set are removed only when the new name is durable.
TEST_F(Ownership, PartsStayWhileACrashMayBringTheirIndexBack) {
  for (const char* strategy : {"serial", "file-per-process"}) {
    SCOPED_TRACE(strategy);
    clear();
    const auto log = std::make_shared<storage::Log>();
    write_set(ranks, disk_, "out.h5", SetKind{}.options(), old_);
    Options options;
    options.strategy = strategy;
    options.durability = Durability::step;
    const auto before = parts("out.h5");
    on_ranks(ranks, [&](exec::Transport& transport) {
      const auto recording = std::make_shared<storage::RecordingStorage>(disk_, log);
      File out = open_file(transport, recording, "out.h5", Mode::write, options);
      Steps{.steps = 1, .slabs = true}.write(out, transport);
      out.close();
    });
    bool is_renamed = false;
    bool is_durable = false;
    std::size_t removed = 0;
    for (const storage::Record& record : log->records()) {
      using storage::Call;
      is_renamed = is_renamed || (record.call == Call::rename && record.to == "out.h5");
      is_durable = is_durable || (is_renamed && record.call == Call::sync_directory &&
                                  storage::folder_of(record.path) == ".");
      if (record.call == Call::remove &&
          std::find(before.begin(), before.end(), record.path) != before.end()) {
        EXPECT_TRUE(is_durable) << record.path;
        ++removed;
      }
    }
    EXPECT_EQ(removed, before.size());
  }
}

TEST_F(Ownership, APartIsNamedByItsSetAndSaysWhoseItIs) {
  write("out.h5", SetKind{}.options(), {.steps = 1, .slabs = true});
  append("out.h5", SetKind{"file-per-node", 2}.options(), 1);
  const auto file = storage_->open(at("out.h5"), storage::Access::read);
  const auto set = layout::hdf5::read_set(*file);
  ASSERT_TRUE(set);
  ASSERT_EQ(set->parts.size(), 5u);
  for (std::uint64_t p = 0; p < set->parts.size(); ++p) {
    const std::string path = layout::part_path(at("out.h5"), set->parts[p].path);
    EXPECT_EQ(path, commit::part_file(at("out.h5.parts"), set->id, p, "out.h5"));
    EXPECT_EQ(commit::part_number(path, set->id), p);
    EXPECT_EQ(commit::part_number(path, set->id + 1), std::nullopt);
    const auto part = storage_->open(path, storage::Access::read);
    const auto identity = layout::hdf5::read_identity(*part, 0);
    EXPECT_EQ(identity.set_id, set->id);
    EXPECT_EQ(identity.part_id, set->parts[p].id);
    EXPECT_EQ(identity.index_path, storage::absolute_path("out.h5"));
  }
}

TEST_F(Ownership, ARunThatNeverHadAnIndexLeavesNoParts) {
  const auto faults = std::make_shared<storage::Faults>();
  const auto faulty = std::make_shared<storage::FaultyStorage>(storage_, faults);
  faults->add(
      {.call = storage::Call::rename, .path_part = "out.h5.sluice-new", .error_number = EIO});
  const auto errors = errors_on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, faulty, at("run/out.h5"), Mode::write, SetKind{}.options());
    new_.write(out, transport);
  });
  expect_everywhere(errors, Code::io, {"out.h5"});
  EXPECT_EQ(count("run"), 0u);
}

/// A forged index, which names files that are not its parts.
class Hostile : public Ownership {
 protected:
  Hostile() { storage_ = storage::make("posix"); }
  std::string at(const std::string& name) const override { return scratch_ / name; }
  static std::string text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// All files below a folder, each with a checksum of its bytes.
  std::map<std::string, std::uint64_t> contents(const std::string& folder) {
    std::map<std::string, std::uint64_t> all;
    for (const auto& entry : files::recursive_directory_iterator(at(folder))) {
      if (entry.is_regular_file() && !entry.is_symlink()) {
        all[entry.path()] = codec::checksum(text(entry.path()));
      }
    }
    return all;
  }
  void put(const std::string& name, const std::string& bytes) {
    files::create_directories(files::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  void SetUp() override {
    put("home/id_rsa", "a private key");
    put("home/id_rsa.sluice-journal", "not a journal");
    files::create_directory(at("open"));
    Options options = SetKind{}.options();
    write("home/mine.h5", options, old_);
    options.parts_dir = at("scratch");
    write("home/far.h5", options, old_);
    // Links in the folder where parts may lie, to a file and to a true part.
    files::create_directory(at("open/out.h5.parts"));
    files::create_symlink(at("home/id_rsa"), at("open/out.h5.parts/key"));
    files::create_symlink(parts("home/mine.h5")[0], at("open/out.h5.parts/part"));
    files::create_directory_symlink(at("home/mine.h5.parts"), at("open/link"));
    before_ = contents("home");
    before_.merge(contents("scratch"));
  }
  /// Names all of it, with the ids of a set that it can read.
  void make_index(const std::string& ids_of) {
    const auto file = storage_->open(at(ids_of), storage::Access::read);
    layout::PartSet set = *layout::hdf5::read_set(*file);
    const std::uint64_t id = set.parts[0].id;
    set.strategy = "shared";
    set.variables.clear();
    set.mappings.clear();
    set.parts.clear();
    std::vector<std::string> names{at("home/id_rsa"), "out.h5.parts/key", "out.h5.parts/part"};
    for (const char* name : {"home/mine.h5", "home/far.h5"}) {
      for (const std::string& path : parts(name)) {
        names.push_back(path);
        names.push_back("link/" + files::path(path).filename().string());
      }
    }
    for (const std::string& name : names) {
      set.parts.push_back({name, id, 1, 1, 1});
    }
    const std::map<std::uint32_t, std::vector<std::byte>> scalars;
    files::remove(at("open/out.h5"));
    const auto index = storage_->open(at("open/out.h5"), storage::Access::create);
    layout::hdf5::write_index(*index, {{}, &set, {}, {}, &scalars});
  }
  void expect_untouched() {
    auto now = contents("home");
    now.merge(contents("scratch"));
    EXPECT_EQ(now, before_);
    EXPECT_TRUE(files::is_symlink(at("open/out.h5.parts/key")));
    EXPECT_TRUE(files::is_symlink(at("open/out.h5.parts/part")));
  }

  storage::Scratch scratch_;
  std::map<std::string, std::uint64_t> before_;
};

TEST_F(Hostile, ReplacingTheIndexRemovesNothingThatItNames) {
  Options plain;
  plain.strategy = "serial";
  for (const char* ids_of : {"home/mine.h5", "home/far.h5"}) {
    for (const Options& options : {SetKind{}.options(), plain}) {
      make_index(ids_of);
      write("open/out.h5", options, new_);
      expect("open/out.h5", new_);
      expect_untouched();
    }
  }
}

TEST_F(Hostile, GoingOnWithTheIndexOrCollectingItRemovesAndWritesNothing) {
  for (const char* ids_of : {"home/mine.h5", "home/far.h5"}) {
    make_index(ids_of);
    Options keep = SetKind{"shared"}.options();
    keep.keep_last = 1;
    for (const Error& error : errors_on_ranks(ranks, [&](exec::Transport& transport) {
           File out = open_file(transport, storage_, at("open/out.h5"), Mode::append, keep);
           Steps{.steps = 3, .slabs = true}.write(out, transport);
           out.close();
         })) {
      EXPECT_NE(error.code(), Code::ok);
    }
    expect_untouched();
    for (const Error& error : errors_on_ranks(ranks, [&](exec::Transport& transport) {
           commit::collect(transport, *storage_, at("open/out.h5"), {});
         })) {
      EXPECT_NE(error.code(), Code::ok);
    }
    expect_untouched();
  }
}

/// Parts left by a run that died, to which the index does not refer, do not interfere.
TEST_F(Hostile, NoPartTakesTheNameOfAFileThatIsThere) {
  write("out.h5", SetKind{}.options(), {.steps = 1, .slabs = true});
  const auto file = storage_->open(at("out.h5"), storage::Access::read);
  const std::uint64_t id = layout::hdf5::read_set(*file)->id;
  const std::string left = commit::part_file("out.h5.parts", id, 3, "out.h5");
  const std::string link = commit::part_file("out.h5.parts", id, 4, "out.h5");
  put(left, "left by a run that died");
  files::create_symlink(at("nowhere"), at(link));
  append("out.h5", SetKind{}.options(), 1);
  expect("out.h5", {.steps = 2});
  EXPECT_EQ(text(at(left)), "left by a run that died");
  EXPECT_TRUE(files::is_symlink(at(link)));
  EXPECT_FALSE(files::exists(at("nowhere")));
}

TEST_F(Hostile, AFolderOfPartsThatIsALinkIsRefused) {
  files::remove_all(at("open/out.h5.parts"));
  files::create_directory_symlink(at("home"), at("open/out.h5.parts"));
  const auto errors = errors_on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, storage_, at("open/out.h5"), Mode::write, SetKind{}.options());
    new_.write(out, transport);
  });
  expect_everywhere(errors, Code::permission, {"out.h5.parts", "symbolic link", "parts_dir"});
  EXPECT_FALSE(files::exists(at("open/out.h5")));
  auto now = contents("home");
  now.merge(contents("scratch"));
  EXPECT_EQ(now, before_);
}

/// A journal beside a link would be applied to the target of the link.
TEST_F(Hostile, RecoveryWritesThroughNoLinkAndBesideNoWriter) {
  write("open/set.h5", SetKind{}.options(), new_);
  const std::string part = parts("open/set.h5")[1];
  commit::Journal journal;
  journal.end = files::file_size(part);
  const double value = value_at<double>(100, 4 * 5);  // the first one of rank 1
  const std::string before(reinterpret_cast<const char*>(&value), sizeof value);
  const std::size_t place = text(part).find(before);
  ASSERT_NE(place, std::string::npos);
  const auto bytes = std::as_bytes(std::span(before));
  journal.runs.push_back(
      {place, {bytes.begin(), bytes.end()}, std::vector<std::byte>(8, std::byte{0x5a})});
  storage_->open(commit::journal_path(part), storage::Access::create)->write(0, journal.to_bytes());
  const auto append_fails = [&](Code code, const std::string& word) {
    expect_everywhere(errors_on_ranks(ranks,
                                      [&](exec::Transport& transport) {
                                        open_file(transport, storage_, at("open/set.h5"),
                                                  Mode::append, SetKind{}.options());
                                      }),
                      code, {"set.h5", word});
    EXPECT_TRUE(files::exists(commit::journal_path(part)));
  };
  {
    const auto lease = storage_->lease(part);
    append_fails(Code::locked, "being written");
  }
  files::rename(part, at("home/victim"));
  files::create_symlink(at("home/victim"), part);
  const std::string victim = text(at("home/victim"));
  append_fails(Code::permission, "symbolic link");
  EXPECT_TRUE(text(at("home/victim")) == victim);
}

}  // namespace
}  // namespace sluice::test
