#include "commit/output/earlier_puts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/convert.hpp"
#include "model/round_up.hpp"

namespace sluice::commit {

namespace {

constexpr std::uint64_t copy_alignment_bytes = 16;  // of the largest element

std::uint64_t aligned(std::uint64_t bytes) { return model::round_up(bytes, copy_alignment_bytes); }

std::uint64_t bytes_of(const model::Block& block) {
  return block.box.volume() * block.memory.type.bytes;
}

/// Of the data of `rows`.
std::uint64_t bytes_of(const exec::Rows& rows, const model::Definition& definition) {
  std::uint64_t elements = rows.ids.size();
  for (int d = 1; d < definition.shape.rank(); ++d) {
    elements *= definition.shape[d];
  }
  return elements * rows.type.bytes;
}

}  // namespace

void EarlierPuts::add(std::span<model::Block> blocks, std::span<exec::Rows> rows,
                      const std::vector<model::Definition>& definitions) {
  std::uint64_t bytes = 0;
  bool has_sources = false;
  for (const model::Block& block : blocks) {
    bytes += aligned(bytes_of(block));
    has_sources = has_sources || block.source != nullptr;
  }
  for (const exec::Rows& some : rows) {
    bytes += aligned(some.ids.size_bytes()) + aligned(bytes_of(some, definitions[some.variable]));
  }
  if (has_sources || bytes > budget_bytes_ - std::min(budget_bytes_, held_bytes_)) {
    throw Error(Code::over_budget, "what was put before the step cannot be copied");
  }
  memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  held_bytes_ += bytes;
  std::byte* at = memory_.back().get();
  const auto take = [&](std::uint64_t count) { return std::exchange(at, at + aligned(count)); };
  for (model::Block& block : blocks) {
    std::byte* const copy = take(bytes_of(block));
    const model::Dims zeros = model::Dims::filled(block.box.start.rank(), 0);
    const model::Box part{block.memory.start, block.box.count};
    model::copy_box(block.memory.data, {zeros, block.memory.shape}, copy, part, part,
                    block.memory.type.bytes);
    block.memory = {copy, block.memory.type, block.box.count, zeros};
  }
  for (exec::Rows& some : rows) {
    if (some.ids.empty()) {
      continue;
    }
    std::byte* const ids = take(some.ids.size_bytes());
    std::memcpy(ids, some.ids.data(), some.ids.size_bytes());
    some.ids = {reinterpret_cast<const std::uint64_t*>(ids), some.ids.size()};
    const std::uint64_t data_bytes = bytes_of(some, definitions[some.variable]);
    some.data = static_cast<std::byte*>(std::memcpy(take(data_bytes), some.data, data_bytes));
  }
}

void EarlierPuts::forget() noexcept {
  mark_.keep_used(memory_);
  mark_ = {};
  memory_.clear();
  held_bytes_ = 0;
}

Error lost_with_step(const Error& error) {
  return {error.code(),
          std::string(error.what()) +
              "; what was put before the step is not in the file either: put it again",
          error.rank()};
}

Error lost_at_close(const Error& error) {
  const bool is_storage = error.code() == Code::no_space || error.code() == Code::io ||
                          error.code() == Code::permission;
  return is_storage ? Error(error.code(),
                            std::string(error.what()) +
                                "; what was put after the last commit is not in the file: call "
                                "flush() before the close, after whose error "
                                "it can be put again",
                            error.rank())
                    : error;
}

}  // namespace sluice::commit
