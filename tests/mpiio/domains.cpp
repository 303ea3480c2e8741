// The windows of an exchange: they cover its range once, in whole pages or whole stripes, and no
// stripe is divided among two of the ranks that write.
#include "mpiio/domains.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

using sluice::mpiio::Domains;
using sluice::mpiio::ExchangeHints;
using sluice::mpiio::Run;

namespace {

int wrong = 0;

void expect(bool is_right, const char* what, const Run& range, std::int64_t stripe_bytes) {
  if (!is_right) {
    std::fprintf(stderr, "%s: %lld bytes from %lld in stripes of %lld\n", what,
                 static_cast<long long>(range.length), static_cast<long long>(range.offset),
                 static_cast<long long>(stripe_bytes));
    ++wrong;
  }
}

/// Those that are not empty, in the order of the file.
std::vector<Run> windows_of(const Domains& domains) {
  std::vector<Run> windows;
  for (int i = 0; i < domains.aggregators; ++i) {
    for (int round = 0; round < domains.rounds(); ++round) {
      const Run window = domains.window(i, round);
      if (window.length > 0) {
        windows.push_back(window);
      }
    }
  }
  std::sort(windows.begin(), windows.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  return windows;
}

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t run_bytes = 96 << 10;

void check(const Run& range, int ranks, const ExchangeHints& hints, bool is_one_node) {
  constexpr std::int64_t page_bytes = 4096;
  const Domains domains =
      sluice::mpiio::make_domains(range, {run_bytes, 0, is_one_node}, ranks, hints);
  const std::vector<Run> windows = windows_of(domains);
  expect(!windows.empty() && windows.front().offset <= range.offset &&
             windows.back().end() == range.end(),
         "not covered", range, hints.stripe_bytes);
  const std::int64_t unit = hints.stripe_bytes > 0 && hints.stripe_bytes <= domains.window_bytes
                                ? hints.stripe_bytes
                                : page_bytes;
  for (std::size_t i = 1; i < windows.size(); ++i) {
    expect(windows[i].offset == windows[i - 1].end(), "a hole or an overlap", range,
           hints.stripe_bytes);
    expect(windows[i].offset % unit == 0, "a divided stripe", range, hints.stripe_bytes);
  }
  for (int i = 1; i < domains.aggregators && hints.stripe_bytes > 0; ++i) {
    const Run window = domains.window(i, 0);
    expect(window.length == 0 || window.offset % hints.stripe_bytes == 0, "a stripe of two ranks",
           range, hints.stripe_bytes);
  }
}

/// What a rank holds does not depend on how many write; rounds grow with them where that permits.
void check_sizes(std::int64_t most_scattered, bool is_one_node, std::int64_t round_bytes) {
  constexpr int aggregators = 16;
  const Run range{0, 4096 * mib};
  const Domains domains =
      sluice::mpiio::make_domains(range, {run_bytes, most_scattered, is_one_node}, 10'000, {});
  expect(domains.aggregators == aggregators && domains.window_bytes * aggregators == round_bytes,
         "another size of the rounds", range, 0);
}

/// Rounds in which no rank has a byte are left out, and no others.
void check_busy_rounds(const Run& range, const std::vector<Run>& ranges, std::int64_t stripe_bytes,
                       int least_left_out) {
  const Domains domains = sluice::mpiio::make_domains(
      range, {run_bytes, 0, true}, 8,
      {.aggregators = 3, .window_bytes = mib, .stripe_bytes = stripe_bytes});
  const sluice::mpiio::BusyRounds busy(domains, ranges);
  int left_out = 0;
  int next = domains.rounds();
  for (int round = domains.rounds(); round >= 0; --round) {
    bool is_busy = false;
    for (int i = 0; i < domains.aggregators && round < domains.rounds(); ++i) {
      const Run window = domains.window(i, round);
      const bool is_met = std::any_of(ranges.begin(), ranges.end(), [&](const Run& one) {
        return std::max(window.offset, one.offset) < std::min(window.end(), one.end());
      });
      expect(busy.meets(window) == is_met, "a window with bytes", window, stripe_bytes);
      is_busy = is_busy || is_met;
    }
    next = is_busy ? round : next;
    left_out += is_busy ? 0 : 1;
    expect(busy.next(round) == next, "another round with bytes", range, stripe_bytes);
  }
  expect(left_out > least_left_out, "no rounds are left out", range, stripe_bytes);
}

}  // namespace

int main() {
  check_sizes(0, false, 128 * mib);
  check_sizes(32 * mib, false, 128 * mib);
  check_sizes(33 * mib, false, 32 * mib);
  check_sizes(0, true, 32 * mib);
  const Run whole{17, 600 * mib};
  check_busy_rounds(whole, {whole, {}, {100 * mib, 5}}, 0, 0);
  check_busy_rounds(whole, {{17, 8}, {}, {300 * mib, 8}, {17 + 600 * mib - 1, 1}}, 0, 100);
  check_busy_rounds(whole, {{300 * mib, 2 * mib}, {17, 1}, {301 * mib, 3 * mib}}, 0, 100);
  const Run short_in_stripe{700 * mib, 2 * mib};
  check_busy_rounds(short_in_stripe, {short_in_stripe}, 1024 * mib, 500);
  for (const std::int64_t stripe : {std::int64_t{0}, mib / 16, mib, 3 * mib, 5 * mib, 64 * mib}) {
    for (const int aggregators : {0, 1, 4, 7}) {
      for (const std::int64_t window : {std::int64_t{0}, mib / 2, 10 * mib}) {
        for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{2048}, 3 * mib + 17}) {
          for (const std::int64_t length : {std::int64_t{1}, mib - 1, 64 * mib, 301 * mib + 5}) {
            for (const bool is_one_node : {false, true}) {
              check({offset, length}, 16,
                    {.aggregators = aggregators, .window_bytes = window, .stripe_bytes = stripe},
                    is_one_node);
            }
          }
        }
      }
    }
  }
  if (wrong == 0) {
    std::puts("domains: right");
  }
  return wrong == 0 ? 0 : 1;
}
