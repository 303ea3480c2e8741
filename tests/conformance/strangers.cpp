// Malformed files, and files that other programs made or changed.
#include <hdf5.h>

#include "storage/scratch.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::strangers {
namespace {

const Shape shape = {20, 5};

void write_file(World& world, const std::string& path) {
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("g/v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, 1, shape, slab(shape, rank.rank(), rank.ranks()));
    step.end();
    out.close();
  });
}

/// The file after another program has modified it with libhdf5 alone. Empty `bytes`: a new file.
std::vector<std::byte> edited(const std::vector<std::byte>& bytes,
                              const std::function<void(hid_t)>& edit) {
  const storage::Scratch scratch;
  const std::string path = scratch / "edited.h5";
  const auto disk = storage::make_posix();
  if (!bytes.empty()) {
    disk->open(path, storage::Access::create)->write(0, bytes);
  }
  const hid_t file = bytes.empty() ? H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)
                                   : H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  EXPECT_GE(file, 0);
  edit(file);
  H5Fclose(file);
  const auto made = disk->open(path, storage::Access::read);
  std::vector<std::byte> all(made->size());
  all.resize(made->read(0, all));
  return all;
}

/// A dataset of float64 in native chunks or contiguous, values index * 0.5.
void add_dataset(hid_t file, const char* name, const std::vector<hsize_t>& dims,
                 const std::vector<hsize_t>& chunk, hid_t type) {
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (!chunk.empty()) {
    H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data());
  }
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  const hid_t dataset = H5Dcreate2(file, name, type, space, links, list, H5P_DEFAULT);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.5 * static_cast<double>(i);
  }
  H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(dataset);
  H5Pclose(links);
  H5Pclose(list);
  H5Sclose(space);
}

void expect_opening_fails(World& world, const std::string& path, Code code,
                          const std::vector<std::string>& parts,
                          const std::vector<Mode>& modes = {Mode::read, Mode::append}) {
  for (const Mode mode : modes) {
    expect_same_error(world.run_catching([&](Rank& rank) { rank.open(path, mode); }), code, parts);
  }
}

SLUICE_BEHAVIOUR(strangers, a_text_file_is_refused) {
  const std::string path = world.path("text.h5");
  const std::string text = "This is a text of more than eight letters.\n";
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  world.put_bytes(path, {first, first + text.size()});
  expect_opening_fails(world, path, Code::format, {path, "HDF5"});
  world.put_bytes(path, {});
  expect_opening_fails(world, path, Code::format, {path});
  EXPECT_TRUE(world.bytes_of(path).empty());
}

SLUICE_BEHAVIOUR(strangers, a_file_cut_short_is_refused) {
  const std::string path = world.path("cut.h5");
  write_file(world, path);
  const auto whole = world.bytes_of(path);
  for (const std::size_t left : {whole.size() - 1, whole.size() / 2, std::size_t{200}}) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(left));
    world.put_bytes(path, cut);
    // An npy file that lacks values of its last steps is repaired by an append.
    const bool is_mended = world.cell().layout == "npy";
    const std::vector<Mode> modes =
        is_mended ? std::vector{Mode::read} : std::vector{Mode::read, Mode::append};
    expect_opening_fails(world, path, Code::truncated, {path, "truncated"}, modes);
    EXPECT_TRUE(world.bytes_of(path) == cut);
  }
}

SLUICE_BEHAVIOUR(strangers, a_newer_major_version_is_refused) {
  const std::string path = world.path("newer.h5");
  write_file(world, path);
  if (!world.format().names) {
    auto bytes = world.bytes_of(path);
    bytes.at(6) = std::byte{7};  // after numpy's magic string
    world.put_bytes(path, bytes);
    expect_opening_fails(world, path, Code::version, {path, "7", "known"});
    return;
  }
  world.put_bytes(path, edited(world.bytes_of(path), [](hid_t file) {
                    const std::int32_t major = 7;
                    const hid_t group = H5Gopen2(file, "sluice", H5P_DEFAULT);
                    const hid_t attribute = H5Aopen(group, "format_major", H5P_DEFAULT);
                    EXPECT_GE(H5Awrite(attribute, H5T_NATIVE_INT32, &major), 0);
                    H5Aclose(attribute);
                    H5Gclose(group);
                  }));
  expect_opening_fails(world, path, Code::version, {path, "7", "newer Sluice"});
}

SLUICE_BEHAVIOUR(strangers, a_file_of_another_program_is_read_not_appended) {
  const std::string path = world.path("foreign.h5");
  world.put_bytes(path, edited({}, [](hid_t file) {
                    add_dataset(file, "plain", {7, 4}, {}, H5T_IEEE_F64LE);
                    add_dataset(file, "big", {7, 4}, {}, H5T_IEEE_F64BE);
                    add_dataset(file, "chunked", {7, 4}, {3, 3}, H5T_IEEE_F32BE);
                    add_dataset(file, "integers", {7, 4}, {2, 4}, H5T_STD_I16BE);
                  }));
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(in.steps(), 0u);
    for (const char* name : {"plain", "big", "chunked", "integers"}) {
      const model::Box box = slab({7, 4}, rank.rank(), rank.ranks());
      Array<double> got(box.volume());
      in.get(in.find(name), got.data(), selection_of(box));
      for_each_element({7, 4}, box, [&](std::uint64_t index, std::uint64_t k) {
        const double value = 0.5 * static_cast<double>(index);
        const bool is_integer = std::string(name) == "integers";
        ASSERT_EQ(got[k], is_integer ? static_cast<double>(index / 2) : value) << name << index;
      });
    }
  });
  expect_same_error(world.run_catching([&](Rank& rank) { rank.open(path, Mode::append); }),
                    Code::format,
                    {path, world.has_parts() ? "not the index of a set" : "not written by Sluice"});
}

/// The steps, with keys from 1 on, and what was added.
void expect_added(World& world, const std::string& path, std::uint64_t steps) {
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        ASSERT_EQ(in.steps(), steps);
        for (std::uint64_t s = 0; s < steps; ++s) {
          expect_values<double>(in, "g/v", s + 1, shape, whole_box(shape), s);
        }
        double notes[3];
        in.get(in.find("notes"), notes);
        EXPECT_EQ(notes[2], 1.0);
        double more[16];
        in.get(in.find("g/more"), more);
        EXPECT_EQ(more[15], 7.5);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(strangers, what_another_program_added_does_not_disturb) {
  const std::string path = world.path("added.h5");
  write_file(world, path);
  world.put_bytes(path, edited(world.bytes_of(path), [](hid_t file) {
                    add_dataset(file, "notes", {3}, {}, H5T_IEEE_F64LE);
                    add_dataset(file, "g/more", {8, 2}, {4, 2}, H5T_IEEE_F64LE);
                  }));
  if (world.has_parts()) {
    // The index is rewritten at every commit, so appending is refused if it contains more.
    expect_same_error(world.run_catching([&](Rank& rank) { rank.open(path, Mode::append); }),
                      Code::changed_outside, {path, "added by another program"});
    expect_added(world, path, 1);
    return;
  }
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    EXPECT_EQ(out.steps(), 1u);
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, out.find("g/v"), 2, shape, slab(shape, rank.rank(), rank.ranks()));
    step.end();
    out.close();
  });
  expect_added(world, path, 2);
}

}  // namespace
}  // namespace sluice::test::strangers
