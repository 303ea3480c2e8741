// The dimensions of a file being planned: their scales, always in netCDF-4, in other files if the
// caller names dimensions; and the library's own `time`, the scale of the steps' dimension. Files
// whose steps have groups have neither.
//
// Invariant: every dimension of a variable has its scale from the commit on that creates the
// variable, or none of its dimensions has one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "layout/hdf5/dataset_maker.hpp"
#include "layout/hdf5/scales.hpp"

namespace sluice::layout::hdf5 {

class PlannedDimensions {
 public:
  PlannedDimensions(PlannedFile& file, PlannedVariables& variables, DatasetMaker& datasets,
                    Scales& scales)
      : file_(file), variables_(variables), datasets_(datasets), scales_(scales) {}

  /// Reads the scales of a file that was opened.
  void load();
  void close() noexcept { time_.reset(); }

  /// Creates the dataset of a variable, and scales of its dimensions. `places_now`: its values come
  /// with this commit.
  void make(std::uint32_t variable, const model::Dims& tile, bool places_now);

  /// Is there the library's own `time`?
  bool has_time() const noexcept { return has_time_; }
  void restore_time(bool has_time) noexcept { has_time_ = has_time; }
  /// Creates `time`, where the step needs it as a scale of variables that it creates.
  void prepare_time(double time);
  /// `time`: of the step, which is the last one; NaN: it has none.
  void append_time(std::uint64_t step, double time);
  /// Drops those of steps from number `steps` on.
  void drop_times(std::uint64_t steps);

 private:
  bool is_netcdf() const { return file_.profile() == Profile::netcdf4; }
  /// Does the time of a step go to the library's own `time`?
  bool keeps_time(double time) const;
  void make_time();
  /// Is the name of a dimension without a scale that of another object: a group, or what another
  /// program has put there?
  bool is_name_of_another(const netcdf4::Use& use) const;
  /// Attaches scales to the dimensions of a variable that was just created.
  void attach(std::uint32_t variable);
  void make_scale(const netcdf4::Use& use);
  /// Where scales are optional: makes way for a dataset with the name of a dimension without
  /// coordinates.
  void replace_scale(const std::string& name, const std::function<void()>& make_dataset);

  PlannedFile& file_;
  PlannedVariables& variables_;
  DatasetMaker& datasets_;
  Scales& scales_;
  Handle time_;
  bool has_time_ = false;
};

}  // namespace sluice::layout::hdf5
