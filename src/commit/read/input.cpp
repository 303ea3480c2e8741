#include "commit/read/input.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "commit/publish/recovery.hpp"
#include "exec/read/read_box.hpp"
#include "exec/rows/rows.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats.hpp"
#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/fill.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using layout::CommitRow;
using model::Box;
using model::Dims;

namespace {

void put_attribute(const model::Attribute& attribute, model::ByteWriter& out) {
  out.put(attribute.owner);
  out.put(attribute.name);
  out.put(attribute.value.index());
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<std::string>>) {
          out.put(value.size());
          for (const std::string& text : value) {
            out.put(text);
          }
        } else {
          out.put(value);
        }
      },
      attribute.value);
}

template <std::size_t index = 0>
model::AttributeValue get_value(std::size_t wanted, model::ByteReader& in) {
  if constexpr (index < std::variant_size_v<model::AttributeValue>) {
    if (wanted != index) {
      return get_value<index + 1>(wanted, in);
    }
    using T = std::variant_alternative_t<index, model::AttributeValue>;
    if constexpr (std::is_same_v<T, std::string>) {
      return in.get_string();
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      std::vector<std::string> texts(in.get<std::size_t>());
      for (std::string& text : texts) {
        text = in.get_string();
      }
      return texts;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return in.get<T>();
    } else {
      return in.get_vector<typename T::value_type>();
    }
  } else {
    throw Error(Code::internal, "attribute of an unknown kind");
  }
}

}  // namespace

Input::Input(exec::Transport& transport, storage::Storage& storage, const std::string& path,
             const Options& options)
    : transport_(transport), storage_(storage), path_(path), options_(options) {
  adopt(exec::on_root(transport_, 0, [&] {
    path_ = storage_.real_path(path_);
    std::vector<std::byte> description;
    Committed committed = open_committed(storage_, path_, [&](storage::File& file) {
      catalog_.reset();
      catalog_ = layout::open_catalog(layout::format_in(file, options_.format), file);
      // Here, where a commit in between is noticed.
      const auto& commits = catalog_->commits();
      const bool is_modified = !commits.empty() && commits.back().modified_ns != file.modified_ns();
      description = exec::for_file(path_, [&] { return describe(is_modified); });
    });
    root_file_ = std::move(committed.file);
    moment_ = committed.moment;
    const auto& commits = catalog_->commits();
    model::ByteWriter out;
    out.put(path_);
    out.put(committed.journal);
    out.put(committed.is_unfinished);
    out.put(!committed.is_unfinished && !commits.empty() &&
            commits.back().modified_ns != committed.modified_ns);
    out.put(description);
    return out.take();
  }));
}

std::vector<std::byte> Input::describe(bool is_modified) {
  if (options_.readers < 0) {
    throw Error(Code::invalid_argument,
                "readers: " + std::to_string(options_.readers) + " is negative");
  }
  model::ByteWriter out;
  out.put(catalog_->ours());
  out.put(layout::format_named(catalog_->format()).names);
  out.put(catalog_->steps());
  const auto& commits = catalog_->commits();
  if (options_.checksum) {
    catalog_->require_intact_log(path_,
                                 "sluice verify says what else is; with checksum = false it can be "
                                 "read unchecked");
  }
  std::vector<CommitInfo> infos;
  infos.reserve(commits.size());
  for (const CommitRow& row : commits) {
    infos.push_back({row.step, row.time, row.is_intact ? 1U : 0U});
  }
  out.put(infos);
  out.put(catalog_->variables().size());
  std::vector<std::vector<std::uint64_t>> rows(catalog_->variables().size());
  for (std::uint32_t v = 0; v < rows.size() && catalog_->set() == nullptr; ++v) {
    rows[v] = catalog_->rows_by_step(v);  // those of a set are in its parts
  }
  require_rows(rows);
  for (std::uint32_t v = 0; v < catalog_->variables().size(); ++v) {
    const layout::StoredVariable& stored = catalog_->variables()[v];
    stored.definition.write_to(out);
    out.put(stored.big_endian);
    out.put(stored.placeable);
    out.put(stored.filters.size());
    for (const codec::Filter& filter : stored.filters) {
      out.put(filter.id);
      out.put(filter.parameters);
    }
    out.put(rows[v]);
  }
  const auto attributes = catalog_->attributes();
  require_contents(attributes, is_modified);
  out.put(attributes.size());
  for (const model::Attribute& attribute : attributes) {
    put_attribute(attribute, out);
  }
  const layout::PartSet* set = catalog_->set();
  out.put(set != nullptr ? set->words() : std::vector<std::uint64_t>{});
  out.put(options_.readers);
  out.put(options_.budget_bytes);
  return out.take();
}

void Input::require_contents(const std::vector<model::Attribute>& attributes, bool modified) const {
  // What another program added, changed or removed on purpose is seen as it is; verify tells it.
  if (!options_.checksum || modified) {
    return;
  }
  const auto departures = catalog_->departures(attributes);
  if (!departures.empty()) {
    const auto& [owner, what] = departures.front();
    throw Error(Code::damaged, path_ + ": " + (owner.empty() ? "" : owner + ": ") + what +
                                   ": with checksum = false it can be read unchecked");
  }
}

void Input::require_rows(const std::vector<std::vector<std::uint64_t>>& rows) const {
  if (!options_.checksum || catalog_->set() != nullptr) {
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

void Input::adopt(std::span<const std::byte> message) {
  model::ByteReader head(message);
  path_ = head.get_string();
  journal_ = head.get_vector<std::byte>();
  is_unfinished_ = head.get<bool>();
  modified_ = head.get<bool>();
  const auto description = head.get_vector<std::byte>();
  model::ByteReader in(description);
  ours_ = in.get<bool>();
  names_ = in.get<bool>();
  steps_ = in.get<std::uint64_t>();
  commits_ = in.get_vector<CommitInfo>();
  for (const CommitInfo& commit : commits_) {
    // More is damage, or no step at all.
    if (commit.step < std::min<std::uint64_t>(steps_, commits_.size())) {
      times_.resize(std::max<std::size_t>(times_.size(), commit.step + 1), std::nan(""));
      times_[commit.step] = commit.time;
    }
  }
  variables_.resize(in.get<std::size_t>());
  for (InputVariable& variable : variables_) {
    variable.definition = model::Definition::read_from(in);
    variable.big_endian = in.get<bool>();
    variable.placeable = in.get<bool>();
    variable.filters.resize(in.get<std::size_t>());
    for (codec::Filter& filter : variable.filters) {
      filter.id = in.get<std::uint32_t>();
      filter.parameters = in.get_vector<std::uint32_t>();
    }
    variable.rows = in.get_vector<std::uint64_t>();
    catalog_index_.push_back(static_cast<std::uint32_t>(catalog_index_.size()));
  }
  attributes_.resize(in.get<std::size_t>());
  for (model::Attribute& attribute : attributes_) {
    attribute.owner = in.get_string();
    attribute.name = in.get_string();
    attribute.value = get_value(in.get<std::size_t>(), in);
  }
  const auto words = in.get_vector<std::uint64_t>();
  options_.readers = in.get<int>();
  options_.budget_bytes = in.get<std::uint64_t>();
  if (!words.empty()) {
    open_parts(words);
  }
}

bool Input::is_unchanged() const { return moment_ != 0 && moment_of(storage_, path_) == moment_; }

bool Input::follow() {
  if (is_unchanged()) {
    return false;
  }
  const auto continues = [](const layout::Catalog& old, const layout::Catalog& next) {
    const auto same_name = [](const layout::StoredVariable& a, const layout::StoredVariable& b) {
      return a.definition.name == b.definition.name;
    };
    return next.commits().size() >= old.commits().size() &&
           next.variables().size() >= old.variables().size() &&
           std::equal(old.variables().begin(), old.variables().end(), next.variables().begin(),
                      same_name);
  };
  std::unique_ptr<layout::Catalog> next;
  Committed committed;
  try {
    committed = open_committed(storage_, path_, [&](storage::File& file) {
      next.reset();
      next = layout::open_catalog(layout::format_in(file, options_.format), file);
    });
  } catch (const Error&) {
    return false;
  }
  if (!continues(*catalog_, *next)) {
    next.reset();
    return false;
  }
  catalog_ = std::move(next);  // the old one before the file that it reads from
  root_file_ = std::move(committed.file);
  moment_ = committed.moment;
  return true;
}

double Input::time(std::uint64_t step) const {
  if (step >= steps_) {
    throw Error(Code::out_of_bounds, path_ + ": " + model::absent_step_text(step, steps_));
  }
  return step < times_.size() ? times_[step] : std::nan("");
}

Dims Input::shape_or_most(std::uint32_t variable, std::uint64_t step) const noexcept {
  const InputVariable& v = variables_[variable];
  return step < v.rows.size() ? v.definition.shape_of(v.rows[step]) : v.definition.shape;
}

Dims Input::shape(std::uint32_t variable, std::uint64_t step) const {
  if (variable >= variables_.size()) {
    throw Error(Code::invalid_argument,
                path_ + ": shape: there is no variable " + model::variable_text(variable));
  }
  if (variables_[variable].definition.stepped && step >= steps_) {
    throw Error(Code::out_of_bounds, path_ + ": shape of " + variables_[variable].definition.name +
                                         ": " + model::absent_step_text(step, steps_));
  }
  return shape_or_most(variable, step);
}

std::uint32_t Input::find(const std::string& name) const {
  if (!names_) {
    return 0;  // the one that there is
  }
  std::string names;
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    if (variables_[v].definition.name == name) {
      return v;
    }
    names += (v == 0 ? "" : ", ") + variables_[v].definition.name;
  }
  throw Error(Code::not_found, path_ + ": no variable " + name + " (there are: " + names + ")");
}

void Input::keep_order_of(const Input& old) {
  std::vector<InputVariable> ordered;
  std::vector<std::uint32_t> indices;
  std::vector<bool> is_taken(variables_.size(), false);
  auto take = [&](std::size_t v) {
    ordered.push_back(variables_[v]);
    indices.push_back(catalog_index_[v]);
    is_taken[v] = true;
  };
  for (const InputVariable& known : old.variables_) {
    const model::Definition& d = known.definition;
    const auto found = std::find_if(variables_.begin(), variables_.end(),
                                    [&](const auto& v) { return v.definition.name == d.name; });
    if (found == variables_.end() || found->definition.type != d.type ||
        found->definition.shape.rank() != d.shape.rank() ||
        found->definition.stepped != d.stepped) {
      throw Error(Code::changed_outside,
                  path_ + ": refresh: " + d.name + " is gone or another: open the file again");
    }
    take(static_cast<std::size_t>(found - variables_.begin()));
  }
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    if (!is_taken[v]) {
      take(v);
    }
  }
  deferred_ = old.deferred_;
  deferred_failure_ = old.deferred_failure_;
  variables_ = std::move(ordered);
  catalog_index_ = std::move(indices);
}

storage::File& Input::file() {
  if (!file_) {
    file_ = open_beside(storage_, path_, journal_);
  }
  return *file_;
}

/// What the addresses mean, where the file is a store.
void Input::map_objects(const layout::Placement& placement) {
  if (!placement.objects().empty()) {
    file().map(placement.objects());
  }
}

void Input::check_request(std::uint32_t variable, std::uint64_t step, const Box& box) const {
  if (variable >= variables_.size()) {
    throw Error(Code::invalid_argument,
                path_ + ": get: there is no variable " + model::variable_text(variable));
  }
  const model::Definition& d = variables_[variable].definition;
  if (d.stepped && step >= steps_) {
    throw Error(Code::out_of_bounds,
                path_ + ": get " + d.name + ": " + model::absent_step_text(step, steps_));
  }
  model::check_block(shape_or_most(variable, step), box, path_ + ": get " + d.name);
}

std::vector<Record> Input::records_of(std::uint32_t variable, std::uint64_t step) {
  // rank 0 only. Records of the last commit of a step win; a fixed variable's are in the one commit
  // that wrote it.
  const model::Definition& d = variables_[variable].definition;
  const std::uint64_t hash = codec::checksum(d.name);
  const auto& commits = catalog_->commits();
  for (std::size_t c = commits.size(); c-- > 0;) {
    if (d.stepped && commits[c].step != step) {
      continue;
    }
    if (cached_commit_ != c) {
      cached_records_ = parse_records(catalog_->checksum_words(commits[c]), path_);
      cached_commit_ = c;
    }
    std::vector<Record> records;
    const auto [first, last] = cached_records_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      const Dims shape = shape_or_most(variable, step);
      model::check_block(shape, it->second.box, path_ + ": checksum record of " + d.name);
      if (!is_sound(shape, d.type, it->second)) {
        throw Error(Code::damaged, path_ + ": checksum record of " + d.name +
                                       ": covers more elements than any writer checks at once");
      }
      records.push_back(it->second);
    }
    if (!records.empty()) {
      return records;
    }
  }
  return records_of_times(variable);
}

std::vector<Record> Input::records_of_times(std::uint32_t variable) const {
  const model::Definition& d = variables_[variable].definition;
  const bool is_own = d.name == layout::time_name && !d.stepped && d.type == type_of<double>() &&
                      d.shape.rank() == 1 && (catalog_->has_time() || parts_ != nullptr) &&
                      !number_in_set(variable);
  std::vector<Record> records;
  if (!is_own || times_.empty()) {
    return records;
  }
  const auto count = std::min<std::uint64_t>(times_.size(), d.shape[0]);
  for (const Box& box : layout::split({{0}, {count}}, sizeof(double), layout::portion_bytes)) {
    const auto part = std::span(times_).subspan(box.start[0], box.count[0]);
    records.push_back({box, codec::checksum(std::as_bytes(part))});
  }
  return records;
}

const Input::Located& Input::locate(std::uint32_t variable, std::uint64_t step, const Box& region) {
  const Wanted wanted{variable, step, region};
  return locate_all({&wanted, 1}).front();
}

std::span<const Input::Located> Input::locate_all(std::span<const Wanted> wanted) {
  const auto answers = [](const Located& known, const Wanted& w) {
    return known.variable == w.variable && known.step == w.step &&
           model::contains(known.region, w.region);
  };
  const bool is_known =
      located_.size() >= wanted.size() &&
      std::equal(wanted.begin(), wanted.end(), located_.begin(),
                 [&](const Wanted& w, const Located& k) { return answers(k, w); });
  if (is_known) {
    return std::span(located_).first(wanted.size());
  }
  const auto message = exec::on_root(transport_, 0, [&] {
    model::ByteWriter out;
    for (const Wanted& w : wanted) {
      describe_place(w, out);
    }
    return out.take();
  });
  model::ByteReader in(message);
  std::vector<Located> located;
  for (const Wanted& w : wanted) {
    located.push_back({w.variable, w.step, w.region, layout::Placement::read_from(in), {}});
    located.back().records = read_records(in);
  }
  located_ = std::move(located);
  return located_;
}

void Input::describe_place(const Wanted& wanted, model::ByteWriter& out) {
  std::vector<Record> records;
  if (ours_ && options_.checksum) {
    records = records_of(wanted.variable, wanted.step);
  }
  // A checked read takes whole records, so their tiles are needed too.
  Box wider = wanted.region;
  for (const Record& record : records) {
    if (model::intersect(record.box, wanted.region)) {
      for (int d = 0; d < wider.start.rank(); ++d) {
        const std::uint64_t end = std::max(wider.end(d), record.box.end(d));
        wider.start[d] = std::min(wider.start[d], record.box.start[d]);
        wider.count[d] = end - wider.start[d];
      }
    }
  }
  catalog_->locate(catalog_index_[wanted.variable], wanted.step, wider).write_to(out);
  write_records(records, out);
}

void Input::read_located(const Located& located, const Box& box, std::span<std::byte> out) {
  const InputVariable& variable = variables_[located.variable];
  map_objects(located.placement);
  std::vector<std::byte> element(variable.definition.type.bytes);
  model::fill(element, variable.definition.type, variable.definition.fill);
  if (variable.big_endian) {
    model::swap_bytes(element, variable.definition.type);
  }
  exec::read_box(file(), located.placement, box, element, out);
  if (variable.big_endian) {
    model::swap_bytes(out, variable.definition.type);
  }
}

bool Input::read_record(const Located& located, const Record& record, std::vector<std::byte>& out) {
  out.resize(record.box.volume() * variables_[located.variable].definition.type.bytes);
  read_located(located, record.box, out);
  return codec::checksum(std::span<const std::byte>(out)) == record.checksum;
}

}  // namespace sluice::commit
