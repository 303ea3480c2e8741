// What the close of a checkpoint says where the last one was lost on its way.
#include <cerrno>

#include "checkpoint/states.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

TEST(Close, DoesNotSpeakOfFlush) {
  const auto memory = storage::make_memory();
  const auto faults = std::make_shared<storage::Faults>();
  CheckpointOptions options;
  options.file.strategy = "forward";
  options.file.ranks_per_node = 1;
  options.file.log = Log::off;
  const auto errors = errors_on_ranks(2, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<storage::FaultyStorage>(memory, faults);
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.set(1);
    EXPECT_TRUE(checkpoint.save(0) && checkpoint.drain(1e6));
    transport.barrier();
    if (transport.rank() == 0) {
      faults->add({.call = storage::Call::write, .persistent = true, .error_number = EIO});
    }
    transport.barrier();
    EXPECT_TRUE(checkpoint.save(1)) << "what fails comes later";
    checkpoint.close();
  });
  expect_everywhere(errors, Code::io, {"state.h5"});
  EXPECT_EQ(std::string(errors[0].what()).find("flush()"), std::string::npos) << errors[0].what();
}

}  // namespace
}  // namespace sluice::test
