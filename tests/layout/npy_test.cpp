// Arrays of numpy's own format: written, appended to, read back; and foreign ones.
#include "layout/local_files.hpp"
#include "layout/npy/catalog.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

template <class T>
void write_steps(LocalFiles& files, const std::string& path, Mode mode, std::uint64_t first,
                 std::uint64_t steps, const Shape& shape) {
  files.run(3, [&](exec::Transport& transport) {
    File out = files.open(transport, path, mode);
    const auto v = out.define<T>("v", shape, {.steps = true});
    for (std::uint64_t s = first; s < first + steps; ++s) {
      Giver<T> giver;
      Step step = out.begin_step();
      if (!shape.empty() || transport.rank() == 0) {
        giver.put(step, v, s, shape, slab(shape, transport.rank(), transport.size()));
      }
      const Ticket ticket = step.end();
      EXPECT_EQ(ticket.step(), s);
      EXPECT_TRUE(ticket.durable());
    }
    out.close();
  });
}

template <class T>
void expect_steps(LocalFiles& files, const std::string& path, std::uint64_t steps,
                  const Shape& shape) {
  files.run(2, [&](exec::Transport& transport) {
    File in = files.open(transport, path, Mode::read);
    EXPECT_EQ(in.steps(), steps);
    EXPECT_TRUE(in.info(in.find("v")).steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      EXPECT_TRUE(std::isnan(in.time(s)));
      expect_values<T>(in, "v", s, shape, slab(shape, transport.rank(), transport.size()), s);
    }
  });
}

TEST(Npy, StepsAreAppendedToTheFirstAxis) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{5, 3}, Shape{2, 3, 4, 5}, Shape{0, 3}}) {
    LocalFiles files;
    write_steps<float>(files, "v.npy", Mode::write, 0, 3, shape);
    expect_steps<float>(files, "v.npy", 3, shape);
    write_steps<float>(files, "v.npy", Mode::append, 3, 2, shape);
    expect_steps<float>(files, "v.npy", 5, shape);
    EXPECT_EQ(files.storage()->paths(), std::vector<std::string>{"v.npy"});
    EXPECT_EQ(files.text_of("v.npy").size(), 4096 + 5 * dims_of(shape).volume() * sizeof(float));
  }
}

TEST(Npy, ATypeOfEveryKind) {
  const auto check = [](const std::string& descriptor, auto sample) {
    using T = decltype(sample);
    LocalFiles files;
    write_steps<T>(files, "v.npy", Mode::write, 0, 2, {6});
    expect_steps<T>(files, "v.npy", 2, {6});
    EXPECT_NE(files.text_of("v.npy").find("'descr': '" + descriptor + "'"), std::string::npos);
  };
  check("|i1", std::int8_t{});
  check("<i2", std::int16_t{});
  check("<i4", std::int32_t{});
  check("<i8", std::int64_t{});
  check("|u1", std::uint8_t{});
  check("<u2", std::uint16_t{});
  check("<u4", std::uint32_t{});
  check("<u8", std::uint64_t{});
  check("<f4", float{});
  check("<f8", double{});
  check("<c8", std::complex<float>{});
  check("<c16", std::complex<double>{});
  check("|b1", bool{});
}

TEST(Npy, WhatIsLeftOutIsFilled) {
  LocalFiles files;
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, "v.npy", Mode::write);
    const auto v = out.define<std::int32_t>("v", {5}, {.steps = true, .partial = true, .fill = 9});
    const std::int32_t value = 4;
    Step first = out.begin_step();
    if (transport.rank() == 1) {
      first.put(v, &value, {.start = {3}, .count = {1}});
    }
    first.end();
    out.begin_step().end();
    out.close();
  });
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, "v.npy", Mode::read);
    std::vector<std::int32_t> got(5);
    in.get(in.find("v"), got.data(), {}, 0);
    EXPECT_EQ(got, (std::vector<std::int32_t>{9, 9, 9, 4, 9}));
    in.get(in.find("v"), got.data(), {}, 1);
    EXPECT_EQ(got, (std::vector<std::int32_t>{9, 9, 9, 9, 9}));
  });
}

TEST(Npy, AFailedStepLeavesTheStepsBefore) {
  LocalFiles files;
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, "v.npy", Mode::write);
    const auto v = out.define<double>("v", {4}, {.steps = true});
    Giver<double> giver;
    for (int s = 0; s < 3; ++s) {
      Step step = out.begin_step();
      if (s != 1 || transport.rank() == 0) {  // in step 1 half of the elements is missing
        giver.put(step, v, static_cast<std::uint64_t>(s == 2 ? 1 : s), {4},
                  slab({4}, transport.rank(), 2));
      }
      if (s == 1) {
        EXPECT_THROW(step.end(), Error);
      } else {
        step.end();
      }
    }
    out.close();
  });
  expect_steps<double>(files, "v.npy", 2, {4});
}

TEST(Npy, TheOneArrayAnswersToEveryName) {
  LocalFiles files;
  write_steps<double>(files, "traj.npy", Mode::write, 0, 1, {4});
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, "traj.npy", Mode::read);
    EXPECT_EQ(in.variables().at(0).name, "traj");
    EXPECT_EQ(in.find("v").index(), 0u);
    EXPECT_EQ(in.find("traj").index(), 0u);
  });
}

std::string foreign(const std::string& dictionary, const std::string& data,
                    const std::string& version = std::string("\x01\x00", 2)) {
  std::string text = dictionary + std::string(118 - dictionary.size() % 64, ' ') + "\n";
  std::string length(version[0] == 1 ? 2 : 4, '\0');
  length[0] = static_cast<char>(text.size() & 0xff);
  length[1] = static_cast<char>(text.size() >> 8);
  return std::string("\x93NUMPY", 6) + version + length + text + data;
}

Error opened(const std::string& text) {
  LocalFiles files;
  files.put_text("v.npy", text);
  return files.caught(
      1, [&](exec::Transport& transport) { files.open(transport, "v.npy", Mode::read); });
}

/// Element i of the array in C order is i, in as many bytes; the first dimension is the fastest.
std::string in_fortran_order(const model::Dims& shape, std::size_t bytes, bool is_big) {
  std::string data;
  model::Dims at = model::Dims::filled(shape.rank(), 0);
  for (std::uint64_t n = 0; n < shape.volume(); ++n) {
    std::uint64_t index = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      index = index * shape[d] + at[d];
    }
    for (std::size_t b = 0; b < bytes; ++b) {
      data += static_cast<char>(index >> 8 * (is_big ? bytes - 1 - b : b) & 0xff);
    }
    for (int d = 0; d < shape.rank() && ++at[d] == shape[d]; ++d) {
      at[d] = 0;
    }
  }
  return data;
}

/// Reads a box: each element is its own number, as far as its bytes go.
void expect_box(layout::npy::NpyCatalog& catalog, const model::Box& box, const model::Dims& shape,
                std::size_t bytes) {
  std::vector<std::byte> got(box.volume() * bytes);
  catalog.read(0, 0, box, got);
  model::Dims at = box.start;
  for (std::uint64_t n = 0; n < box.volume(); ++n) {
    std::uint64_t index = 0;
    std::uint64_t value = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      index = index * shape[d] + at[d];
    }
    for (std::size_t b = bytes; b > 0; --b) {
      value = value << 8 | static_cast<std::uint64_t>(got[n * bytes + b - 1]);
    }
    ASSERT_EQ(value, bytes == 8 ? index : index & ((1ULL << 8 * bytes) - 1))
        << box.text() << " element " << n;
    for (int d = shape.rank() - 1; d >= 0 && ++at[d] == box.end(d); --d) {
      at[d] = box.start[d];
    }
  }
}

/// As many calls of the storage as a part of the array has lines made a small one last a minute.
TEST(Npy, FortranOrderIsReadInLongPieces) {
  struct Case {
    model::Dims shape;
    const char* type;
    std::uint64_t most_reads;
  };
  for (const Case& one : {Case{{64, 40, 30}, "<i8", 100}, Case{{64, 40, 30}, ">i2", 100},
                          Case{{4, 5000}, "<i4", 60}, Case{{9000, 3, 10}, "<i8", 200},
                          Case{{20000, 12}, "|u1", 200}, Case{{5, 3, 4, 6}, "<u2", 200}}) {
    const auto bytes = static_cast<std::size_t>(one.type[2] - '0');
    const std::string descriptor = one.type;
    SCOPED_TRACE(one.shape.text() + " " + descriptor);
    LocalFiles files;
    files.put_text("v.npy",
                   foreign("{'descr': '" + descriptor +
                               "', 'fortran_order': True, 'shape': " + one.shape.text() + ", }",
                           in_fortran_order(one.shape, bytes, one.type[0] == '>')));
    const auto faults = std::make_shared<storage::Faults>();
    storage::FaultyStorage watched(files.storage(), faults);
    const auto file = watched.open("v.npy", storage::Access::read);
    const auto catalog = layout::npy::NpyCatalog::open(*file);
    const std::uint64_t before = faults->calls(storage::Call::read);
    const std::uint64_t rows = std::max<std::uint64_t>(1, one.shape[0] / 32);
    for (std::uint64_t row = 0; row < one.shape[0]; row += rows) {
      model::Box box = model::whole(one.shape);
      box.start[0] = row;
      box.count[0] = std::min(rows, one.shape[0] - row);
      expect_box(*catalog, box, one.shape, bytes);
    }
    EXPECT_LE(faults->calls(storage::Call::read) - before, one.most_reads);
    model::Box inner = model::whole(one.shape);
    for (int d = 0; d < one.shape.rank(); ++d) {
      inner.start[d] = one.shape[d] / 3;
      inner.count[d] = one.shape[d] / 2;
    }
    expect_box(*layout::npy::NpyCatalog::open(*file), inner, one.shape, bytes);
    expect_box(*catalog, inner, one.shape, bytes);
  }
}

TEST(Npy, ForeignArraysAreRead) {
  LocalFiles files;
  // 2 x 3 numbers, big-endian, the first dimension fastest: [[1, 3, 5], [2, 4, 6]]
  std::string data;
  for (char i = 1; i <= 6; ++i) {
    data += std::string(1, '\0') + i;
  }
  for (const auto& version :
       {std::string("\x01\x00", 2), std::string("\x02\x00", 2), std::string("\x03\x00", 2)}) {
    files.put_text("v.npy", foreign("{'shape': (2, 3), \"fortran_order\": True, 'descr': '>i2'}",
                                    data, version));
    files.run(1, [&](exec::Transport& transport) {
      File in = files.open(transport, "v.npy", Mode::read);
      EXPECT_EQ(in.info(Variable(0)).shape, (Shape{2, 3}));
      EXPECT_FALSE(in.info(Variable(0)).steps);
      std::vector<std::int32_t> got(6);
      in.get(Variable(0), got.data());
      EXPECT_EQ(got, (std::vector<std::int32_t>{1, 3, 5, 2, 4, 6}));
      std::vector<std::int32_t> part(2);
      in.get(Variable(0), part.data(), {.start = {0, 2}, .count = {2, 1}});
      EXPECT_EQ(part, (std::vector<std::int32_t>{5, 6}));
    });
  }
  files.put_text("v.npy",
                 foreign("{'descr': '>i2', 'fortran_order': False, 'shape': (6,), }", data));
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, "v.npy", Mode::read);
    std::vector<std::int16_t> got(6);
    in.get(Variable(0), got.data());
    EXPECT_EQ(got, (std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
  });
}

TEST(Npy, WhatCannotBeReadIsNamed) {
  const std::string rest = ", 'fortran_order': False, 'shape': (2,), }";
  const std::string data(16, '\0');
  expect_error(opened(foreign("{'descr': '<f16'" + rest, data + data)), Code::unsupported,
               {"v.npy", "<f16"});
  expect_error(opened(foreign("{'descr': '|O'" + rest, data)), Code::unsupported, {"|O"});
  expect_error(opened(foreign("{'descr': [('a', '<f8')]" + rest, data)), Code::unsupported,
               {"records"});
  expect_error(opened(foreign("{'descr': '<f8'" + rest, "short")), Code::truncated, {"v.npy"});
  expect_error(opened(foreign("{'descr': '<f8', 'shape': (2,)}", data)), Code::format, {"lacks"});
  expect_error(opened(foreign("{'descr': '<f8', 'more': 1" + rest, data)), Code::format, {"more"});
  expect_error(opened(foreign("{'descr': '<f8', 'fortran_order': False, 'shape': (2 3)}", data)),
               Code::truncated, {});
  expect_error(opened(foreign("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}", data)),
               Code::format, {"number"});
  expect_error(opened(foreign("{'descr': '<f8', 'fortran_order': False, "
                              "'shape': (18446744073709551615, 18446744073709551615)}",
                              data)),
               Code::out_of_bounds, {});
  expect_error(opened(foreign("{'descr': '<f8'" + rest, data, std::string("\x09\x00", 2))),
               Code::version, {"9.x"});
  expect_error(opened(std::string("\x93NUMPY\x01\x00\xff", 9)), Code::format, {"v.npy"});
  expect_error(opened(std::string("\x93NUMPY\x01\x00\xff\x00{", 11)), Code::truncated, {"header"});
}

TEST(Npy, OnlyOurStepsCanBeAppendedTo) {
  LocalFiles files;
  files.put_text("v.npy", foreign("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }",
                                  std::string(16, '\0')));
  const Error error = files.caught(
      2, [&](exec::Transport& transport) { files.open(transport, "v.npy", Mode::append); });
  expect_error(error, Code::unsupported, {"v.npy", "npy", "write a new one"});
}

TEST(Npy, AFixedArrayIsWrittenOnce) {
  LocalFiles files;
  const Error error = files.caught(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "v.npy", Mode::write);
    const auto v = out.define<double>("v", {2});
    const double values[] = {1, 2};
    out.put(v, values);
    out.flush();
    out.put(v, values);
    out.flush();
  });
  expect_error(error, Code::unsupported, {"v", "earlier commit"});
}

}  // namespace
}  // namespace sluice::test
