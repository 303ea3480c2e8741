// Arrays of numpy's own format: written, appended to, read back; and foreign ones.
#include "layout/local_files.hpp"

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
