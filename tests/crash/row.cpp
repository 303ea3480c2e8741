#include "crash/row.hpp"

namespace sluice::test {

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"serial"},
      {"shared"},
      {"collective"},
      {"shared", "netcdf4"},
      {"shared", "hdf5", "grouped"},
      {"forward"},
      {"forward", "netcdf4"},
      {"shared", "records"},
      {"forward", "records"},
      {"shared", "zarr"},
      {"collective", "zarr"},
      {"forward", "zarr"},
      {"shared", "vtkhdf"},
      {"forward", "vtkhdf"},
      {.strategy = "forward", .compress = "deflate:1"},
      {"shared", "zarr", "rectilinear"},
      {.strategy = "collective", .format = "zarr", .form = "rectilinear", .compress = "deflate:1"},
      {"forward", "zarr", "rectilinear"},
      {"shared", "icechunk"},
      {.strategy = "collective", .format = "icechunk", .compress = "deflate:1"},
      {"forward", "icechunk"},
      {.strategy = "shared", .is_deferred = true},
      {.strategy = "forward", .is_deferred = true}};
  return all;
}

const std::vector<Row>& set_rows() {
  static const std::vector<Row> all{{"file-per-process"},
                                    {"file-per-node"},
                                    {.strategy = "shared", .keep = 2},
                                    {.strategy = "forward", .keep = 2},
                                    {.strategy = "shared", .split_steps = 2}};
  return all;
}

bool Row::is_set() const {
  return strategy.starts_with("file-per-") || keep != 0 || split_steps != 0;
}

std::string Row::title() const {
  if (is_set()) {
    return "set " + strategy + (keep != 0 ? " keep" : split_steps != 0 ? " split" : "");
  }
  return (form == "stacked" ? format : form) + " " + strategy +
         (compress.empty() ? "" : " encoded") + (is_deferred ? " deferred" : "");
}

std::string Row::kind() const {
  if (!is_set()) {
    return form == "stacked" ? format : form;
  }
  return keep != 0 ? "keep" : split_steps != 0 ? "split" : strategy;
}

Options Row::options() const {
  Options options;
  options.strategy = strategy;
  options.format = format;
  if (form == "rectilinear") {
    options.rectilinear = Rectilinear::always;
  } else {
    options.hdf5_layout = form;
  }
  options.keep_last = keep;
  options.split_steps = split_steps;
  options.apply_every_s = is_deferred ? 1e9 : 0;
  if (strategy == "collective" || strategy == "forward") {
    options.writers = 2;
    options.tile_bytes = 4096;
  } else if (strategy == "file-per-node") {
    options.writers = 2;
  }
  return options;
}

}  // namespace sluice::test
