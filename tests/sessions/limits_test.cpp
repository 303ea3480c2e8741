// Sessions at the limits of similar libraries: one test for each known limit.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "sessions/local_sessions.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

/// All ranks write their part of a session of rank 0; the file afterwards.
std::vector<std::byte> write_whole(LocalSessions& local, int ranks, std::uint64_t offset,
                                   std::uint64_t bytes, int* completed = nullptr) {
  local.run(ranks, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    Session mine;
    if (t.rank() == 0) {
      mine = out.start(offset, bytes, {.complete = [&](const Error* failure) {
                         EXPECT_EQ(failure, nullptr);
                         if (completed != nullptr) {
                           ++*completed;
                         }
                       }});
    }
    const Session session = share(t, 0, mine);
    const std::uint64_t first = bytes * static_cast<std::uint64_t>(t.rank()) / ranks;
    const std::uint64_t last = bytes * static_cast<std::uint64_t>(t.rank() + 1) / ranks;
    const auto data = bytes_at(offset + first, last - first);
    out.write(session, data.data(), data.size(), offset + first);
    out.close();
  });
  return local.memory().contents("f");
}

TEST(Sessions, offsets_that_are_no_multiple_of_a_tile) {
  for (const std::uint64_t offset : {0, 1, 63, 64, 65, 1000}) {
    for (const std::uint64_t bytes : {1, 5, 63, 64, 65, 700}) {
      LocalSessions local(offset + bytes);
      const auto there = write_whole(local, 3, offset, bytes);
      ASSERT_EQ(there.size(), offset + bytes);
      for (std::uint64_t i = 0; i < offset; ++i) {
        ASSERT_EQ(there[i], std::byte{0});
      }
      ASSERT_TRUE(std::equal(there.begin() + static_cast<std::ptrdiff_t>(offset), there.end(),
                             bytes_at(offset, bytes).begin()));
    }
  }
}

TEST(Sessions, no_bytes) {
  LocalSessions local;
  int completed = 0;
  EXPECT_TRUE(write_whole(local, 4, 100, 0, &completed).empty());
  EXPECT_EQ(completed, 1);
}

TEST(Sessions, fewer_bytes_than_writers) {
  LocalSessions local;
  local.options().writers = 4;
  local.options().tile_bytes = 1;
  EXPECT_EQ(write_whole(local, 4, 7, 2).size(), 9);
}

TEST(Sessions, only_writers_open_and_each_tile_has_one) {
  LocalSessions local;
  local.options().writers = 2;
  local.options().first_writer = 1;
  local.options().writer_spacing = 2;
  write_whole(local, 5, 3, 1000);
  std::set<int> openers;
  for (const auto& [rank, opens] : local.log().counters("f").opens_by_rank) {
    openers.insert(rank);
  }
  EXPECT_EQ(openers, (std::set<int>{1, 3}));
  std::map<std::uint64_t, int> writer_of_tile;
  std::uint64_t written = 0;
  for (const storage::Record& record : local.log().records()) {
    if (record.call != storage::Call::write) {
      continue;
    }
    written += record.length;
    for (std::uint64_t tile = record.offset / 64; tile <= (record.offset + record.length - 1) / 64;
         ++tile) {
      EXPECT_EQ(writer_of_tile.try_emplace(tile, record.rank).first->second, record.rank);
      EXPECT_EQ(record.rank, tile % 2 == 0 ? 1 : 3);
    }
  }
  EXPECT_EQ(written, 1000);
  EXPECT_EQ(local.log().counters("f").writes, 16);  // whole tiles, the ends of the session cut
}

TEST(Sessions, pieces_are_written_as_they_come_without_gathering) {
  LocalSessions local;
  local.options().writers = 1;
  local.options().coalesce = false;
  local.run(1, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    const Session session = out.start(0, 64);
    for (std::uint64_t at = 0; at < 64; at += 8) {
      out.write(session, bytes_at(at, 8).data(), 8, at);
    }
    out.close();
  });
  EXPECT_EQ(local.log().counters("f").writes, 8);
  EXPECT_EQ(local.memory().contents("f"), bytes_at(0, 64));
}

/// Accepts data and keeps none of it: for sizes that exceed memory.
class Void final : public storage::Storage {
 public:
  class Hole final : public storage::File {
   public:
    explicit Hole(Void& owner) : owner_(owner) {}
    void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
      owner_.bytes += bytes.size();
      owner_.end = std::max(owner_.end.load(), offset + bytes.size());
    }
    std::size_t read(std::uint64_t, std::span<std::byte> bytes) override { return bytes.size(); }
    void preallocate(std::uint64_t, std::uint64_t) override {}
    void sync() override {}
    std::uint64_t size() override { return owner_.end; }
    void resize(std::uint64_t) override {}
    void set_modified_ns(std::int64_t) override {}
    std::int64_t modified_ns() override { return 0; }
    const std::string& path() const override { return path_; }

   private:
    Void& owner_;
    std::string path_ = "void";
  };
  std::unique_ptr<storage::File> open(const std::string&, storage::Access) override {
    return std::make_unique<Hole>(*this);
  }
  bool exists(const std::string&) override { return true; }
  void rename(const std::string&, const std::string&) override {}
  void remove(const std::string&) override {}
  void remove_folder(const std::string&) override {}
  void sync_directory(const std::string&) override {}
  std::unique_ptr<storage::Lease> lease(const std::string&) override { return nullptr; }
  const char* name() const override { return "void"; }

  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> end = 0;
};

TEST(Sessions, over_two_gibibytes_in_one_call) {
  constexpr std::uint64_t size = (std::uint64_t{2} << 30) + 4099;
  constexpr std::uint64_t offset = (std::uint64_t{1} << 40) + 11;
  const auto storage = std::make_shared<Void>();
  // Zeros that were never touched take no memory.
  const std::unique_ptr<void, void (*)(void*)> zeros(std::calloc(size, 1), std::free);
  ASSERT_NE(zeros, nullptr);
  exec::run_local(2, 1, [&](exec::Transport& t) {
    Options options;
    options.writers = 1;
    SessionFile out(
        std::make_unique<detail::SessionImpl>(t, storage, "void", Mode::write, options));
    const Session session = share(t, 0, t.rank() == 0 ? out.start(offset, size) : Session());
    if (t.rank() == 1) {
      out.write(session, zeros.get(), size, offset);
    }
    out.close();
  });
  EXPECT_EQ(storage->bytes, size);
  EXPECT_EQ(storage->end, offset + size);
}

TEST(Sessions, what_was_there_is_cut_off_or_stays_as_asked) {
  LocalSessions local;
  const std::vector<std::byte> old(500, std::byte{7});
  const auto write = [&](Mode mode) {
    local.run(2, [&](exec::Transport& t) {
      SessionFile out = local.open(t, "f", mode);
      if (t.rank() == 1) {
        const Session session = out.start(10, 20);
        out.write(session, bytes_at(10, 20).data(), 20, 10);
      }
      out.close();
    });
  };
  local.memory().put("f", old);
  write(Mode::write);
  EXPECT_EQ(local.memory().contents("f").size(), 30);
  local.memory().put("f", old);
  write(Mode::append);
  auto expected = old;
  const auto fresh = bytes_at(10, 20);
  std::copy(fresh.begin(), fresh.end(), expected.begin() + 10);
  EXPECT_EQ(local.memory().contents("f"), expected);
  for (const Error& error :
       local.errors(2, [&](exec::Transport& t) { local.open(t, "f", Mode::create); })) {
    EXPECT_EQ(error.code(), Code::exists);
  }
}

TEST(Sessions, files_are_read_that_nobody_may_write_and_none_is_made) {
  LocalSessions local;
  for (const Error& error :
       local.errors(3, [&](exec::Transport& t) { local.open(t, "f", Mode::read); })) {
    EXPECT_EQ(error.code(), Code::not_found);
  }
  EXPECT_FALSE(local.memory().exists("f"));
  local.memory().put("f", bytes_at(0, 1000));
  local.options().readers = 2;
  local.options().budget_bytes = 512;  // a few tiles at a time
  local.run(3, [&](exec::Transport& t) {
    SessionFile in = local.open(t, "f", Mode::read);
    Session mine;
    if (t.rank() == 2) {
      bool is_ready = false;
      mine = in.start(5, 900, {.ready = [&] { is_ready = true; }});
      while (!is_ready) {
        in.poll();
      }
      in.wait(mine);
    } else {
      for (int i = 0; i < 200; ++i) {
        in.poll();
      }
    }
    // Ranks that wait in a collective call of their own do not answer.
    const Session session = {2, 1, 5, 900};
    std::vector<std::byte> part(300);
    int answers = 0;
    const std::uint64_t at = 5 + 300 * static_cast<std::uint64_t>(t.rank());
    in.read(session, part.data(), part.size(), at, [&](const Error* failure) {
      EXPECT_EQ(failure, nullptr);
      ++answers;
    });
    in.wait_for_reads();
    EXPECT_EQ(answers, 1);
    EXPECT_EQ(part, bytes_at(at, 300));
    in.close();
  });
  EXPECT_EQ(local.log().counters("f").opens_by_rank.count(1), 1);
  EXPECT_EQ(local.log().counters("f").opens_by_rank.count(2), 0);
  EXPECT_EQ(local.log().counters("f").writes, 0);
}

TEST(Sessions, a_read_beyond_the_end_is_told_to_who_asked) {
  LocalSessions local;
  local.memory().put("f", bytes_at(0, 100));
  local.run(2, [&](exec::Transport& t) {
    SessionFile in = local.open(t, "f", Mode::read);
    const Session session = in.start(0, 200);
    Code code = Code::ok;
    std::vector<std::byte> part(60);
    in.read(session, part.data(), part.size(), 70,
            [&](const Error* failure) { code = failure == nullptr ? Code::ok : failure->code(); });
    in.wait_for_reads();
    EXPECT_EQ(code, Code::truncated);
    in.read(session, part.data(), part.size(), 70);  // nobody to be told: the wait throws it
    EXPECT_EQ(thrown_by([&] { in.wait_for_reads(); }).code(), Code::truncated);
    in.wait_for_reads();  // once
    in.end(session);
    in.close();
  });
}

TEST(Sessions, a_read_that_failed_is_tried_again_for_the_next_who_asks) {
  LocalSessions local;
  local.memory().put("f", bytes_at(0, 100));
  const auto faults = std::make_shared<storage::Faults>();
  const auto faulty = std::make_shared<storage::FaultyStorage>(
      std::shared_ptr<storage::Storage>(std::shared_ptr<void>(), &local.memory()), faults);
  local.run(1, [&](exec::Transport& t) {
    SessionFile in(
        std::make_unique<detail::SessionImpl>(t, faulty, "f", Mode::read, local.options()));
    storage::Rule rule;
    rule.call = storage::Call::read;
    faults->add(rule);
    const Session session = in.start(0, 100);
    std::vector<std::byte> part(60);
    in.read(session, part.data(), part.size(), 0);
    EXPECT_EQ(thrown_by([&] { in.wait_for_reads(); }).code(), Code::io);
    in.read(session, part.data(), part.size(), 0);
    in.wait_for_reads();
    EXPECT_EQ(part, bytes_at(0, 60));
    in.end(session);
    in.close();
  });
  EXPECT_EQ(faults->fired(), 1);
}

TEST(Sessions, bytes_written_twice_name_both_who_wrote_them) {
  LocalSessions local;
  Code told = Code::ok;
  const auto errors = local.errors(3, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    Session mine;
    if (t.rank() == 0) {
      mine = out.start(0, 200, {.complete = [&](const Error* failure) {
                         told = failure == nullptr ? Code::ok : failure->code();
                       }});
    }
    const Session session = share(t, 0, mine);
    if (t.rank() == 1) {
      out.write(session, bytes_at(0, 120).data(), 120, 0);
    } else if (t.rank() == 2) {
      out.write(session, bytes_at(100, 20).data(), 20, 100);
    }
    out.close();
  });
  for (const Error& error : errors) {
    expect_error(error, Code::overlap,
                 {"f: bytes 100 to 120 were written twice", "rank 1", "rank 2"});
    EXPECT_STREQ(error.what(), errors[0].what());
  }
  EXPECT_EQ(told, Code::overlap);
}

TEST(Sessions, bytes_of_a_complete_session_written_again) {
  LocalSessions local;
  for (const Error& error : local.errors(2, [&](exec::Transport& t) {
         SessionFile out = local.open(t, "f", Mode::write);
         if (t.rank() == 1) {
           const Session session = out.start(0, 100);
           const auto data = bytes_at(0, 100);
           out.write(session, data.data(), data.size(), 0);
           out.write(session, data.data(), 4, 3);
         }
         out.close();
       })) {
    expect_error(error, Code::overlap, {"bytes 3 to 7 were written twice", "by rank 1"});
  }
}

TEST(Sessions, closed_short_it_is_judged_then) {
  LocalSessions local;
  const auto errors = local.errors(3, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    const Session short_one = share(t, 1, t.rank() == 1 ? out.start(10, 500) : Session());
    const Session whole = share(t, 0, t.rank() == 0 ? out.start(1000, 30) : Session());
    if (t.rank() == 2) {
      out.write(short_one, bytes_at(10, 290).data(), 290, 10);
      out.write(short_one, bytes_at(305, 205).data(), 205, 305);
      out.write(whole, bytes_at(1000, 30).data(), 30, 1000);
    }
    out.close(whole);
    out.close(short_one);
  });
  for (const Error& error : errors) {
    expect_error(error, Code::hole, {"bytes 10 to 510", "closed short", "bytes 300 to 305"});
  }
}

TEST(Sessions, one_that_nobody_wrote_to) {
  LocalSessions local;
  for (const Error& error : local.errors(2, [&](exec::Transport& t) {
         SessionFile out = local.open(t, "f", Mode::write);
         if (t.rank() == 0) {
           out.start(0, 10);
         }
         out.close();
       })) {
    expect_error(error, Code::hole, {"closed short", "bytes 0 to 10"});
  }
}

TEST(Sessions, a_set_of_files_that_the_ranks_disagree_on) {
  LocalSessions local;
  for (const Error& error : local.errors(
           2, [&](exec::Transport& t) { local.open(t, t.rank() == 0 ? "a" : "b", Mode::write); })) {
    expect_error(error, Code::divergent, {"the ranks disagree: rank 1 opens b, rank 0 opens a"});
  }
  EXPECT_TRUE(local.memory().paths().empty());
}

TEST(Sessions, outside_is_refused_at_once) {
  LocalSessions local;
  local.run(1, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    const Session session = out.start(10, 10);
    const auto data = bytes_at(10, 10);
    for (const std::uint64_t at : {0, 9, 11, 20, 21}) {
      const Error error = thrown_by([&] { out.write(session, data.data(), 10, at); });
      expect_error(error, Code::out_of_bounds, {"f: write: 10 bytes at " + std::to_string(at)});
    }
    expect_error(thrown_by([&] { out.start(~std::uint64_t{0}, 2); }), Code::out_of_bounds, {"f"});
    out.write(session, data.data(), 10, 10);
    out.close();
    expect_error(thrown_by([&] { out.write(session, data.data(), 1, 10); }), Code::wrong_state,
                 {"is closed"});
    expect_error(thrown_by([&] { out.close(); }), Code::wrong_state, {"closed already"});
  });
}

TEST(Sessions, bytes_after_all_others_come_last) {
  LocalSessions local;
  local.run(4, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    Session mine;
    if (t.rank() == 0) {
      mine = out.start(8, 400, {.after_offset = 0, .after = bytes_at(0, 8)});
    }
    const Session session = share(t, 0, mine);
    const std::uint64_t at = 8 + 100 * static_cast<std::uint64_t>(t.rank());
    out.write(session, bytes_at(at, 100).data(), 100, at);
    out.close();
  });
  EXPECT_EQ(local.memory().contents("f"), bytes_at(0, 408));
  std::uint64_t before = 0;
  bool has_come = false;
  for (const storage::Record& record : local.log().records()) {
    if (record.call == storage::Call::write) {
      has_come = record.offset == 0;
      before += record.offset == 0 ? 0 : record.length;
    }
  }
  EXPECT_TRUE(has_come) << "the last write is not that of the bytes after all others";
  EXPECT_EQ(before, 400);
}

TEST(Sessions, several_files_and_sessions_at_once) {
  LocalSessions local;
  local.run(3, [&](exec::Transport& t) {
    SessionFile a = local.open(t, "a", Mode::write);
    SessionFile b = local.open(t, "b", Mode::write);
    // Neighbours that share tiles, each of another rank.
    const auto start = [&](SessionFile& file) {
      return file.start(33 * static_cast<std::uint64_t>(t.rank()), 33);
    };
    const Session of_a = start(a);
    const Session of_b = start(b);
    for (int home = 0; home < 3; ++home) {
      for (auto* file : {&a, &b}) {
        const Session session = share(t, home, file == &a ? of_a : of_b);
        const std::uint64_t at = session.offset + 11 * static_cast<std::uint64_t>(t.rank());
        file->write(session, bytes_at(at, 11, file == &a ? 1 : 2).data(), 11, at);
      }
    }
    b.close();
    a.close();
  });
  EXPECT_EQ(local.memory().contents("a"), bytes_at(0, 99, 1));
  EXPECT_EQ(local.memory().contents("b"), bytes_at(0, 99, 2));
}

TEST(Sessions, a_rank_that_does_not_come_is_named) {
  LocalSessions local;
  local.options().timeout_s = 0.3;
  const auto errors = local.errors(3, [&](exec::Transport& t) {
    SessionFile out = local.open(t, "f", Mode::write);
    if (t.rank() == 2) {
      throw Error(Code::internal, "gone");
    }
    out.close();
  });
  EXPECT_EQ(errors[0].code(), Code::timeout) << errors[0].what();
  EXPECT_EQ(errors[1].code(), Code::timeout) << errors[1].what();
  expect_error(errors[0], Code::timeout, {"2"});
}

TEST(Sessions, a_file_that_cannot_be_opened_fails_alike_on_every_rank) {
  LocalSessions local;
  class Broken final : public storage::Storage {
   public:
    std::unique_ptr<storage::File> open(const std::string&, storage::Access) override {
      throw Error(Code::permission, "f: open failed: Permission denied");
    }
    bool exists(const std::string&) override { return true; }
    void rename(const std::string&, const std::string&) override {}
    void remove(const std::string&) override {}
    void remove_folder(const std::string&) override {}
    void sync_directory(const std::string&) override {}
    std::unique_ptr<storage::Lease> lease(const std::string&) override { return nullptr; }
    const char* name() const override { return "broken"; }
  };
  for (const Error& error : local.errors(3, [&](exec::Transport& t) {
         SessionFile out(std::make_unique<detail::SessionImpl>(t, std::make_shared<Broken>(), "f",
                                                               Mode::write, Options()));
       })) {
    EXPECT_EQ(error.code(), Code::permission);
  }
}

}  // namespace
}  // namespace sluice::test
