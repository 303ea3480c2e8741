#include "support/unsupported.hpp"

#include <algorithm>
#include <gtest/gtest-spi.h>
#include <vector>

#include "support/world.hpp"

namespace sluice::test {

std::span<const Unsupported> unsupported() {
  static const std::vector<Unsupported> all{
      {"hdf5-grouped", "shapes.chunks_of_the_callers_choice", "each step is one piece"},
      {"netcdf4", "types.complex_numbers", "netCDF has no complex numbers"},
      {"netcdf4", "conversions.complex_widens_and_narrows", "netCDF has no complex numbers"},
      {"npy", "shapes.chunks_of_the_callers_choice", "each step is one piece"},
      {"npy", "types.all_in_one_file_and_step", "holds one variable"},
      {"npy", "attributes.names_of_groups_and_variables", "holds one variable"},
      {"npy", "attributes.two_hundred_variables", "holds one variable"},
      {"npy", "steps.fixed_variables_come_before_between_and_in_them", "holds one variable"},
      {"npy", "steps.variables_defined_later", "holds one variable"},
      {"npy", "steps.a_failed_one_leaves_nothing_in_the_holes_of_the_next", "holds one variable"},
      {"npy", "append.new_variables_and_attributes", "holds one variable", false},
      {"npy", "errors.a_name_on_the_way_to_another", "holds one variable"},
      {"npy", "errors.ranks_that_get_different_things", "holds one variable"},
      {"npy", "steps.a_file_without_definitions", "a file is an array: there is none without"},
      {"npy", "errors.a_name_that_is_not_in_the_file",
       "holds no names: its array answers to every one", false},
      {"npy", "attributes.of_every_kind_on_every_owner", "holds no attributes"},
      {"npy", "attributes.unit_and_description_of_a_variable", "holds no attributes"},
      {"npy", "attributes.may_be_replaced_and_come_late", "holds no attributes"},
      {"npy", "attributes.of_a_failed_step_come_with_the_next", "holds no attributes"},
      {"npy", "divergence.of_attributes", "holds no attributes"},
      {"npy", "steps.times_where_given", "holds no times"},
      {"npy", "steps.a_variable_of_the_callers_may_be_called_time", "holds no times"},
      {"npy", "files.a_changed_byte_is_found", "holds no checksums", false},
      {"npy", "files.a_change_by_another_program_is_told_from_damage", "holds no checksums", false},
      {"npy", "files.aligned_to_stripes", "numpy fixes where every element is", false},
      {"npy", "strangers.what_another_program_added_does_not_disturb",
       "another program cannot add to an array", false},
      {"npy", "strangers.a_file_of_another_program_is_read_not_appended",
       "the file of the test is HDF5", false},
      {"zarr", "types.strings", "holds no text in variables"},
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
      {"records", "shapes.chunks_of_the_callers_choice", "each step is one piece"},
      {"records", "strangers.what_another_program_added_does_not_disturb",
       "no other program adds to a log", false},
      {"records", "strangers.a_file_of_another_program_is_read_not_appended",
       "the file of the test is HDF5", false},
      {"records", "strangers.a_newer_major_version_is_refused", "the file of the test is HDF5",
       false},
  };
  return all;
}

std::span<const UnsupportedCell> unsupported_cells() {
  static constexpr const char* no_index = "numpy opens one file: no index would open in it";
  static constexpr const char* long_index = "each step would rewrite an index of all steps' groups";
  static constexpr const char* many_files = "a store is many files by itself";
  static constexpr const char* one_log = "its groups are one log: no index makes one of several";
  static const std::vector<UnsupportedCell> all{
      {"hdf5-grouped", "file-per-process", long_index},
      {"hdf5-grouped", "file-per-node", long_index},
      {"npy", "file-per-process", no_index},
      {"npy", "file-per-node", no_index},
      {"zarr", "file-per-process", many_files},
      {"zarr", "file-per-node", many_files},
      {"records", "file-per-process", one_log},
      {"records", "file-per-node", one_log},
  };
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
    // What the behaviour expects cannot be, so its own complaints do not count here.
    testing::TestPartResultArray complaints;
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &complaints);
    try {
      body(world);
    } catch (const Error&) {
      // the world has noted what it was
    }
  }
  EXPECT_TRUE(world.has_refused()) << behaviour << " is declared unsupported in layout "
                                   << world.cell().layout << ", but nothing was refused";
}

}  // namespace sluice::test
