// Records on virtual ranks over memory.
#pragma once

#include "api/records/records_impl.hpp"
#include "layout/local_files.hpp"
#include "sluice/records.hpp"

namespace sluice::test {

class LocalRecords : public LocalFiles {
 public:
  Records open(exec::Transport& transport, const std::string& path, Mode mode,
               const Options& options = {}, int parts = 1) {
    return Records(std::make_unique<detail::RecordsImpl>(
        [&](const Options& wanted) {
          return detail::open_on(transport, storage(), path, mode, wanted);
        },
        mode, parts, options));
  }
};

/// How many particles rank `rank` has in group `group`: of any number, some have none.
inline int particles(int rank, int group) {
  return (rank * 7 + group * 3) % 5 == 0 ? 0 : rank + 2 * group;
}

/// Writes the particles of a rank: mixed types, interleaved, single values and arrays.
inline void write_particles(Records& out, int rank, int group, int part = 0) {
  out.write(std::int32_t{rank * 1000 + group}, part);
  for (int i = 0; i < particles(rank, group); ++i) {
    const double x[3] = {rank + 0.5, group + 0.25, i + 0.125};
    out.write(std::int64_t{i}, part);
    out.write(x, 3, part);
    out.write(static_cast<float>(i), part);
    out.write(i % 2 == 0, part);
    out.write_raw("abcdefgh", string_type(8), 1, part);
  }
}

/// Reads what write_particles wrote; failures are reported.
inline void read_particles(Records& in, int rank, int group, int part = 0) {
  std::int32_t head = 0;
  in.read(&head, 1, part);
  EXPECT_EQ(head, rank * 1000 + group);
  for (int i = 0; i < particles(rank, group); ++i) {
    std::int64_t number = -1;
    double x[3] = {};
    float single = -1;
    bool even = false;
    char text[9] = {};
    in.read(&number, 1, part);
    in.read(x, 2, part);  // arrays and single values are the same
    in.read(x + 2, 1, part);
    in.read(&single, 1, part);
    in.read(&even, 1, part);
    in.read_raw(text, string_type(8), 1, part);
    EXPECT_EQ(number, i);
    EXPECT_EQ(x[0], rank + 0.5);
    EXPECT_EQ(x[1], group + 0.25);
    EXPECT_EQ(x[2], i + 0.125);
    EXPECT_EQ(single, static_cast<float>(i));
    EXPECT_EQ(even, i % 2 == 0);
    EXPECT_STREQ(text, "abcdefgh");
  }
}

}  // namespace sluice::test
