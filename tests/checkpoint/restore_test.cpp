// Checkpoint: saved state is restored, on any number of ranks, in any registration; mismatches are
// reported.
#include <cstring>
#include <utility>

#include "checkpoint/states.hpp"
#include "commit/tools/verify.hpp"

namespace sluice::test {
namespace {

TEST(Restore, NothingWhereThereIsNoFile) {
  const auto storage = storage::make_memory();
  on_ranks(3, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.set(4);
    const Restored restored = checkpoint.restore();
    EXPECT_FALSE(restored);
    EXPECT_TRUE(restored.newer.empty());
    state.expect(4, true);
  });
  EXPECT_TRUE(storage->paths().empty());
}

TEST(Restore, OnAnyNumberOfRanks) {
  for (const std::uint64_t keep : {0, 1, 3}) {
    CheckpointOptions options;
    options.keep = keep;
    for (const int writers : {1, 3, 4}) {
      SCOPED_TRACE(std::to_string(writers) + " ranks, keep " + std::to_string(keep));
      const auto storage = storage::make_memory();
      save_keys(writers, storage, {10, 11, 12, 13, 14}, options);
      for (const int readers : {1, 2, 3, 4, 7}) {
        expect_restored(readers, storage, 5, 14, writers);
      }
    }
  }
}

TEST(Restore, RunsGoOnFromEachOther) {
  const auto storage = storage::make_memory();
  std::uint64_t number = 0;
  for (const int ranks : {2, 5, 1, 4, 4}) {
    save_keys(ranks, storage, {number + 100, number + 101});
    number += 2;
    expect_restored(3, storage, number, number + 99, ranks);
  }
  on_ranks(2, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, state_path, Mode::read, {});
    EXPECT_EQ(in.steps(), 2u) << "keep = 2";
    EXPECT_EQ(commit::verify(transport, *storage, state_path).state, commit::State::ok);
  });
}

TEST(Restore, FromAStoreWithAllCheckpoints) {
  for (const char* const format : {"zarr", "icechunk"}) {
    SCOPED_TRACE(format);
    CheckpointOptions options;
    options.file.format = format;
    options.keep = 0;
    const auto stores = storage::make_memory();
    for (double run = 0; run < 3; ++run) {
      on_ranks(2, [&](exec::Transport& transport) {
        Checkpoint checkpoint = open_checkpoint(transport, stores, options);
        const auto rank = static_cast<std::uint64_t>(transport.rank());
        std::vector<double> mine(3, -1);
        checkpoint.array("x", mine.data(), {6}, {.start = {3 * rank}, .count = {3}});
        const Restored restored = checkpoint.restore();
        EXPECT_EQ(restored.time, run > 0 ? run - 1 : 0);
        EXPECT_EQ(mine, std::vector<double>(3, restored ? restored.time : -1));
        mine.assign(3, run);
        const Saved saved = checkpoint.save(run);
        EXPECT_TRUE(saved) << saved.why;
        checkpoint.close();
      });
    }
  }
}

/// With forward the memory may change once save() has returned, though the checkpoint is not there.
TEST(Restore, WhatWasSavedInTheBackground) {
  const auto storage = storage::make_memory();
  CheckpointOptions options;
  options.file.strategy = "forward";
  options.file.log = Log::off;
  std::uint64_t returned_early = 0;
  on_ranks(3, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    for (std::uint64_t key = 1; key <= 5; ++key) {
      state.set(key);
      ASSERT_TRUE(checkpoint.save(0.5 * static_cast<double>(key)));
      state.set(99);
      transport.barrier();
      if (transport.rank() == 0) {
        on_ranks(1, [&](exec::Transport& alone) {
          Checkpoint reader = open_checkpoint(alone, storage->clone());
          RankState found(0, 1);
          found.add_to(reader);
          const Restored restored = reader.restore();
          EXPECT_TRUE(restored.number == key || restored.number + 1 == key) << restored.number;
          returned_early += restored.number == key ? 0 : 1;
        });
      }
      transport.barrier();
    }
    EXPECT_TRUE(checkpoint.drain(1e6));
    checkpoint.close();
  });
  EXPECT_GT(returned_early, 0u);
  expect_restored(2, storage, 5, 5, 3);
  save_keys(2, storage, {6, 7}, options);
  expect_restored(3, storage, 7, 7, 2);
}

TEST(Restore, WhatIsSavedBetweenNodesMovesOnInDue) {
  const auto storage = storage::make_memory();
  CheckpointOptions options;
  options.file.strategy = "forward";
  options.file.log = Log::off;
  exec::LocalOptions nodes;
  nodes.ranks_per_node = 2;
  exec::run_local(
      4, 1,
      [&](exec::Transport& transport) {
        Checkpoint checkpoint = open_checkpoint(transport, storage, options);
        RankState state(transport.rank(), transport.size());
        state.add_to(checkpoint);
        state.set(1);
        ASSERT_TRUE(checkpoint.save(0.5));
        for (int step = 0; step < 100; ++step) {
          checkpoint.due();
        }
        if (transport.rank() == 0) {
          expect_restored(1, storage->clone(), 1, 1, 4);
        }
        transport.barrier();
        checkpoint.close();
      },
      nodes);
}

TEST(Restore, ByPlaceWhatWasSavedByRowsAndBack) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {20});
  on_ranks(2, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    const std::uint64_t first = transport.rank() == 0 ? 0 : 11;
    const std::uint64_t count = transport.rank() == 0 ? 11 : 20;
    std::vector<float> points(3 * count);
    std::vector<std::uint64_t> ids(6);
    std::iota(ids.begin(), ids.end(), 6 * transport.rank());
    std::vector<double> field(6 * RankState::columns);
    checkpoint.array("points", points.data(), {31, 3}, {.start = {first, 0}, .count = {count, 3}});
    checkpoint.rows("field", ids.data(), ids.size(), field.data(), {12, RankState::columns});
    EXPECT_EQ(checkpoint.restore().number, 1u);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i], value_at<float>(20, 3 * first + i));
    }
    for (std::size_t i = 0; i < field.size(); ++i) {
      EXPECT_EQ(field[i], value_at<double>(20, ids.front() * RankState::columns + i));
    }
  });
}

TEST(Restore, MemoryMayMoveBetweenSaves) {
  const auto storage = storage::make_memory();
  on_ranks(2, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    for (int time = 0; time < 4; ++time) {
      // The ranks swap their halves each time.
      const std::uint64_t half = static_cast<std::uint64_t>(transport.rank() + time) % 2;
      const std::vector<double> place(10,
                                      static_cast<double>(time) + 0.5 * static_cast<double>(half));
      std::vector<double> moved = place;
      checkpoint.array("x", moved.data(), {20}, {.start = {10 * half}, .count = {10}});
      EXPECT_TRUE(checkpoint.save(time));
    }
    checkpoint.close();
    File in = open_file(transport, storage, state_path, Mode::read, {});
    std::vector<double> x(20);
    in.get(in.find("x"), x.data(), {}, 1);
    EXPECT_EQ(x.front(), 3.0);
    EXPECT_EQ(x.back(), 3.5);
  });
}

TEST(Restore, WhatDoesNotFitIsSaid) {
  const auto storage = storage::make_memory();
  save_keys(3, storage, {20});
  const auto restore_as = [&](int ranks, auto&& add) {
    return errors_on_ranks(ranks, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage);
      double x[60] = {};
      add(checkpoint, x, transport.rank());
      checkpoint.restore();
    });
  };
  using P = Checkpoint&;
  expect_everywhere(restore_as(2, [](P c, double* x, int) { c.array("velocity", x, {60}); }),
                    Code::not_found, {"state.h5", "velocity"});
  expect_everywhere(restore_as(2,
                               [](P c, double* x, int) {
                                 c.array("field", x, {6, 5});
                               }),
                    Code::invalid_argument, {"\"field\"", "{6, 5}", "{12, 5}", "in the file"});
  expect_everywhere(restore_as(2, [](P c, double* x, int) { c.array("count", x, {}); }),
                    Code::type_mismatch, {"\"count\"", "float64", "int64"});
  expect_everywhere(restore_as(2, [](P c, double* x, int) { c.bytes("generator", x, 12); }),
                    Code::unsupported,
                    {"\"generator\"", "3 ranks", "dealt to 2", "restart on 3 ranks"});
  for (const std::uint64_t bytes : {8, 16}) {  // of 12: part of them would be a wrong state
    const std::string shape = "{3, " + std::to_string(bytes) + "}";
    expect_everywhere(restore_as(3, [=](P c, double* x, int) { c.bytes("generator", x, bytes); }),
                      Code::invalid_argument, {"state.h5", "\"generator\"", shape, "{3, 12}"});
  }
  for (const int ranks : {2, 3}) {
    expect_everywhere(restore_as(ranks, [](P c, double* x, int) { c.bytes("genrator", x, 12); }),
                      Code::not_found, {"state.h5", "no bytes \"genrator\" in the file"});
  }
  expect_everywhere(restore_as(3,
                               [](P c, double* x, int rank) {
                                 c.array("field", x, {12, 5}, {.start = {0, rank == 1 ? 9u : 0u}});
                               }),
                    Code::out_of_bounds, {"rank 1", "field"});
  on_ranks(2, [&](exec::Transport& transport) {
    File other = open_file(transport, storage, state_path, Mode::write, {});
    other.close();
  });
  expect_everywhere(restore_as(2,
                               [](P c, double* x, int) {
                                 c.array("field", x, {12, 5});
                               }),
                    Code::format, {"state.h5", "no checkpoints"});
}

TEST(Restore, TextsWithNulInside) {
  const auto storage = storage::make_memory();
  on_ranks(2, [&](exec::Transport& transport) {
    using namespace std::string_literals;
    std::string text = "a\0b\0\0c"s;
    const auto with_text = [&](auto&& work) {
      Checkpoint checkpoint = open_checkpoint(transport, storage);
      checkpoint.text("text", text);
      work(checkpoint);
      checkpoint.close();
    };
    with_text([](Checkpoint& checkpoint) { EXPECT_TRUE(checkpoint.save(0)); });
    text = "longer than that";
    with_text([](Checkpoint& checkpoint) { EXPECT_TRUE(checkpoint.restore()); });
    EXPECT_EQ(text, "a\0b\0\0c"s);
  });
}

TEST(Restore, RegistrationsAreChecked) {
  const auto storage = storage::make_memory();
  on_ranks(1, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    double x[4] = {};
    std::string text;
    checkpoint.array("x", x, {4});
    const auto code_of = [](auto&& work) {
      try {
        work();
      } catch (const Error& e) {
        return e.code();
      }
      return Code::ok;
    };
    EXPECT_EQ(code_of([&] { checkpoint.array("x", x, {4}); }), Code::ok);
    EXPECT_EQ(code_of([&] { checkpoint.array("x", x, {3}); }), Code::exists);
    EXPECT_EQ(code_of([&] { checkpoint.bytes("x", x, 4); }), Code::exists);
    EXPECT_EQ(code_of([&] { checkpoint.array("checkpoint/x", x, {4}); }), Code::bad_name);
    EXPECT_EQ(code_of([&] { checkpoint.array("../x", x, {4}); }), Code::bad_name);
    EXPECT_EQ(code_of([&] { checkpoint.text("t", text, 0); }), Code::invalid_argument);
    EXPECT_EQ(code_of([&] { checkpoint.bytes("b", x, 0); }), Code::invalid_argument);
    EXPECT_TRUE(checkpoint.save(0));
    EXPECT_EQ(code_of([&] { checkpoint.restore(); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { checkpoint.array("y", x, {4}); }), Code::wrong_state)
        << "the first checkpoint lacks it";
    EXPECT_EQ(code_of([&] { checkpoint.array("x", x, {4}); }), Code::ok);
    checkpoint.close();
    EXPECT_EQ(code_of([&] { checkpoint.close(); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { checkpoint.save(1); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { checkpoint.due(); }), Code::wrong_state);
    Checkpoint moved(std::move(checkpoint));
    EXPECT_EQ(code_of([&] { checkpoint.due(); }), Code::wrong_state);  // NOLINT: on purpose
    CheckpointOptions options;
    options.file.keep_last = 3;
    EXPECT_EQ(code_of([&] { open_checkpoint(transport, storage, options); }),
              Code::invalid_argument);
    options = {};
    options.interval_s = -1;
    EXPECT_EQ(code_of([&] { open_checkpoint(transport, storage, options); }),
              Code::invalid_argument);
  });
}

/// Two checkpoints of three ranks, and the options that they were saved with.
CheckpointOptions save_two(const std::shared_ptr<storage::Storage>& storage, std::uint64_t keep) {
  CheckpointOptions options;
  options.keep = keep;
  options.file.log = Log::off;
  save_keys(3, storage, {10, 11}, options);
  return options;
}

TEST(Restore, WhatIsNotRegisteredIsNotReplacedByTheNextSave) {
  for (const std::uint64_t keep : {0, 3}) {
    const auto storage = storage::make_memory();
    CheckpointOptions options = save_two(storage, keep);
    for (const OnFailedSave on_failed : {OnFailedSave::stop, OnFailedSave::report}) {
      options.on_failed_save = on_failed;
      const auto refused = errors_on_ranks(2, [&](exec::Transport& transport) {
        Checkpoint checkpoint = open_checkpoint(transport, storage, options);
        double field[60] = {};
        checkpoint.array("field", field, {12, 5});
        EXPECT_EQ(checkpoint.restore().number, 2u);
        const Saved saved = checkpoint.save(6);
        throw Error(Code::wrong_state, saved.why);
      });
      expect_everywhere(refused, Code::wrong_state,
                        {"state.h5: save: ", "which is not registered: register it"});
    }
    expect_restored(3, storage, 2, 11, 3);
  }
}

/// Another number of ranks has bytes in variables of its own.
TEST(Restore, BytesThatAreNotRegisteredAreNotReplaced) {
  const auto storage = storage::make_memory();
  CheckpointOptions options;
  options.file.log = Log::off;
  options.on_failed_save = OnFailedSave::stop;
  std::uint64_t seed = 7;
  double field = 1;
  const auto save = [&](int ranks, bool with_bytes) {
    return errors_on_ranks(ranks, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage, options);
      std::uint64_t own = seed;
      double copy = field;
      checkpoint.value("field", copy);
      if (with_bytes) {
        checkpoint.bytes("seed", &own, sizeof own, OnOtherRanks::keep);
      }
      checkpoint.restore();
      checkpoint.save(1);
      checkpoint.close();
    });
  };
  expect_everywhere(save(2, true), Code::ok, {});
  expect_everywhere(save(3, true), Code::ok, {});
  expect_everywhere(save(3, false), Code::wrong_state, {"\"seed\"", "not registered"});
}

/// A checkpoint without `more` must not be restored by a run that has it, not even when all newer
/// ones are damaged: a file without it is replaced.
TEST(Restore, AFileThatLacksWhatIsRegisteredIsBegunAnew) {
  for (const std::uint64_t keep : {0, 3}) {
    const auto storage = storage::make_memory();
    CheckpointOptions options = save_two(storage, keep);
    on_ranks(2, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage, options);
      RankState state(transport.rank(), transport.size());
      state.add_to(checkpoint);
      EXPECT_EQ(checkpoint.restore().number, 2u);
      double more = 2.5;
      checkpoint.value("more", more);
      state.set(12);
      EXPECT_EQ(checkpoint.save(6).number, 3u);
      checkpoint.close();
    });
    expect_restored(3, storage, 3, 12, 2);
    on_ranks(1, [&](exec::Transport& transport) {
      File in = open_file(transport, storage, state_path, Mode::read, {});
      EXPECT_EQ(in.steps(), 1u) << "keep " << keep;
      double more = 0;
      in.get(in.find("more"), &more);
      EXPECT_EQ(more, 2.5);
    });
  }
}

TEST(Restore, OfATextInTheCallersMemoryByACheckpointThatWasMoved) {
  const auto storage = storage::make_memory();
  for (const bool saves : {true, false}) {
    on_ranks(2, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage, {});
      Checkpoint moved = open_checkpoint(transport, storage, {});
      moved = std::move(checkpoint);
      char note[8] = "";
      moved.text_raw("note", note, sizeof note);
      if (saves) {
        std::strcpy(note, "12345");
        EXPECT_TRUE(moved.save(0));
        EXPECT_TRUE(moved.drain(60));
      } else {
        EXPECT_EQ(moved.restore().number, 1u);
        EXPECT_STREQ(note, "12345");
      }
      moved.close();
    });
  }
}

}  // namespace
}  // namespace sluice::test
