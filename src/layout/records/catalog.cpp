#include "layout/records/catalog.hpp"

#include <algorithm>
#include <cmath>

#include "layout/appending_planner.hpp"

namespace sluice::layout::records {

using model::Definition;
using model::Dims;

std::unique_ptr<RecordsCatalog> RecordsCatalog::open(storage::File& file) {
  return std::unique_ptr<RecordsCatalog>(new RecordsCatalog(file, read_root(file)));
}

RecordsCatalog::RecordsCatalog(storage::File& file, const Root& root) : file_(file), root_(root) {
  ours_ = true;
  for (const Entry& entry : read_entries(file, root)) {
    add(entry);
  }
  has_time_ = std::any_of(commits_.begin(), commits_.end(),
                          [](const CommitRow& row) { return !std::isnan(row.time); });
}

void RecordsCatalog::add(const Entry& entry) {
  for (const Definition& definition : entry.definitions) {
    StoredVariable variable;
    variable.definition = definition;
    variable.tile = definition.shape;
    variable.placeable = true;
    variable.storage = "appended";
    variables_.push_back(std::move(variable));
    fixed_.emplace_back();
    stepped_.emplace_back();
  }
  for (const model::Attribute& attribute : entry.attributes) {
    add(attribute);
  }
  const bool is_step = entry.row.step != CommitRow::no_step;
  const std::uint64_t expected = steps_ + (is_step ? 1 : 0);
  if (entry.steps > expected || (is_step && entry.row.step + 1 != entry.steps)) {
    throw Error(Code::damaged, file_.path() + ": the entries of the file are inconsistent");
  }
  steps_ = entry.steps;
  if (entry.steps < expected) {
    drop_later_steps();
  }
  for (const Section& section : entry.sections) {
    check(section);
    if (variables_[section.variable].definition.stepped && is_step) {
      stepped_[section.variable][entry.row.step] = section;
    } else {
      fixed_[section.variable] = section;
    }
  }
  commits_.push_back(entry.row);
}

void RecordsCatalog::drop_later_steps() {
  for (auto& sections : stepped_) {
    sections.erase(sections.lower_bound(steps_), sections.end());
  }
  std::erase_if(commits_, [&](const CommitRow& row) {
    return row.step != CommitRow::no_step && row.step >= steps_;
  });
}

void RecordsCatalog::add(const model::Attribute& attribute) {
  model::set_attribute(attributes_, attribute);
}

void RecordsCatalog::check(const Section& section) const {
  bool is_right = section.variable < variables_.size();
  if (is_right) {
    const Definition& definition = variables_[section.variable].definition;
    Dims expected = definition.shape;
    if (definition.varying && section.shape.rank() == expected.rank()) {
      is_right = section.shape[0] <= expected[0];
      expected[0] = section.shape[0];
    }
    is_right = is_right && section.shape == expected;
    if (is_right && section.address != absent) {
      const std::uint64_t bytes = model::checked_product(
          section.shape.volume(), definition.type.bytes, "size of a section in bytes");
      is_right = section.address >= header_bytes && section.address <= root_.offset &&
                 bytes <= root_.offset - section.address;
    }
  }
  if (!is_right) {
    throw Error(Code::damaged, file_.path() + ": an entry of the file is damaged");
  }
}

Placement RecordsCatalog::locate(std::uint32_t variable, std::uint64_t step, const model::Box&) {
  const Definition& definition = variables_.at(variable).definition;
  Section none;  // of elements that no commit wrote
  none.shape = definition.varying ? definition.shape_of(0) : definition.shape;
  const Section* section = &none;
  if (!definition.stepped) {
    section = holds_fixed(variable) ? &fixed_[variable] : &none;
  } else if (const auto found = stepped_[variable].find(step); found != stepped_[variable].end()) {
    section = &found->second;
  }
  return in_one_piece(variable, definition, section->shape, section->address);
}

std::vector<std::uint64_t> RecordsCatalog::rows_by_step(std::uint32_t variable) {
  if (!variables_.at(variable).definition.varying) {
    return {};
  }
  std::vector<std::uint64_t> rows(steps_, 0);
  for (const auto& [step, section] : stepped_[variable]) {
    rows[step] = section.shape[0];
  }
  return rows;
}

std::vector<std::uint64_t> RecordsCatalog::checksum_words(const CommitRow& commit) {
  const std::uint64_t most_words = root_.offset / sizeof(std::uint64_t);
  if (commit.word_count > most_words || commit.first_word > root_.offset) {
    throw Error(Code::damaged, file_.path() + ": an entry of the file is damaged");
  }
  std::vector<std::uint64_t> words(commit.word_count);
  const auto bytes = std::as_writable_bytes(std::span(words));
  if (file_.read(commit.first_word, bytes) != bytes.size()) {
    throw Error(Code::truncated, file_.path() + ": truncated: ends inside its checksums");
  }
  return words;
}

}  // namespace sluice::layout::records
