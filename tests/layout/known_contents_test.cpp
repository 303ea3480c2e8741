// The list of contents of files that begin alike: kept from the first, with the values of each, and
// the same as what libhdf5 reads back.
#include "layout/hdf5/known_contents.hpp"

#include <gtest/gtest.h>

#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/contents.hpp"
#include "layout/hdf5/file_contents.hpp"
#include "layout/local_files.hpp"

namespace sluice::layout::hdf5 {
namespace {

using model::Attribute;
using model::AttributeValue;

model::Definition field(const std::string& name, std::uint64_t rows = 4) {
  model::Definition definition;
  definition.name = name;
  definition.type = type_of<double>();
  definition.shape = {rows};
  definition.stepped = true;
  return definition;
}

FirstCommit commit_of(std::vector<Attribute> attributes, const std::string& name = "v") {
  return {Profile::stacked, true, {field(name)}, std::move(attributes)};
}

/// As if they had been read back.
Contents contents_of(const FirstCommit& commit) {
  Contents contents{{1, 2}};
  for (const Attribute& attribute : commit.attributes) {
    record(contents, attribute);
  }
  return contents;
}

TEST(KnownContents, HoldTheValuesOfTheFileThatAsks) {
  KnownContents known;
  const FirstCommit first = commit_of({{"", "title", std::string("a")}, {"v", "scale", 1.5}});
  const FirstCommit second = commit_of({{"", "title", std::string("b c")}, {"v", "scale", 2.5}});
  EXPECT_FALSE(known.find(first));
  known.keep(first, contents_of(first));
  EXPECT_EQ(known.find(first), contents_of(first));
  EXPECT_EQ(known.find(second), contents_of(second));
  EXPECT_NE(contents_of(first), contents_of(second));
}

TEST(KnownContents, AreOfFilesAlikeAlone) {
  KnownContents known;
  const FirstCommit first = commit_of({{"", "title", std::string("a")}});
  known.keep(first, contents_of(first));
  FirstCommit other = first;
  other.profile = Profile::netcdf4;
  EXPECT_FALSE(known.find(other));
  other = first;
  other.has_time = false;
  EXPECT_FALSE(known.find(other));
  other = first;
  other.definitions[0].shape = {5};
  EXPECT_FALSE(known.find(other));
  other = first;
  other.definitions.push_back(field("w"));
  EXPECT_FALSE(known.find(other));
  for (const Attribute& attribute : std::vector<Attribute>{
           {"", "name", std::string("a")},
           {"v", "title", std::string("a")},
           {"", "title", 1.0},
           {"", "title", std::string()},
           {"", "title", std::string("a\0b", 3)},
           {"", "title", std::vector<std::string>{"a"}},
       }) {
    EXPECT_FALSE(known.find(commit_of({attribute}))) << attribute.owner << " " << attribute.name;
  }
  EXPECT_FALSE(known.find(commit_of({})));
  const FirstCommit list = commit_of({{"", "n", std::vector<double>{1, 2}}});
  known.keep(list, contents_of(list));
  EXPECT_TRUE(known.find(commit_of({{"", "n", std::vector<double>{3, 4}}})));
  EXPECT_FALSE(known.find(commit_of({{"", "n", std::vector<double>{3}}})));
}

TEST(KnownContents, AreNotKeptIfAnAttributeIsReadOtherwise) {
  KnownContents known;
  const FirstCommit first = commit_of({{"", "title", std::string("a")}});
  Contents other = contents_of(first);
  record(other, {"", "title", std::string("b")});
  known.keep(first, other);
  EXPECT_FALSE(known.find(first));
  known.keep(first, {{1, 2}});
  EXPECT_FALSE(known.find(first));
  const FirstCommit with_nul = commit_of({{"", "title", std::string("a\0b", 3)}});
  known.keep(with_nul, contents_of(with_nul));
  EXPECT_FALSE(known.find(with_nul));
}

TEST(KnownContents, AreThoseOfTheLastFiles) {
  KnownContents known;
  constexpr int files = 9;
  for (int i = 0; i < files; ++i) {
    const FirstCommit commit = commit_of({}, "v" + std::to_string(i));
    known.keep(commit, contents_of(commit));
    EXPECT_TRUE(known.find(commit_of({}, "v0"))) << i;  // is used, and stays
  }
  EXPECT_FALSE(known.find(commit_of({}, "v1")));
  EXPECT_TRUE(known.find(commit_of({}, "v2")));
}

/// Writes one step of fields with attributes whose values depend on `key`.
void write_file(test::LocalFiles& files, const std::string& path, Profile profile, int key) {
  files.run(2, [&](exec::Transport& transport) {
    Options options;
    options.format = profile == Profile::netcdf4 ? "netcdf4" : "hdf5";
    options.hdf5_layout = profile == Profile::grouped ? "grouped" : "stacked";
    File out = files.open(transport, path, Mode::write, options);
    out.set_attribute("", "title", std::string("run ") + std::to_string(key));
    out.set_attribute("", "count", std::int64_t{key});
    const Variable a = out.define<double>("group/a", {4, 3}, {.steps = true, .unit = "m"});
    const Variable b = out.define<float>("b", {6}, {.steps = false, .unit = "K"});
    out.set_attribute("group/a", "range", std::vector<double>{0.5 * key, 1.5 * key});
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    const std::vector<double> values(6, key);
    const std::vector<float> fixed(3, 1.0F);
    Step step = out.begin_step({.time = 0.25 * key});
    step.put(a, values.data(), {.start = {2 * rank, 0}, .count = {2, 3}});
    step.put(b, fixed.data(), {.start = {3 * rank}, .count = {3}});
    step.end();
    out.close();
  });
}

Handle opened(storage::File& file, DriverState& state) {
  state.file = &file;
  const Handle access = access_list(state);
  return own(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get()), file.path());
}

Contents recorded_in(storage::File& file) {
  DriverState state;
  const Handle hdf5 = opened(file, state);
  const Handle group = own(H5Gopen2(hdf5.get(), group_name, H5P_DEFAULT), group_name);
  return read_contents(group.get(), file.path());
}

Contents read_back(storage::File& file, Profile profile) {
  DriverState state;
  const Handle hdf5 = opened(file, state);
  return hdf5::contents_of(hdf5.get(), file, profile, nullptr);
}

TEST(Contents, OfAnyNumberAreReadBack) {
  test::LocalFiles files;
  write_file(files, "f.h5", Profile::stacked, 1);
  Contents many;
  for (std::uint64_t i = 0; i < (1 << 19) + 1; ++i) {  // two words of the attribute for each
    many[i << 20] = i;
  }
  {
    const auto file = files.storage()->open("f.h5", storage::Access::read_write);
    DriverState state;
    state.file = file.get();
    state.writable = true;
    state.is_direct = true;
    const Handle access = access_list(state);
    const Handle hdf5 = own(H5Fopen("f.h5", H5F_ACC_RDWR, access.get()), "f.h5");
    write_contents(hdf5.get(), many);
  }
  const auto file = files.storage()->open("f.h5", storage::Access::read);
  EXPECT_EQ(recorded_in(*file), many);
}

class FilesAlike : public testing::TestWithParam<Profile> {};

TEST_P(FilesAlike, HoldWhatIsReadBack) {
  test::LocalFiles files;
  for (int key = 1; key <= 3; ++key) {
    const std::string path = "f" + std::to_string(key) + ".h5";
    write_file(files, path, GetParam(), key);
    const auto file = files.storage()->open(path, storage::Access::read);
    EXPECT_EQ(recorded_in(*file), read_back(*file, GetParam())) << path;
    const auto attributes = Catalog::open(*file)->attributes();
    const bool has_value = std::any_of(attributes.begin(), attributes.end(), [&](const auto& a) {
      return a.name == "count" && a.value == AttributeValue(std::int64_t{key});
    });
    EXPECT_TRUE(has_value) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, FilesAlike,
                         testing::Values(Profile::stacked, Profile::netcdf4, Profile::grouped));

}  // namespace
}  // namespace sluice::layout::hdf5
