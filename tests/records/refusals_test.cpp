// Mistakes of a program with records: each is one clear error, the same on every rank in collective
// calls, and the file stays valid.
#include "records/local_records.hpp"

namespace sluice::test {
namespace {

/// One group of a rank: an int32, two doubles.
void write_simple(LocalRecords& files, int ranks) {
  files.run(ranks, [&](exec::Transport& transport) {
    Records out = files.open(transport, "traj", Mode::write);
    const double x[2] = {1, 2};
    out.write(std::int32_t{5});
    out.write(x, 2);
    out.commit();
  });
}

TEST(Refusals, AnotherTypeThanTheOneWritten) {
  LocalRecords files;
  write_simple(files, 2);
  files.run(2, [&](exec::Transport& transport) {
    Records in = files.open(transport, "traj", Mode::read);
    in.fetch();
    double x[3] = {};
    const std::string part = "part " + std::to_string(transport.rank());
    expect_error(thrown_by([&] { in.read(x); }), Code::type_mismatch,
                 {"traj", "group 0", part, "int32", "float64"});
    std::int32_t head = 0;  // nothing was consumed
    in.read(&head);
    EXPECT_EQ(head, 5);
    float narrow = 0;
    expect_error(thrown_by([&] { in.read(&narrow); }), Code::type_mismatch,
                 {"is float64, but float32 was requested"});
    expect_error(thrown_by([&] { in.read(x, 3); }), Code::out_of_bounds, {"no further float64"});
    EXPECT_EQ(x[1], 2);
  });
}

TEST(Refusals, TextOfAnotherLength) {
  LocalRecords files;
  files.run(1, [&](exec::Transport& transport) {
    Records out = files.open(transport, "traj", Mode::write);
    out.write_raw("water", string_type(5), 1, 0);
    out.commit();
  });
  files.run(1, [&](exec::Transport& transport) {
    Records in = files.open(transport, "traj", Mode::read);
    in.fetch();
    char text[8];
    expect_error(thrown_by([&] { in.read_raw(text, string_type(8), 1, 0); }), Code::type_mismatch,
                 {"string[5]", "string[8]"});
  });
}

TEST(Refusals, OfStatesAndNumbers) {
  LocalRecords files;
  write_simple(files, 3);
  files.run(3, [&](exec::Transport& transport) {
    Records in = files.open(transport, "traj", Mode::read);
    expect_error(thrown_by([&] { in.write(1); }), Code::wrong_state, {"traj", "reading"});
    expect_error(thrown_by([&] { in.commit(); }), Code::wrong_state, {"traj", "reading"});
    expect_error(thrown_by([&] { in.fetch(1); }), Code::out_of_bounds, {"group 1 of 1"});
    double x = 0;
    expect_error(thrown_by([&] { in.read(&x); }), Code::out_of_bounds, {"float64"});
    in.fetch();
    expect_error(thrown_by([&] { in.read(&x, 1, 1); }), Code::invalid_argument, {"part 1 of 1"});
    in.close();
    expect_error(thrown_by([&] { in.close(); }), Code::wrong_state, {"closed"});
    expect_error(thrown_by([&] { in.fetch(); }), Code::wrong_state, {"closed"});
  });
}

TEST(Refusals, FilesThatHoldNoRecords) {
  LocalRecords files;
  for (const char* path : {"a.h5", "a.rec"}) {
    files.run(2, [&](exec::Transport& transport) {
      File out = files.LocalFiles::open(transport, path, Mode::write);
      out.define<double>("x", {3});
      out.close();
    });
    for (const Mode mode : {Mode::read, Mode::append}) {
      const Error error =
          files.caught(2, [&](exec::Transport& transport) { files.open(transport, path, mode); });
      expect_error(error, Code::format, {path, "holds no records"});
    }
  }
  Options options;
  options.format = "hdf5";
  expect_error(
      files.caught(
          2, [&](exec::Transport& transport) { files.open(transport, "b", Mode::write, options); }),
      Code::unsupported, {"b", "hdf5", "use format records"});
  EXPECT_FALSE(files.storage()->exists("b"));
}

TEST(Refusals, StrategiesThatWriteSeveralFiles) {
  for (const char* strategy : {"file-per-process", "file-per-node"}) {
    LocalRecords files;
    Options options;
    options.strategy = strategy;
    expect_error(files.caught(3,
                              [&](exec::Transport& transport) {
                                files.open(transport, "traj", Mode::write, options);
                              }),
                 Code::unsupported, {"traj", strategy, "records", "use "});
    EXPECT_FALSE(files.storage()->exists("traj"));
  }
}

TEST(Refusals, WhatOneRankMeetsAllRanksGet) {
  LocalRecords files;
  files.run(3, [&](exec::Transport& transport) {
    Records out = files.open(transport, "traj", Mode::write);
    out.write(1.5);
    out.commit();
    out.write(2.5);
    if (transport.rank() == 1) {
      expect_error(thrown_by([&] { out.write(1, 4); }), Code::invalid_argument, {"part 4 of 1"});
    }
    expect_error(thrown_by([&] { out.commit(); }), Code::invalid_argument,
                 {"rank 1", "part 4 of 1"});
    out.write(3.5);  // what was written for the group that failed is gone
    out.commit();
  });
  files.run(3, [&](exec::Transport& transport) {
    Records in = files.open(transport, "traj", Mode::read);
    for (const double expected : {1.5, 3.5}) {
      EXPECT_TRUE(in.fetch());
      double got = 0;
      in.read(&got);
      EXPECT_EQ(got, expected);
      EXPECT_TRUE(in.at_end());
    }
    EXPECT_FALSE(in.fetch());
  });
}

TEST(Refusals, RanksThatDoDifferentThings) {
  LocalRecords files;
  const Error error = files.caught(3, [&](exec::Transport& transport) {
    Records out = files.open(transport, "traj", Mode::write);
    transport.rank() == 1 ? out.close() : static_cast<void>(out.commit());
  });
  expect_error(error, Code::divergent, {"traj", "rank 1 closes, rank 0 commits"});
}

TEST(Refusals, ABitThatChangedAnywhere) {
  LocalRecords files;
  write_simple(files, 2);
  const std::vector<std::byte> good = files.storage()->contents("traj");
  const auto read = [&] {
    return files.caught(2, [&](exec::Transport& transport) {
      Records in = files.open(transport, "traj", Mode::read);
      while (in.fetch()) {
        std::int32_t head = 0;
        double x[2] = {};
        in.read(&head);
        in.read(x, 2);
        if (head != 5 || x[0] != 1 || x[1] != 2) {
          throw Error(Code::internal, "wrong values");
        }
      }
    });
  };
  EXPECT_EQ(read().code(), Code::ok);
  int unnoticed = 0;
  for (std::size_t at = 0; at < good.size(); at += at < 1024 || at >= 4096 ? 1 : 64) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{0x10};
    files.storage()->put("traj", bad);
    const Error error = read();
    const bool is_seen = error.code() == Code::damaged || error.code() == Code::format ||
                         error.code() == Code::changed_outside ||
                         error.code() == Code::out_of_bounds ||  // of a checksum record
                         error.code() == Code::truncated || error.code() == Code::version;
    if (error.code() == Code::ok) {
      ++unnoticed;  // between two sections, or of whose variable a checksum is: sluice verify
    } else {
      EXPECT_TRUE(is_seen) << "byte " << at << ": " << error.what();
    }
  }
  EXPECT_LT(unnoticed, 48);
}

}  // namespace
}  // namespace sluice::test
