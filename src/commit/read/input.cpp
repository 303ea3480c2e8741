#include "commit/read/input.hpp"

#include <algorithm>
#include <utility>

#include "commit/publish/parts_files.hpp"
#include "commit/read/agreement.hpp"
#include "commit/read/beside_writer.hpp"
#include "exec/transport/agree.hpp"
#include "layout/lengths.hpp"
#include "layout/times.hpp"

namespace sluice::commit {

namespace {

/// Requests that are agreed on at once; more are agreed on in batches, so that messages stay small.
constexpr std::size_t requests_at_once = 64;

}  // namespace

Input::Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
             const Options& options, NeededParts needed)
    : file_(transport, storage, path, options),
      parts_(open_parts(needed)),
      reader_(file_),
      rows_(file_, parts_.get(), reader_.locator(), reader_.checked()) {}

std::unique_ptr<PartsInput> Input::open_parts(NeededParts needed) {
  const std::vector<std::uint64_t> words = std::exchange(file_.set_words, {});
  if (words.empty()) {
    return nullptr;
  }
  layout::PartSet set = layout::PartSet::from_words(words, path());
  if (needed == NeededParts::of_steps) {
    absent_ = find_absent_parts(file_.transport, file_.storage, path(), set);
  } else {
    check_parts(file_.transport, file_.storage, path(), set, false);
  }
  for (std::uint32_t number = 0; number < set.variables.size(); ++number) {
    file_.view.set_number_in_set(find(set.variables[number].name), number);
  }
  auto parts = std::make_unique<PartsInput>(file_.storage, path(), std::move(set), file_.options,
                                            file_.rank_cores);
  for (std::uint32_t v = 0; v < variables().size(); ++v) {
    const model::Definition& d = variables()[v].definition;
    if (!d.varying || !variables()[v].number_in_set) {
      continue;
    }
    auto message = exec::on_root(file_.transport, [&](model::ByteWriter& out) {
      out.put(parts->rows(variables()[find(layout::length_name(d.name))], steps()));
    });
    file_.view.set_rows(v, message.get_vector<std::uint64_t>());
  }
  return parts;
}

std::string Input::absent_part(std::uint64_t step) const {
  for (const std::size_t part : absent_) {
    for (const layout::Mapping& mapping : parts_->mappings()) {
      if (mapping.part == part &&
          (!set()->variables[mapping.variable].stepped || mapping.holds(step))) {
        return layout::part_path(path(), set()->parts[part].path);
      }
    }
  }
  return "";
}

void require_parts(const Input& input, std::uint64_t step) {
  if (const std::string absent = input.absent_part(step); !absent.empty()) {
    throw Error(Code::not_found, input.path() + ": its part " + absent +
                                     " is not there, or is not the one that the index refers to");
  }
}

bool Input::has_own_time() const {
  const bool has_record = file_.view.contents().has_time;
  return std::any_of(variables().begin(), variables().end(), [&](const InputVariable& v) {
    return v.definition.name == layout::time_name &&
           (v.number_in_set || !layout::is_record_of_times(v.definition, has_record));
  });
}

void Input::keep_order_of(const Input& old) {
  file_.view.keep_order_of(old.file_.view);
  deferred_ = old.deferred_;
  deferred_failure_ = old.deferred_failure_;
}

/// Collective. Requests that were checked.
void Input::read(std::span<const GetRequest> requests, const std::exception_ptr& failure) {
  const auto regions = reader_.get(requests, failure);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const InputVariable& variable = variables()[requests[i].variable];
    if (regions[i] && variable.number_in_set) {
      parts_->get_together(file_.transport, variable, requests[i], *regions[i]);
    }
  }
}

void Input::get(const GetRequest& request, const std::exception_ptr& found) {
  const auto failure =
      found ? found : exec::failure_of([&] { check_request(file_.view, request); });
  exec::for_file(path(), [&] { read({&request, 1}, failure); });
}

void Input::defer(const GetRequest& request) {
  check_request(file_.view, request);
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
  exec::for_file(path(), [&] {
    agree_on_count(file_.transport, file_.view, all.size(), failure);
    for (std::size_t first = 0; first < all.size(); first += requests_at_once) {
      const std::size_t count = std::min(requests_at_once, all.size() - first);
      read(std::span(all).subspan(first, count), nullptr);
    }
  });
}

void Input::get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                     std::byte* data, const Type& type, const std::exception_ptr& found) {
  const RowsRequest request{variable, step, ids, data, type};
  const auto failure = found ? found : exec::failure_of([&] { rows_.check(request); });
  exec::for_file(path(), [&] { rows_.get_rows(request, failure); });
}

const Located& Input::locate(const Wanted& wanted) {
  const Located* located = nullptr;
  beside_writer(file_, reader_.locator(), [&] {
    located = &reader_.locator().locate({&wanted, 1}).front();
  });
  return *located;
}

}  // namespace sluice::commit
