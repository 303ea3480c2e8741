#include "exec/encode/background_encoder.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace sluice::exec {

namespace {

/// A waiter looks again so often, whatever it hears.
constexpr double look_for_places_s = 1;
/// Less is encoded in a few milliseconds, and small steps may follow one another quickly.
constexpr std::uint64_t least_bytes_to_wait = 1 << 20;
/// At most, for the end of a call: it may itself wait for memory that the thread gives back.
constexpr double longest_call_s = 20e-3;
/// Where it cannot, so much longer as it takes to copy the bytes.
constexpr double slow_copy_bytes_per_s = 1e9;
/// The other ranks leave the call a little later, or earlier.
constexpr std::chrono::milliseconds until_others_left{1};

}  // namespace

BackgroundEncoder::BackgroundEncoder(const RoundEncoder::Config& config, storage::File& file,
                                     CompletionTracker& tracker, bool may_wait,
                                     std::uint64_t commit, const EncodedRounds& rounds,
                                     std::span<const model::Definition> definitions,
                                     std::shared_ptr<const layout::CommitPlan> plain)
    : file_(file),
      tracker_(tracker),
      may_wait_(may_wait),
      waits_for_call_(may_wait && rounds.held_bytes() >= least_bytes_to_wait),
      rank_(config.rank),
      encoder_(config, commit, rounds, definitions),
      plain_(file, std::move(plain)) {}

void BackgroundEncoder::end_call() {
  {
    const std::lock_guard lock(mutex_);
    has_call_ended_ = true;
  }
  changed_.notify_one();
}

void BackgroundEncoder::wait_for_end_of_call(std::uint64_t held_bytes) {
  if (!waits_for_call_) {
    return;
  }
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> longest(longest_call_s + static_cast<double>(held_bytes) /
                                                                   slow_copy_bytes_per_s);
  waits_for_call_ = !changed_.wait_for(lock, longest, [&] { return has_call_ended_; });
  lock.unlock();
  std::this_thread::sleep_for(until_others_left);
}

void BackgroundEncoder::send_sizes(const std::exception_ptr& earlier) {
  tracker_.send_to_root(encoder_.encode(earlier).to_bytes());
}

RoundPlaces BackgroundEncoder::await_places() {
  while (true) {
    const std::uint32_t epoch = tracker_.epoch();
    if (const auto message = tracker_.receive_from_root()) {
      return RoundPlaces::from_bytes(*message);
    }
    if (tracker_.is_stopped() || !may_wait_) {
      throw Error(Code::timeout, file_.path() + ": no places came for encoded tiles", rank_);
    }
    tracker_.wait(epoch, look_for_places_s);
  }
}

void BackgroundEncoder::take_places(const std::exception_ptr& earlier) {
  encoder_.note(earlier);
  RoundPlaces places;
  try {
    places = await_places();
    encoder_.note(places.outcome.failure());
    if (!encoder_.failure() && encoder_.round() == 0) {
      const auto plan = layout::CommitPlan::from_bytes(places.plan);
      file_.map(plan.objects);
      plain_.place(plan);
    }
  } catch (...) {
    encoder_.note(std::current_exception());
  }
  encoder_.write(places, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    file_.write(offset, bytes);
  });
}

}  // namespace sluice::exec
