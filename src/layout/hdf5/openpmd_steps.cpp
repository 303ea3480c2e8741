#include "layout/hdf5/openpmd_steps.hpp"

#include <algorithm>
#include <iterator>

#include "layout/hdf5/log.hpp"
#include "layout/hdf5/openpmd_attributes.hpp"
#include "layout/openpmd/attributes.hpp"

namespace sluice::layout::hdf5 {

void OpenpmdSteps::keep_below(std::uint64_t steps) {
  numbers_.resize(std::min<std::size_t>(numbers_.size(), steps));
}

std::uint64_t OpenpmdSteps::number(std::uint64_t step) {
  std::uint64_t number = numbers_.empty() ? 0 : numbers_.back() + 1;
  for (const model::Attribute& attribute : attributes_.waiting()) {
    const std::vector<std::int64_t> given =
        openpmd::is_iteration(attribute)
            ? openpmd::integers_in(attribute.value).value_or(std::vector<std::int64_t>{})
            : std::vector<std::int64_t>{};
    const bool is_next = attribute.name == openpmd::iteration_attribute;
    const std::uint64_t at = is_next ? 0 : step;  // else a list by step
    if (at < given.size()) {
      number = static_cast<std::uint64_t>(given[at]);
    }
  }
  if (std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end()) {
    throw Error(Code::exists, file_.path() + ": iteration " + std::to_string(number) +
                                  " is there already: give the step another number (attribute "
                                  "iteration of time)");
  }
  attributes_.use_up([](const model::Attribute& attribute) {  // wait again if the step fails
    return openpmd::is_iteration(attribute) && attribute.name == openpmd::iteration_attribute;
  });
  numbers_.push_back(number);
  return number;
}

void OpenpmdSteps::write_root() {
  const Handle root = own(H5Gopen2(file_.id(), "/", H5P_DEFAULT), "/");
  for (const model::Attribute& attribute : openpmd::attributes_of_file()) {
    write_openpmd_attribute(root.get(), attribute.name, attribute.value);
  }
}

void OpenpmdSteps::make_group(double time) {
  const std::string path = openpmd::group_of(numbers_.back());
  for (const char* group : {openpmd::meshes_group, openpmd::particles_group}) {
    file_.make_group(path + "/" + group);  // the paths in the root's attributes must be there
  }
  const Handle group = own(H5Gopen2(file_.id(), path.c_str(), H5P_DEFAULT), path);
  std::vector<model::Attribute> attributes = openpmd::attributes_of_iteration(time);
  if (!variables_.has(time_name)) {
    const std::vector<model::Attribute> inherited = attributes_.inherited_of(time_name);
    std::copy_if(inherited.begin(), inherited.end(), std::back_inserter(attributes),
                 [](const model::Attribute& a) { return a.name != time_name; });
  }
  for (const model::Attribute& attribute : attributes) {
    write_openpmd_attribute(group.get(), attribute.name, attribute.value);
  }
}

void OpenpmdSteps::write_attributes(const CommitRequest& request) {
  std::vector<openpmd::Component> components;
  for (const Touched& touched : request.touched) {
    const model::Definition& definition = variables_.definition(touched.variable);
    if (definition.stepped) {
      components.push_back(
          {definition.name, touched.shape.empty() ? definition.shape : touched.shape});
    }
  }
  const std::string path = openpmd::group_of(numbers_.back()) + "/";
  Handle holder;
  std::string held;
  for (const model::Attribute& attribute :
       openpmd::attributes_below(components, attributes_.inherited())) {
    if (attribute.owner != held || !holder) {
      held = attribute.owner;
      const std::string object = path + held;
      file_.make_groups_above(object);
      if (!has_link(file_.id(), object)) {
        file_.make_group(object);
      }
      holder = own(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT), object);
    }
    write_openpmd_attribute(holder.get(), attribute.name, attribute.value);
  }
}

}  // namespace sluice::layout::hdf5
