// What each rank wrote is read back: on as many ranks, on others, of any length, by every strategy.
#include "commit/tools/convert.hpp"
#include "commit/tools/verify.hpp"
#include "records/local_records.hpp"

namespace sluice::test {
namespace {

constexpr int groups = 6;

void write_all(LocalRecords& files, int ranks, const std::string& path, Mode mode, int first,
               const Options& options = {}) {
  files.run(ranks, [&](exec::Transport& transport) {
    Records out = files.open(transport, path, mode, options);
    for (int g = first; g < first + groups; ++g) {
      write_particles(out, transport.rank(), g);
      const Ticket ticket = out.commit();
      EXPECT_EQ(ticket.step(), static_cast<std::uint64_t>(g));
      EXPECT_EQ(out.groups(), static_cast<std::uint64_t>(g) + 1);
    }
    out.close();
  });
}

/// Reader r of M gets the parts r*P/M to (r+1)*P/M - 1.
void read_all(LocalRecords& files, int readers, int parts, const std::string& path, int all) {
  files.run(readers, [&](exec::Transport& transport) {
    Records in = files.open(transport, path, Mode::read);
    EXPECT_EQ(in.groups(), static_cast<std::uint64_t>(all));
    const int r = transport.rank();
    for (int g = 0; g < all; ++g) {
      EXPECT_TRUE(in.fetch());
      for (int p = r * parts / readers; p < (r + 1) * parts / readers; ++p) {
        EXPECT_FALSE(in.at_end());
        read_particles(in, p, g);
      }
      EXPECT_TRUE(in.at_end());
    }
    EXPECT_FALSE(in.fetch());
    in.fetch(0);  // in any order
    EXPECT_TRUE(in.fetch());
    in.close();
  });
}

TEST(Streams, ComeBackOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 7}) {
    LocalRecords files;
    write_all(files, ranks, "traj", Mode::write, 0);
    for (const int readers : {1, 2, 3, 7, 9}) {
      SCOPED_TRACE(std::to_string(ranks) + " parts, " + std::to_string(readers) + " readers");
      read_all(files, readers, ranks, "traj", groups);
    }
    EXPECT_EQ(files.storage()->paths(), std::vector<std::string>{"traj"});
  }
}

TEST(Streams, AreWrittenByEveryStrategy) {
  for (const char* strategy : {"shared", "collective", "serial", "forward", "auto"}) {
    SCOPED_TRACE(strategy);
    LocalRecords files;
    Options options;
    options.strategy = strategy;
    write_all(files, 4, "traj", Mode::write, 0, options);
    read_all(files, 4, 4, "traj", groups);
  }
}

TEST(Streams, AreAppended) {
  LocalRecords files;
  write_all(files, 4, "traj", Mode::write, 0);
  write_all(files, 4, "traj", Mode::append, groups);
  read_all(files, 2, 4, "traj", 2 * groups);
}

TEST(Streams, OfOneProcessForManyRanks) {
  constexpr int parts = 130;
  LocalRecords files;
  files.run(1, [&](exec::Transport& transport) {
    Records out = files.open(transport, "init", Mode::write, {}, parts);
    EXPECT_EQ(out.parts(), parts);
    for (int g = 0; g < 2; ++g) {
      for (int p = parts - 1; p >= 0; --p) {  // in any order
        write_particles(out, p, g, p);
      }
      out.commit();
    }
    out.close();
  });
  read_all(files, 7, parts, "init", 2);
  files.run(1, [&](exec::Transport& transport) {
    Records in = files.open(transport, "init", Mode::read, {}, parts);
    for (int g = 0; in.fetch(); ++g) {
      for (int p = 0; p < parts; ++p) {
        read_particles(in, p, g, p);
        EXPECT_TRUE(in.at_end(p));
      }
    }
  });
}

TEST(Streams, OfFourFilesAtOnce) {
  LocalRecords files;
  const std::vector<std::string> names{"traj", "conf", "wvalues", "init"};
  files.run(3, [&](exec::Transport& transport) {
    std::vector<Records> out;
    for (const std::string& name : names) {
      out.push_back(files.open(transport, name, Mode::write));
    }
    for (int g = 0; g < groups; ++g) {
      for (Records& one : out) {
        write_particles(one, transport.rank(), g);
      }
      for (Records& one : out) {
        one.commit();
      }
    }
  });
  for (const std::string& name : names) {
    read_all(files, 3, 3, name, groups);
  }
}

TEST(Streams, WithoutAValueAreGroupsToo) {
  LocalRecords files;
  files.run(3, [&](exec::Transport& transport) {
    Records out = files.open(transport, "traj", Mode::write);
    out.commit();
    if (transport.rank() == 2) {
      out.write(4.0);
    }
    out.commit();
  });
  files.run(3, [&](exec::Transport& transport) {
    Records in = files.open(transport, "traj", Mode::read);
    EXPECT_TRUE(in.fetch());
    EXPECT_TRUE(in.at_end());
    EXPECT_TRUE(in.fetch());
    EXPECT_EQ(in.at_end(), transport.rank() != 2);
    EXPECT_FALSE(in.fetch());
  });
}

TEST(Streams, AreConvertedToHdf5AndBack) {
  LocalRecords files;
  write_all(files, 3, "traj.rec", Mode::write, 0);
  const auto convert = [&](const std::string& from, const std::string& to) {
    files.run(2, [&](exec::Transport& transport) {
      commit::convert(transport, *files.storage(), {from, to});
    });
  };
  convert("traj.rec", "traj.h5");
  convert("traj.h5", "again.rec");
  for (const char* path : {"traj.h5", "again.rec"}) {
    read_all(files, 2, 3, path, groups);
  }
}

TEST(Streams, AreVerified) {
  LocalRecords files;
  write_all(files, 3, "traj", Mode::write, 0);
  files.run(2, [&](exec::Transport& transport) {
    const commit::Verdict verdict = commit::verify(transport, *files.storage(), "traj");
    EXPECT_EQ(verdict.state, commit::State::ok);
    EXPECT_EQ(verdict.uncovered_count, 0U);
  });
}

TEST(Streams, OfManyMegabytes) {
  LocalRecords files;
  constexpr std::uint64_t count = 3 << 20;
  files.run(2, [&](exec::Transport& transport) {
    Records out = files.open(transport, "big", Mode::write);
    std::vector<float> values(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(i % 100000) + static_cast<float>(transport.rank());
    }
    out.write(values.data(), count);
    out.commit();
  });
  files.run(1, [&](exec::Transport& transport) {
    Records in = files.open(transport, "big", Mode::read);
    in.fetch();
    std::vector<float> values(2 * count);  // across two parts
    in.read(values.data(), 2 * count);
    for (std::uint64_t i = 0; i < 2 * count; i += 997) {
      ASSERT_EQ(values[i], static_cast<float>(i % count % 100000) + (i >= count ? 1.0F : 0.0F));
    }
    EXPECT_TRUE(in.at_end());
  });
}

}  // namespace
}  // namespace sluice::test
