// Shared by the tests of sets of parts: writing and reading them on virtual ranks.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <sluice/sluice.hpp>
#include <span>
#include <string>
#include <vector>

#include "api/file/file_impl.hpp"
#include "commit/publish/parts_files.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/part_paths.hpp"
#include "support/values.hpp"

namespace sluice::test {

/// How a set is written.
struct SetKind {
  std::string strategy = "file-per-process";
  int writers = 0;
  int ranks_per_node = 0;

  int groups(int ranks) const {
    if (strategy == "file-per-process") {
      return ranks;
    }
    if (writers != 0) {
      return writers;
    }
    return ranks_per_node == 0 ? 1 : (ranks - 1) / ranks_per_node + 1;
  }
  std::string text() const {
    return strategy + ", " + std::to_string(writers) + " writers, " +
           std::to_string(ranks_per_node) + " ranks a node";
  }
  Options options() const {
    Options options;
    options.strategy = strategy;
    options.writers = writers;
    options.ranks_per_node = ranks_per_node;
    options.durability = Durability::none;
    options.timeout_s = 60;
    return options;
  }
};

inline std::vector<SetKind> all_kinds(int ranks) {
  std::vector<SetKind> kinds{{"file-per-process", 0, 0}, {"file-per-node", 0, 2}};
  for (int writers = 1; writers <= ranks; writers += writers < 3 ? 1 : 2) {
    kinds.push_back({"file-per-node", writers, 0});
  }
  return kinds;
}

using Body = std::function<void(exec::Transport&)>;

inline void on_ranks(int ranks, const Body& body, std::uint64_t seed = 1) {
  exec::run_local(ranks, seed, body);
}

/// The error of every rank: one entry each, code ok if there was none.
inline std::vector<Error> errors_on_ranks(int ranks, const Body& body) {
  std::vector<Error> errors(static_cast<std::size_t>(ranks), Error(Code::ok, ""));
  on_ranks(ranks, [&](exec::Transport& transport) {
    try {
      body(transport);
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(transport.rank())] = error;
    }
  });
  return errors;
}

inline void expect_everywhere(const std::vector<Error>& errors, Code code,
                              const std::vector<std::string>& parts) {
  for (const Error& error : errors) {
    EXPECT_EQ(std::string(code_name(error.code())), code_name(code)) << error.what();
    EXPECT_STREQ(error.what(), errors[0].what());
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "no \"" << part << "\" in: " << error.what();
    }
  }
}

inline File open_file(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                      const std::string& path, Mode mode, const Options& options) {
  return File(detail::open_on(transport, std::move(storage), path, mode, options));
}

/// Steps first .. first + steps - 1 of `name`, whose values have the key 100 + step, distributed
/// over the ranks at random: anew in every step, or (fixed_deal) always alike.
struct Steps {
  std::string name = "v";
  Shape shape = {12, 5};
  std::uint64_t first = 0;
  std::uint64_t steps = 4;
  bool fixed_deal = true;
  bool slabs = false;  ///< contiguous rows instead of random boxes

  std::vector<model::Box> boxes(int rank, int ranks, std::uint64_t step) const {
    if (slabs) {
      return {slab(shape, rank, ranks)};
    }
    return dealt_to(rank, ranks, shape, fixed_deal ? 7 : 7 + step);
  }

  void write(File& out, exec::Transport& transport) const {
    const Variable variable = out.define<double>(name, shape, {.steps = true});
    for (std::uint64_t step = first; step < first + steps; ++step) {
      Giver<double> giver;
      Step writing = out.begin_step({.time = 0.5 * static_cast<double>(step)});
      for (const model::Box& box : boxes(transport.rank(), transport.size(), step)) {
        giver.put(writing, variable, 100 + step, shape, box);
      }
      writing.end();
    }
  }

  void expect(File& in, exec::Transport& transport) const {
    ASSERT_EQ(in.steps(), first + steps);
    for (std::uint64_t step = 0; step < in.steps(); ++step) {
      EXPECT_EQ(in.time(step), 0.5 * static_cast<double>(step));
      expect_values<double>(in, name, 100 + step, shape,
                            slab(shape, transport.rank(), transport.size()), step);
    }
  }
};

/// Writes `steps` as a new set and closes it.
inline void write_set(int ranks, std::shared_ptr<storage::Storage> storage, const std::string& path,
                      const Options& options, const Steps& steps) {
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, path, Mode::write, options);
    steps.write(out, transport);
    out.close();
  });
}

inline void expect_set(int ranks, std::shared_ptr<storage::Storage> storage,
                       const std::string& path, const Steps& steps) {
  on_ranks(ranks, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, path, Mode::read, {});
    steps.expect(in, transport);
    in.close();
  });
}

/// Flips a bit at the first place of a file with `value`, and keeps the file's time, so that only a
/// checksum can detect it.
inline void flip_bit_of(storage::Storage& storage, const std::string& path, double value) {
  const auto file = storage.open(path, storage::Access::read_write);
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(0, bytes));
  const auto pattern = std::as_bytes(std::span(&value, 1));
  const auto at = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
  ASSERT_NE(at, bytes.end());
  const std::byte flipped = *at ^ std::byte{1};
  const std::int64_t stamp = file->modified_ns();
  file->write(static_cast<std::uint64_t>(at - bytes.begin()), {&flipped, 1});
  file->set_modified_ns(stamp);
}

}  // namespace sluice::test
