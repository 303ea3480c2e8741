// Many real ranks, each strategy once: written by all in a random decomposition, read back by all
// in another one.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sluice/sluice.hpp>

#include "exec/transport/mpi_transport.hpp"
#include "storage/scratch.hpp"
#include "support/names.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr double deadline_s = 600;

class ManyRanks : public testing::TestWithParam<const char*> {
 protected:
  ManyRanks() : all_(exec::make_mpi(MPI_COMM_WORLD, deadline_s)) {
    std::vector<std::byte> folder;
    if (all_->rank() == 0) {
      scratch_ = std::make_unique<storage::Scratch>();
      folder = storage::bytes_of(scratch_->folder());
    }
    all_->broadcast(folder, 0);
    folder_ = storage::text_of(folder);
  }
  ~ManyRanks() override { all_->barrier(); }

  std::unique_ptr<exec::Transport> all_;
  std::unique_ptr<storage::Scratch> scratch_;
  std::string folder_;
};

TEST_P(ManyRanks, WhatIsWrittenIsRead) {
  const Shape shape = {97, 23, 5};
  const std::string path = folder_ + "/out.h5";
  Options options;
  options.strategy = GetParam();
  options.writers = options.strategy == "file-per-node" ? std::min(5, all_->size()) : 0;
  options.durability = Durability::none;
  options.timeout_s = deadline_s;
  {
    File out(MPI_COMM_WORLD, path, Mode::write, options);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < 2; ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      const auto dealt = deal(shape, all_->size(), s, 8);
      for (const model::Box& box : dealt[static_cast<std::size_t>(all_->rank())]) {
        giver.put(step, v, s, shape, box);
      }
      step.end();
    }
    out.close();
  }
  Options reading;
  reading.timeout_s = deadline_s;
  File in(MPI_COMM_WORLD, path, Mode::read, reading);
  for (std::uint64_t s = 0; s < 2; ++s) {
    expect_values<double>(in, "v", s, shape, slab(shape, all_->rank(), all_->size()), s);
  }
  in.close();
}

INSTANTIATE_TEST_SUITE_P(Strategies, ManyRanks,
                         testing::Values("serial", "shared", "collective", "forward", "auto",
                                         "file-per-process", "file-per-node"),
                         [](const auto& named) { return test_name(named.param); });

}  // namespace
}  // namespace sluice::test
