#include "commit/tools/record_feed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/checksum.hpp"
#include "codec/plugins.hpp"
#include "commit/publish/damage.hpp"
#include "layout/portion.hpp"
#include "layout/rounding.hpp"
#include "model/coverage.hpp"

namespace sluice::commit {

using layout::CommitRow;
using layout::StoredVariable;
using model::Definition;

Finding damaged_row(std::uint64_t order, std::size_t row) {
  return {order, "sluice/commits", Finding::no_step, "",
          "row " + std::to_string(row) + " of the log of commits does not match its checksum"};
}

void RecordUnit::write_to(model::ByteWriter& out) const {
  out.put(variable);
  out.put(step);
  out.put(first_order);
  out.put(has_holes);
  tiles.write_to(out);
  write_records(records, out);
}

RecordUnit RecordUnit::read_from(model::ByteReader& in) {
  RecordUnit unit;
  unit.variable = in.get<std::uint32_t>();
  unit.step = in.get<std::uint64_t>();
  unit.first_order = in.get<std::uint64_t>();
  unit.has_holes = in.get<bool>();
  unit.tiles = layout::EncodedTiles::read_from(in);
  unit.records = read_records(in);
  return unit;
}

namespace {

/// How often the catalog is opened again because the writer continued.
constexpr int most_follows = 500;
constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

bool is_sound(const Definition& definition, const Record& record) {
  return is_sound(definition.shape, definition.type, record);
}

}  // namespace

template <class Work>
auto RecordFeed::steady(Work&& work) {
  constexpr int most_tries = 20;
  for (int tries = 1;; ++tries) {
    try {
      return work();
    } catch (const Error&) {
      // This also ends for a damaged file.
      if (tries == most_tries || follows_left_ <= 0 || !input_.follow()) {
        throw;
      }
      --follows_left_;
    }
  }
}

RecordFeed::RecordFeed(Input& input, const std::string& path, const UnitNames* only,
                       const UnitVolumes* volumes)
    : input_(input),
      commit_count_(catalog().commits().size()),
      // Each was made by a commit; others may have any number.
      steps_(std::min<std::uint64_t>(catalog().steps(), commit_count_)),
      follows_left_(most_follows),
      only_(only),
      volumes_(volumes),
      path_(path) {
  const auto& variables = catalog().variables();
  for (std::uint32_t v = 0; v < variables.size(); ++v) {
    by_hash_.emplace(codec::checksum(variables[v].definition.name), v);
    rows_.push_back(catalog().rows_by_step(v));
  }
  has_records_.resize(variables.size(), false);
  owner_of_fixed_.resize(variables.size(), nobody);
  owner_of_step_.resize(steps_, nobody);
  survey();
  check_times();
  check_contents();
  check_rows();
  list_uncovered();
}

bool RecordFeed::load(std::size_t commit, Records& records) {
  try {
    records = steady([&] {
      return parse_records(catalog().checksum_words(catalog().commits()[commit]), path_);
    });
    return true;
  } catch (const Error& e) {
    if (!is_of_bytes(e.code())) {
      throw;  // the file cannot be read here: no verdict
    }
    records.clear();
    return false;
  }
}

void RecordFeed::survey() {
  Records records;
  for (std::size_t c = 0; c < commit_count_; ++c) {
    const CommitRow row = catalog().commits()[c];
    if (!row.is_intact) {
      findings_.add(damaged_row(order_++, c));
    }
    if (row.step != CommitRow::no_step) {
      if (row.step >= owner_of_step_.size()) {
        throw Error(Code::damaged, path_ + ": the log of commits refers to step " +
                                       std::to_string(row.step) + " of " +
                                       std::to_string(owner_of_step_.size()) + ": damaged");
      }
      owner_of_step_[row.step] = c;
    }
    load(c, records);
    for (const auto& [hash, record] : records) {
      const auto found = by_hash_.find(hash);
      if (found == by_hash_.end()) {
        continue;
      }
      const Definition& definition = catalog().variables()[found->second].definition;
      has_records_[found->second] = true;
      owner_of_fixed_[found->second] = c;
      if (is_sound(definition, record)) {
        total_bytes_ += record.box.volume() * definition.type.bytes;
      }
    }
  }
}

void RecordFeed::check_times() {
  if (!catalog().has_time()) {
    return;
  }
  const auto found = by_hash_.find(codec::checksum(layout::time_name));
  if (found == by_hash_.end() || has_records_[found->second]) {
    return;  // a variable of the caller's, checked like any other
  }
  const Definition definition = catalog().variables()[found->second].definition;
  if (definition.type.kind != Kind::f64 || definition.shape.rank() != 1) {
    return;
  }
  // Every time is in the file twice, here and in the log: one proves the other.
  std::vector<double> times(std::min(definition.shape[0], steps_));
  steady([&] {
    catalog().read(found->second, 0, {{0}, {times.size()}},
                   std::as_writable_bytes(std::span(times)));
  });
  has_records_[found->second] = true;
  for (std::size_t c = 0; c < commit_count_; ++c) {
    const CommitRow& row = catalog().commits()[c];
    const bool is_told = row.step != CommitRow::no_step && !std::isnan(row.time);
    if (is_told && (row.step >= times.size() || std::bit_cast<std::uint64_t>(times[row.step]) !=
                                                    std::bit_cast<std::uint64_t>(row.time))) {
      findings_.add({order_++, definition.name, row.step, "", "differs from the committed time"});
    }
  }
}

void RecordFeed::check_contents() {
  constexpr std::uint64_t after_values = 1ULL << 39;
  const auto departures = steady([&] { return catalog().departures(catalog().attributes()); });
  for (const auto& [owner, what] : departures) {
    findings_.add({after_values, owner, Finding::no_step, "", what});
  }
}

void RecordFeed::check_rows() {
  for (const std::uint64_t step : layout::steps_of_other_rows(catalog(), rows_)) {
    if (step < steps_) {  // the writer may have continued since
      findings_.add({order_++, "", step, "", "the numbers of rows differ from the committed ones"});
    }
  }
}

void RecordFeed::add_uncovered(const std::string& what) {
  ++uncovered_count_;
  if (uncovered_.size() < most_findings) {
    uncovered_.push_back(what);
  }
}

bool RecordFeed::is_written(std::uint32_t variable) {
  const StoredVariable stored = catalog().variables()[variable];
  if (!stored.placeable || !stored.filters.empty()) {
    return true;  // only the addresses of plain tiles show it
  }
  const std::uint64_t steps = stored.definition.stepped ? steps_ : 1;
  const std::vector<std::uint64_t>& rows = rows_[variable];
  model::Box all = model::whole(stored.definition.shape);
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step < rows.size()) {
      all.count[0] = std::min(stored.definition.shape[0], rows[step]);  // may be far fewer
    }
    if (!all.empty() &&
        steady([&] { return catalog().locate(variable, step, all); }).hull().length != 0) {
      return true;
    }
  }
  return false;
}

void RecordFeed::list_uncovered() {
  for (std::uint32_t v = 0; v < has_records_.size(); ++v) {
    const Definition& definition = catalog().variables()[v].definition;
    const bool is_other_name = !catalog().variables()[v].same_as.empty();
    // The value of one that says how others are rounded means nothing: its attributes do.
    if (is_other_name || has_records_[v] || definition.shape.volume() == 0 ||
        layout::says_rounding(definition)) {
      continue;
    }
    // Last, since it looks into the index of chunks.
    if (definition.partial || is_written(v)) {
      add_uncovered(definition.name + codec::loss_of(catalog().variables()[v].filters));
    }
  }
  list_added_steps();
  for (const std::string& what : catalog().unchecked()) {
    add_uncovered(what);
  }
  for (const auto& dataset : catalog().unreadable()) {
    add_uncovered(dataset.name + " (" + dataset.type + ")");
  }
}

/// Of another program. The log does not have them before the next commit.
void RecordFeed::list_added_steps() {
  const std::uint64_t added = catalog().added_times().size();
  if (added == 0) {
    return;
  }
  const std::uint64_t steps = catalog().steps();
  for (const StoredVariable& stored : catalog().variables()) {
    for (std::uint64_t step = steps - added; stored.definition.stepped && step < steps; ++step) {
      add_uncovered(stored.definition.name + ", step " + std::to_string(step));
    }
  }
}

bool RecordFeed::is_current(std::uint32_t variable, std::size_t commit) const {
  if (!catalog().variables()[variable].definition.stepped) {
    return owner_of_fixed_[variable] == commit;
  }
  const std::uint64_t step = catalog().commits()[commit].step;
  return step != CommitRow::no_step && owner_of_step_[step] == commit;
}

void RecordFeed::enter_commit() {
  is_entered_ = true;
  const CommitRow row = catalog().commits()[commit_];
  if (!load(commit_, records_)) {
    const std::uint64_t step = row.step == CommitRow::no_step ? Finding::no_step : row.step;
    findings_.add({order_++, "sluice/checksums", step, "",
                   "the checksum records of commit " + std::to_string(commit_) + " are damaged"});
    return;
  }
  check_strangers();
  for (std::uint32_t v = static_cast<std::uint32_t>(has_records_.size()); v-- > 0;) {
    const Definition& definition = catalog().variables()[v].definition;
    if (!is_current(v, commit_)) {
      continue;
    }
    if (!is_wanted(v)) {
      continue;
    }
    const bool is_there = records_.count(codec::checksum(definition.name)) != 0;
    const bool is_due = definition.stepped && !definition.partial && has_records_[v] &&
                        definition.shape.volume() != 0;
    if (is_there || is_due) {
      waiting_.push_back(v);
    }
  }
}

void RecordFeed::check_strangers() {
  for (const auto& [hash, record] : records_) {
    if (by_hash_.count(hash) == 0 && strangers_.size() < most_findings &&
        strangers_.insert(hash).second) {
      findings_.add({order_++, "", Finding::no_step, record.box.text(),
                     "has a checksum, but its variable is not in the file"});
    }
  }
}

bool RecordFeed::next(RecordUnit& unit) {
  while (commit_ < commit_count_) {
    if (!is_entered_) {
      enter_commit();
    }
    if (waiting_.empty()) {
      ++commit_;
      is_entered_ = false;
      continue;
    }
    const std::uint32_t variable = waiting_.back();
    waiting_.pop_back();
    take(variable, unit);
    if (!unit.records.empty()) {
      unit.first_order = order_;
      order_ += unit.records.size();
      return true;
    }
  }
  return false;
}

void RecordFeed::find(const RecordUnit& unit, const std::string& place, const std::string& what) {
  findings_.add(
      {order_++, catalog().variables()[unit.variable].definition.name, unit.step, place, what});
}

void RecordFeed::take(std::uint32_t variable, RecordUnit& unit) {
  const StoredVariable stored = catalog().variables()[variable];  // copies: it may be opened again
  const Definition& definition = stored.definition;
  unit = RecordUnit{};
  unit.variable = variable;
  unit.step = step_of(variable);
  std::uint64_t covered = 0;
  const auto [first, last] = records_.equal_range(codec::checksum(definition.name));
  for (auto it = first; it != last; ++it) {
    if (is_sound(shape_of(unit), definition.type, it->second)) {
      covered += it->second.box.volume();
      unit.records.push_back(it->second);
    } else {
      find(unit, it->second.box.text(), "has a checksum of elements that it does not have");
    }
  }
  try {
    if (stored.placeable) {
      unit.tiles.placement = steady([&] {
        return catalog().locate(variable, definition.stepped ? unit.step : 0,
                                model::whole(shape_of(unit)));
      });
    } else if (!stored.filters.empty()) {
      unit.tiles = steady([&] {
        return catalog().locate_encoded(variable, definition.stepped ? unit.step : 0,
                                        model::whole(shape_of(unit)));
      });
    }
    check_coverage(unit, covered);
    look_for_holes(unit, covered);
  } catch (const Error& e) {
    const bool is_of_it =
        is_of_bytes(e.code()) || may_be_of_variable(e.code()) || e.code() == Code::over_budget;
    if (!is_of_it) {
      throw;  // the file cannot be read here: no verdict
    }
    find(unit, "", std::string("its place in the file cannot be found: ") + e.what());
    unit.records.clear();
  }
}

std::uint64_t RecordFeed::step_of(std::uint32_t variable) const {
  return catalog().variables()[variable].definition.stepped ? catalog().commits()[commit_].step
                                                            : Finding::no_step;
}

bool RecordFeed::is_wanted(std::uint32_t variable) const {
  return only_ == nullptr ||
         only_->count({catalog().variables()[variable].definition.name, step_of(variable)}) != 0;
}

model::Dims RecordFeed::shape_of(const RecordUnit& unit) const {
  const Definition& definition = catalog().variables()[unit.variable].definition;
  const std::vector<std::uint64_t>& rows = rows_[unit.variable];
  return unit.step < rows.size() ? definition.shape_of(rows[unit.step]) : definition.shape;
}

bool RecordFeed::holds_data(const RecordUnit& unit) const {
  const StoredVariable& stored = catalog().variables()[unit.variable];
  const bool has_placement = stored.placeable || !stored.filters.empty();
  return !has_placement || unit.tiles.placement.hull().length != 0;
}

std::pair<std::uint64_t, std::uint64_t> RecordFeed::due_elements(const RecordUnit& unit) const {
  const Definition& definition = catalog().variables()[unit.variable].definition;
  const std::uint64_t volume = shape_of(unit).volume();
  if (catalog().is_part() && definition.stepped) {
    // A row may be longer than its rank needed in that step: the index knows.
    if (volumes_ != nullptr) {
      const auto known = volumes_->find({definition.name, unit.step});
      if (known != volumes_->end()) {
        return {known->second, known->second};
      }
    }
    return {0, volume};
  }
  return {definition.partial ? 0 : volume, volume};
}

void RecordFeed::check_coverage(const RecordUnit& unit, std::uint64_t covered) {
  const Definition& definition = catalog().variables()[unit.variable].definition;
  const auto [least, most] = due_elements(unit);
  const bool is_complete = covered >= least && covered <= most;
  if (is_complete || (covered == 0 && !holds_data(unit))) {
    return;  // a variable that was added later has no data in the steps before
  }
  const bool is_copy = input_.modified_since_commit() && covered < least;
  if (catalog().commits()[commit_].word_count == 0 || is_copy) {
    // A program that copied the file may not keep which variables have holes.
    add_uncovered(definition.name + ", step " + std::to_string(unit.step));
    return;
  }
  find(unit, "",
       covered < least ? "no checksum covers " + std::to_string(least - covered) + " of its " +
                             std::to_string(least) + " elements"
                       : "its checksums cover more elements than it has");
}

void RecordFeed::look_for_holes(RecordUnit& unit, std::uint64_t covered) {
  const StoredVariable& stored = catalog().variables()[unit.variable];
  const Definition& definition = stored.definition;
  const std::uint64_t volume = shape_of(unit).volume();
  // The elements that a part does not have are in other parts.
  if (!definition.partial || catalog().is_part() || covered >= volume || !holds_data(unit)) {
    return;
  }
  unit.has_holes = stored.placeable || !stored.filters.empty();
  if (!unit.has_holes) {
    const std::string step = definition.stepped ? ", step " + std::to_string(unit.step) : "";
    add_uncovered(definition.name + step + ": " + std::to_string(volume - covered) + " of its " +
                  std::to_string(volume) + " elements");
  }
}

}  // namespace sluice::commit
