// Checkpoint: a failure never costs the last good one, and never stops a run unless that was
// requested.
#include <cstdlib>

#include "checkpoint/states.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

/// Flips a bit in the middle of every part that the newest checkpoint may be in: the last by name.
void damage_newest(storage::MemoryStorage& storage) {
  std::vector<std::string> parts;
  for (const std::string& path : storage.paths()) {
    if (path.find(".parts/") != std::string::npos && path.ends_with(".h5")) {
      parts.push_back(path);
    }
  }
  ASSERT_FALSE(parts.empty());
  const auto newest = *std::max_element(parts.begin(), parts.end());
  const auto file = storage.open(newest, storage::Access::read_write);
  // The values of `field`, wherever they are.
  std::vector<std::byte> bytes(file->size());
  file->read(0, bytes);
  const double wanted = value_at<double>(12, 0);
  const auto* begin = reinterpret_cast<const std::byte*>(&wanted);
  const auto found = std::search(bytes.begin(), bytes.end(), begin, begin + sizeof wanted);
  ASSERT_NE(found, bytes.end());
  *found ^= std::byte{1};
  file->write(0, bytes);
}

TEST(Failure, ADamagedNewestIsPassedOver) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {10, 11, 12});
  damage_newest(*storage);
  for (const int ranks : {1, 2, 3}) {
    expect_restored(ranks, storage, 2, 11, 3, 1);
  }
  on_ranks(2, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    const Restored restored = checkpoint.restore();
    ASSERT_EQ(restored.newer.size(), 1u);
    EXPECT_EQ(restored.newer[0].number, 3u);
    EXPECT_NE(restored.newer[0].why.find("field"), std::string::npos) << restored.newer[0].why;
    state.set(13);
    EXPECT_EQ(checkpoint.save(6.5).number, 4u);
    checkpoint.close();
  });
  expect_restored(3, storage, 4, 13, 2);
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, state_path, Mode::read, {});
    ASSERT_EQ(in.steps(), 2u);
    std::uint64_t number = 0;
    in.get(in.find("checkpoint/number"), &number, {}, 0);
    EXPECT_EQ(number, 2u) << "the damaged one was dropped, the one before is still there";
  });
}

TEST(Failure, WhatIsKeptIsNotThatOfARejectedCheckpoint) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {11});
  save_keys(2, storage, {12});
  damage_newest(*storage);
  on_ranks(2, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.generator = {5, 6, 7};
    const Restored restored = checkpoint.restore();
    EXPECT_EQ(restored.number, 1u);
    EXPECT_EQ(restored.kept, std::vector<std::string>{"generator"});
    EXPECT_EQ(state.generator, (std::array<std::uint32_t, 3>{5, 6, 7}));
    checkpoint.close();
  });
}

/// An exception of the simulation, unknown to the library.
struct Diverged {};

/// The newest is in a file of its own, which may be lost whole.
TEST(Failure, ANewestWhosePartIsLostIsPassedOver) {
  const auto lose = [](storage::Storage& storage, const std::string& part, int how) {
    if (how == 0) {
      storage.remove(part);
      return;
    }
    const auto file = storage.open(part, storage::Access::read_write);
    if (how == 1) {
      file->resize(0);
    } else if (how == 2) {
      file->resize(file->size() / 2);
    } else {
      file->write(0, std::vector<std::byte>(200));
    }
  };
  for (const int how : {0, 1, 2, 3}) {
    SCOPED_TRACE(how);
    const auto storage = storage::make_memory();
    save_keys(2, storage, {1, 2, 3});
    std::vector<std::string> parts = storage->paths();
    std::erase_if(parts, [](const std::string& path) { return !path.ends_with(".h5"); });
    std::erase(parts, state_path);
    ASSERT_EQ(parts.size(), 2u);
    lose(*storage, *std::ranges::max_element(parts), how);
    expect_restored(3, storage, 2, 2, 2, 1);
    save_keys(2, storage, {7});
    expect_restored(2, storage, 3, 7, 2);
    save_keys(3, storage, {8, 9});
    expect_restored(3, storage, 5, 9, 3);
  }
}

TEST(Failure, AnExceptionOnOneRankIsTheErrorOfTheOthers) {
  for (const bool in_save : {false, true}) {
    const auto storage = storage::make_memory();
    on_ranks(3, [&](exec::Transport& transport) {
      Error met(Code::ok, "");
      try {
        Checkpoint checkpoint = open_checkpoint(transport, storage);
        RankState state(transport.rank(), transport.size());
        state.add_to(checkpoint);
        state.set(10);
        EXPECT_EQ(checkpoint.save(5).number, 1u);
        if (transport.rank() == 1) {
          throw Diverged();
        }
        in_save ? static_cast<void>(checkpoint.save(1)) : static_cast<void>(checkpoint.due());
      } catch (const Error& e) {
        met = e;
      } catch (const Diverged&) {
        return;
      }
      EXPECT_EQ(met.code(), Code::wrong_state) << met.what();
      EXPECT_EQ(met.rank(), 1);
      EXPECT_NE(std::string(met.what()).find("the checkpoint was abandoned"), std::string::npos)
          << met.what();
    });
    expect_restored(2, storage, 1, 10, 3);
  }
}

TEST(Failure, NoneGoodIsAnError) {
  const auto storage = storage::make_memory();
  CheckpointOptions options;
  options.keep = 1;
  save_keys(2, storage, {11, 12}, options);
  damage_newest(*storage);
  expect_everywhere(errors_on_ranks(3,
                                    [&](exec::Transport& transport) {
                                      Checkpoint checkpoint = open_checkpoint(transport, storage);
                                      RankState state(transport.rank(), transport.size());
                                      state.add_to(checkpoint);
                                      checkpoint.restore();
                                    }),
                    Code::damaged, {"state.h5", "none of the 1", "remove the file", "field"});
}

/// What a reader finds at this moment, without the running save: the newest acknowledged
/// checkpoint, or the one after it.
void expect_there(const std::shared_ptr<storage::MemoryStorage>& storage,
                  std::uint64_t acknowledged) {
  on_ranks(1, [&](exec::Transport& alone) {
    Checkpoint reader = open_checkpoint(alone, storage);
    RankState found(0, 1);
    found.add_to(reader);
    const Restored restored = reader.restore();
    EXPECT_TRUE(restored.newer.empty());
    const auto key = static_cast<std::uint64_t>(2 * restored.time);
    EXPECT_TRUE(key == acknowledged || key == acknowledged + 1) << key << " " << acknowledged;
    found.expect(key, false);
  });
}

// SLUICE_LONG=1: every call; otherwise a sample, a smaller one where a call takes longer.
#if defined(SLUICE_ADDRESS_SANITIZER)
constexpr std::uint64_t sampled_stride = 11;
#else
constexpr std::uint64_t sampled_stride = 5;
#endif

/// Is what save() returned `saved` for on the disk? In the background it may still be lost.
bool is_there(Checkpoint& checkpoint, bool saved) {
  try {
    return saved && checkpoint.drain(1e6);
  } catch (const Error& e) {
    EXPECT_TRUE(e.code() == Code::io || e.code() == Code::no_space) << e.what();
    return false;
  }
}

/// Every storage call of the second save fails once; the run goes on, saves again, and a restart
/// finds the newest that was acknowledged, or the one after it.
void fail_each_call(const CheckpointOptions& options, int error_number, bool persistent) {
  const bool is_behind = options.file.strategy == "forward";
  const std::uint64_t stride = std::getenv("SLUICE_LONG") != nullptr ? 1 : sampled_stride;
  std::uint64_t places = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t nth = 1;; nth += stride) {
    const auto memory = storage::make_memory();
    const auto faults = std::make_shared<storage::Faults>();
    std::uint64_t acknowledged = 0;
    bool fired = false;
    on_ranks(2, [&](exec::Transport& transport) {
      const auto storage = std::make_shared<storage::FaultyStorage>(memory, faults);
      Checkpoint checkpoint = open_checkpoint(transport, storage, options);
      RankState state(transport.rank(), transport.size());
      state.add_to(checkpoint);
      checkpoint.restore();
      for (std::uint64_t key = 1; key <= 3; ++key) {
        transport.barrier();
        if (transport.rank() == 0 && key == 2) {
          faults->add({.nth = nth, .persistent = persistent, .error_number = error_number});
        }
        if (transport.rank() == 0 && key == 3) {
          fired = faults->fired() != 0;
          faults->clear();
        }
        transport.barrier();
        state.set(key);
        const Saved saved = checkpoint.save(0.5 * static_cast<double>(key));
        EXPECT_EQ(saved.why.empty(), static_cast<bool>(saved));
        EXPECT_TRUE(saved || key == 2) << key << ": " << saved.why;
        const bool there = is_behind ? is_there(checkpoint, static_cast<bool>(saved)) : !!saved;
        EXPECT_TRUE(there || key == 2) << key;
        acknowledged = there ? key : acknowledged;
        failed += there || transport.rank() != 0 ? 0 : 1;
        transport.barrier();
        if (transport.rank() == 0) {
          expect_there(memory, acknowledged);
        }
        transport.barrier();
      }
      checkpoint.close();
    });
    if (!fired) {
      break;
    }
    places = nth;
    ASSERT_FALSE(testing::Test::HasFailure()) << "call " << nth;
  }
  EXPECT_GT(places, 10u);
  if (persistent || is_behind) {
    EXPECT_GT(failed, 1u);
  } else {
    EXPECT_EQ(failed, 0u) << "what fails once is tried anew";
  }
}

TEST(Failure, AFirstSaveThatFailsReplacesNothing) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {10, 11});
  on_ranks(2, [&](exec::Transport& transport) {
    CheckpointOptions options;
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);  // without restore()
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    checkpoint.array("field", state.field.data(), state.shape, {.start = {0, 9}});
    EXPECT_FALSE(checkpoint.save(1));
    checkpoint.close();
  });
  expect_restored(2, storage, 2, 11, 3);
}

/// Saves without restore(), or after one that fails with `code` where it is not ok.
void expect_refused(const std::shared_ptr<storage::Storage>& storage, const std::string& name,
                    Code code, const std::vector<std::string>& words) {
  on_ranks(2, [&](exec::Transport& transport) {
    CheckpointOptions options;
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    double x = 0;
    checkpoint.value(name, x);
    if (code != Code::ok) {
      try {
        checkpoint.restore();
        ADD_FAILURE() << "it restored something";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
      }
    }
    for (int save = 0; save < 2; ++save) {
      const Saved saved = checkpoint.save(1);
      EXPECT_FALSE(saved);
      for (const std::string& word : words) {
        EXPECT_NE(saved.why.find(word), std::string::npos) << saved.why;
      }
    }
    checkpoint.close();
  });
}

TEST(Failure, ARestoreThatFailedIsNotFollowedByASaveOverIt) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {10, 11});
  const std::vector<std::string> words{"state.h5: save", "restore() failed", "another name"};
  expect_refused(storage, "cuont", Code::not_found, words);
  expect_refused(storage, "count", Code::type_mismatch, words);
  expect_restored(2, storage, 2, 11, 3);
  on_ranks(2, [&](exec::Transport& transport) {  // the remedy that it names
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    double x = 0;
    checkpoint.value("cuont", x);
    EXPECT_EQ(checkpoint.save(1).number, 1u);
    checkpoint.close();
  });
}

TEST(Failure, ARestoreThatWasMendedIsFollowedBySaves) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {10, 11});
  on_ranks(2, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint, OnOtherRanks::refuse);
    EXPECT_THROW(checkpoint.restore(), Error);
    state.add_to(checkpoint, OnOtherRanks::keep);
    EXPECT_EQ(checkpoint.restore().number, 2u);
    state.set(12);
    EXPECT_EQ(checkpoint.save(6).number, 3u);
    checkpoint.close();
  });
  expect_restored(2, storage, 3, 12, 2);
}

TEST(Failure, AFileOfOtherThingsIsNotReplaced) {
  const auto storage = storage::make_memory();
  const auto expect_kept = [&] {
    const auto was = storage->contents(state_path);
    expect_refused(storage, "x", Code::format, {"restore() failed", "another name"});
    expect_refused(storage, "x", Code::ok, {"holds no checkpoints", "another name"});
    EXPECT_EQ(storage->contents(state_path), was);
  };
  on_ranks(2, [&](exec::Transport& transport) {
    File other = open_file(transport, storage, state_path, Mode::write, {});
    const double value = 2.5;
    other.put(other.define<double>("x", {2}), &value,
              {.start = {static_cast<std::uint64_t>(transport.rank())}, .count = {1}});
    other.close();
  });
  expect_kept();
  storage->put(state_path, std::vector<std::byte>(5000, std::byte{'t'}));
  expect_kept();
}

TEST(Failure, EveryCallOfASaveMayFail) {
  fail_each_call(with(2), EIO, false);
  fail_each_call(with(0), EIO, false);
}

TEST(Failure, EveryCallMayFailInTheBackground) {
  fail_each_call(with(2, "", "forward"), EIO, false);
  fail_each_call(with(2, "", "forward"), ENOSPC, true);
}

/// A run that does not restore replaces the file, also where its first save was lost on the way.
void lose_first_save(OnFailedSave on_failed) {
  CheckpointOptions options = with(3, "", "forward");
  options.on_failed_save = on_failed;
  std::uint64_t lost = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    const auto memory = storage::make_memory();
    save_keys(2, memory, {1, 2});
    const auto faults = std::make_shared<storage::Faults>();
    bool fired = false;
    on_ranks(2, [&](exec::Transport& transport) {
      const auto storage = std::make_shared<storage::FaultyStorage>(memory, faults);
      Checkpoint checkpoint = open_checkpoint(transport, storage, options);
      const auto saves = [&](double time) {
        try {
          return static_cast<bool>(checkpoint.save(time));
        } catch (const Error& e) {
          EXPECT_EQ(on_failed, OnFailedSave::stop) << e.what();
          return false;
        }
      };
      RankState state(transport.rank(), transport.size());
      state.add_to(checkpoint);
      state.set(11);
      if (transport.rank() == 0) {
        faults->add({.nth = nth, .persistent = true, .error_number = EIO});
      }
      transport.barrier();
      const bool is_first_there = is_there(checkpoint, saves(1));
      transport.barrier();
      if (transport.rank() == 0) {
        fired = faults->fired() != 0;
        lost += is_first_there ? 0 : 1;
        faults->clear();
      }
      transport.barrier();
      state.set(12);
      EXPECT_TRUE(saves(6) || (on_failed == OnFailedSave::stop && saves(7)));
      checkpoint.close();
      if (transport.rank() == 0) {
        on_ranks(1, [&](exec::Transport& alone) {
          File in = open_file(alone, memory, state_path, Mode::read, {});
          EXPECT_EQ(in.steps(), is_first_there ? 2u : 1u) << "call " << nth;
        });
      }
    });
    if (!fired) {
      break;
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "call " << nth;
  }
  EXPECT_GT(lost, 5u);
}

TEST(Failure, AFirstSaveLostInTheBackgroundIsNotGoneOnWith) {
  lose_first_save(OnFailedSave::report);
}

TEST(Failure, NorByAProgramThatGoesOnAfterTheError) { lose_first_save(OnFailedSave::stop); }

TEST(Failure, AFullDiskIsWaitedFor) { fail_each_call(with(2), ENOSPC, true); }

TEST(Failure, EveryCallMayFailWithScratch) {
  fail_each_call(with(2, "node"), EIO, false);
  fail_each_call(with(2, "node"), ENOSPC, true);
}

TEST(Failure, ARunThatWantsToStopIsStopped) {
  const auto memory = storage::make_memory();
  const auto faults = std::make_shared<storage::Faults>();
  CheckpointOptions options;
  options.on_failed_save = OnFailedSave::stop;
  faults->add({.call = storage::Call::write, .persistent = true, .error_number = ENOSPC});
  expect_everywhere(errors_on_ranks(3,
                                    [&](exec::Transport& transport) {
                                      const auto storage =
                                          std::make_shared<storage::FaultyStorage>(memory, faults);
                                      Checkpoint checkpoint =
                                          open_checkpoint(transport, storage, options);
                                      RankState state(transport.rank(), transport.size());
                                      state.add_to(checkpoint);
                                      checkpoint.save(0);
                                    }),
                    Code::no_space, {"state.h5"});
}

TEST(Failure, WhatOneRankDoesWrongIsKnownToAll) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {10});
  on_ranks(3, [&](exec::Transport& transport) {
    CheckpointOptions options;
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    checkpoint.restore();
    if (transport.rank() == 1) {
      checkpoint.array("field", state.field.data(), state.shape, {.start = {0, 9}});
    }
    const Saved saved = checkpoint.save(1);
    EXPECT_FALSE(saved);
    EXPECT_NE(saved.why.find("rank 1"), std::string::npos) << saved.why;
    state.add_to(checkpoint);
    if (transport.rank() == 2) {
      checkpoint.value("only here", state.count);
    }
    const Saved divergent = checkpoint.save(1);
    EXPECT_NE(divergent.why.find("only here"), std::string::npos) << divergent.why;
    checkpoint.close();
  });
  expect_restored(2, storage, 1, 10, 3);
}

}  // namespace
}  // namespace sluice::test
