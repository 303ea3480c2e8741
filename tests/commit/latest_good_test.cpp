// latest_good: the newest intact step, found from the end, the same on every rank.
#include "commit/read/latest_good.hpp"

#include <fstream>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "commit/read/input.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/names.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

const Shape shape{16, 9};
constexpr std::uint64_t steps = 4;

class LatestGood : public testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return scratch_ / "out.h5"; }

  void make() {
    exec::run_local(4, 1, [&](exec::Transport& transport) {
      Options options;
      options.strategy = GetParam();
      File out(detail::open_on(transport, storage_, path(), Mode::write, options));
      const Variable v = out.define<double>("density", shape, {.steps = true});
      const Variable late = out.define<float>("late", {3}, {.steps = true, .partial = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        Giver<double> giver;
        Giver<float> rare;
        Step step = out.begin_step({.time = 1});
        giver.put(step, v, 100 + s, shape, slab(shape, transport.rank(), 4));
        if (s == steps - 1) {
          rare.put(step, late, 7, {3}, slab({3}, transport.rank(), 4));
        }
        step.end();
      }
      out.close();
    });
  }

  /// The file with the last rows.
  std::string data_file() {
    std::string name = path();
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      const commit::Input input(transport, *storage_, path(), {});
      if (input.set() != nullptr) {
        name = layout::part_path(path(), input.set()->parts.back().path);
      }
    });
    return name;
  }

  /// Flips a bit of the value of the last element of a step, in whichever file it is.
  void damage(std::uint64_t step) {
    const auto wanted = value_at<double>(100 + step, dims_of(shape).volume() - 1);
    std::fstream file(data_file(), std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&wanted), 8));
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(bytes[at] ^ 1));
  }

  void expect(std::optional<std::uint64_t> good, std::size_t bad_steps) {
    for (const int ranks : {1, 3, 40}) {
      exec::run_local(ranks, 1, [&](exec::Transport& transport) {
        std::vector<std::string> bad;
        EXPECT_EQ(commit::latest_good(transport, *storage_, path(),
                                      [&](std::uint64_t, const std::string& why) {
                                        if (!why.empty()) bad.push_back(why);
                                      }),
                  good);
        EXPECT_EQ(bad.size(), bad_steps);
        for (const std::string& why : bad) {
          EXPECT_NE(why.find("density"), std::string::npos) << why;
        }
      });
    }
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      Options options;
      options.checksum = false;  // checked all the same
      File in(detail::open_on(transport, storage_, path(), Mode::read, options));
      EXPECT_EQ(in.latest_good(), good);
    });
  }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make_posix();
};

TEST_P(LatestGood, IsTheLastOneThatIsWhole) {
  make();
  expect(steps - 1, 0);
  damage(3);
  expect(2, 1);
  damage(1);  // before the good one: not checked
  expect(2, 1);
  damage(2);
  expect(0, 3);
  damage(0);
  expect(std::nullopt, 4);
}

INSTANTIATE_TEST_SUITE_P(Strategies, LatestGood,
                         testing::Values("serial", "shared", "file-per-process"),
                         [](const auto& named) { return test_name(named.param); });

}  // namespace
}  // namespace sluice::test
