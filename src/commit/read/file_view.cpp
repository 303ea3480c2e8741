#include "commit/read/file_view.hpp"

#include <algorithm>
#include <cmath>

#include "model/name.hpp"
#include "model/numbering.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

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

void put_variable(const InputVariable& variable, model::ByteWriter& out) {
  variable.definition.write_to(out);
  out.put(variable.big_endian);
  out.put(variable.placeable);
  out.put(variable.filters.size());
  for (const codec::Filter& filter : variable.filters) {
    out.put(filter.id);
    out.put(filter.parameters);
  }
  out.put(variable.rows);
}

InputVariable get_variable(model::ByteReader& in) {
  InputVariable variable;
  variable.definition = model::Definition::read_from(in);
  variable.big_endian = in.get<bool>();
  variable.placeable = in.get<bool>();
  variable.filters.resize(in.get<std::size_t>());
  for (codec::Filter& filter : variable.filters) {
    filter.id = in.get<std::uint32_t>();
    filter.parameters = in.get_vector<std::uint32_t>();
  }
  variable.rows = in.get_vector<std::uint64_t>();
  return variable;
}

}  // namespace

void FileView::Contents::write_to(model::ByteWriter& out) const {
  out.put(path);
  out.put(is_unfinished);
  out.put(is_modified);
  out.put(is_ours);
  out.put(has_names);
  out.put(has_time);
  out.put(steps);
  out.put(commits);
  out.put(added_times);
  out.put(variables.size());
  for (const InputVariable& variable : variables) {
    put_variable(variable, out);
  }
  out.put(unreadable.size());
  for (const layout::UnreadableDataset& dataset : unreadable) {
    out.put(dataset.name);
    out.put(dataset.type);
  }
  out.put(attributes.size());
  for (const model::Attribute& attribute : attributes) {
    put_attribute(attribute, out);
  }
}

FileView::Contents FileView::Contents::read_from(model::ByteReader& in) {
  Contents contents;
  contents.path = in.get_string();
  contents.is_unfinished = in.get<bool>();
  contents.is_modified = in.get<bool>();
  contents.is_ours = in.get<bool>();
  contents.has_names = in.get<bool>();
  contents.has_time = in.get<bool>();
  contents.steps = in.get<std::uint64_t>();
  contents.commits = in.get_vector<CommitInfo>();
  contents.added_times = in.get_vector<double>();
  const auto count = in.get<std::size_t>();
  for (std::uint32_t v = 0; v < count; ++v) {
    contents.variables.push_back(get_variable(in));
    contents.variables.back().catalog_index = v;
  }
  contents.unreadable.resize(in.get<std::size_t>());
  for (layout::UnreadableDataset& dataset : contents.unreadable) {
    dataset.name = in.get_string();
    dataset.type = in.get_string();
  }
  contents.attributes.resize(in.get<std::size_t>());
  for (model::Attribute& attribute : contents.attributes) {
    attribute.owner = in.get_string();
    attribute.name = in.get_string();
    attribute.value = get_value(in.get<std::size_t>(), in);
  }
  return contents;
}

FileView::FileView(Contents contents) : contents_(std::move(contents)) {
  const auto& commits = contents_.commits;
  for (const CommitInfo& commit : commits) {
    // More is damage, or not a step at all.
    if (commit.step < std::min<std::uint64_t>(contents_.steps, commits.size())) {
      times_.resize(std::max<std::size_t>(times_.size(), commit.step + 1), std::nan(""));
      times_[commit.step] = commit.time;
    }
  }
  if (const auto& added = contents_.added_times; !added.empty()) {
    times_.resize(contents_.steps - added.size(), std::nan(""));
    times_.insert(times_.end(), added.begin(), added.end());
  }
  index_names();
  for (std::size_t i = 0; i < contents_.attributes.size(); ++i) {
    by_owner_[contents_.attributes[i].owner].push_back(i);
  }
}

void FileView::index_names() {
  by_name_.clear();
  for (std::uint32_t v = 0; v < variables().size(); ++v) {
    by_name_.emplace(variables()[v].definition.name, v);  // the first of equal ones
  }
}

double FileView::time(std::uint64_t step) const {
  if (step >= contents_.steps) {
    throw Error(Code::out_of_bounds,
                contents_.path + ": " + model::absent_step_text(step, contents_.steps));
  }
  return step < times_.size() ? times_[step] : std::nan("");
}

Dims FileView::shape_or_most(std::uint32_t variable, std::uint64_t step) const noexcept {
  const InputVariable& v = variables()[variable];
  return step < v.rows.size() ? v.definition.shape_of(v.rows[step]) : v.definition.shape;
}

Dims FileView::shape(std::uint32_t variable, std::uint64_t step) const {
  if (variable >= variables().size()) {
    throw Error(Code::invalid_argument,
                contents_.path + ": shape: there is no variable " + model::variable_text(variable));
  }
  const model::Definition& d = variables()[variable].definition;
  if (d.stepped && step >= contents_.steps) {
    throw Error(Code::out_of_bounds, contents_.path + ": shape of " + d.name + ": " +
                                         model::absent_step_text(step, contents_.steps));
  }
  return shape_or_most(variable, step);
}

std::uint32_t FileView::find(const std::string& name) const {
  if (!contents_.has_names) {
    return 0;  // the one that there is
  }
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    return found->second;
  }
  for (const layout::UnreadableDataset& dataset : contents_.unreadable) {
    if (dataset.name == name) {
      throw Error(Code::not_found, contents_.path + ": " + name +
                                       " is there, but Sluice does not read it: " + dataset.type);
    }
  }
  std::vector<std::string> names;
  for (const InputVariable& variable : variables()) {
    names.push_back(variable.definition.name);
  }
  throw Error(Code::not_found, contents_.path + ": " + model::absent_variable_text(name, names));
}

const std::vector<std::size_t>& FileView::attributes_of(const std::string& owner) const {
  static const std::vector<std::size_t> none;
  const auto found = by_owner_.find(owner);
  return found == by_owner_.end() ? none : found->second;
}

void FileView::keep_order_of(const FileView& old) {
  std::vector<InputVariable> ordered;
  std::vector<bool> is_taken(variables().size(), false);
  const auto take = [&](std::size_t v) {
    ordered.push_back(variables()[v]);
    is_taken[v] = true;
  };
  for (const InputVariable& known : old.variables()) {
    const model::Definition& d = known.definition;
    const auto found = by_name_.find(d.name);
    const model::Definition* here =
        found == by_name_.end() ? nullptr : &variables()[found->second].definition;
    if (here == nullptr || here->type != d.type || here->shape.rank() != d.shape.rank() ||
        here->stepped != d.stepped) {
      throw Error(Code::changed_outside, contents_.path + ": refresh: " + d.name +
                                             " is gone or was replaced: open the file again");
    }
    take(found->second);
  }
  for (std::size_t v = 0; v < is_taken.size(); ++v) {
    if (!is_taken[v]) {
      take(v);
    }
  }
  contents_.variables = std::move(ordered);
  index_names();
}

std::string FileView::name_of(std::uint32_t variable, std::uint64_t step) const {
  const model::Definition& d = variables()[variable].definition;
  return contents_.path + ": " + d.name + (d.stepped ? ", step " + model::number_text(step) : "");
}

void FileView::set_number_in_set(std::uint32_t variable, std::uint32_t number) {
  contents_.variables[variable].number_in_set = number;
  // Not through one rank and libhdf5, as for other virtual datasets: every rank reads for itself.
  contents_.variables[variable].placeable = true;
}

void FileView::set_rows(std::uint32_t variable, std::vector<std::uint64_t> rows) {
  contents_.variables[variable].rows = std::move(rows);
}

}  // namespace sluice::commit
