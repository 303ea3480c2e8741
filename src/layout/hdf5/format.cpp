#include "layout/hdf5/format.hpp"

#include "layout/hdf5/carry.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/filter_plugins.hpp"
#include "layout/hdf5/library.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/signature.hpp"
#include "layout/netcdf4/rules.hpp"
#include "layout/openpmd/attributes.hpp"
#include "layout/openpmd/rules.hpp"
#include "layout/vtkhdf/attributes.hpp"
#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::hdf5 {

namespace {

template <Profile profile>
std::unique_ptr<Planner> create_as(storage::File& file, const PlannerOptions& options) {
  return Hdf5Planner::create(file, options, profile);
}

/// Which of the forms a file has is read from its catalog.
std::unique_ptr<Planner> append_any(storage::File& file, const PlannerOptions& options) {
  return Hdf5Planner::append(file, options);
}
std::unique_ptr<layout::Catalog> open_any(storage::File& file) { return Catalog::open(file); }

Match match_any(storage::File& file) {
  note_file(file.path());
  return begins_with_superblock(file) ? Match::certain
         : has_signature(file)        ? Match::possible
                                      : Match::none;
}

template <Profile profile>
codec::Pipeline settle_as(const model::Definition& definition, const model::Dims& tile) {
  return settled_filters(profile, definition, tile);
}

std::string refuse_grouped(const model::Definition& definition) {
  if (definition.name.rfind("step_", 0) == 0) {
    throw Error(Code::bad_name, "define " + definition.name +
                                    ": format hdf5-grouped keeps names that begin with step_ "
                                    "for the groups of steps: choose another");
  }
  return "";
}

std::unique_ptr<model::DefinitionRules> netcdf4_rules() {
  return std::make_unique<netcdf4::NameRules>();
}

std::string refuse_own_attribute(const model::Attribute& attribute) {
  if (is_own_attribute(attribute.name)) {
    throw Error(Code::unsupported,
                "attribute " + attribute.name + " of " +
                    (attribute.owner.empty() ? "the file" : attribute.owner) +
                    ": HDF5 files keep this name for themselves: choose another");
  }
  return "";
}

std::string refuse_netcdf4_attribute(const model::Attribute& attribute) {
  netcdf4::check_attribute(attribute);
  return refuse_own_attribute(attribute);
}

template <std::string (*refuse)(const model::Attribute&)>
std::string refuse_attribute_of(const model::Attribute& attribute) {
  refuse_own_attribute(attribute);
  return refuse(attribute);
}

/// What netCDF cannot open does not get into its files.
bool is_of_netcdf(const layout::Catalog& from) {
  return static_cast<const Catalog&>(from).is_of_netcdf();
}

}  // namespace

constinit const Format stacked_format{
    .name = layout_stacked,
    .option = layout_stacked,
    .endings = ".h5 .hdf5 .hdf .he5 .h5md",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .time_variable = true,
    .checksums = true,
    .tiled = true,
    .varying = true,
    .length_variable = true,
    .complex = true,
    .compress = true,
    .quantization = true,
    .index = true,
    .create = create_as<Profile::stacked>,
    .append = append_any,
    .open = open_any,
    .match = match_any,
    .refuse_attribute = refuse_own_attribute,
    .settle_filters = settle_as<Profile::stacked>,
    .plans_beside_threads = takes_several_threads,
    .carry = carry,
};

constinit const Format grouped_format{
    .name = layout_grouped,
    .option = layout_stacked,
    .hdf5_layout = "grouped",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .checksums = true,
    .varying = true,
    .complex = true,
    .instead = "use hdf5_layout stacked",
    .create = create_as<Profile::grouped>,
    .same_files = &stacked_format,
    .refuse_definition = refuse_grouped,
    .refuse_attribute = refuse_own_attribute,
    .plans_beside_threads = takes_several_threads,
};

constinit const Format netcdf4_format{
    .name = layout_netcdf4,
    .option = layout_netcdf4,
    .endings = ".nc .nc4 .cdf",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .time_variable = true,
    .checksums = true,
    .tiled = true,
    .varying = true,
    .length_variable = true,
    .float16 = false,
    .compress = true,
    .quantization = true,
    .conventions = "CF-1.12",
    .index = true,
    .create = create_as<Profile::netcdf4>,
    .same_files = &stacked_format,
    .refuse_attribute = refuse_netcdf4_attribute,
    .rules = netcdf4_rules,
    .settle_filters = settle_as<Profile::netcdf4>,
    .plans_beside_threads = takes_several_threads,
    .carry = carry,
    .may_carry = is_of_netcdf,
};

constinit const Format vtkhdf_format{
    .name = layout_vtkhdf,
    .option = layout_vtkhdf,
    .endings = ".vtkhdf",
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .time_variable = true,
    .checksums = true,
    .tiled = true,
    .varying = true,
    .length_variable = true,
    .complex = true,
    .compress = true,
    .described_at_close = true,
    .create = create_as<Profile::vtkhdf>,
    .same_files = &stacked_format,
    .refuse_definition = vtkhdf::refuse_definition,
    .refuse_attribute = refuse_attribute_of<vtkhdf::refuse_attribute>,
    .writes_attribute = vtkhdf::is_version,
    .plans_beside_threads = takes_several_threads,
};

constinit const Format openpmd_format{
    .name = layout_openpmd,
    .option = layout_openpmd,
    .many = true,
    .names = true,
    .attributes = true,
    .times = true,
    .checksums = true,
    .varying = true,
    .complex = true,
    .instead = "use format hdf5",
    .create = create_as<Profile::openpmd>,
    .same_files = &stacked_format,
    .refuse_definition = openpmd::refuse_definition,
    .refuse_attribute = refuse_attribute_of<openpmd::refuse_attribute>,
    .choose_steps = openpmd::choose_steps,
    .plans_beside_threads = takes_several_threads,
};

}  // namespace sluice::layout::hdf5
