#include "commit/tools/verify.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "codec/checksum.hpp"
#include "commit/publish/damage.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/holes.hpp"
#include "commit/tools/record_feed.hpp"
#include "commit/tools/verify_parts.hpp"
#include "exec/transport/agree.hpp"
#include "layout/catalog.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "layout/portion.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

namespace {

/// A message without the parts that the verdict has elsewhere.
std::string bare(const Error& e, const std::string& path) {
  const std::string text = exec::text_without_rank(e);
  const std::string prefix = path + ": ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// Collective. One verification of one file that could be opened.
class Verifier {
 public:
  /// `only`: see RecordFeed; all must outlive the object.
  Verifier(exec::Transport& transport, const std::string& path, Input& input, const UnitNames* only,
           const UnitVolumes* volumes, const VerifyProgress& progress)
      : transport_(transport), input_(input), progress_(progress) {
    auto message = exec::on_root(transport_, [&](model::ByteWriter& out) {
      feed_ = std::make_unique<RecordFeed>(input_, path, only, volumes);
      out.put(feed_->total_bytes());
    });
    total_bytes_ = message.get<std::uint64_t>();
  }

  void run() {
    while (true) {
      auto in = exec::on_root(transport_, [&](model::ByteWriter& out) {
        RecordUnit unit;
        if (feed_->next(unit)) {
          unit.write_to(out);
        }
      });
      if (in.at_end()) {
        return;
      }
      check(RecordUnit::read_from(in));
    }
  }

  Verdict verdict();

 private:
  void check(const RecordUnit& unit);
  bool is_mine(std::uint64_t bytes, bool anybody_can);
  void check_record(const Located& located, const RecordUnit& unit, std::size_t number);
  bool matches(const Located& located, const Record& record);
  void check_holes(const Located& located, const RecordUnit& unit);
  void check_part(const Located& located, const RecordUnit& unit, const model::Box& part);
  void note_unreadable(const Error& error, Finding finding);

  exec::Transport& transport_;
  Input& input_;
  const VerifyProgress& progress_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t handed_out_bytes_ = 0;  ///< to all ranks
  std::uint64_t turn_ = 0;
  std::uint64_t turn_bytes_ = 0;
  Findings findings_;
  std::exception_ptr failure_;
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0;
  std::vector<std::byte> buffer_;
  layout::LastTile last_tile_;
  std::unique_ptr<RecordFeed> feed_;  ///< rank 0
};

int writer_of(const Record& record) {
  return record.rank == exec::ChecksumRecord::nobody ? -1 : static_cast<int>(record.rank);
}

/// Ranks take turns of at least this many bytes: small records stay together.
constexpr std::uint64_t least_turn_bytes = 1 << 20;

bool Verifier::is_mine(std::uint64_t bytes, bool anybody_can) {
  if (!anybody_can) {
    return transport_.rank() == 0;  // only libhdf5 can decode it
  }
  const bool mine = turn_ % static_cast<std::uint64_t>(transport_.size()) ==
                    static_cast<std::uint64_t>(transport_.rank());
  turn_bytes_ += bytes;
  if (turn_bytes_ >= least_turn_bytes) {
    ++turn_;
    turn_bytes_ = 0;
  }
  return mine;
}

void Verifier::check(const RecordUnit& unit) {
  const InputVariable& variable = input_.variables().at(unit.variable);
  const std::uint64_t step = unit.step == Finding::no_step ? 0 : unit.step;
  Located located{{unit.variable, step, model::whole(variable.definition.shape)}, unit.tiles};
  for (std::size_t i = 0; i < unit.records.size(); ++i) {
    const Record& record = unit.records[i];
    const std::uint64_t bytes = record.box.volume() * variable.definition.type.bytes;
    handed_out_bytes_ += bytes;
    if (is_mine(bytes, variable.placeable || !variable.filters.empty())) {
      check_record(located, unit, i);
      bytes_ += bytes;
      ++records_;
      if (progress_) {
        progress_(handed_out_bytes_, total_bytes_);
      }
    }
  }
  if (unit.has_holes) {
    located.records = RecordSet(unit.records);
    check_holes(located, unit);
  }
}

/// Only rank 0 knows the order of what follows: these findings come behind those of records.
constexpr std::uint64_t after_records = 1ULL << 38;

void Verifier::check_holes(const Located& located, const RecordUnit& unit) {
  const std::uint32_t element_bytes = input_.variables()[unit.variable].definition.type.bytes;
  const layout::Placement& placement = located.placement();
  for (std::uint64_t entry = 0; entry < placement.entries(); ++entry) {
    const std::uint64_t tile = placement.tile_at(entry);
    if (placement.address(tile) == layout::absent) {
      continue;  // it reads as the fill value
    }
    layout::for_each_part(placement.tile_box(tile), element_bytes, layout::portion_bytes,
                          [&](const model::Box& part) {
                            if (is_mine(part.volume() * element_bytes, true)) {
                              check_part(located, unit, part);
                            }
                          });
  }
}

void Verifier::check_part(const Located& located, const RecordUnit& unit, const model::Box& part) {
  const model::Definition& definition = input_.variables()[unit.variable].definition;
  const std::uint64_t order = after_records + unit.first_order;
  try {
    const std::uint64_t others =
        elements_unlike_fill(definition, part, located.records, [&]() -> std::span<std::byte> {
          matches(located, {part});
          return buffer_;
        });
    if (others != 0) {
      findings_.add(
          {order, definition.name, unit.step, part.text(),
           std::to_string(others) + " elements that no rank put differ from the fill value", -1});
    }
  } catch (const Error& e) {
    note_unreadable(e, {order, definition.name, unit.step, part.text(), "", -1});
  }
}

void Verifier::check_record(const Located& located, const RecordUnit& unit, std::size_t number) {
  const Record& record = unit.records[number];
  const std::uint64_t order = unit.first_order + number;
  const std::uint64_t step = unit.step;
  const std::string& name = input_.variables()[located.variable].definition.name;
  const int writer = writer_of(record);
  try {
    if (!matches(located, record)) {
      findings_.add({order, name, step, record.box.text(), "does not match its checksum", writer});
    }
  } catch (const Error& e) {
    note_unreadable(e, {order, name, step, record.box.text(), "", writer});
  }
}

/// What `error`, which is being handled, says of the values of `finding`.
void Verifier::note_unreadable(const Error& error, Finding finding) {
  if (is_of_bytes(error.code())) {
    finding.what = "cannot be read: " + bare(error, input_.path());
    findings_.add(std::move(finding));
  } else {
    failure_ = std::current_exception();  // this rank cannot read the file: no verdict
  }
}

bool Verifier::matches(const Located& located, const Record& record) {
  const InputVariable& variable = input_.variables()[located.variable];
  if (variable.placeable) {
    return input_.checked().read_record(located, record, buffer_);
  }
  if (!variable.filters.empty()) {
    return input_.checked().read_encoded_record(located, record, last_tile_, buffer_);
  }
  buffer_.resize(record.box.volume() * variable.definition.type.bytes);
  input_.catalog().read(located.variable, located.step, record.box, buffer_);
  return codec::checksum(std::span<const std::byte>(buffer_)) == record.checksum;
}

Verdict Verifier::verdict() {
  exec::agree(transport_, failure_);
  std::int64_t sums[] = {static_cast<std::int64_t>(bytes_), static_cast<std::int64_t>(records_)};
  transport_.allreduce(sums, exec::Op::sum);
  model::ByteWriter mine;
  findings_.write_to(mine);
  const auto all = transport_.gather(mine.take(), 0);
  auto in = exec::on_root(transport_, [&](model::ByteWriter& out) {
    Findings findings = feed_->findings();
    for (const auto& bytes : all) {
      model::ByteReader of_rank(bytes);
      findings.merge(Findings::read_from(of_rank));
    }
    findings.write_to(out);
    out.put(feed_->uncovered_count());
    out.put(feed_->uncovered().size());
    for (const std::string& text : feed_->uncovered()) {
      out.put(text);
    }
  });
  const Findings findings = Findings::read_from(in);
  Verdict verdict;
  verdict.bytes = static_cast<std::uint64_t>(sums[0]);
  verdict.records = static_cast<std::uint64_t>(sums[1]);
  verdict.findings = findings.list();
  verdict.finding_count = findings.count();
  verdict.uncovered_count = in.get<std::uint64_t>();
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    verdict.uncovered.push_back(in.get_string());
  }
  return verdict;
}

/// Collective. The verdict on a file that cannot be opened, or the error again if damage is not the
/// reason.
Verdict judge_unreadable(exec::Transport& transport, storage::Storage& storage,
                         const std::string& path, const Error& error) {
  const bool is_newer = error.code() == Code::version;
  bool is_damage = is_newer || error.code() == Code::truncated || error.code() == Code::damaged;
  if (error.code() == Code::format) {
    auto message = exec::on_root(transport, [&](model::ByteWriter& out) {
      const auto file = layout::open_data(storage, path, storage::Access::read);
      out.put(layout::begins_as_known(*file));
    });
    is_damage = message.get<bool>();
  }
  if (!is_damage) {
    throw error;
  }
  Verdict verdict;
  verdict.state = is_newer ? State::not_readable : State::damaged;
  verdict.findings.push_back({0, "", Finding::no_step, "", bare(error, path)});
  verdict.finding_count = 1;
  return verdict;
}

/// The result of one reading of a file.
struct Look {
  Verdict verdict;
  /// Was the file, with its journal, not written meanwhile? Then the result is final.
  bool is_stable = false;
  std::exception_ptr failure;  ///< it could not be read to its end; no verdict

  bool is_settled() const { return is_stable || (!failure && verdict.finding_count == 0); }
};

/// What a file cannot show of what it says it has is damage, although nothing has checksums.
void take_as_damage(Verdict& verdict) {
  verdict.state = State::damaged;
  for (const std::string& text : verdict.uncovered) {
    verdict.findings.push_back({0, "", Finding::no_step, "", text, -1});
  }
  verdict.finding_count = verdict.uncovered_count;
  verdict.uncovered.clear();
  verdict.uncovered_count = 0;
}

Verdict verify_opened(exec::Transport& transport, storage::Storage& storage,
                      const std::string& path, const UnitNames* only, const UnitVolumes* volumes,
                      const VerifyProgress& progress) {
  Options options;
  options.checksum = false;  // reading is what is checked here
  Input input(transport, storage, path, options);
  Verdict verdict;
  if (!input.written_by_sluice()) {
    verdict.state = State::not_ours;
    auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
      const auto& unreadable = input.catalog().unreadable();
      const auto count =
          layout::count_steps(*layout::open_data(storage, path, storage::Access::read));
      out.put(count.there < count.counted);
      out.put(unreadable.size());
      for (const auto& dataset : unreadable) {
        out.put(dataset.name + " (" + dataset.type + ")");
      }
    });
    const bool is_cut = in.get<bool>();
    verdict.uncovered_count = in.get<std::size_t>();
    for (std::size_t i = 0; i < verdict.uncovered_count; ++i) {
      std::string text = in.get_string();
      if (verdict.uncovered.size() < most_findings) {
        verdict.uncovered.push_back(std::move(text));
      }
    }
    if (is_cut) {
      take_as_damage(verdict);
    }
    return verdict;
  }
  if (input.set() != nullptr) {
    verdict = verify_parts(transport, storage, input, verify_part, progress);
  } else {
    Verifier verifier(transport, path, input, only, volumes, progress);
    verifier.run();
    verdict = verifier.verdict();
    verdict.modified = input.modified_since_commit();
  }
  verdict.unfinished = verdict.unfinished || input.is_unfinished();
  verdict.commits = input.commits().size();
  verdict.steps = input.steps();
  return verdict;
}

/// Collective.
Look look(exec::Transport& transport, storage::Storage& storage, const std::string& path,
          const UnitNames* only, const UnitVolumes* volumes, const VerifyProgress& progress) {
  Look result;
  std::uint64_t before = 0;
  exec::on_root(transport, [&] { before = moment_of(storage, path); });
  try {
    result.verdict = verify_opened(transport, storage, path, only, volumes, progress);
  } catch (const Error&) {
    result.failure = std::current_exception();
  }
  auto message = exec::on_root(transport, [&](model::ByteWriter& out) {
    out.put(before != 0 && moment_of(storage, path) == before);
  });
  result.is_stable = message.get<bool>();
  return result;
}

/// The units to check again; empty for all.
std::optional<UnitNames> suspects_in(const Look& look) {
  if (look.failure || look.verdict.finding_count != look.verdict.findings.size()) {
    return std::nullopt;
  }
  UnitNames names;
  for (const Finding& finding : look.verdict.findings) {
    names.emplace(finding.variable, finding.step);
  }
  return names;
}

/// The first findings without those that the second check cleared. A text may differ: for a file
/// that is being written it need not be the same twice.
Look narrowed(Look first, const Look& second) {
  first.is_stable = second.is_stable;
  first.verdict.unfinished = first.verdict.unfinished || second.verdict.unfinished;
  if (second.verdict.finding_count != second.verdict.findings.size()) {
    return first;  // not all of them are known
  }
  std::vector<Finding>& findings = first.verdict.findings;
  std::erase_if(findings, [&](const Finding& finding) {
    return std::none_of(second.verdict.findings.begin(), second.verdict.findings.end(),
                        [&](const Finding& other) {
                          return other.variable == finding.variable && other.step == finding.step &&
                                 other.place == finding.place;
                        });
  });
  first.verdict.finding_count = findings.size();
  return first;
}

/// Collective. Checks until it is clear whether a mismatch is damage.
Look look_until_settled(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path, const UnitVolumes* volumes,
                        const VerifyProgress& progress) {
  constexpr int most_looks = 10;
  Look result = look(transport, storage, path, nullptr, volumes, progress);
  for (int looks = 1; looks < most_looks && !result.is_settled(); ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(looks));
    const std::optional<UnitNames> suspects = suspects_in(result);
    Look next = look(transport, storage, path, suspects ? &*suspects : nullptr, volumes, {});
    if (!suspects) {
      result = next.failure && !result.failure ? result : std::move(next);
    } else if (!next.failure) {
      result = narrowed(std::move(result), next);
    }
  }
  return result;
}

Verdict settle(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const UnitVolumes* volumes, const VerifyProgress& progress) {
  const double began_s = model::now_s();
  Look settled = look_until_settled(transport, storage, path, volumes, progress);
  Verdict& verdict = settled.verdict;
  if (settled.failure) {
    try {
      std::rethrow_exception(settled.failure);
    } catch (const Error& e) {
      verdict = judge_unreadable(transport, storage, path, e);
    }
  } else if (verdict.finding_count != 0) {
    verdict.state = verdict.modified ? State::changed_outside : State::damaged;
  }
  verdict.seconds = model::now_s() - began_s;
  return verdict;
}

}  // namespace

Verdict verify(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const VerifyProgress& progress) {
  return settle(transport, storage, path, nullptr, progress);
}

Verdict verify_part(exec::Transport& transport, storage::Storage& storage, const std::string& path,
                    const UnitVolumes& volumes, const VerifyProgress& progress) {
  return settle(transport, storage, path, &volumes, progress);
}

}  // namespace sluice::commit
