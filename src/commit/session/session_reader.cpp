#include "commit/session/session_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::commit {

SessionReader::SessionReader(const Config& config)
    : config_(config),
      cell_bytes_(session_piece_bytes(config.tiles, config.budget_bytes)),
      cells_max_(std::max<std::uint64_t>(2, config.budget_bytes / 2 / cell_bytes_)),
      thread_(cell_bytes_, 0, config.pace) {}

/// The cell of a byte, as pieces are cut.
plan::ByteRange SessionReader::cell_of(std::uint64_t offset) const {
  const std::uint64_t tile = config_.tiles.tile_bytes();
  const std::uint64_t first = offset / tile * tile;
  const std::uint64_t begin = first + (offset - first) / cell_bytes_ * cell_bytes_;
  return {begin, std::min(cell_bytes_, tile - (begin - first))};
}

void SessionReader::read_ahead(const SessionPart& part) {
  sessions_.push_back(part.key);
  Ahead& ahead = ahead_[part.key];
  config_.tiles.for_each_tile(part.range, config_.rank, [&](std::uint64_t tile) {
    const plan::ByteRange here = config_.tiles.part(tile, part.range);
    for (std::uint64_t at = here.offset; at < here.end() && ahead.cells.size() < cells_max_;) {
      ahead.cells.push_back(cell_of(at));
      at = ahead.cells.back().end();
    }
    return ahead.cells.size() < cells_max_;
  });
}

void SessionReader::forget(const SessionKey& key) {
  ahead_.erase(key);
  std::erase(sessions_, key);
  if (sessions_.empty() && asked_.empty()) {
    cells_.clear();
  }
}

bool SessionReader::is_there(const Cell& cell) {
  const std::lock_guard lock(mutex_);
  return cell.is_there;
}

/// The least recently used cell for which no request waits.
bool SessionReader::drop_one() {
  auto oldest = cells_.end();
  for (auto at = cells_.begin(); at != cells_.end(); ++at) {
    const bool is_wanted = std::any_of(asked_.begin(), asked_.end(), [&](const Question& question) {
      return cell_of(question.range.offset).offset == at->first;
    });
    if (!is_wanted && is_there(*at->second) &&
        (oldest == cells_.end() || at->second->last_use < oldest->second->last_use)) {
      oldest = at;
    }
  }
  if (oldest == cells_.end()) {
    return false;
  }
  cells_.erase(oldest);
  return true;
}

/// The cell, being read if it was not in memory; nullptr if there is no space for it now.
std::shared_ptr<SessionReader::Cell> SessionReader::look_up(std::uint64_t offset) {
  const plan::ByteRange place = cell_of(offset);
  const auto found = cells_.find(place.offset);
  if (found != cells_.end()) {
    found->second->last_use = ++clock_;
    return found->second;
  }
  if (cells_.size() >= cells_max_ && !drop_one()) {
    return nullptr;
  }
  auto cell = std::make_shared<Cell>();
  cell->last_use = ++clock_;
  cells_.emplace(place.offset, cell);
  thread_.submit([this, cell, place](bool) {
    std::vector<std::byte> bytes;
    std::exception_ptr failure;
    try {
      bytes.resize(place.bytes);
      bytes.resize(config_.file.read(place.offset, bytes));
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    cell->bytes = std::move(bytes);
    cell->failure = failure;
    cell->is_there = true;
  });
  return cell;
}

SessionReader::Answer SessionReader::answer(const Question& question, const Cell& cell) const {
  Answer answer{question, {}, cell.failure};
  const std::uint64_t at = question.range.offset - cell_of(question.range.offset).offset;
  if (!answer.failure && at + question.range.bytes > cell.bytes.size()) {
    answer.failure = std::make_exception_ptr(
        Error(Code::truncated, config_.file.path() + ": ends before byte " +
                                   std::to_string(question.range.end()) + ", which rank " +
                                   std::to_string(question.from) + " requested"));
  }
  if (!answer.failure) {
    const auto first = cell.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    answer.bytes.assign(first, first + static_cast<std::ptrdiff_t>(question.range.bytes));
  }
  return answer;
}

/// Is everything that was to be read ahead in memory?
bool SessionReader::go_ahead(Ahead& ahead) {
  for (; ahead.next < ahead.cells.size(); ++ahead.next) {
    const std::shared_ptr<Cell> cell = look_up(ahead.cells[ahead.next].offset);
    if (!cell) {
      break;
    }
  }
  return ahead.next == ahead.cells.size() &&
         std::all_of(ahead.cells.begin(), ahead.cells.end(), [&](const plan::ByteRange& place) {
           const auto cell = cells_.find(place.offset);
           return cell == cells_.end() || is_there(*cell->second);  // evicted cells had been read
         });
}

SessionReader::News SessionReader::news() {
  News news;
  std::vector<std::uint64_t> failed;
  for (std::size_t i = asked_.size(); i != 0; --i) {
    const Question question = asked_.front();
    asked_.pop_front();
    const std::shared_ptr<Cell> cell = look_up(question.range.offset);
    if (cell && is_there(*cell)) {
      news.answers.push_back(answer(question, *cell));
      if (cell->failure) {
        failed.push_back(cell_of(question.range.offset).offset);
      }
    } else {
      asked_.push_back(question);
    }
  }
  for (const std::uint64_t place : failed) {
    cells_.erase(place);
  }
  for (auto at = ahead_.begin(); at != ahead_.end();) {
    if (go_ahead(at->second)) {
      news.ready.push_back(at->first);
      at = ahead_.erase(at);
    } else {
      ++at;
    }
  }
  return news;
}

}  // namespace sluice::commit
