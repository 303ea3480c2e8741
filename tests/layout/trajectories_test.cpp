// Trajectories (dcd) and coordinates (namdbin): the same bytes by every strategy, appended to, and
// every variant that other programs write.
#include <bit>
#include <cstring>
#include <limits>

#include "commit/tools/convert.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t atoms = 23;

Options by(const std::string& strategy) {
  Options options;
  options.strategy = strategy;
  options.writers = strategy == "collective" || strategy == "forward" ? 2 : 0;
  options.tile_bytes = 64;
  options.budget_bytes = 64 << 10;
  return options;
}

std::vector<float> frame(std::uint64_t step) {
  std::vector<float> values(3 * atoms);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(1000 * step + i) / 8;
  }
  return values;
}

std::vector<double> cell_of(std::uint64_t step) {
  return {50.5 + static_cast<double>(step), 0, 60, 0, 0, 70};
}

void write_frames(LocalFiles& files, const std::string& path, Mode mode, const Options& options,
                  bool has_cell, std::uint64_t first, std::uint64_t last) {
  files.run(4, [&](exec::Transport& t) {
    File out = files.open(t, path, mode, options);
    const auto positions = out.define<float>("positions", {atoms, 3}, {.steps = true});
    Variable cell;
    if (has_cell) {
      cell = out.define<double>("cell", {6}, {.steps = true});
    }
    if (mode == Mode::write) {
      out.set_attribute("", "title", std::vector<std::string>{"one", "two"});
      out.set_attribute("", "step_interval", std::int32_t{10});
      out.set_attribute("", "timestep", 2.0F);
    }
    for (std::uint64_t step = first; step < last; ++step) {
      const std::vector<float> all = frame(step);
      const std::vector<double> numbers = cell_of(step);
      Step now = out.begin_step();
      // Arbitrary atoms: the ranks take turns.
      std::vector<std::uint64_t> ids;
      std::vector<float> rows;
      for (std::uint64_t atom = static_cast<std::uint64_t>(t.rank()); atom < atoms; atom += 4) {
        ids.push_back(atom);
        rows.insert(rows.end(), all.begin() + static_cast<std::ptrdiff_t>(3 * atom),
                    all.begin() + static_cast<std::ptrdiff_t>(3 * atom + 3));
      }
      now.put_rows(positions, ids.data(), ids.size(), rows.data());
      if (has_cell && t.rank() == 1) {
        now.put(cell, numbers.data());
      }
      now.end();
    }
    out.close();
  });
}

void expect_frames(LocalFiles& files, const std::string& path, std::uint64_t steps, bool has_cell) {
  files.run(3, [&](exec::Transport& t) {
    File in = files.open(t, path, Mode::read);
    ASSERT_EQ(in.steps(), steps);
    const auto positions = in.find("positions");
    for (std::uint64_t step = 0; step < steps; ++step) {
      std::vector<float> got(3 * atoms);
      in.get(positions, got.data(), {}, step);
      EXPECT_EQ(got, frame(step));
      if (has_cell) {
        std::vector<double> cell(6);
        in.get(in.find("cell"), cell.data(), {}, step);
        EXPECT_EQ(cell, cell_of(step));
      }
    }
  });
}

/// What the format says byte by byte, made by hand.
class Bytes {
 public:
  Bytes(std::uint64_t marker, bool big) : marker_(marker), big_(big) {}

  template <class T>
  Bytes& put(T value) {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    text += big_ ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
    return *this;
  }
  Bytes& mark(std::uint64_t bytes) {
    return marker_ == 4 ? put(static_cast<std::uint32_t>(bytes)) : put(bytes);
  }
  Bytes& floats(const std::vector<float>& values) {
    mark(4 * values.size());
    for (const float value : values) {
      put(value);
    }
    return mark(4 * values.size());
  }
  std::string text;

 private:
  std::uint64_t marker_;
  bool big_;
};

struct Variant {
  std::uint64_t marker = 4;
  bool big = false;
  bool cell = false;
  bool fourth = false;
  std::int32_t fixed = 0;
  bool is_old = false;  ///< before CHARMM 22: the time step takes 8 bytes, there is no version
};

std::string trajectory(const Variant& v, std::uint64_t steps) {
  Bytes out(v.marker, v.big);
  out.mark(84);
  out.text += "CORD";
  std::int32_t control[20] = {static_cast<std::int32_t>(steps), 5, 10, 5, 0, 0, 0, 0, v.fixed};
  control[10] = v.cell ? 1 : 0;
  control[11] = v.fourth ? 1 : 0;
  control[19] = v.is_old ? 0 : 24;
  for (int i = 0; i < 20; ++i) {
    if (i == 9 && v.is_old) {
      out.put(2.5);
      ++i;
    } else if (i == 9) {
      out.put(2.5F);
    } else {
      out.put(control[i]);
    }
  }
  out.mark(84).mark(84).put(std::int32_t{1});
  out.text += std::string("REMARKS by hand") + std::string(65, ' ');
  out.mark(84).mark(4).put(static_cast<std::int32_t>(atoms)).mark(4);
  std::vector<std::uint64_t> free;
  for (std::uint64_t atom = static_cast<std::uint64_t>(v.fixed); atom < atoms; ++atom) {
    free.push_back(atom);
  }
  if (v.fixed != 0) {
    out.mark(4 * free.size());
    for (const std::uint64_t atom : free) {
      out.put(static_cast<std::int32_t>(atom + 1));
    }
    out.mark(4 * free.size());
  }
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (v.cell) {
      out.mark(48);
      for (const double number : cell_of(step)) {
        out.put(number);
      }
      out.mark(48);
    }
    const std::vector<float> all = frame(step);
    for (std::size_t d = 0; d < (v.fourth ? 4 : 3); ++d) {
      std::vector<float> axis;
      for (std::uint64_t atom = step == 0 ? 0 : static_cast<std::uint64_t>(v.fixed); atom < atoms;
           ++atom) {
        axis.push_back(d == 3 ? static_cast<float>(atom) : all[3 * atom + d]);
      }
      out.floats(axis);
    }
  }
  return out.text;
}

TEST(Dcd, TheSameBytesByEveryStrategy) {
  for (const bool has_cell : {false, true}) {
    std::string serial;
    for (const char* strategy : {"serial", "shared", "collective", "forward", "auto"}) {
      LocalFiles files;
      write_frames(files, "a.dcd", Mode::write, by(strategy), has_cell, 0, 4);
      expect_frames(files, "a.dcd", 4, has_cell);
      serial = serial.empty() ? files.text_of("a.dcd") : serial;
      EXPECT_EQ(files.text_of("a.dcd"), serial) << strategy;
    }
    EXPECT_EQ(serial.size(), 276 + 4 * ((has_cell ? 56 : 0) + 3 * (4 * atoms + 8)));
  }
}

TEST(Dcd, BytesAreThoseOfTheFormat) {
  LocalFiles files;
  files.run(2, [&](exec::Transport& t) {
    File out = files.open(t, "a.dcd", Mode::write, by("shared"));
    const auto positions = out.define<float>("positions", {atoms, 3}, {.steps = true});
    const auto cell = out.define<double>("cell", {6}, {.steps = true});
    out.set_attribute("", "title", std::string("REMARKS by hand"));
    out.set_attribute("", "first_step", std::int32_t{5});
    out.set_attribute("", "step_interval", std::int32_t{10});
    out.set_attribute("", "timestep", 2.5);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto all = frame(step);
      const auto numbers = cell_of(step);
      Step now = out.begin_step();
      if (t.rank() == 0) {
        now.put(positions, all.data());
        now.put(cell, numbers.data());
      }
      now.end();
    }
    out.close();
  });
  std::string expected = trajectory({.cell = true}, 3);
  expected[20] = 30;  // NSTEP: three frames of 10 steps
  EXPECT_EQ(files.text_of("a.dcd"), expected);
}

TEST(Dcd, FramesAreAppended) {
  LocalFiles files;
  write_frames(files, "a.dcd", Mode::write, by("shared"), true, 0, 5);
  write_frames(files, "b.dcd", Mode::write, by("collective"), true, 0, 2);
  write_frames(files, "b.dcd", Mode::append, by("forward"), true, 2, 5);
  EXPECT_EQ(files.text_of("a.dcd"), files.text_of("b.dcd"));
}

TEST(Dcd, TheLastStepStaysAtTheLargestNumber) {
  LocalFiles files;
  const auto write = [&](const std::string& path, Mode mode, int frames) {
    files.run(1, [&](exec::Transport& t) {
      File out = files.open(t, path, mode);
      const auto positions = out.define<float>("positions", {atoms, 3}, {.steps = true});
      if (mode == Mode::write) {
        out.set_attribute("", "first_step", std::int32_t{1 << 30});
        out.set_attribute("", "step_interval", std::int32_t{1 << 30});
      }
      const std::vector<float> values = frame(0);
      for (int i = 0; i < frames; ++i) {
        Step now = out.begin_step();
        now.put(positions, values.data());
        now.end();
      }
      out.close();
    });
  };
  const auto last_step = [&](const std::string& path) {
    std::int32_t word = 0;
    std::memcpy(&word, files.text_of(path).data() + 20, sizeof word);
    return word;
  };
  write("a.dcd", Mode::write, 1);
  EXPECT_EQ(last_step("a.dcd"), 1 << 30);
  write("a.dcd", Mode::append, 3);
  EXPECT_EQ(last_step("a.dcd"), std::numeric_limits<std::int32_t>::max());
  write("a.dcd", Mode::append, 2);
  EXPECT_EQ(last_step("a.dcd"), std::numeric_limits<std::int32_t>::max());
  write("b.dcd", Mode::write, 6);
  EXPECT_EQ(files.text_of("a.dcd"), files.text_of("b.dcd"));
}

TEST(Dcd, EveryVariantIsRead) {
  for (const std::uint64_t marker : {4, 8}) {
    for (const bool big : {false, true}) {
      for (const bool cell : {false, true}) {
        for (const std::int32_t fixed : {0, 7}) {
          LocalFiles files;
          const Variant variant{
              .marker = marker, .big = big, .cell = cell, .fourth = cell, .fixed = fixed};
          files.put_text("x", trajectory(variant, 3));
          files.run(3, [&](exec::Transport& t) {
            File in = files.open(t, "x", Mode::read);
            ASSERT_EQ(in.steps(), 3);
            EXPECT_EQ(std::get<double>(in.attribute("", "timestep")), 2.5);
            EXPECT_EQ(std::get<std::vector<std::string>>(in.attribute("", "title")),
                      std::vector<std::string>{"REMARKS by hand"});
            for (std::uint64_t step = 0; step < 3; ++step) {
              std::vector<float> expected = frame(step);
              const std::vector<float> first = frame(0);
              std::copy_n(first.begin(), 3 * fixed, expected.begin());
              std::vector<float> got(3 * atoms);
              in.get(in.find("positions"), got.data(), {}, step);
              EXPECT_EQ(got, expected);
              if (cell) {
                std::vector<double> numbers(6);
                in.get(in.find("cell"), numbers.data(), {}, step);
                EXPECT_EQ(numbers, cell_of(step));
                std::vector<float> fourth(atoms);
                in.get(in.find("fourth"), fourth.data(), {}, step);
                EXPECT_EQ(fourth[5], 5.0F);
                EXPECT_EQ(fourth[atoms - 1], static_cast<float>(atoms - 1));
              }
            }
          });
        }
      }
    }
  }
}

/// The result of convert() for `path`, and the reported changes.
std::vector<std::string> convert_to(LocalFiles& files, const std::string& from,
                                    const std::string& to, const std::string& strategy) {
  std::vector<std::string> changes;
  files.run(3, [&](exec::Transport& t) {
    const auto done = commit::convert(t, *files.storage(), {from, to, by(strategy)});
    if (t.rank() == 0) {
      changes = done.changes;
    }
  });
  return changes;
}

TEST(Dcd, EveryVariantIsWrittenBackAsItWas) {
  for (const std::uint64_t marker : {4, 8}) {
    for (const bool big : {false, true}) {
      for (const char* more : {"plain", "cell", "cell and fourth", "fourth", "old"}) {
        const std::string kind = more;
        Variant variant{.marker = marker, .big = big, .is_old = kind == "old"};
        variant.cell = kind.starts_with("cell");
        variant.fourth = kind.ends_with("fourth");
        LocalFiles files;
        const std::string text = trajectory(variant, 3);
        files.put_text("x", text);
        for (const char* strategy : {"shared", "collective", "forward", "serial"}) {
          const std::string to = std::string(strategy) + ".dcd";
          EXPECT_TRUE(convert_to(files, "x", to, strategy).empty());
          EXPECT_EQ(files.text_of(to), text) << strategy << ", " << kind << big << marker;
        }
        convert_to(files, "x", "m.h5", "shared");
        EXPECT_TRUE(convert_to(files, "m.h5", "y.dcd", "shared").empty());
        EXPECT_EQ(files.text_of("y.dcd"), text);
        variant.fixed = 7;
        files.put_text("fixed", trajectory(variant, 3));
        const auto changes = convert_to(files, "fixed", "free.dcd", "collective");
        ASSERT_EQ(changes.size(), 1U);
        EXPECT_NE(changes[0].find("fixed atoms"), std::string::npos);
      }
    }
  }
}

TEST(Dcd, WhatIsConvertedKeepsNoChunksOfTheOtherFormat) {
  LocalFiles files;
  files.put_text("x", trajectory({}, 2));
  convert_to(files, "x", "x.rec", "shared");
  files.run(2, [&](exec::Transport& t) {
    File in = files.open(t, "x.rec", Mode::read);
    std::vector<float> got(3 * atoms);
    in.get(in.find("positions"), got.data(), {}, 1);
    EXPECT_EQ(got, frame(1));
  });
  // numpy's format has no place for the header: each attribute is listed, and the values are kept.
  files.run(1, [&](exec::Transport& t) {
    const commit::Converted done =
        commit::convert(t, *files.storage(), {"x", "x.npy", by("shared")});
    EXPECT_FALSE(done.left_out.empty());
    for (const std::string& what : done.left_out) {
      EXPECT_NE(what.find("attribute"), std::string::npos) << what;
    }
    File in = files.open(t, "x.npy", Mode::read);
    std::vector<float> got(3 * atoms);
    in.get(in.find("positions"), got.data(), {}, 1);
    EXPECT_EQ(got, frame(1));
  });
}

TEST(Dcd, FramesAreAddedInTheByteOrderThatIsThere) {
  LocalFiles files;
  const Variant variant{.marker = 8, .big = true, .cell = true};
  files.put_text("a.dcd", trajectory(variant, 2));
  files.put_text("b.dcd", trajectory(variant, 2));
  write_frames(files, "a.dcd", Mode::append, by("forward"), true, 2, 4);
  write_frames(files, "b.dcd", Mode::append, by("shared"), true, 2, 4);
  EXPECT_EQ(files.text_of("a.dcd"), files.text_of("b.dcd"));
  std::string expected = trajectory(variant, 4);
  expected[27] = 25;  // NSTEP: 5 said for two frames of 10 steps
  EXPECT_EQ(files.text_of("a.dcd"), expected);
  expect_frames(files, "a.dcd", 4, true);
}

TEST(Dcd, OldHeadersAndWrongNumbersOfFrames) {
  LocalFiles files;
  for (const bool big : {false, true}) {
    files.put_text("old", trajectory({.big = big, .is_old = true}, 2));
    files.run(1, [&](exec::Transport& t) {
      File in = files.open(t, "old", Mode::read);
      EXPECT_EQ(in.steps(), 2);
      EXPECT_EQ(std::get<double>(in.attribute("", "timestep")), 2.5);
    });
  }
  std::string text = trajectory({}, 3);
  for (const char said : {'\0', '\x09'}) {  // none, and more than there are
    text[8] = said;
    files.put_text("x", text + "half a frame");
    files.run(1, [&](exec::Transport& t) { EXPECT_EQ(files.open(t, "x", Mode::read).steps(), 3); });
  }
  files.put_text("x", text.substr(0, 150));
  expect_error(files.caught(1, [&](exec::Transport& t) { files.open(t, "x", Mode::read); }),
               Code::truncated, {"x", "dcd", "titles"});
}

TEST(Dcd, WhatItDoesNotHoldIsRefused) {
  const auto refused = [](const std::vector<std::string>& parts, auto&& work) {
    LocalFiles files;
    expect_error(files.caught(2,
                              [&](exec::Transport& t) {
                                File out = files.open(t, "a.dcd", Mode::write);
                                work(out);
                                out.close();
                              }),
                 Code::unsupported, parts);
  };
  refused({"define v", "dcd", "positions"}, [](File& out) {
    out.define<float>("v", {atoms, 3}, {.steps = true});
  });
  refused({"define positions", "float32"}, [](File& out) {
    out.define<double>("positions", {atoms, 3}, {.steps = true});
  });
  refused({"define positions", "steps"}, [](File& out) {
    out.define<float>("positions", {atoms, 3});
  });
  refused({"define positions", "536870911"}, [](File& out) {
    out.define<float>("positions", {536870912, 3}, {.steps = true});
  });
  refused({"attribute unit", "title"},
          [](File& out) { out.set_attribute("", "unit", std::string("nm")); });
  refused({"begin_step", "times"}, [](File& out) {
    out.define<float>("positions", {atoms, 3}, {.steps = true});
    out.begin_step({.time = 1}).end();
  });
}

TEST(Namdbin, TheSameBytesByEveryStrategy) {
  std::vector<double> all(3 * atoms);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<double>(i) / 7;
  }
  Bytes expected(4, false);
  expected.put(static_cast<std::int32_t>(atoms));
  Bytes swapped(4, true);
  swapped.put(static_cast<std::int32_t>(atoms));
  for (const double value : all) {
    expected.put(value);
    swapped.put(value);
  }
  const auto expect_read = [&](LocalFiles& files, const std::string& path) {
    files.run(2, [&](exec::Transport& t) {
      File in = files.open(t, path, Mode::read);
      std::vector<double> got(3 * atoms);
      in.get(in.find("whatever"), got.data());
      EXPECT_EQ(got, all);
    });
  };
  for (const char* strategy : {"serial", "shared", "collective", "forward", "auto"}) {
    LocalFiles files;
    files.run(4, [&](exec::Transport& t) {
      File out = files.open(t, "a.coor", Mode::write, by(strategy));
      const auto v = out.define<double>("positions", {atoms, 3});
      const std::uint64_t first = atoms * static_cast<std::uint64_t>(t.rank()) / 4;
      const std::uint64_t last = atoms * static_cast<std::uint64_t>(t.rank() + 1) / 4;
      out.put(v, all.data() + 3 * first, {.start = {first, 0}, .count = {last - first, 3}});
      out.close();
    });
    EXPECT_EQ(files.text_of("a.coor"), expected.text) << strategy;
    expect_read(files, "a.coor");
  }
  LocalFiles files;
  files.put_text("zeros", std::string(4, '\0'));
  expect_error(files.caught(1, [&](exec::Transport& t) { files.open(t, "zeros", Mode::read); }),
               Code::format, {"zeros", "no other format"});
  files.put_text("big", swapped.text);
  expect_read(files, "big");
  expect_error(files.caught(1,
                            [&](exec::Transport& t) {
                              File out = files.open(t, "v.vel", Mode::write);
                              out.define<float>("v", {3, 3});
                            }),
               Code::unsupported, {"namdbin", "float64"});
}

}  // namespace
}  // namespace sluice::test
