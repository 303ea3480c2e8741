#include "exec/encode_pool.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "storage/background_thread.hpp"

namespace sluice::exec {

void for_each_in_threads(std::size_t items, std::size_t threads,
                         const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto run = [&](std::size_t thread) {
    try {
      for (std::size_t item = next++; item < items; item = next++) {
        work(thread, item);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = failure ? failure : std::current_exception();
      next = items;
    }
  };
  std::vector<std::jthread> others;
  {
    const storage::SignalsBlocked signals;
    try {
      for (std::size_t thread = 1; thread < std::min(threads, items); ++thread) {
        others.emplace_back(run, thread);
      }
    } catch (const std::system_error&) {
      // The system has no more threads: those that are there do it all.
    } catch (const std::bad_alloc&) {
      // Nor memory for them.
    }
  }
  run(0);
  others.clear();  // joins
  if (failure) {
    std::rethrow_exception(failure);
  }
}

std::vector<EncodedBytes> TileEncoder::encode(std::span<const DenseTile> tiles,
                                              std::size_t threads) {
  coders_.resize(std::max(coders_.size(), threads));
  std::vector<EncodedBytes> results(tiles.size());
  for_each_in_threads(tiles.size(), threads, [&](std::size_t thread, std::size_t i) {
    const DenseTile& tile = tiles[i];
    auto coder = coders_[thread].find(tile.variable);
    if (coder == coders_[thread].end()) {
      coder = coders_[thread].emplace(tile.variable, codec::Coder(*tile.pipeline)).first;
    }
    const auto encoded = coder->second.encode(tile.room.first(tile.dense_bytes));
    results[i] = {encoded.mask, tile.room.first(encoded.bytes.size())};
    if (encoded.bytes.data() != tile.room.data()) {
      // Large enough, and already touched: the encoded tile needs nothing else.
      std::copy(encoded.bytes.begin(), encoded.bytes.end(), tile.room.begin());
    }
  });
  return results;
}

}  // namespace sluice::exec
