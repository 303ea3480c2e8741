// stats: computes observables of a file of records with particles. On all ranks.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "exec/transport/agree.hpp"
#include "help.hpp"
#include "model/bytes.hpp"
#include "records/record_lines.hpp"
#include "sluice/error.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using dialect::lines::Line;
using dialect::lines::Scalar;
using Json = nlohmann::ordered_json;

struct StatsVerb {
  std::string file;
  std::string axis = "z";
  int bins = 10;
  bool json = false;
};

constexpr int most_types = 64;
constexpr int most_bins = 10000;
/// Molecules of this many particles and more are counted together.
constexpr std::size_t longest_chain = 1024;

/// Molecules of one length.
struct Chains {
  std::int64_t molecules = 0;
  double gyration = 0;  ///< the sum of Rg squared
};

/// Sums of reals, added up part by part in the order of the parts, whichever rank reads them: the
/// same digits on any number of ranks.
struct PartSums {
  std::map<std::string, double> totals;  ///< in files with one line for each part
  std::map<std::size_t, Chains> chains;  ///< by length

  void write_to(model::ByteWriter& out) const;
  /// Adds what a part of the same file wrote.
  void add(model::ByteReader& in);
};

void PartSums::write_to(model::ByteWriter& out) const {
  for (const auto& [name, value] : totals) {
    out.put(value);
  }
  out.put(chains.size());
  for (const auto& [length, sums] : chains) {
    out.put(length);
    out.put(sums);
  }
}

void PartSums::add(model::ByteReader& in) {
  for (auto& [name, value] : totals) {
    value += in.get<double>();
  }
  for (auto left = in.get<std::size_t>(); left != 0; --left) {
    Chains& mine = chains[in.get<std::size_t>()];
    const auto theirs = in.get<Chains>();
    mine.molecules += theirs.molecules;
    mine.gyration += theirs.gyration;
  }
}

/// For one group: what this rank read; after share(), on rank 0, the total.
struct Sums {
  double step = 0;
  double time_ps = 0;
  std::array<double, 3> box_nm{};
  std::vector<std::int64_t> profile;  ///< by type and bin: particles
  std::int64_t without_place = 0;     ///< particles whose position is no number
  std::int64_t of_other_types = 0;    ///< particles of types that have no profile
  PartSums parts;
};

/// A molecule whose particles are being read, relative to its first one.
struct Chain {
  std::array<double, 3> first{};
  std::array<double, 3> sum{};
  double squares = 0;
  std::size_t particles = 0;
  std::size_t wanted = 0;

  void begin(std::int64_t length) {
    *this = {};
    wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, length));
  }
  void add(const double* x_nm) {
    for (std::size_t d = 0; d < 3; ++d) {
      first[d] = particles == 0 ? x_nm[d] : first[d];
      sum[d] += x_nm[d] - first[d];
      squares += (x_nm[d] - first[d]) * (x_nm[d] - first[d]);
    }
    ++particles;
  }
  /// Mean square distance from the centre.
  double gyration() const {
    const auto n = static_cast<double>(particles);
    double of_centre = 0;
    for (const double s : sum) {
      of_centre += s * s / (n * n);
    }
    return squares / n - of_centre;
  }
};

class Reader {
 public:
  Reader(const StatsVerb& verb, const RecordLines& lines)
      : axis_(verb.axis == "x"   ? 0
              : verb.axis == "y" ? 1
                                 : 2),
        bins_(verb.bins) {
    is_totals_ = lines.layout().lines.size() == 1;
    if (is_totals_) {
      // The same names on every rank, including those without parts.
      const Line& line = lines.layout().lines[0];
      take_totals(line, std::vector<Scalar>(line.types.size()));
    }
    none_ = sums_.parts;
    sums_.profile.resize(static_cast<std::size_t>(most_types) * static_cast<std::size_t>(bins_));
  }
  void take(const Line& line, const std::vector<Scalar>& values) {
    take_head(line, values);
    if (is_totals_) {
      take_totals(line, values);
    }
    if (line.find("molecule") != Line::npos) {
      chain_.begin(values.back().integer);
    }
    if (const std::size_t at = line.find("position_nm"); at != Line::npos) {
      take_particle(line, values, at);
    }
  }
  void end_part() {
    sums_.parts.write_to(told_);
    sums_.parts = none_;
    chain_ = {};
  }
  /// Collective. The sums of all parts, complete on rank 0. Ends the reading.
  Sums share(exec::Transport& transport, bool has_parts);

 private:
  void take_head(const Line& line, const std::vector<Scalar>& values) {
    if (const std::size_t at = line.find("step"); at != Line::npos) {
      sums_.step = static_cast<double>(values[at].integer);
    }
    if (const std::size_t at = line.find("time_ps"); at != Line::npos) {
      sums_.time_ps = values[at].real;
    }
    if (const std::size_t at = line.find("box_nm"); at != Line::npos) {
      for (std::size_t d = 0; d < 3; ++d) {
        sums_.box_nm[d] = values[at + d].real;
      }
    }
  }
  void take_totals(const Line& line, const std::vector<Scalar>& values) {
    std::size_t at = 0;
    for (const auto& field : line.fields) {
      const bool is_sum = field.name != "step" && field.name != "time_ps";
      for (std::uint32_t i = 0; i < field.count; ++i, ++at) {
        const Scalar& value = values[at];
        const std::string name =
            field.count == 1 ? field.name : fmt::format("{}[{}]", field.name, i);
        if (is_sum) {
          sums_.parts.totals[name] += value.real + static_cast<double>(value.integer);
        }
      }
    }
  }
  void take_particle(const Line& line, const std::vector<Scalar>& values, std::size_t at) {
    const std::size_t type_at = line.find("type");
    const std::int64_t type = type_at == Line::npos ? 1 : values[type_at].integer;
    const double edge = sums_.box_nm[axis_];
    const std::array<double, 3> x = {values[at].real, values[at + 1].real, values[at + 2].real};
    if (edge <= 0) {
      // A box that is not there.
    } else if (type < 1 || type > most_types) {
      ++sums_.of_other_types;
    } else {
      count_at(static_cast<std::size_t>(type - 1), std::isfinite(edge) ? x[axis_] / edge : edge);
    }
    if (chain_.wanted == 0) {
      return;
    }
    chain_.add(x.data());
    if (chain_.particles == chain_.wanted) {
      Chains& alike = sums_.parts.chains[std::min(chain_.wanted, longest_chain)];
      ++alike.molecules;
      alike.gyration += chain_.gyration();
      chain_.begin(0);
    }
  }

  /// A particle at `edges` lengths of the box, which is periodic.
  void count_at(std::size_t type, double edges) {
    const double place = edges - std::floor(edges);
    if (!std::isfinite(place)) {
      ++sums_.without_place;
      return;
    }
    const int bin = std::clamp(static_cast<int>(place * bins_), 0, bins_ - 1);
    sums_.profile[type * static_cast<std::size_t>(bins_) + static_cast<std::size_t>(bin)] += 1;
  }

  std::size_t axis_;
  int bins_;
  bool is_totals_ = false;
  Chain chain_;
  Sums sums_;
  PartSums none_;           ///< its names, all 0
  model::ByteWriter told_;  ///< of the parts that ended
};

Sums Reader::share(exec::Transport& transport, bool has_parts) {
  std::array<double*, 5> heads = {&sums_.step, &sums_.time_ps, &sums_.box_nm[0], &sums_.box_nm[1],
                                  &sums_.box_nm[2]};
  for (double* head : heads) {
    // All parts tell the same. Ranks without parts have the least there is.
    auto bits =
        has_parts ? std::bit_cast<std::int64_t>(*head) : std::numeric_limits<std::int64_t>::min();
    transport.allreduce({&bits, 1}, exec::Op::max);
    *head = std::bit_cast<double>(bits);
  }
  transport.allreduce(sums_.profile, exec::Op::sum);
  transport.allreduce({&sums_.without_place, 1}, exec::Op::sum);
  transport.allreduce({&sums_.of_other_types, 1}, exec::Op::sum);
  for (const auto& told : transport.gather(told_.take(), 0)) {
    model::ByteReader in(told);
    while (!in.at_end()) {
      sums_.parts.add(in);
    }
  }
  return std::move(sums_);
}

Json describe(const StatsVerb& verb, const Sums& sums) {
  Json json{{"step", sums.step}, {"time_ps", sums.time_ps}};
  if (!sums.parts.totals.empty()) {
    Json totals;
    for (const auto& [name, value] : sums.parts.totals) {
      totals[name] = value;
    }
    json["totals"] = std::move(totals);
  }
  const double slice = sums.box_nm[0] * sums.box_nm[1] * sums.box_nm[2] / verb.bins;
  Json profiles = Json::object();
  for (int type = 0; type < most_types; ++type) {
    Json profile;
    std::int64_t particles = 0;
    for (int bin = 0; bin < verb.bins; ++bin) {
      const std::int64_t count =
          sums.profile[static_cast<std::size_t>(type) * static_cast<std::size_t>(verb.bins) +
                       static_cast<std::size_t>(bin)];
      particles += count;
      profile.push_back(static_cast<double>(count) / slice);
    }
    if (particles > 0) {
      profiles[std::to_string(type + 1)] = std::move(profile);
    }
  }
  if (!profiles.empty()) {
    json["density_nm3"] = std::move(profiles);
  }
  if (sums.without_place != 0) {
    json["without_place"] = sums.without_place;
  }
  if (sums.of_other_types != 0) {
    json["of_other_types"] = sums.of_other_types;
  }
  Json chains = Json::array();
  for (const auto& [length, alike] : sums.parts.chains) {
    if (length >= 2) {
      const double mean = alike.gyration / static_cast<double>(alike.molecules);
      chains.push_back({{"particles", length},
                        {"molecules", alike.molecules},
                        {"gyration_nm", std::sqrt(mean)}});
    }
  }
  if (!chains.empty()) {
    json["chains"] = std::move(chains);
  }
  return json;
}

void print_group(const StatsVerb& verb, const Json& group, std::uint64_t number) {
  tell("group {}: step {:.0f}, {} ps\n", number, group["step"].get<double>(),
       number_text(group["time_ps"].get<double>()));
  if (group.contains("totals")) {
    Table table({"", ">sum of all parts"});
    for (const auto& [name, value] : group["totals"].items()) {
      table.add({printable(name), number_text(value.get<double>())});
    }
    tell("{}", table.text(2));
  }
  if (group.contains("density_nm3")) {
    Table table({"type", ">particles in nm^3, by " + verb.axis});
    for (const auto& [type, profile] : group["density_nm3"].items()) {
      std::string row;
      for (const auto& value : profile) {
        row += fmt::format("{:9.4f}", value.get<double>());
      }
      table.add({type, row});
    }
    tell("{}", table.text(2));
  }
  if (group.contains("without_place")) {
    tell("  {} without a place: the position or the box is no finite number\n",
         count_text(group["without_place"].get<std::uint64_t>(), "particle"));
  }
  if (group.contains("of_other_types")) {
    tell("  {} of types that are not 1 to {}: not in the densities\n",
         count_text(group["of_other_types"].get<std::uint64_t>(), "particle"), most_types);
  }
  if (group.contains("chains")) {
    Table table({">particles", ">molecules", ">radius of gyration in nm"});
    for (const auto& chain : group["chains"]) {
      table.add({fmt::format("{}", chain["particles"].get<int>()),
                 fmt::format("{}", chain["molecules"].get<std::int64_t>()),
                 fmt::format("{:.4f}", chain["gyration_nm"].get<double>())});
    }
    tell("{}", table.text(2));
  }
}

int stats(const Context& context, const StatsVerb& verb) {
  if (verb.bins < 1 || verb.bins > most_bins) {
    throw Error(Code::invalid_argument, "--bins: 1 to " + std::to_string(most_bins));
  }
  RecordLines lines(context, verb.file);
  dialect::lines::require_particle_fields(lines.layout());
  Json all = Json::array();
  for (std::uint64_t g = 0; g < lines.groups(); ++g) {
    lines.fetch(g);
    Reader reader(verb, lines);
    exec::together(context.transport, [&] {
      for (std::size_t i = 0; i < lines.own().size(); ++i) {
        lines.read(i, [&](const Line& line, const std::vector<Scalar>& values) {
          reader.take(line, values);
        });
        reader.end_part();
      }
    });
    const Sums sums = reader.share(context.transport, !lines.own().empty());
    if (!context.is_root()) {
      continue;
    }
    Json group = describe(verb, sums);
    if (verb.json) {
      all.push_back(std::move(group));
    } else {
      print_group(verb, group, g);
    }
  }
  if (context.is_root() && verb.json) {
    show_json(all);
  }
  return fine;
}

}  // namespace

void add_stats(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<StatsVerb>();
  CLI::App* command =
      add_verb(app, "stats", "compute observables of records with particles",
               "For every record group of FILE, whose template (docs/formats/records.md) names\n"
               "the values: density profiles by type (position_nm, box_nm), radii of gyration\n"
               "by length (lines that belong to one with `molecule`), and for files with one\n"
               "line a part the sums over all parts, such as energies. Memory: one group,\n"
               "shared by the processes.\n"
               "Exit code: 0 done, 1 FILE is damaged, 2 bad input.\n",
               R"help(
Examples:
  sluice stats energies
  sluice stats traj --bins 20 --axis x --json
  mpirun -n 8 sluice stats conf)help");
  command->group(tools_of_codes);
  command->add_option("FILE", verb->file, "a file of records")->required();
  command->add_option("--bins", verb->bins, "slices of the box (10)");
  command->add_option("--axis", verb->axis, "x, y or z (z)")->check(CLI::IsMember({"x", "y", "z"}));
  command->add_flag("--json", verb->json, "print JSON");
  command->callback([&run, verb] {
    run =
        with_truncated_as_damage([verb](const Context& context) { return stats(context, *verb); });
  });
}

}  // namespace sluice::cli
