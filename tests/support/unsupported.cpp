#include "support/unsupported.hpp"

#include <algorithm>
#include <gtest/gtest-spi.h>
#include <map>
#include <vector>

#include "layout/formats/formats.hpp"
#include "plan/plan.hpp"
#include "support/world.hpp"

namespace sluice::test {

namespace {

/// A behaviour that needs a property which some formats do not have.
struct Need {
  const char* behaviour;
  bool (*has)(const layout::Format& format);
  const char* reason;
  bool is_refused = true;
};

const std::vector<Need>& needs() {
  using layout::Format;
  static const auto many = [](const Format& f) { return f.many; };
  static const auto names = [](const Format& f) { return f.names; };
  static const auto attributes = [](const Format& f) { return f.attributes; };
  static const auto times = [](const Format& f) { return f.times; };
  static const auto checksums = [](const Format& f) { return f.checksums; };
  static const auto tiled = [](const Format& f) { return f.tiled; };
  static const auto text = [](const Format& f) { return f.text; };
  static const auto complex = [](const Format& f) { return f.complex; };
  static const auto float16 = [](const Format& f) { return f.float16; };
  constexpr const char* one = "holds one variable";
  constexpr const char* bare = "holds no attributes";
  constexpr const char* real = "holds no complex numbers";
  static const std::vector<Need> all{
      {"shapes.chunks_of_the_callers_choice", tiled, "each step is one piece"},
      {"types.complex_numbers", complex, real},
      {"conversions.complex_widens_and_narrows", complex, real},
      {"types.half_precision", float16, "holds no float16"},
      {"types.strings", text, "holds no text in variables"},
      {"types.all_in_one_file_and_step", many, one},
      {"attributes.names_of_groups_and_variables", many, one},
      {"attributes.two_hundred_variables", many, one},
      {"steps.fixed_variables_come_before_between_and_in_them", many, one},
      {"steps.variables_defined_later", many, one},
      {"steps.a_failed_one_leaves_nothing_in_the_holes_of_the_next", many, one},
      {"append.new_variables_and_attributes", many, one, false},
      {"append.variables_that_nobody_had_put", many, one},
      {"errors.a_name_on_the_way_to_another", many, one},
      {"errors.ranks_that_get_different_things", many, one},
      {"errors.a_name_that_is_not_in_the_file", names,
       "holds no names: its array answers to every one", false},
      {"append.new_variables_and_attributes", attributes, bare},
      {"attributes.of_every_kind_on_every_owner", attributes, bare},
      {"attributes.unit_and_description_of_a_variable", attributes, bare},
      {"attributes.may_be_replaced_and_come_late", attributes, bare},
      {"attributes.of_a_failed_step_come_with_the_next", attributes, bare},
      {"divergence.of_attributes", attributes, bare},
      {"steps.times_where_given", times, "holds no times"},
      {"steps.a_variable_of_the_callers_may_be_called_time", times, "holds no times"},
      {"files.a_changed_byte_is_found", checksums, "holds no checksums", false},
      {"files.a_change_by_another_program_is_told_from_damage", checksums, "holds no checksums",
       false},
  };
  return all;
}

std::vector<Unsupported>& declared() {
  static std::vector<Unsupported> all{
      {"npy", "steps.a_file_without_definitions", "a file is an array: there is none without"},
      {"npy", "files.aligned_to_stripes", "numpy fixes where every element is", false},
      {"npy", "strangers.what_another_program_added_does_not_disturb",
       "another program cannot add to an array", false},
      {"npy", "strangers.a_file_of_another_program_is_read_not_appended",
       "the file of the test is HDF5", false},
      {"zarr", "files.write_replaces_the_old_one_at_the_first_commit",
       "a store is put aside when another is begun", false},
      {"zarr", "files.a_stale_temporary_is_replaced", "a store is put aside when another is begun",
       false},
      {"zarr", "files.a_change_by_another_program_is_told_from_damage",
       "a changed chunk leaves the root document as it was", false},
      {"zarr", "files.aligned_to_stripes", "every step is a file of its own", false},
      {"zarr", "append.what_a_dead_run_left_behind_the_end_does_not_matter",
       "nothing can be appended to a folder", false},
      {"zarr", "strangers.what_another_program_added_does_not_disturb",
       "the file of the test is HDF5", false},
      {"zarr", "strangers.a_file_of_another_program_is_read_not_appended",
       "the file of the test is HDF5", false},
      {"zarr", "strangers.a_newer_major_version_is_refused", "the file of the test is HDF5", false},
      {"icechunk", "files.write_replaces_the_old_one_at_the_first_commit",
       "a store is put aside when another is begun", false},
      {"icechunk", "files.a_stale_temporary_is_replaced",
       "a store is put aside when another is begun", false},
      {"icechunk", "files.a_change_by_another_program_is_told_from_damage",
       "a changed chunk leaves the metadata as they were", false},
      {"icechunk", "strangers.a_file_cut_short_is_refused",
       "a ref is a line of text, and one that is cut leads nowhere", false},
      {"icechunk", "files.aligned_to_stripes", "every step is a file of its own", false},
      {"icechunk", "append.what_a_dead_run_left_behind_the_end_does_not_matter",
       "nothing can be appended to a folder", false},
      {"icechunk", "strangers.what_another_program_added_does_not_disturb",
       "the file of the test is HDF5", false},
      {"icechunk", "strangers.a_file_of_another_program_is_read_not_appended",
       "the file of the test is HDF5", false},
      {"icechunk", "strangers.a_newer_major_version_is_refused", "the file of the test is HDF5",
       false},
      {"records", "strangers.what_another_program_added_does_not_disturb",
       "no other program adds to a log", false},
      {"records", "strangers.a_file_of_another_program_is_read_not_appended",
       "the file of the test is HDF5", false},
      {"records", "strangers.a_newer_major_version_is_refused", "the file of the test is HDF5",
       false},
  };
  return all;
}

template <class Row>
bool has(const std::vector<Row>& rows, const std::string& layout, const std::string& behaviour) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.layout == layout && row.behaviour == behaviour;
  });
}

}  // namespace

void declare_unsupported(const Unsupported& row) { declared().push_back(row); }

std::span<const Unsupported> unsupported() {
  static const std::vector<Unsupported> all = [] {
    std::vector<Unsupported> rows = declared();
    for (const Need& need : needs()) {
      for (const layout::Format* format : layout::formats()) {
        if (!format->has_grammar && !need.has(*format) &&
            !has(rows, format->name, need.behaviour)) {
          rows.push_back({format->name, need.behaviour, need.reason, need.is_refused});
        }
      }
    }
    return rows;
  }();
  return all;
}

std::span<const UnsupportedCell> unsupported_cells() {
  static const std::map<std::string, const char*> reasons{
      {"hdf5-grouped", "each step would rewrite an index of all steps' groups"},
      {"vtkhdf", "VTK reads the steps of an array as one dataset of one file"},
      {"openpmd", "the groups of all iterations are in one file"},
      {"npy", "numpy opens one file: no index would open in it"},
      {"zarr", "a store is many files by itself"},
      {"icechunk", "a repository is many files by itself"},
      {"records", "its groups are one log: no index makes one of several"},
  };
  static const std::vector<UnsupportedCell> all = [] {
    std::vector<UnsupportedCell> cells;
    for (const layout::Format* format : layout::formats()) {
      for (const plan::Strategy* strategy : plan::strategies()) {
        if (strategy->group != nullptr && !format->index && !format->has_grammar) {
          const auto known = reasons.find(format->name);
          cells.push_back(
              {format->name, strategy->name,
               known == reasons.end() ? "no index makes one of several files" : known->second});
        }
      }
    }
    return cells;
  }();
  return all;
}

const UnsupportedCell* find_unsupported_cell(const std::string& layout,
                                             const std::string& strategy) {
  const auto all = unsupported_cells();
  const auto found = std::find_if(all.begin(), all.end(), [&](const UnsupportedCell& one) {
    return one.layout == layout && one.strategy == strategy;
  });
  return found == all.end() ? nullptr : &*found;
}

const Unsupported* find_unsupported(const std::string& layout, const std::string& behaviour) {
  const auto all = unsupported();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Unsupported& one) {
    return one.layout == layout && one.behaviour == behaviour;
  });
  return found == all.end() ? nullptr : &*found;
}

void run_behaviour(World& world, const std::string& behaviour, BehaviourBody body) {
  const Unsupported* declared = find_unsupported(world.cell().layout, behaviour);
  if (declared == nullptr) {
    body(world);
    return;
  }
  if (!declared->is_refused) {
    GTEST_SKIP() << declared->reason;
  }
  {
    // The behaviour cannot succeed, so its own failures do not count here.
    testing::TestPartResultArray complaints;
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &complaints);
    try {
      body(world);
    } catch (const Error&) {
      // the world has recorded what it was
    }
  }
  EXPECT_TRUE(world.has_refused()) << behaviour << " is declared unsupported in layout "
                                   << world.cell().layout << ", but nothing was refused";
}

}  // namespace sluice::test
