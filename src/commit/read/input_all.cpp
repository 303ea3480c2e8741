// Getting selections, one or several at once: who reads them how, agreed on once for all.
//
// Invariant: which collective calls follow depends only on what every rank knows alike: the
// variables and steps, the hull of all boxes, the file's metadata.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "commit/read/input.hpp"
#include "exec/device_memory.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/disagree.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using model::Box;
using model::Dims;

namespace {

/// Requests that are agreed on at once; more go in batches, so that messages stay small.
constexpr std::size_t batch = 64;
/// Of a request, in the reduction that finds the hull: variable, step, twice each; the box.
constexpr std::size_t numbers_of_one = 4 + 2 * model::max_rank;
constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();

/// Beside their complements, so that a maximum shows whether all ranks say the same.
void put_both(std::span<std::int64_t> numbers, std::int64_t value) {
  numbers[0] = value;
  numbers[1] = ~value;
}

bool all_said_the_same(std::span<const std::int64_t> numbers) { return numbers[0] == ~numbers[1]; }

void put_box(std::span<std::int64_t> numbers, const Box& box) {
  for (int d = 0; d < box.start.rank(); ++d) {
    numbers[2 * static_cast<std::size_t>(d)] = ~static_cast<std::int64_t>(box.start[d]);
    numbers[2 * static_cast<std::size_t>(d) + 1] = static_cast<std::int64_t>(box.end(d));
  }
}

std::optional<Box> hull_of(std::span<const std::int64_t> numbers, int rank) {
  Box region{Dims::filled(rank, 0), Dims::filled(rank, 0)};
  for (int d = 0; d < rank; ++d) {
    const std::int64_t end = numbers[2 * static_cast<std::size_t>(d) + 1];
    if (end == nothing) {
      return std::nullopt;
    }
    region.start[d] = static_cast<std::uint64_t>(~numbers[2 * static_cast<std::size_t>(d)]);
    region.count[d] = static_cast<std::uint64_t>(end) - region.start[d];
  }
  return region;
}

}  // namespace

void Input::check(const GetRequest& request) const {
  check_request(request.variable, request.step, request.box);
  const model::Definition& d = variables_[request.variable].definition;
  if (!model::convertible(d.type, request.memory.type)) {
    throw Error(Code::type_mismatch, path_ + ": get " + d.name + ": " + type_name(d.type) +
                                         " cannot be read as " + type_name(request.memory.type));
  }
  model::check_block(request.memory.shape, {request.memory.start, request.box.count},
                     "get " + d.name + " (memory)");
  if (request.memory.data == nullptr && !request.box.empty()) {
    throw Error(Code::invalid_argument, path_ + ": get " + d.name + ": null pointer");
  }
  exec::refuse_device_memory(request.memory.data, [&] { return path_ + ": get " + d.name; });
}

void Input::get(const GetRequest& request, const std::exception_ptr& found) {
  const auto failure = found ? found : exec::failure_of([&] { check(request); });
  exec::for_file(path_, [&] { get_checked({&request, 1}, failure); });
}

void Input::defer(const GetRequest& request) {
  check(request);
  deferred_.push_back(request);
}

void Input::fail_deferred(const std::exception_ptr& failure) {
  if (!deferred_failure_) {
    deferred_failure_ = failure;
  }
}

void Input::get_deferred() {
  const std::vector<GetRequest> all = std::exchange(deferred_, {});
  const std::exception_ptr failure = std::exchange(deferred_failure_, nullptr);
  exec::for_file(path_, [&] {
    agree_on_count(all.size(), failure);
    for (std::size_t first = 0; first < all.size(); first += batch) {
      get_checked(std::span(all).subspan(first, std::min(batch, all.size() - first)), nullptr);
    }
  });
}

/// "gets x of step 3"
std::string Input::said_of(const GetRequest& request) const {
  if (request.variable >= variables_.size()) {
    return "gets a variable that is not in the file";
  }
  const model::Definition& d = variables_[request.variable].definition;
  return "gets " + d.name + (d.stepped ? " of step " + model::number_text(request.step) : "");
}

/// Collective. `mine`: what this rank does, which is not what some other does.
void Input::refuse_divergent(const std::string& mine) {
  exec::refuse_disagreement(transport_, path_, {{mine, {}}},
                            "they ask for different variables or steps");
}

void Input::agree_on_count(std::size_t requests, const std::exception_ptr& failure) {
  // As long as the first message of a single get(), and no number that a variable has: where the
  // ranks make different calls, they find out.
  std::array<std::int64_t, numbers_of_one> numbers{};
  put_both(std::span(numbers).first(2), -1 - static_cast<std::int64_t>(requests));
  exec::agree(transport_, failure, numbers);
  if (!all_said_the_same(numbers)) {
    refuse_divergent("performs " + std::to_string(requests) + " deferred gets");
  }
}

std::vector<std::optional<Box>> Input::common_regions(std::span<const GetRequest> requests,
                                                      const std::exception_ptr& failure) {
  std::vector<std::int64_t> values(requests.size() * numbers_of_one, nothing);
  const auto numbers = [&](std::size_t i) {
    return std::span(values).subspan(i * numbers_of_one, numbers_of_one);
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    put_both(numbers(i), static_cast<std::int64_t>(requests[i].variable));
    put_both(numbers(i).subspan(2), static_cast<std::int64_t>(requests[i].step));
    if (!failure && !requests[i].box.empty()) {
      put_box(numbers(i).subspan(4), requests[i].box);
    }
  }
  exec::agree(transport_, failure, values);
  std::vector<std::optional<Box>> regions;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!all_said_the_same(numbers(i)) || !all_said_the_same(numbers(i).subspan(2))) {
      refuse_divergent(said_of(requests[i]));
    }
    regions.push_back(hull_of(numbers(i).subspan(4), requests[i].box.start.rank()));
  }
  return regions;
}

bool Input::has_addresses(std::uint32_t variable) const {
  return !number_in_set(variable) && variables_[variable].filters.empty() &&
         variables_[variable].placeable;
}

void Input::get_checked(std::span<const GetRequest> requests, const std::exception_ptr& failure) {
  const auto regions = common_regions(requests, failure);
  get_by_address(requests, regions);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (regions[i] && !has_addresses(requests[i].variable)) {
      get_by_reader(requests[i], *regions[i]);
    }
  }
}

void Input::get_by_address(std::span<const GetRequest> requests,
                           std::span<const std::optional<Box>> regions) {
  std::vector<Wanted> wanted;
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (regions[i] && has_addresses(requests[i].variable)) {
      wanted.push_back({requests[i].variable, requests[i].step, *regions[i]});
      readings.push_back({nullptr, &requests[i], *regions[i], {}});
    }
  }
  const std::span<const Located> located = locate_all(wanted);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    readings[i].located = &located[i];
    readings[i].checked = checked_pieces(located[i], readings[i].region);
  }
  const std::vector<bool> is_together = read_together(readings);
  std::exception_ptr failure;
  for (std::size_t i = 0; i < readings.size() && !failure; ++i) {
    const GetRequest& request = *readings[i].request;
    if (is_together[i] || request.box.empty()) {
      continue;
    }
    try {
      get_placed(*readings[i].located, request.box, request.memory, request.allow_overflow);
    } catch (...) {
      failure = naming_call("get " + variables_[request.variable].definition.name);
    }
  }
  if (std::find(is_together.begin(), is_together.end(), false) != is_together.end()) {
    exec::agree(transport_, failure);
  }
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (!is_together[i]) {
      continue;
    }
    const GetRequest& request = *readings[i].request;
    storage::File* const source = open_together(readings[i].located->placement);
    get_together(source, *readings[i].located, readings[i].region, request.box, request.memory,
                 request.allow_overflow, *readings[i].checked);
  }
}

void Input::get_by_reader(const GetRequest& request, const Box& region) {
  if (number_in_set(request.variable)) {
    exec::together(transport_, [&] {
      get_from_parts(request.variable, request.step, request.box, request.memory,
                     request.allow_overflow);
    });
  } else if (!variables_[request.variable].filters.empty()) {
    get_encoded(request.variable, request.step, region, request.box, request.memory,
                request.allow_overflow);
  } else {
    get_through_root(request.variable, request.step, request.box, request.memory,
                     request.allow_overflow);
  }
}

}  // namespace sluice::commit
