// Checkpoints that are lost while a thread of the library writes them: who is told, and when.
#include "checkpoint/states.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

/// A save that wrote in the background is lost: the next one says so, also where its own succeeds.
void lose_second_save(OnFailedSave on_failed) {
  const auto memory = storage::make_memory();
  const auto faults = std::make_shared<storage::Faults>();
  CheckpointOptions options = with(2, "", "forward");
  options.on_failed_save = on_failed;
  on_ranks(2, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<storage::FaultyStorage>(memory, faults);
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.set(1);
    EXPECT_EQ(checkpoint.save(0.5).lost, "");
    ASSERT_TRUE(checkpoint.drain(1e6));
    transport.barrier();
    if (transport.rank() == 0) {
      faults->add({.call = storage::Call::write, .error_number = ENOSPC});
    }
    transport.barrier();
    state.set(2);
    EXPECT_EQ(checkpoint.save(1).number, 2u);
    state.set(3);
    Saved saved;
    if (on_failed == OnFailedSave::stop) {
      try {
        checkpoint.save(1.5);
        ADD_FAILURE() << "no error";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::no_space);
        saved.lost = e.what();
      }
      EXPECT_EQ(checkpoint.save(1.5).number, 3u) << "the loss is said once";
    } else {
      saved = checkpoint.save(1.5);
      EXPECT_EQ(saved.number, 3u);
      EXPECT_EQ(saved.why, "");
    }
    EXPECT_NE(saved.lost.find("state.h5: checkpoint 2 was lost on its way"), std::string::npos)
        << saved.lost;
    state.set(4);
    EXPECT_EQ(checkpoint.save(2).lost, "");
    checkpoint.close();
  });
  EXPECT_EQ(faults->fired(), 1u);
  expect_restored(1, memory, 4, 4, 2);
}

TEST(Lost, WhatIsLostInTheBackgroundIsSaidByTheNextSave) { lose_second_save(OnFailedSave::report); }

TEST(Lost, WhatIsLostInTheBackgroundStopsARunThatWantsToStop) {
  lose_second_save(OnFailedSave::stop);
}

}  // namespace
}  // namespace sluice::test
