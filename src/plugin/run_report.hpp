// How `sluice run` learns that the driver was loaded in what it started: in the program itself or
// in one below it, for however short a time.
#pragma once

#include "storage/storage.hpp"

namespace sluice::plugin {

/// The environment variable that names the file of the report.
inline constexpr const char* report_variable = "SLUICE_RUN_REPORT";
/// Its one byte.
inline constexpr char not_loaded = '0';
inline constexpr char loaded = '1';

/// Says that an HDF5 loaded the driver, if the file is there. It is not on other nodes, and no more
/// after the end of the run.
void report_to_run(storage::Storage& storage) noexcept;

}  // namespace sluice::plugin
