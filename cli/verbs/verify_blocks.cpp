#include "verbs/verify_blocks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "model/clock.hpp"
#include "plugin/block_table.hpp"

namespace sluice::cli {

namespace {

using commit::Finding;
using commit::Verdict;
using plugin::BlockTable;

enum class Found : std::uint8_t { none, stale, present };

/// What rank 0 finds, on every rank.
std::pair<Found, BlockTable> find_table(const Context& context, const std::string& path) {
  auto in = exec::on_root(context.transport, [&](model::ByteWriter& out) {
    const std::string real = context.storage.real_path(path);
    const bool is_there = context.storage.exists(plugin::block_table_path(real));
    const auto table = is_there ? plugin::read_block_table(context.storage, real) : std::nullopt;
    const bool is_present =
        table && table->is_of(*context.storage.open(real, storage::Access::read));
    out.put(is_present ? Found::present : is_there ? Found::stale : Found::none);
    if (is_present) {
      out.put(table->file_bytes);
      out.put(table->modified_ns);
      out.put(table->checksums);
    }
  });
  const auto found = in.get<Found>();
  BlockTable table;
  if (found == Found::present) {
    table.file_bytes = in.get<std::uint64_t>();
    table.modified_ns = in.get<std::int64_t>();
    table.checksums = in.get_vector<std::uint64_t>();
  }
  return {found, std::move(table)};
}

/// What one rank found, or all together.
struct Compared {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unknown = 0;
  std::vector<std::uint64_t> damaged;
};

/// The blocks of this rank: turns of a few, so that all read in one region of the file.
Compared compare_share(const Context& context, storage::File& file, const BlockTable& table,
                       const commit::VerifyProgress& progress) {
  constexpr std::uint64_t blocks_in_a_turn = 16;
  const auto ranks = static_cast<std::uint64_t>(context.transport.size());
  const auto rank = static_cast<std::uint64_t>(context.transport.rank());
  Compared result;
  std::vector<std::byte> bytes;
  for (std::uint64_t number = 0; number < table.checksums.size(); ++number) {
    if (number / blocks_in_a_turn % ranks != rank) {
      continue;
    }
    if (table.checksums[number] == 0) {
      ++result.unknown;
      continue;
    }
    bytes.resize(table.length_of(number));
    const bool is_there = file.read(number * plugin::checksum_block_bytes, bytes) == bytes.size();
    if (!is_there || plugin::block_checksum(bytes) != table.checksums[number]) {
      result.damaged.push_back(number);
    }
    ++result.blocks;
    result.bytes += bytes.size();
    if (progress) {
      progress(number * plugin::checksum_block_bytes, table.file_bytes);
    }
  }
  return result;
}

Compared gather(exec::Transport& transport, const Compared& own) {
  model::ByteWriter out;
  out.put(own.blocks);
  out.put(own.bytes);
  out.put(own.unknown);
  out.put(own.damaged);
  Compared all;
  for (const auto& message : transport.allgather(out.take())) {
    model::ByteReader in(message);
    all.blocks += in.get<std::uint64_t>();
    all.bytes += in.get<std::uint64_t>();
    all.unknown += in.get<std::uint64_t>();
    const auto damaged = in.get_vector<std::uint64_t>();
    all.damaged.insert(all.damaged.end(), damaged.begin(), damaged.end());
  }
  std::sort(all.damaged.begin(), all.damaged.end());
  return all;
}

Verdict verdict_of(const Compared& all, const BlockTable& table) {
  Verdict verdict;
  verdict.records = all.blocks;
  verdict.bytes = all.bytes;
  for (std::size_t i = 0; i < all.damaged.size();) {
    std::size_t next = i + 1;
    while (next < all.damaged.size() && all.damaged[next] == all.damaged[next - 1] + 1) {
      ++next;
    }
    ++verdict.finding_count;
    if (verdict.findings.size() < commit::most_findings) {
      const std::uint64_t last = all.damaged[next - 1];
      Finding finding;
      finding.order = all.damaged[i];
      finding.place = fmt::format("bytes {} to {}", all.damaged[i] * plugin::checksum_block_bytes,
                                  last * plugin::checksum_block_bytes + table.length_of(last) - 1);
      finding.what = "does not match its checksum";
      verdict.findings.push_back(std::move(finding));
    }
    i = next;
  }
  verdict.state = verdict.finding_count == 0 ? commit::State::ok : commit::State::damaged;
  if (all.unknown != 0) {
    verdict.uncovered_count = 1;
    verdict.uncovered.push_back(
        fmt::format("{} of {} blocks of 64 KiB, which were there before checksums were kept",
                    all.unknown, table.checksums.size()));
  }
  return verdict;
}

}  // namespace

BlockVerdict verify_blocks(const Context& context, const std::string& path,
                           const commit::VerifyProgress& progress) {
  constexpr int most_tries = 10;
  const double begin_s = model::now_s();
  for (int tries = 1;; ++tries) {
    const auto [found, table] = find_table(context, path);
    if (found != Found::present) {
      return {found == Found::stale, std::nullopt};
    }
    Compared own;
    exec::together(context.transport, [&] {
      const auto file =
          context.storage.open(context.storage.real_path(path), storage::Access::read);
      own = compare_share(context, *file, table, progress);
    });
    Verdict verdict = verdict_of(gather(context.transport, own), table);
    // Beside a writer a mismatch may be the next flush.
    if (verdict.state != commit::State::ok) {
      const auto [still, now] = find_table(context, path);
      if (still != Found::present || now.modified_ns != table.modified_ns) {
        if (tries == most_tries) {
          return {true, std::nullopt};
        }
        continue;
      }
    }
    verdict.seconds = model::now_s() - begin_s;
    return {false, std::move(verdict)};
  }
}

}  // namespace sluice::cli
