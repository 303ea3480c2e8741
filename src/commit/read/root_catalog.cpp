#include "commit/read/root_catalog.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "codec/checksum.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/formats.hpp"
#include "layout/portion.hpp"
#include "layout/times.hpp"
#include "model/coverage.hpp"

namespace sluice::commit {

using layout::CommitRow;
using model::Box;

RootCatalog::RootCatalog(storage::Storage& storage, const std::string& path, const Options& options)
    : storage_(storage), path_(path), format_(options.format), is_checked_(options.checksum) {
  Committed committed = open_committed(storage_, path_, [&](storage::File& file) {
    catalog_.reset();
    catalog_ = layout::open_catalog(layout::format_in(file, format_), file);
    // Here, where a commit in between is noticed.
    const auto& commits = catalog_->commits();
    const bool is_modified = !commits.empty() && commits.back().modified_ns != file.modified_ns();
    exec::for_file(path_, [&] { describe(is_modified); });
  });
  file_ = std::move(committed.file);
  journal_ = std::move(committed.journal);
  moment_ = committed.moment;
  const auto& commits = catalog_->commits();
  contents_.is_unfinished = committed.is_unfinished;
  contents_.is_modified = !committed.is_unfinished && !commits.empty() &&
                          commits.back().modified_ns != committed.modified_ns;
}

void RootCatalog::describe(bool is_modified) {
  contents_ = {};
  numbers_.clear();
  contents_.path = path_;
  contents_.is_ours = catalog_->ours();
  contents_.has_names = layout::format_named(catalog_->format()).names;
  contents_.has_time = catalog_->has_time() || catalog_->set() != nullptr;
  contents_.steps = catalog_->steps();
  if (is_checked_) {
    catalog_->require_intact_log(path_,
                                 "sluice verify lists all damage; with checksum = false it can be "
                                 "read unchecked");
  }
  for (const CommitRow& row : catalog_->commits()) {
    contents_.commits.push_back({row.step, row.time, row.is_intact ? 1U : 0U});
  }
  contents_.added_times = catalog_->added_times();
  const auto& stored = catalog_->variables();
  std::vector<std::vector<std::uint64_t>> rows(stored.size());
  std::unordered_set<std::string_view> in_set;
  for (std::size_t i = 0; catalog_->set() != nullptr && i < catalog_->set()->variables.size();
       ++i) {
    in_set.insert(catalog_->set()->variables[i].name);
  }
  for (std::uint32_t v = 0; v < rows.size(); ++v) {
    if (in_set.count(stored[v].definition.name) == 0) {
      rows[v] = catalog_->rows_by_step(v);  // those of a set are in its parts
    }
  }
  require_rows(rows);
  for (std::uint32_t v = 0; v < stored.size(); ++v) {
    numbers_.push_back(v);
    contents_.variables.push_back({stored[v].definition, stored[v].big_endian, stored[v].placeable,
                                   stored[v].filters, std::move(rows[v]), v});
  }
  contents_.unreadable = catalog_->unreadable();
  contents_.attributes = catalog_->attributes();
  require_contents(contents_.attributes, is_modified);
  show_names();
}

/// From here on a variable has the name that programs show.
void RootCatalog::show_names() {
  for (std::size_t v = 0; v < contents_.variables.size(); ++v) {
    contents_.variables[v].definition.name = layout::shown_name(catalog_->variables()[v]);
  }
  layout::show_owners(catalog_->variables(), contents_.attributes);
}

void RootCatalog::require_contents(const std::vector<model::Attribute>& attributes,
                                   bool is_modified) const {
  // What another program added, changed or removed on purpose is read as it is; verify reports it.
  if (!is_checked_ || is_modified) {
    return;
  }
  const auto departures = catalog_->departures(attributes);
  if (!departures.empty()) {
    const auto& [owner, what] = departures.front();
    throw Error(Code::damaged, path_ + ": " + (owner.empty() ? "" : owner + ": ") + what +
                                   ": with checksum = false it can be read unchecked");
  }
}

void RootCatalog::require_rows(const std::vector<std::vector<std::uint64_t>>& rows) const {
  if (!is_checked_ || catalog_->set() != nullptr) {
    return;
  }
  const auto others = layout::steps_of_other_rows(*catalog_, rows);
  if (!others.empty()) {
    throw Error(Code::damaged, path_ + ": the numbers of rows of step " +
                                   std::to_string(others.front()) +
                                   " are not those that were committed: with checksum = false "
                                   "they can be read unchecked");
  }
}

bool RootCatalog::is_unchanged() const {
  return moment_ != 0 && moment_of(storage_, path_) == moment_;
}

std::optional<std::vector<std::uint32_t>> RootCatalog::numbers_in(
    const layout::Catalog& next) const {
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t v = 0; v < next.variables().size(); ++v) {
    by_name.emplace(next.variables()[v].definition.name, v);
  }
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t number : numbers_) {
    const auto found = by_name.find(catalog_->variables()[number].definition.name);
    if (found == by_name.end()) {
      return std::nullopt;
    }
    numbers.push_back(found->second);
  }
  return numbers;
}

bool RootCatalog::follow(bool may_reorder) {
  if (is_unchanged()) {
    return false;
  }
  const auto continues = [](const layout::Catalog& old, const layout::Catalog& next) {
    const auto same_commit = [](const CommitRow& a, const CommitRow& b) {
      return a.step == b.step && a.modified_ns == b.modified_ns;
    };
    const auto keeps_steps = [&](const CommitRow& row) {
      return row.step == CommitRow::no_step || row.step >= old.steps();
    };
    return next.commits().size() >= old.commits().size() && next.steps() >= old.steps() &&
           std::all_of(next.commits().begin() + static_cast<std::ptrdiff_t>(old.commits().size()),
                       next.commits().end(), keeps_steps) &&
           std::equal(old.commits().begin(), old.commits().end(), next.commits().begin(),
                      same_commit);
  };
  std::unique_ptr<layout::Catalog> next;
  Committed committed;
  try {
    committed = open_committed(storage_, path_, [&](storage::File& file) {
      next.reset();
      next = layout::open_catalog(layout::format_in(file, format_), file);
    });
  } catch (const Error&) {
    return false;
  }
  auto numbers = numbers_in(*next);
  if (!numbers || !continues(*catalog_, *next) || (*numbers != numbers_ && !may_reorder)) {
    next.reset();
    return false;
  }
  numbers_ = std::move(*numbers);
  catalog_ = std::move(next);  // the old catalog before the file that it reads from
  file_ = std::move(committed.file);
  journal_ = std::move(committed.journal);
  moment_ = committed.moment;
  loaded_ = ~std::size_t{0};
  by_step_.clear();
  owners_of_fixed_.clear();
  looked_through_ = 0;
  records_.reset();
  return true;
}

const RootCatalog::ByHash& RootCatalog::load(std::size_t commit) {
  if (loaded_ != commit) {
    by_hash_ = parse_records(catalog_->checksum_words(catalog_->commits()[commit]), path_);
    loaded_ = commit;
  }
  return by_hash_;
}

std::size_t RootCatalog::owner_of_fixed(std::uint64_t hash) {
  const std::size_t commits = catalog_->commits().size();
  while (true) {
    const auto found = owners_of_fixed_.find(hash);
    if (found != owners_of_fixed_.end()) {
      return found->second;
    }
    if (looked_through_ == commits) {
      return commits;
    }
    const std::size_t commit = commits - 1 - looked_through_;
    for (const auto& [other, record] : load(commit)) {
      owners_of_fixed_.try_emplace(other, commit);
    }
    ++looked_through_;
  }
}

const RecordSet& RootCatalog::records_of(const FileView& view, std::uint32_t variable,
                                         std::uint64_t step) {
  const std::pair wanted{variable, step};
  if (!records_ || found_ != wanted) {
    records_.emplace(contents_.is_ours && is_checked_ ? find_records(view, variable, step)
                                                      : std::vector<Record>{});
    found_ = wanted;
  }
  return *records_;
}

std::vector<Record> RootCatalog::find_records(const FileView& view, std::uint32_t variable,
                                              std::uint64_t step) {
  const model::Definition& d = view[variable].definition;
  // For a further name of a dataset they are those of its first name.
  const auto& stored = catalog_->variables()[number_of(view[variable])];
  const std::uint64_t hash =
      codec::checksum(stored.same_as.empty() ? stored.definition.name : stored.same_as);
  const auto& commits = catalog_->commits();
  std::vector<std::size_t> candidates;  // the last one that has any wins
  if (!d.stepped) {
    candidates.push_back(owner_of_fixed(hash));
  } else {
    for (std::size_t c = by_step_.size(); c < commits.size(); ++c) {
      by_step_.emplace(commits[c].step, c);
    }
    const auto [first, last] = by_step_.equal_range(step);
    for (auto it = last; it != first;) {
      candidates.push_back((--it)->second);
    }
  }
  std::vector<Record> records;
  for (const std::size_t commit : candidates) {
    if (commit == commits.size() || !records.empty()) {
      break;
    }
    const model::Dims shape = view.shape_or_most(variable, step);
    const auto [first, last] = load(commit).equal_range(hash);
    for (auto it = first; it != last; ++it) {
      model::check_block(shape, it->second.box, path_ + ": checksum record of " + d.name);
      if (!is_sound(shape, d.type, it->second)) {
        throw Error(Code::damaged, path_ + ": checksum record of " + d.name +
                                       ": covers more elements than any writer checks at once");
      }
      records.push_back(it->second);
    }
  }
  return records.empty() ? records_of_times(view, variable) : records;
}

std::vector<Record> RootCatalog::records_of_times(const FileView& view,
                                                  std::uint32_t variable) const {
  const InputVariable& stored = view[variable];
  const model::Definition& d = stored.definition;
  const bool is_own = layout::is_record_of_times(d, contents_.has_time) && !stored.number_in_set;
  std::vector<Record> records;
  if (!is_own || view.times().empty()) {
    return records;
  }
  const auto count = std::min<std::uint64_t>(view.times().size(), d.shape[0]);
  for (const Box& box : layout::split({{0}, {count}}, sizeof(double), layout::portion_bytes)) {
    const auto part = std::span(view.times()).subspan(box.start[0], box.count[0]);
    records.push_back({box, codec::checksum(std::as_bytes(part))});
  }
  return records;
}

}  // namespace sluice::commit
