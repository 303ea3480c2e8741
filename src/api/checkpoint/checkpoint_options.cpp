#include "api/checkpoint/checkpoint_options.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "codec/plugins.hpp"
#include "codec/quantise.hpp"
#include "layout/formats/formats.hpp"
#include "sluice/error.hpp"

namespace sluice::detail {

OpenRequest request_of(const std::string& path, const CheckpointOptions& options) {
  std::vector<std::string> own{"keep_last", "parts_dir", "restart_after", "split_bytes",
                               "split_steps"};
  if (!options.scratch.empty()) {
    own.emplace_back("strategy");
  }
  return {path, "for checkpoints", std::move(own)};
}

void check_options(const std::string& path, const CheckpointOptions& options) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument, path + ": checkpoint: " + why);
  };
  if (options.file.keep_last != 0 || options.file.restart_after >= 0) {
    refuse("keep_last and restart_after belong to the checkpoint itself: use its own keep");
  }
  for (const double seconds : {options.interval_s, options.failure_interval_s, options.margin_s}) {
    if (!(seconds >= 0) || !std::isfinite(seconds)) {
      refuse("interval_s, failure_interval_s and margin_s are seconds, 0 or more");
    }
  }
  if (!std::isfinite(options.end_time_s)) {
    refuse("end_time_s counts seconds since 1970");
  }
  if (options.incremental && options.keep == 0) {
    refuse("incremental needs keep: where every checkpoint stays, all are in one file");
  }
  if (options.incremental && (options.file.split_steps != 0 || options.file.split_bytes != 0)) {
    refuse(
        "incremental gives each checkpoint parts of its own: leave split_steps and "
        "split_bytes out");
  }
  const std::string& compress = options.file.compress;
  if (codec::parse_compression(compress).rounding ||
      codec::is_lossy(codec::parse_pipeline(compress, 1))) {
    refuse("compress \"" + compress + "\" rounds: a restart needs every bit");
  }
}

const layout::Format& format_for(const std::string& path, const CheckpointOptions& options,
                                 storage::Storage& storage) {
  constexpr const char* keep_all = "keep = 0 (in C SLUICE_KEEP_ALL)";
  const layout::Format& format = layout::format_of(path, options.file);
  const std::string what = path + ": checkpoint: format " + format.name;
  if (!format.is_store() && storage.whole_files(path) != nullptr) {
    throw Error(Code::unsupported,
                what +
                    " is one file that is changed in place, and an object store takes whole "
                    "objects: use format zarr with " +
                    keep_all + ", or a file system");
  }
  if (options.keep != 0 && !format.index) {
    throw Error(Code::unsupported,
                what + " has no index over several files, so old checkpoints cannot be removed: " +
                    keep_all + " keeps all, or use format " + layout::formats().front()->option);
  }
  return format;
}

}  // namespace sluice::detail
