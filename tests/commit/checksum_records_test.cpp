// Of a variable with very many checksum records a rank gets those of its own box, and every byte is
// checked all the same.
#include "commit/read/locator.hpp"
#include "exec/transport/agree.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

constexpr const char* path = "out.h5";
constexpr std::uint64_t key = 21;
constexpr int ranks = 6;
/// A record for each pair of rows.
constexpr std::uint64_t records = 12000;
const Shape shape{2 * records, 3};

std::shared_ptr<storage::MemoryStorage> written() {
  auto memory = storage::make_memory();
  Options options;
  options.strategy = "shared";
  options.durability = Durability::none;
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, memory, path, Mode::write, options);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    for (auto r = static_cast<std::uint64_t>(transport.rank()); r < records; r += ranks) {
      giver.put(step, v, key, shape, {{2 * r, 0}, {2, 3}});
    }
    step.end();
    out.close();
  });
  return memory;
}

/// The metadata of a file, as Input has it on its ranks.
struct Metadata {
  Metadata(exec::Transport& transport, storage::Storage& storage) {
    auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
      root = std::make_unique<commit::RootCatalog>(storage, path, Options{});
      root->contents().write_to(out);
    });
    view = commit::FileView(commit::FileView::Contents::read_from(in));
  }

  std::unique_ptr<commit::RootCatalog> root;
  commit::FileView view;
};

TEST(Records, ARankGetsThoseOfItsBox) {
  const auto memory = written();
  on_ranks(ranks, [&](exec::Transport& transport) {
    const Metadata metadata(transport, *memory);
    commit::Locator locator(transport, metadata.view, metadata.root.get());
    const model::Box own = slab(shape, transport.rank(), ranks);
    const commit::Wanted wanted{0, 0, whole_box(shape)};
    const auto located = locator.locate({&wanted, 1}, {&own, 1});
    ASSERT_EQ(located.size(), 1u);
    EXPECT_TRUE(located[0].is_many);
    EXPECT_TRUE(located[0].is_in_tiles);
    EXPECT_EQ(located[0].records.list().size(), records / ranks);
    for (const commit::Record& record : located[0].records.list()) {
      ASSERT_TRUE(model::intersect(record.box, own));
    }
    locator.complete(0);
    EXPECT_EQ(located[0].records.list().size(), records);
    EXPECT_EQ(locator.locate({&wanted, 1})[0].records.list().size(), records) << "for any box";
  });
}

TEST(Records, WhereBoxesOverlapEveryRankGetsAll) {
  const auto memory = written();
  on_ranks(ranks, [&](exec::Transport& transport) {
    const Metadata metadata(transport, *memory);
    commit::Locator locator(transport, metadata.view, metadata.root.get());
    const commit::Wanted wanted{0, 0, whole_box(shape)};
    // To deal them would be more than to give all to the one that needs few, too.
    const model::Box own = transport.rank() == 0 ? slab(shape, 0, ranks) : wanted.region;
    EXPECT_EQ(locator.locate({&wanted, 1}, {&own, 1})[0].records.list().size(), records);
  });
}

TEST(Records, EveryWayOfReadingChecksEveryByte) {
  const auto memory = written();
  const auto damaged = memory->clone();
  flip_bit_of(*damaged, path, value_at<double>(key, 3 * records + 1));
  for (const int readers : {0, 2}) {
    Options options;
    options.readers = readers;
    on_ranks(ranks, [&](exec::Transport& transport) {
      File in = open_file(transport, memory, path, Mode::read, options);
      for (int round = 0; round < 2; ++round) {
        expect_values<double>(in, "v", key, shape, slab(shape, transport.rank(), ranks), 0);
        expect_values<double>(in, "v", key, shape, whole_box(shape), 0);
        const model::Box none{{0, 0}, {0, 0}};
        expect_values<double>(in, "v", key, shape, transport.rank() == 1 ? none : slab(shape, 0, 3),
                              0);
      }
      in.close();
    });
    expect_everywhere(
        errors_on_ranks(ranks,
                        [&](exec::Transport& transport) {
                          File in = open_file(transport, damaged, path, Mode::read, options);
                          expect_values<double>(in, "v", key, shape,
                                                slab(shape, transport.rank(), ranks), 0);
                        }),
        Code::damaged, {"does not match its checksum"});
  }
}

}  // namespace
}  // namespace sluice::test
