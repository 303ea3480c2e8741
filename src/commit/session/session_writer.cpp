#include "commit/session/session_writer.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::commit {

namespace {

constexpr std::uint64_t most_piece_bytes = 4ULL << 20;
/// Buffers of a budget: some being filled, one being written, one about to be.
constexpr std::uint64_t fewest_buffers = 4;
constexpr std::uint64_t most_buffers = 64;

std::string bytes_text(std::uint64_t first, std::uint64_t end) {
  return std::to_string(first) + " to " + std::to_string(end);
}

}  // namespace

std::uint64_t session_piece_bytes(const plan::SessionTiles& tiles, std::uint64_t budget_bytes) {
  return std::max<std::uint64_t>(
      1, std::min({tiles.tile_bytes(), budget_bytes / (2 * fewest_buffers), most_piece_bytes}));
}

SessionWriter::SessionWriter(const Config& config)
    : config_(config),
      buffer_bytes_(config.gathers ? config.tiles.tile_bytes()
                                   : session_piece_bytes(config.tiles, config.budget_bytes)),
      open_max_(std::clamp(config.budget_bytes / 2 / buffer_bytes_, fewest_buffers, most_buffers) -
                2),
      writer_(buffer_bytes_, open_max_ + 2, config.pace) {}

SessionWriter::Share& SessionWriter::share_of(const SessionPart& part) {
  const auto [found, is_new] = shares_.try_emplace(part.key);
  Share& share = found->second;
  if (is_new) {
    share.range = part.range;
    share.missing = config_.tiles.share(part.range, config_.rank);
    share.failure = std::make_shared<std::exception_ptr>();
  }
  return share;
}

void SessionWriter::take(const SessionPart& part, int from, std::uint64_t offset,
                         std::span<const std::byte> bytes) {
  Share& share = share_of(part);
  const std::uint64_t number = config_.tiles.tile_of(offset);
  try {
    if (!(share.range == part.range)) {
      throw Error(Code::divergent, config_.file.path() + ": rank " + std::to_string(from) +
                                       " writes to a session of bytes " +
                                       bytes_text(part.range.offset, part.range.end()) +
                                       " that for other ranks has bytes " +
                                       bytes_text(share.range.offset, share.range.end()));
    }
    auto tile = share.tiles.find(number);
    if (tile == share.tiles.end()) {
      if (share.has_ended) {
        throw Error(Code::overlap, config_.file.path() + ": rank " + std::to_string(from) +
                                       " wrote bytes " + bytes_text(offset, offset + bytes.size()) +
                                       " of a session that has ended");
      }
      tile = share.tiles.emplace(number, Tile()).first;
      tile->second.missing = config_.tiles.part(number, share.range).bytes;
    }
    note(tile->second, from, offset, bytes.size());
  } catch (...) {
    if (share.has_ended) {
      stray_ = stray_ ? stray_ : std::current_exception();
    } else {
      end(part.key, share, std::current_exception());
    }
    return;
  }
  if (!share.has_ended) {
    copy(part.key, share, number, offset, bytes);
  }
}

/// Adds the run; Error overlap if a byte of it was written before.
void SessionWriter::note(Tile& tile, int from, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t end = offset + bytes;
  auto next = tile.runs.upper_bound(offset);
  const auto refuse = [&](std::uint64_t first, const Came& came) {
    throw Error(Code::overlap, config_.file.path() + ": bytes " +
                                   bytes_text(std::max(first, offset), std::min(came.end, end)) +
                                   " were written twice: by rank " + std::to_string(came.rank) +
                                   " (in bytes " + bytes_text(first, came.end) + ") and by rank " +
                                   std::to_string(from) + " (in bytes " + bytes_text(offset, end) +
                                   ")");
  };
  if (next != tile.runs.end() && next->first < end) {
    refuse(next->first, next->second);
  }
  auto last = next == tile.runs.begin() ? tile.runs.end() : std::prev(next);
  if (last != tile.runs.end() && last->second.end > offset) {
    refuse(last->first, last->second);
  }
  if (last != tile.runs.end() && last->second.end == offset && last->second.rank == from) {
    last->second.end = end;
  } else {
    last = tile.runs.emplace_hint(next, offset, Came{end, from});
  }
  if (next != tile.runs.end() && next->first == end && next->second.rank == from) {
    last->second.end = next->second.end;
    tile.runs.erase(next);
  }
}

void SessionWriter::copy(const SessionKey& key, Share& share, std::uint64_t number,
                         std::uint64_t offset, std::span<const std::byte> bytes) {
  Tile& tile = share.tiles.at(number);
  const bool gathers = config_.gathers;
  if (tile.staging == nullptr) {
    if (gathers) {
      make_room();
      open_.push_back({key, number});
    }
    tile.staging = writer_.take();
  }
  const std::uint64_t base = gathers ? number * config_.tiles.tile_bytes() : offset;
  std::memcpy(tile.staging->data() + (offset - base), bytes.data(), bytes.size());
  if (!tile.fresh.empty() && tile.fresh.back().end() == offset) {
    tile.fresh.back().bytes += bytes.size();
  } else {
    tile.fresh.push_back({offset, bytes.size()});
  }
  tile.missing -= bytes.size();
  share.missing -= bytes.size();
  if (!gathers || tile.missing == 0) {
    write_tile(share, number, tile);
  }
  if (share.missing == 0) {
    end(key, share, nullptr);
  }
}

/// Passes the tile's buffer to the thread.
void SessionWriter::write_tile(Share& share, std::uint64_t number, Tile& tile) {
  std::sort(tile.fresh.begin(), tile.fresh.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::vector<plan::ByteRange> runs;
  for (const plan::ByteRange& run : tile.fresh) {
    if (!runs.empty() && runs.back().end() == run.offset) {
      runs.back().bytes += run.bytes;
    } else {
      runs.push_back(run);
    }
  }
  tile.fresh = {};
  const std::uint64_t base =
      config_.gathers ? number * config_.tiles.tile_bytes() : runs.front().offset;
  exec::Staging* const staging = std::exchange(tile.staging, nullptr);
  std::erase_if(open_, [&](const Open& open) {
    return open.tile == number && &shares_.at(open.key) == &share;
  });
  writer_.submit([this, staging, base, runs = std::move(runs), failure = share.failure](bool) {
    try {
      for (std::size_t i = 0; i < runs.size() && !*failure; ++i) {
        config_.file.write(runs[i].offset,
                           {staging->data() + (runs[i].offset - base), runs[i].bytes});
      }
    } catch (...) {
      *failure = std::current_exception();
    }
    writer_.put_back(staging);
  });
}

/// Makes space for one more tile.
void SessionWriter::make_room() {
  if (open_.size() < open_max_) {
    return;
  }
  const Open oldest = open_.front();
  Share& share = shares_.at(oldest.key);
  write_tile(share, oldest.tile, share.tiles.at(oldest.tile));
}

void SessionWriter::finalize(const SessionPart& part) {
  Share& share = share_of(part);
  if (share.has_ended) {
    return;
  }
  plan::ByteRange gap;
  config_.tiles.for_each_tile(share.range, config_.rank, [&](std::uint64_t number) {
    const plan::ByteRange whole = config_.tiles.part(number, share.range);
    const auto tile = share.tiles.find(number);
    std::uint64_t at = whole.offset;
    if (tile != share.tiles.end()) {
      for (const auto& [first, came] : tile->second.runs) {
        if (first != at) {
          gap = {at, first - at};
          return false;
        }
        at = came.end;
      }
    }
    gap = {at, whole.end() - at};
    return gap.bytes == 0;
  });
  end(part.key, share,
      std::make_exception_ptr(Error(
          Code::hole, config_.file.path() + ": the session of bytes " +
                          bytes_text(share.range.offset, share.range.end()) +
                          " was closed short: rank " + std::to_string(config_.rank) + " lacks " +
                          std::to_string(share.missing) + " bytes of its tiles, first bytes " +
                          bytes_text(gap.offset, gap.end()))));
}

/// Its outcome follows what was submitted. Of a session that ends too early the received bytes are
/// written.
void SessionWriter::end(const SessionKey& key, Share& share, const std::exception_ptr& failure) {
  share.has_ended = true;
  for (auto& [number, tile] : share.tiles) {
    if (tile.staging != nullptr) {
      write_tile(share, number, tile);
    }
  }
  writer_.submit([this, key, failure, written = share.failure](bool) {
    std::exception_ptr outcome = *written ? *written : failure;
    try {
      if (config_.syncs && !outcome) {
        config_.file.sync();
      }
    } catch (...) {
      outcome = std::current_exception();
    }
    tell(key, outcome);
  });
  finished_.push_back(key);
  forget_old();
}

void SessionWriter::forget_old() {
  if (finished_.size() > finished_max) {
    shares_.at(finished_.front()).tiles.clear();
    finished_.pop_front();
  }
}

void SessionWriter::tell(const SessionKey& key, const std::exception_ptr& failure) {
  const std::lock_guard lock(mutex_);
  outcomes_.push_back({key, failure});
}

std::vector<SessionWriter::Outcome> SessionWriter::outcomes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

}  // namespace sluice::commit
