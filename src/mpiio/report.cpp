#include "mpiio/report.hpp"

#include <cstdlib>

namespace sluice::mpiio {

Report::Report() {
  const char* const word = std::getenv("SLUICE_EXPLAIN");
  is_said_ = word != nullptr && *word != '\0' && std::string(word) != "0";
  is_wanted_ = is_said_ || is_recording();
}

void Report::count(bool is_write, Way way, std::int64_t bytes, std::int64_t runs) {
  Count& count = (is_write ? written_ : read_)[static_cast<int>(way)];
  ++count.calls;
  count.bytes += bytes;
  count.runs += runs;
}

}  // namespace sluice::mpiio
