#include "commit/tools/verify_parts.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "commit/tools/record_feed.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/catalog.hpp"
#include "layout/formats/formats.hpp"
#include "storage/self_storage.hpp"

namespace sluice::commit {

using layout::Part;
using layout::PartSet;

namespace {

constexpr std::uint64_t orders_per_part = 1ULL << 40;

class PartsVerifier {
 public:
  PartsVerifier(exec::Transport& transport, storage::Storage& storage, Input& input,
                const VerifyPart& verify_part, const VerifyProgress& progress)
      : transport_(transport),
        alone_(exec::make_solo()),
        storage_(storage::make_self_storage(storage)),
        input_(input),
        set_(*input.set()),
        verify_part_(verify_part),
        progress_(progress),
        is_shared_(set_.parts.size() >= static_cast<std::size_t>(transport.size())) {
    for (const Part& part : set_.parts) {
      total_bytes_ += part.bytes;
    }
  }

  Verdict run() {
    check_log();
    check_times();
    check_mappings();
    check_scalars();
    exec::together(transport_, [&] {
      for (std::size_t p = 0; p < set_.parts.size(); ++p) {
        if (is_shared_ && p % static_cast<std::size_t>(transport_.size()) !=
                              static_cast<std::size_t>(transport_.rank())) {
          continue;
        }
        check_part(p);
      }
    });
    return together();
  }

 private:
  void check_log();
  void check_times();
  void check_scalars();
  void check_mappings();
  std::uint64_t steps_in(const layout::Mapping& mapping) const;
  bool is_mapped(std::uint32_t variable) const;
  UnitVolumes volumes_in(std::size_t part) const;
  void check_part(std::size_t part);
  void add(const Verdict& verdict, std::size_t part);
  std::uint64_t step_of(std::size_t part, const Finding& finding) const;
  Verdict together();

  exec::Transport& transport_;
  std::unique_ptr<exec::Transport> alone_;
  std::unique_ptr<storage::Storage> storage_;
  Input& input_;
  const PartSet& set_;
  const VerifyPart& verify_part_;
  const VerifyProgress& progress_;
  bool is_shared_;  ///< does each rank verify other parts than the others?
  std::uint64_t total_bytes_ = 0;
  std::uint64_t passed_bytes_ = 0;  ///< parts that this rank has finished
  Findings findings_;
  Verdict mine_;  ///< without findings
  bool modified_ = false;
};

/// Each part has a log of its own, and the index one over all.
void PartsVerifier::check_log() {
  const auto& commits = input_.commits();
  for (std::size_t c = 0; c < commits.size() && transport_.rank() == 0; ++c) {
    if (commits[c].is_intact == 0) {
      findings_.add(damaged_row(0, c));
    }
  }
}

/// Times and scalars are the only values of the index itself. The times are in its log too.
void PartsVerifier::check_times() {
  const auto& variables = input_.variables();
  for (std::uint32_t v = 0; v < variables.size(); ++v) {
    const model::Definition& definition = variables[v].definition;
    if (definition.name != layout::time_name || variables[v].number_in_set ||
        definition.type.kind != Kind::f64 || definition.shape.rank() != 1) {
      continue;
    }
    // A damaged index may claim any extent.
    std::vector<double> times(std::min(definition.shape[0], input_.steps()));
    const model::Box there{{0}, {times.size()}};
    input_.get(
        dense_request(v, 0, there, reinterpret_cast<std::byte*>(times.data()), definition.type));
    for (std::uint64_t step = 0; step < input_.steps() && transport_.rank() == 0; ++step) {
      const double told = input_.time(step);
      const bool is_same = step < times.size() && std::bit_cast<std::uint64_t>(times[step]) ==
                                                      std::bit_cast<std::uint64_t>(told);
      if (!is_same) {
        findings_.add({0, definition.name, step, "", "differs from the committed time"});
      }
    }
  }
}

/// Steps that the index does not have are in no part.
void PartsVerifier::check_mappings() {
  for (const layout::Mapping& mapping : input_.parts()->mappings()) {
    const layout::SetVariable& variable = set_.variables[mapping.variable];
    if (transport_.rank() == 0 && variable.stepped && steps_in(mapping) != mapping.steps) {
      findings_.add({0, variable.name, Finding::no_step, "",
                     "has a place for " + std::to_string(mapping.steps) + " steps from " +
                         std::to_string(mapping.first_step) + " on, and the set has " +
                         std::to_string(input_.steps())});
    }
  }
}

std::uint64_t PartsVerifier::steps_in(const layout::Mapping& mapping) const {
  const std::uint64_t steps = input_.steps();
  return std::min(mapping.steps, steps - std::min(steps, mapping.first_step));
}

/// A scalar in the index is a copy of the one in a part.
void PartsVerifier::check_scalars() {
  const auto& variables = input_.variables();
  std::unique_ptr<storage::File> file;
  std::unique_ptr<layout::Catalog> catalog;
  exec::on_root(transport_, [&] {
    file = storage_->open(input_.path(), storage::Access::read);
    catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
  });
  // On rank 0, while the others go on.
  std::exception_ptr failure = exec::failure_of([&] {
    for (const auto& [owner, what] :
         catalog ? catalog->departures(catalog->attributes()) : std::vector<layout::Departure>{}) {
      findings_.add({0, owner, Finding::no_step, "", what});
    }
  });
  for (std::uint32_t v = 0; v < variables.size(); ++v) {
    const model::Definition& definition = variables[v].definition;
    if (definition.stepped || !definition.shape.empty() || !is_mapped(v)) {
      continue;
    }
    std::vector<std::byte> original(definition.type.bytes);
    input_.get(dense_request(v, 0, {}, original.data(), definition.type));
    std::vector<std::byte> copy(definition.type.bytes);
    for (std::uint32_t c = 0; catalog && c < catalog->variables().size(); ++c) {
      if (catalog->variables()[c].definition.name == definition.name) {
        failure = failure ? failure : exec::failure_of([&] { catalog->read(c, 0, {}, copy); });
      }
    }
    if (catalog && !failure && copy != original) {
      findings_.add({0, definition.name, Finding::no_step, "",
                     "has different values in the index and in its part"});
    }
  }
  exec::agree(transport_, failure);
}

bool PartsVerifier::is_mapped(std::uint32_t variable) const {
  const auto& number = input_.variables()[variable].number_in_set;
  const MappingList& mappings = input_.parts()->mappings();
  std::size_t m = 0;
  while (number && m < mappings.size() && mappings.variable(m) != *number) {
    ++m;
  }
  return number && m < mappings.size();
}

/// Several steps may refer to one row: one of them says what it holds.
UnitVolumes PartsVerifier::volumes_in(std::size_t part) const {
  UnitVolumes volumes;
  std::map<UnitVolumes::key_type, std::uint64_t> steps;  // that say so
  for (const layout::Mapping& mapping : input_.parts()->mappings()) {
    if (mapping.part != part || !set_.variables[mapping.variable].stepped) {
      continue;
    }
    const std::uint64_t steps_there = steps_in(mapping);
    for (std::uint64_t s = 0; s < steps_there; ++s) {
      const UnitVolumes::key_type row{set_.datasets[mapping.dataset], mapping.first_row + s};
      const auto [known, is_first] = steps.try_emplace(row, mapping.first_step + s);
      if (known->second == mapping.first_step + s) {
        volumes[row] += mapping.box.volume();
      }
    }
  }
  return volumes;
}

void PartsVerifier::check_part(std::size_t part) {
  const Part& known = set_.parts[part];
  const auto ranks = is_shared_ ? static_cast<std::uint64_t>(transport_.size()) : 1;
  const VerifyProgress within = [&](std::uint64_t done, std::uint64_t total) {
    if (progress_ && total != 0) {
      // Bytes of data represent those of the file.
      const double share = static_cast<double>(done) / static_cast<double>(total);
      const auto now = static_cast<std::uint64_t>(share * static_cast<double>(known.bytes));
      progress_(std::min(total_bytes_, (passed_bytes_ + now) * ranks), total_bytes_);
    }
  };
  add(verify_part_(is_shared_ ? *alone_ : transport_, *storage_,
                   layout::part_path(input_.path(), known.path), volumes_in(part), within),
      part);
  passed_bytes_ += known.bytes;
}

std::uint64_t PartsVerifier::step_of(std::size_t part, const Finding& finding) const {
  for (const layout::Mapping& mapping : input_.parts()->mappings()) {
    if (mapping.part == part && set_.datasets[mapping.dataset] == finding.variable &&
        finding.step >= mapping.first_row && finding.step - mapping.first_row < mapping.steps) {
      return mapping.first_step + (finding.step - mapping.first_row);
    }
  }
  return finding.step;
}

void PartsVerifier::add(const Verdict& verdict, std::size_t part) {
  if (!is_shared_ && transport_.rank() != 0) {
    return;  // all ranks have the same verdict
  }
  const std::string& path = set_.parts[part].path;
  std::vector<Finding> findings = verdict.findings;
  for (Finding& finding : findings) {
    finding.order += (part + 1) * orders_per_part;
    if (finding.step != Finding::no_step) {
      finding.step = step_of(part, finding);
    }
    finding.what += " (part " + path + ")";
  }
  findings_.merge({std::move(findings), verdict.finding_count});
  for (const std::string& uncovered : verdict.uncovered) {
    mine_.uncovered.push_back(path);
    mine_.uncovered.back().append(": ").append(uncovered);
  }
  mine_.uncovered.resize(std::min(mine_.uncovered.size(), most_findings));
  mine_.uncovered_count += verdict.uncovered_count;
  mine_.records += verdict.records;
  mine_.bytes += verdict.bytes;
  modified_ = modified_ || verdict.modified;
  mine_.unfinished = mine_.unfinished || verdict.unfinished;
}

std::vector<std::byte> bytes_of(const Findings& findings,
                                const std::vector<std::string>& uncovered) {
  model::ByteWriter out;
  findings.write_to(out);
  out.put(uncovered.size());
  for (const std::string& text : uncovered) {
    out.put(text);
  }
  return out.take();
}

Verdict PartsVerifier::together() {
  const auto all = transport_.gather(bytes_of(findings_, mine_.uncovered), 0);
  const auto lists = exec::on_root(transport_, [&] {
    Findings findings;
    std::vector<std::string> uncovered;
    for (const auto& one : all) {
      model::ByteReader in(one);
      findings.merge(Findings::read_from(in));
      for (auto left = in.get<std::size_t>(); left > 0; --left) {
        uncovered.push_back(in.get_string());
      }
    }
    std::sort(uncovered.begin(), uncovered.end());
    uncovered.resize(std::min(uncovered.size(), most_findings));
    return bytes_of(findings, uncovered);
  });
  std::int64_t sums[] = {
      static_cast<std::int64_t>(mine_.uncovered_count), static_cast<std::int64_t>(mine_.records),
      static_cast<std::int64_t>(mine_.bytes), modified_ ? 1 : 0, mine_.unfinished ? 1 : 0};
  transport_.allreduce(sums, exec::Op::sum);
  model::ByteReader in(lists);
  const Findings findings = Findings::read_from(in);
  Verdict verdict;
  verdict.findings = findings.list();
  verdict.finding_count = findings.count();
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    verdict.uncovered.push_back(in.get_string());
  }
  verdict.uncovered_count = static_cast<std::uint64_t>(sums[0]);
  verdict.records = static_cast<std::uint64_t>(sums[1]);
  verdict.bytes = static_cast<std::uint64_t>(sums[2]);
  verdict.modified = sums[3] != 0 || input_.modified_since_commit();
  verdict.unfinished = sums[4] != 0;
  return verdict;
}

}  // namespace

Verdict verify_parts(exec::Transport& transport, storage::Storage& storage, Input& input,
                     const VerifyPart& verify_part, const VerifyProgress& progress) {
  return PartsVerifier(transport, storage, input, verify_part, progress).run();
}

}  // namespace sluice::commit
