#include "plugin/refused_flushes.hpp"

#include "storage/endings.hpp"
#include "storage/named_file.hpp"

namespace sluice::plugin {

void require_sound_data(const std::string& path, bool has_failed_half_way, bool has_lost_data,
                        const LostWrites& lost) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::wrong_state, path + ": " + why);
  };
  if (has_failed_half_way) {
    refuse(
        "an earlier flush failed half-way: close the file and open it again to go on; it holds the "
        "last flush");
  }
  if (has_lost_data) {
    refuse(
        "data was lost when a sync of it failed: close the file, open it again and write what came "
        "after the last flush anew");
  }
  if (!lost.is_empty()) {
    refuse(lost.text() +
           " could not be written: write them again, or close the file; it holds the last flush");
  }
}

Error no_memory_error(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  return {Code::over_budget, path + ": there is no memory to hold " + std::to_string(length) +
                                 " bytes at offset " + std::to_string(offset) +
                                 " until the next flush: flush more often, or set a smaller "
                                 "budget_bytes in HDF5_DRIVER_CONFIG, and write them again"};
}

Error not_in_place_yet_error(const std::string& path) {
  return {Code::io, path +
                        ": the flush before this one is not in place yet: recovery, or the next "
                        "flush, will do it"};
}

Error not_in_place_error(const std::string& path) {
  return {Code::io, path +
                        ": the last flush is durable, but not in place: opening the file for "
                        "writing, or sluice recover, will do it; until then programs without the "
                        "driver cannot read it"};
}

Error moved_error(const std::string& path) {
  return storage::moved_error(
      path, ". If there is " + storage::journal_path(path) +
                " after the close, give it the new name of the file as well, and run sluice "
                "recover");
}

}  // namespace sluice::plugin
