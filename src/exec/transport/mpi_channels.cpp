#include "exec/transport/mpi_channels.hpp"

#include <algorithm>
#include <utility>

namespace sluice::exec {

namespace {

/// Tags of one use: those of the callers and the internal ones.
constexpr int tags_per_use = 1 << 16;

/// How often a duplicate may be used.
int most_uses() { return mpi::comms().tag_limit() / tags_per_use; }

using Kept = std::shared_ptr<MpiChannels>;

void release(void* what) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(what));
  (*kept)->leave();
}

}  // namespace

MpiChannel MpiChannel::alone(mpi::Comm comm) { return {comm, 0, mpi::comms().tag_limit()}; }

std::optional<MpiChannel> MpiChannel::lend() {
  constexpr int each = user_tags + internal_tags + 1;
  const std::int64_t first = first_tag + user_tags + static_cast<std::int64_t>(lent) * each;
  if (first + each > last_tag - internal_tags) {
    return std::nullopt;
  }
  ++lent;
  MpiChannel channel{comm, static_cast<int>(first), static_cast<int>(first) + each - 1};
  channel.is_lent = true;
  return channel;
}

void MpiChannel::give_back(bool is_sound) noexcept {
  if (is_lent) {
    return;
  }
  if (home) {
    std::exchange(home, nullptr)->give_back(*this, is_sound);
  } else if (is_sound && !is_retained) {
    mpi::comms().free(comm);
  }
}

std::shared_ptr<MpiChannels> MpiChannels::of(mpi::Comm comm) {
  static std::mutex mutex;  // files on several communicators may be opened at the same time
  const std::lock_guard lock(mutex);
  if (void* const found = mpi::comms().kept(comm)) {
    return *static_cast<Kept*>(found);
  }
  auto kept = std::make_unique<Kept>(std::make_shared<MpiChannels>());
  if (mpi::comms().keep(comm, kept.get(), release) != mpi::success) {
    return nullptr;
  }
  return *kept.release();
}

MpiChannels::State MpiChannels::state() const {
  const std::lock_guard lock(mutex_);
  State mine{};
  for (std::size_t s = 0; s < slots; ++s) {
    mine[s] = slots_[s].use == Use::idle ? 0 : 1;
    mine[slots + s] = slots_[s].use == Use::empty ? 0 : 1;
  }
  mine.back() = place_ ? 0 : 1;
  return mine;
}

std::optional<MpiChannel> MpiChannels::take(const State& all) {
  const std::lock_guard lock(mutex_);
  for (std::size_t s = 0; s < slots; ++s) {
    if (all[s] == 0) {
      Slot& slot = slots_[s];
      slot.use = Use::busy;
      const int first = slot.uses++ * tags_per_use;
      return MpiChannel{slot.comm, first, first + tags_per_use - 1, shared_from_this(),
                        static_cast<int>(s)};
    }
  }
  return std::nullopt;
}

MpiChannel MpiChannels::add(mpi::Comm made, const State& all) {
  const std::lock_guard lock(mutex_);
  const auto empty = std::find(all.begin() + slots, all.end() - 1, 0) - all.begin();
  const auto s = static_cast<std::size_t>(empty) - slots;
  if (s == slots || most_uses() < 2) {
    return MpiChannel::alone(made);
  }
  slots_[s] = {Use::busy, made, 1, false};
  return {made, 0, tags_per_use - 1, shared_from_this(), static_cast<int>(s)};
}

std::optional<NodePlace> MpiChannels::place() const {
  const std::lock_guard lock(mutex_);
  return place_;
}

void MpiChannels::note(NodePlace place) {
  const std::lock_guard lock(mutex_);
  place_ = place;
}

void MpiChannels::leave() noexcept {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  for (Slot& slot : slots_) {
    if (slot.use == Use::idle && !slot.is_retained && !mpi::comms().is_finalized()) {
      mpi::comms().free(slot.comm);
      slot.use = Use::empty;
    }
  }
}

void MpiChannels::give_back(const MpiChannel& channel, bool is_sound) noexcept {
  const std::lock_guard lock(mutex_);
  Slot& mine = slots_[static_cast<std::size_t>(channel.slot)];
  mine.use = is_sound ? Use::idle : Use::lost;
  mine.is_retained |= channel.is_retained;
  if (is_sound && (has_left_ || mine.uses == most_uses())) {
    if (!mine.is_retained) {
      mpi::comms().free(mine.comm);
    }
    mine = {};
  }
}

}  // namespace sluice::exec
