#include "commit/read/agreement.hpp"

#include <array>
#include <limits>
#include <string>

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

/// One request in the reduction of the hull: variable, step, twice each; the box.
constexpr std::size_t numbers_of_one = 4 + 2 * model::max_rank;
constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();

/// With their complements, so that a maximum shows whether all ranks pass the same.
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

/// "gets x of step 3"
std::string said_of(const FileView& view, const GetRequest& request) {
  if (request.variable >= view.variables().size()) {
    return "gets a variable that is not in the file";
  }
  const model::Definition& d = view[request.variable].definition;
  return "gets " + d.name + (d.stepped ? " of step " + model::number_text(request.step) : "");
}

/// Collective. `mine`: what this rank does, which differs from what some other does.
[[noreturn]] void refuse_divergent(exec::Transport& transport, const FileView& view,
                                   const std::string& mine) {
  exec::refuse_disagreement(transport, view.contents().path,
                            {{mine, {}, "a rank that needs less gets blocks of count 0"}},
                            "they ask for different variables or steps");
}

}  // namespace

void check_request(const FileView& view, const GetRequest& request) {
  const std::string& path = view.contents().path;
  if (request.variable >= view.variables().size()) {
    throw Error(Code::invalid_argument,
                path + ": get: there is no variable " + model::variable_text(request.variable));
  }
  const model::Definition& d = view[request.variable].definition;
  const std::string call = path + ": get " + d.name;
  if (d.stepped && request.step >= view.contents().steps) {
    throw Error(Code::out_of_bounds,
                call + ": " + model::absent_step_text(request.step, view.contents().steps));
  }
  model::check_block(view.shape_or_most(request.variable, request.step), request.box, call);
  if (!model::convertible(d.type, request.memory.type)) {
    throw Error(Code::type_mismatch, call + ": " + type_name(d.type) + " cannot be read as " +
                                         type_name(request.memory.type));
  }
  model::check_block(request.memory.shape, {request.memory.start, request.box.count},
                     "get " + d.name + " (memory)");
  if (request.memory.data == nullptr && !request.box.empty()) {
    throw Error(Code::invalid_argument, call + ": null pointer");
  }
  exec::refuse_device_memory(request.memory.data, [&] { return call; });
}

void agree_on_count(exec::Transport& transport, const FileView& view, std::size_t requests,
                    const std::exception_ptr& failure) {
  // As long as the first message of a single get(), with a number that no variable has: if the
  // ranks make different calls, it is detected.
  std::array<std::int64_t, numbers_of_one> numbers{};
  put_both(std::span(numbers).first(2), -1 - static_cast<std::int64_t>(requests));
  exec::agree(transport, failure, numbers);
  if (!all_said_the_same(numbers)) {
    refuse_divergent(transport, view, "performs " + std::to_string(requests) + " deferred gets");
  }
}

std::vector<std::optional<Box>> common_regions(exec::Transport& transport, const FileView& view,
                                               std::span<const GetRequest> requests,
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
  exec::agree(transport, failure, values);
  std::vector<std::optional<Box>> regions;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!all_said_the_same(numbers(i)) || !all_said_the_same(numbers(i).subspan(2))) {
      refuse_divergent(transport, view, said_of(view, requests[i]));
    }
    regions.push_back(hull_of(numbers(i).subspan(4), requests[i].box.start.rank()));
  }
  return regions;
}

}  // namespace sluice::commit
