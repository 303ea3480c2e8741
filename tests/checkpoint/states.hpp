// The state of a run on virtual ranks, registered in every possible way, and its checkpoint.
#pragma once

#include <numeric>

#include "api/checkpoint/checkpoint_impl.hpp"
#include "parts/sets.hpp"
#include "sluice/checkpoint.hpp"

namespace sluice::test {

inline const char* const state_path = "state.h5";

inline Checkpoint open_checkpoint(exec::Transport& transport,
                                  const std::shared_ptr<storage::Storage>& storage,
                                  const CheckpointOptions& options = {}) {
  return Checkpoint(
      std::make_unique<detail::CheckpointImpl>(transport, storage, state_path, options));
}

/// Distributes things differently over any number of ranks: a slab of `field`, rows of `points` by
/// ids (a permutation), a count, a text, and a generator of each rank.
class RankState {
 public:
  static constexpr std::uint64_t columns = 5;
  Shape shape{12, columns};
  std::vector<double> field;
  std::vector<float> points;
  std::vector<std::uint64_t> ids;
  std::int64_t count = 0;
  std::string note;
  std::array<std::uint32_t, 3> generator{};
  std::vector<double> table;  ///< the same at every key
  std::vector<double> mesh;   ///< changes at every fourth

  RankState(int rank, int ranks, bool stays = false)
      : rank_(rank), stays_(stays), mine_(slab(shape, rank, ranks)) {
    for (std::uint64_t id = 0; id < rows; ++id) {
      if (static_cast<int>(mixed(id) % static_cast<std::uint64_t>(ranks)) == rank) {
        ids.push_back((id * 7) % rows);
      }
    }
    field.assign(mine_.volume() + 1, -1);
    points.assign(3 * ids.size() + 1, -1);
    table.assign(mine_.volume() + 1, -1);
    mesh.assign(mine_.volume() + 1, -1);
  }

  void add_to(Checkpoint& checkpoint, OnOtherRanks otherwise = OnOtherRanks::keep) {
    checkpoint.array("field", field.data(), shape,
                     {.start = shape_of(mine_.start), .count = shape_of(mine_.count)});
    checkpoint.rows("points", ids.data(), ids.size(), points.data(), {rows, 3});
    checkpoint.value("count", count);
    checkpoint.text("note", note);
    checkpoint.bytes("generator", generator.data(), sizeof generator, otherwise);
    if (stays_) {
      const Selection mine{.start = shape_of(mine_.start), .count = shape_of(mine_.count)};
      checkpoint.array("table", table.data(), shape, mine);
      checkpoint.array("mesh", mesh.data(), shape, mine);
    }
  }

  void set(std::uint64_t key) {
    for_each_element(dims_of(shape), mine_, [&](std::uint64_t index, std::uint64_t k) {
      field[k] = value_at<double>(key, index);
      table[k] = value_at<double>(1000, index);
      mesh[k] = value_at<double>(2000 + key / 4, index);
    });
    for (std::size_t i = 0; i < 3 * ids.size(); ++i) {
      points[i] = value_at<float>(key, 3 * ids[i / 3] + i % 3);
    }
    count = static_cast<std::int64_t>(key);
    note = "key " + std::to_string(key);
    generator = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(rank_), 7};
  }

  void expect(std::uint64_t key, bool has_generator) const {
    RankState wanted(*this);
    wanted.set(key);
    EXPECT_EQ(field, wanted.field);
    EXPECT_EQ(points, wanted.points);
    EXPECT_EQ(count, wanted.count);
    EXPECT_EQ(note, wanted.note);
    if (stays_) {
      EXPECT_EQ(table, wanted.table);
      EXPECT_EQ(mesh, wanted.mesh);
    }
    if (has_generator) {
      EXPECT_EQ(generator, wanted.generator);
    } else {
      EXPECT_EQ(generator, decltype(generator){});
    }
  }

 private:
  static constexpr std::uint64_t rows = 31;

  int rank_;
  bool stays_;  ///< is there something that does not change?
  model::Box mine_;
};

/// Without messages, and every rank a node.
inline CheckpointOptions with(std::uint64_t keep, const std::string& scratch = "",
                              const std::string& strategy = "auto") {
  CheckpointOptions options;
  options.keep = keep;
  options.scratch = scratch;
  options.file.strategy = strategy;
  options.file.ranks_per_node = 1;
  options.file.log = Log::off;
  return options;
}

/// A run on that many ranks that continues from the existing state and saves with these keys.
inline void save_keys(int ranks, const std::shared_ptr<storage::Storage>& storage,
                      const std::vector<std::uint64_t>& keys, const CheckpointOptions& options = {},
                      bool stays = false) {
  on_ranks(ranks, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size(), stays);
    state.add_to(checkpoint);
    checkpoint.restore();
    for (const std::uint64_t key : keys) {
      state.set(key);
      const Saved saved = checkpoint.save(0.5 * static_cast<double>(key));
      EXPECT_TRUE(saved) << saved.why;
    }
    checkpoint.close();
  });
}

/// What ranks restore: the checkpoint `number`, saved with `key` by `writers` ranks; `newer` are
/// rejected.
inline void expect_restored(int ranks, const std::shared_ptr<storage::Storage>& storage,
                            std::uint64_t number, std::uint64_t key, int writers,
                            std::size_t newer = 0) {
  on_ranks(ranks, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    const Restored restored = checkpoint.restore();
    EXPECT_EQ(restored.number, number);
    EXPECT_EQ(restored.time, 0.5 * static_cast<double>(key));
    EXPECT_EQ(restored.ranks, writers);
    EXPECT_EQ(restored.newer.size(), newer);
    EXPECT_EQ(restored.kept.size(), ranks == writers ? 0u : 1u);
    state.expect(key, ranks == writers);
    checkpoint.close();
  });
}

}  // namespace sluice::test
