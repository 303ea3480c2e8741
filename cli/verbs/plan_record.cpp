#include "verbs/plan_record.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sluice/error.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t most_bytes = 1ULL << 60;
constexpr std::size_t most_kinds = 128;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(Code::invalid_argument, printable(name) + ": " + why);
}

std::uint64_t count_of(const Json& object, const char* key, std::uint64_t least,
                       std::uint64_t most) {
  const std::uint64_t number = object.at(key).get<std::uint64_t>();
  if (!object.at(key).is_number_unsigned() || number < least || number > most) {
    throw Error(Code::invalid_argument, std::string(key) + " is out of range");
  }
  return number;
}

std::uint64_t written_bytes(const Json& series) {
  std::uint64_t bytes = 0;
  for (const Json& kind : series.at("collective_writes")) {
    bytes += count_of(kind, "bytes", 0, most_bytes / most_kinds);
  }
  return bytes;
}

/// What all ranks write of a kind at each step. Interleaved: rows of which every rank has one run;
/// else one row, of which every rank has one part.
sim::Variable variable_of(const Json& kind, std::uint64_t ranks, std::uint64_t steps) {
  const std::uint64_t run = count_of(kind, "mean_run_bytes", 1, most_bytes);
  const std::uint64_t of_rank =
      std::max<std::uint64_t>(1, count_of(kind, "bytes", 1, most_bytes) / steps / ranks);
  const std::uint64_t rows =
      kind.at("interleaved").get<bool>() ? std::max<std::uint64_t>(1, of_rank / run) : 1;
  return {{rows, of_rank / rows * ranks}, 1, true};
}

Recorded recorded(const Json& series) {
  Recorded result;
  const std::uint64_t ranks = count_of(series, "ranks", 1, most_planned_ranks);
  const std::uint64_t steps = count_of(series, "steps", 1, most_bytes);
  result.job.ranks = static_cast<int>(ranks);
  result.job.cut = sim::Cut::columns;
  std::string kinds;
  for (const Json& kind : series.at("collective_writes")) {
    if (result.job.variables.size() == most_kinds) {
      throw Error(Code::invalid_argument, "has too many kinds of writes");
    }
    result.job.variables.push_back(variable_of(kind, ranks, steps));
    kinds += fmt::format("{}runs of {}{}", kinds.empty() ? "" : ", ",
                         bytes_text(count_of(kind, "mean_run_bytes", 1, most_bytes)),
                         kind.at("interleaved").get<bool>() ? " interleaved" : "");
  }
  const double outside_s = series.at("open_s").get<double>() - series.at("write_s").get<double>();
  result.period_s = std::max(0.0, outside_s / static_cast<double>(steps));
  result.about = fmt::format("{}: {} ranks wrote {} in {} steps ({})",
                             printable(series.at("path").get<std::string>()), ranks,
                             bytes_text(written_bytes(series)), steps, kinds);
  const std::uint64_t alone = count_of(series, "independent_write_bytes", 0, most_bytes);
  if (alone > 0) {
    result.left_out = fmt::format("left out: {} by {} independent writes", bytes_text(alone),
                                  count_of(series, "independent_write_calls", 0, most_bytes));
  }
  return result;
}

}  // namespace

Recorded read_record(const std::string& text, const std::string& name) {
  try {
    const Json json = Json::parse(text);
    if (count_of(json, "sluice_mpiio_record", 1, 1) != 1) {
      refuse(name, "is no record of MPI-IO");
    }
    const Json* most = nullptr;
    for (const Json& series : json.at("series")) {
      if (written_bytes(series) > (most == nullptr ? 0 : written_bytes(*most))) {
        most = &series;
      }
    }
    if (most == nullptr) {
      refuse(name, "no file of it was written by collective calls");
    }
    return recorded(*most);
  } catch (const nlohmann::json::exception&) {
    refuse(name, "is no record of MPI-IO (SLUICE_MPIIO_RECORD writes one)");
  } catch (const Error& e) {
    if (std::string(e.what()).find(printable(name)) != std::string::npos) {
      throw;
    }
    refuse(name, e.what());
  }
}

}  // namespace sluice::cli
