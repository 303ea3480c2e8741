// Shared by the tests of hostile and damaged files: samples, and the largest allocation of a
// reader. One source file of a program includes it: it replaces operator new.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "api/file/file_impl.hpp"
#include "fuzz/mutate.hpp"
#include "layout/part_set.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {

/// The largest allocation since it was set to 0.
inline std::atomic<std::size_t> largest_bytes{0};

inline void* watched_malloc(std::size_t bytes) noexcept {
  std::size_t seen = largest_bytes.load(std::memory_order_relaxed);
  while (bytes > seen && !largest_bytes.compare_exchange_weak(seen, bytes)) {
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}

}  // namespace sluice::test

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = sluice::test::watched_malloc(bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return sluice::test::watched_malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice::test {

/// An index of two parts, with one box of one variable.
inline layout::PartSet set_of_two() {
  layout::PartSet set;
  set.id = 7;
  set.strategy = "file-per-process";
  set.variables = {{"density", true}, {"x", false}};
  set.datasets = {"density", "x"};
  set.parts = {{"out.h5.parts/000000.h5", 1, 2, 3, 4}, {"out.h5.parts/000001.h5", 2, 2, 3, 4}};
  layout::Mapping mapping;
  mapping.box = {{0, 0}, {4, 4}};
  set.mappings = {mapping};
  return set;
}

/// A reader may allocate its own buffers and some copies of existing data, not what a header
/// claims.
inline constexpr std::size_t own_bytes = 48 << 20;
inline constexpr std::size_t copies = 64;

inline FuzzBytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A file of each HDF5 format, of three steps.
inline std::vector<FuzzBytes> hdf5_files() {
  std::vector<FuzzBytes> files;
  for (const auto& [format, form] : {std::pair{"hdf5", "stacked"}, std::pair{"netcdf4", "stacked"},
                                     std::pair{"hdf5", "grouped"}}) {
    const auto storage = storage::make_memory();
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      Options options;
      options.strategy = "shared";
      options.format = format;
      options.hdf5_layout = form;
      File out(detail::open_on(transport, storage, "out.h5", Mode::write, options));
      const Variable v = out.define<double>("density", {6, 4}, {.steps = true, .unit = "1"});
      const Variable x = out.define<float>("grid/x", {6});
      out.set_attribute("", "title", std::string("a title"));
      Giver<float> once;
      once.put(out, x, 5, {6}, slab({6}, transport.rank(), 2));
      for (std::uint64_t s = 0; s < 3; ++s) {
        Giver<double> giver;
        Step step = out.begin_step({.time = 1});
        giver.put(step, v, s, {6, 4}, slab({6, 4}, transport.rank(), 2));
        step.end();
      }
      out.close();
    });
    files.push_back(storage->contents("out.h5"));
  }
  return files;
}

/// The bytes with the sample's global heaps (which contain text attributes): libhdf5 1.10 may crash
/// on others. damage_test judges them in children.
inline FuzzBytes with_heaps_of(const FuzzBytes& sample, FuzzBytes bytes) {
  constexpr std::size_t heap_bytes = 4096;
  const FuzzBytes signature = bytes_of("GCOL");
  for (auto at = sample.begin();; ++at) {
    at = std::search(at, sample.end(), signature.begin(), signature.end());
    if (at == sample.end()) {
      return bytes;
    }
    const auto offset = static_cast<std::size_t>(at - sample.begin());
    const std::size_t length = std::min(heap_bytes, bytes.size() - offset);
    std::copy_n(at, length, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
}

}  // namespace sluice::test
