#include "commit/read/input.hpp"

#include <algorithm>
#include <utility>

#include "commit/publish/parts_files.hpp"
#include "commit/read/agreement.hpp"
#include "exec/transport/agree.hpp"
#include "layout/lengths.hpp"

namespace sluice::commit {

namespace {

/// Requests that are agreed on at once; more are agreed on in batches, so that messages stay small.
constexpr std::size_t requests_at_once = 64;

}  // namespace

Input::Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
             const Options& options, NeededParts needed)
    : transport_(transport), storage_(storage), options_(options) {
  const auto message = exec::on_root(transport_, [&] { return open_on_root(path); });
  model::ByteReader in(message);
  view_ = FileView(FileView::Contents::read_from(in));
  source_ = std::make_unique<SourceFile>(storage_, this->path(), in.get_vector<std::byte>());
  const auto words = in.get_vector<std::uint64_t>();
  options_.readers = in.get<int>();
  options_.budget_bytes = in.get<std::uint64_t>();
  if (!words.empty()) {
    open_parts(words, needed);
  }
  const ReadContext context{transport_, storage_,    options_,    view_,
                            *source_,   root_.get(), parts_.get()};
  reader_ = std::make_unique<SelectionReader>(context);
  rows_ = std::make_unique<RowReader>(context, reader_->locator(), reader_->checked());
}

std::vector<std::byte> Input::open_on_root(std::string path) {
  path = storage_.real_path(path);
  root_ = std::make_unique<RootCatalog>(storage_, path, options_);
  const layout::PartSet* set = root_->catalog().set();
  model::ByteWriter out;
  root_->contents().write_to(out);
  out.put(root_->journal());
  out.put(set != nullptr ? set->words() : std::vector<std::uint64_t>{});
  out.put(options_.readers);
  out.put(options_.budget_bytes);
  return out.take();
}

void Input::open_parts(std::span<const std::uint64_t> words, NeededParts needed) {
  layout::PartSet set = layout::PartSet::from_words(words, path());
  if (needed == NeededParts::at_home) {
    absent_ = find_absent_parts(transport_, storage_, path(), set);
  } else {
    check_parts(transport_, storage_, path(), set, false);
  }
  for (std::uint32_t number = 0; number < set.variables.size(); ++number) {
    view_.set_number_in_set(find(set.variables[number].name), number);
  }
  parts_ = std::make_unique<PartsInput>(storage_, path(), std::move(set), options_);
  for (std::uint32_t v = 0; v < variables().size(); ++v) {
    const model::Definition& d = variables()[v].definition;
    if (!d.varying || !variables()[v].number_in_set) {
      continue;
    }
    auto message = exec::on_root(transport_, [&](model::ByteWriter& out) {
      const std::uint32_t lengths = find(layout::length_name(d.name));
      std::vector<std::uint64_t> rows(steps());
      for (std::uint64_t step = 0; step < steps(); ++step) {
        auto* into = reinterpret_cast<std::byte*>(&rows[step]);
        parts_->get(variables()[lengths],
                    {lengths, step, {}, {into, type_of<std::uint64_t>(), {}, {}}});
      }
      out.put(rows);
    });
    view_.set_rows(v, message.get_vector<std::uint64_t>());
  }
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

void Input::keep_order_of(const Input& old) {
  view_.keep_order_of(old.view_);
  deferred_ = old.deferred_;
  deferred_failure_ = old.deferred_failure_;
}

void Input::get(const GetRequest& request, const std::exception_ptr& found) {
  const auto failure = found ? found : exec::failure_of([&] { check_request(view_, request); });
  exec::for_file(path(), [&] { reader_->get({&request, 1}, failure); });
}

void Input::defer(const GetRequest& request) {
  check_request(view_, request);
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
    agree_on_count(transport_, view_, all.size(), failure);
    for (std::size_t first = 0; first < all.size(); first += requests_at_once) {
      const std::size_t count = std::min(requests_at_once, all.size() - first);
      reader_->get(std::span(all).subspan(first, count), nullptr);
    }
  });
}

void Input::get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                     std::byte* data, const Type& type, const std::exception_ptr& found) {
  const RowsRequest request{variable, step, ids, data, type};
  const auto failure = found ? found : exec::failure_of([&] { rows_->check(request); });
  exec::for_file(path(), [&] { rows_->get_rows(request, failure); });
}

const Located& Input::locate(const Wanted& wanted) {
  return reader_->locator().locate({&wanted, 1}).front();
}

}  // namespace sluice::commit
