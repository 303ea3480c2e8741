// One commit, from blocks to a file: the ranks agree, check, and hand over to who writes.
#include <algorithm>
#include <bit>
#include <map>

#include "codec/checksum.hpp"
#include "commit/output/output.hpp"
#include "exec/check/check.hpp"
#include "exec/transport/agree.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using model::Dims;

Receipt Output::commit(bool is_step, bool is_last) {
  require_open();
  const bool durable = options_.durability == Durability::step ||
                       (is_last && options_.durability == Durability::close);
  try {
    if (is_last) {
      wait_for_all();
    }
    put_lengths(is_step);
    small_puts_.finish(blocks_);
    std::vector<Touch> touched = agree_on_touched(is_step, is_last);
    if (!has_work(touched, is_step, is_last)) {
      if (durable && is_last && options_.durability == Durability::close) {
        sync_all();
      }
      forget_step();
      return {steps_, durable};
    }
    check_presence(touched, is_step);
    touch_varying(touched, is_step);
    scatter_all_rows(touched);
    check_decomposition(touched);
    FileCommit file{is_step, is_last, durable, time_, {}, {}, blocks_};
    file.blocks_number = puts_number_;
    std::transform(touched.begin(), touched.end(), std::back_inserter(file.touched),
                   [](const Touch& t) { return t.blocks || t.rows; });
    for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
      file.shapes.push_back(shape_of(v));
    }
    const plan::Explain explain = [&](const plan::Totals& mine) { print_totals(mine); };
    const bool has_data =
        std::find(file.touched.begin(), file.touched.end(), true) != file.touched.end();
    if (explain_ && has_data) {
      file.explain = &explain;
    }
    const double waited_before_s = waited_s();
    file.rank = static_cast<std::uint32_t>(transport_.rank());
    file.stats = &stats_;
    file.tuner = options_.autotune ? &tuner_ : nullptr;
    Receipt receipt{carry_out(file), durable};
    receipt.pending = last_pending();
    note_cost(receipt, is_step, waited_s() - waited_before_s);
    tell_choice();
    failed_together_ = false;
    has_news_ = false;
    steps_ = is_step ? receipt.step + 1 : steps_;  // fewer than before where it keeps the last ones
    forget_step();
    return receipt;
  } catch (...) {
    failed_together_ = true;
    steps_ = steps_left();
    forget_step();
    throw;
  }
}

/// Collective. After the last commit: is everything there?
void Output::agree_on_the_way() {
  wait_for_all();
  try {
    exec::agree(transport_, failure_on_way());
  } catch (const Error&) {
    recover_here();
    throw;
  }
}

/// Collective. The commits that failed on their way are forgotten.
void Output::recover_here() {
  recover();
  steps_ = steps_left();
  has_news_ = true;
  if (broken()) {
    require_open();  // says what to do
  }
}

void Output::print_totals(const plan::Totals& mine) {
  std::int64_t sums[] = {
      static_cast<std::int64_t>(mine.files), static_cast<std::int64_t>(mine.writers),
      static_cast<std::int64_t>(mine.moved_bytes), static_cast<std::int64_t>(mine.written_bytes)};
  transport_.allreduce(sums, exec::Op::sum);
  auto largest = static_cast<std::int64_t>(mine.buffer_bytes);
  transport_.allreduce({&largest, 1}, exec::Op::max);
  if (transport_.rank() == 0) {
    const std::string& reason = stats_.choice().reason;
    explain_(
        std::string("format ") + format_->name + ", first commit: " +
        plan::text_of({static_cast<std::uint64_t>(sums[0]), static_cast<std::uint64_t>(sums[1]),
                       static_cast<std::uint64_t>(sums[2]), static_cast<std::uint64_t>(sums[3]),
                       static_cast<std::uint64_t>(largest)},
                      transport_.size()) +
        (files_reason_.empty() ? "" : "; auto takes " + files_reason_) +
        (reason.empty() ? "" : "; auto takes " + reason));
  }
  explain_ = nullptr;
}

bool Output::has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const {
  const bool puts = std::any_of(touched.begin(), touched.end(),
                                [](const Touch& t) { return t.blocks || t.rows; });
  return is_step || puts || has_news_ || (is_last && has_unfinished());
}

/// The companions of varying variables: rank 0 knows as well as any.
void Output::put_lengths(bool is_step) {
  if (!is_step || !format_->length_variable || transport_.rank() != 0) {
    return;
  }
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (!definitions_[v].varying) {
      continue;
    }
    if (const auto lengths = names_.find(definitions_[v].name + layout::length_suffix)) {
      const auto* data = reinterpret_cast<const std::byte*>(&row_counts_[v]);
      blocks_.push_back({*lengths, {}, {data, type_of<std::uint64_t>(), {}, {}}, false});
    }
  }
}

/// A step without rows has its place in the file, too.
void Output::touch_varying(std::vector<Touch>& touched, bool is_step) const {
  for (std::size_t v = 0; v < definitions_.size() && is_step; ++v) {
    touched[v].blocks = touched[v].blocks || (definitions_[v].varying && !touched[v].rows);
  }
}

/// Of everything that all ranks must have said alike.
std::uint64_t Output::step_digest() const {
  model::ByteWriter out;
  out.put(description_digest_);
  if (in_step_) {
    out.put(row_counts_);
  }
  return codec::checksum(out.take());
}

/// Collective. Says how this rank's commit differs from that of rank 0.
void Output::refuse_divergent(bool is_step, bool is_last) {
  std::vector<exec::Said> all{{is_step   ? "ends step " + model::number_text(steps_)
                               : is_last ? "closes"
                                         : "flushes",
                               {}}};
  all.insert(all.end(), said_.begin(), said_.end());
  for (std::size_t v = 0; v < definitions_.size() && in_step_; ++v) {
    if (definitions_[v].varying) {
      all.push_back({"gave " + definitions_[v].name, {std::to_string(row_counts_[v]) + " rows"}});
    }
  }
  exec::refuse_disagreement(transport_, path_, all,
                            "they defined different variables, attributes or row counts");
}

std::vector<Output::Touch> Output::agree_on_touched(bool is_step, bool is_last) {
  std::vector<Touch> mine(definitions_.size());
  for (const model::Block& block : blocks_) {
    mine[block.variable].blocks = true;
  }
  for (const exec::Rows& rows : rows_) {
    mine[rows.variable].rows = true;
  }
  // The maximum of a value and of its complement tells whether all ranks have the same.
  const std::int64_t kind = is_step ? 2 : is_last ? 1 : 0;
  const std::uint64_t signature = puts_signature();
  const auto digest = std::bit_cast<std::int64_t>(step_digest());
  const auto count = static_cast<std::int64_t>(definitions_.size());
  const std::exception_ptr on_way = failure_on_way();
  // Where every caller was told by a ticket, the next commit simply goes on.
  const bool is_news = on_way && !failure_was_reported();
  std::int64_t head[] = {kind, ~kind, count, ~count, digest, ~digest, on_way ? 1 : 0,
                         signature != puts_signature_ ? 1 : 0,
                         // the lowest rank that left a step without its end, and the step
                         unended_ ? transport_.size() - unended_->rank : 0,
                         unended_ ? static_cast<std::int64_t>(unended_->step) : 0};
  try {
    exec::agree(transport_, is_news ? on_way : failure_, head);
  } catch (const Error&) {
    if (head[6] != 0) {
      recover_here();
    }
    throw;
  }
  if (head[6] != 0) {
    recover_here();
  }
  if (head[0] != ~head[1] || head[2] != ~head[3] || head[4] != ~head[5]) {
    refuse_divergent(is_step, is_last);
  }
  said_.clear();
  if (is_last && head[8] != 0) {
    unended_ = {static_cast<std::uint64_t>(head[9]), transport_.size() - static_cast<int>(head[8])};
  }
  if (head[7] == 0) {
    return touched_;
  }
  // Only now are the lists known to be equally long on all ranks.
  std::vector<std::int64_t> flags;
  for (const Touch& touch : mine) {
    flags.push_back(touch.blocks ? 1 : 0);
    flags.push_back(touch.rows ? 1 : 0);
  }
  transport_.allreduce(flags, exec::Op::max);
  for (std::size_t v = 0; v < mine.size(); ++v) {
    mine[v] = {flags[2 * v] != 0, flags[2 * v + 1] != 0};
  }
  touched_ = mine;
  puts_signature_ = signature;
  ++puts_number_;
  return mine;
}

void Output::check_presence(const std::vector<Touch>& touched, bool is_step) const {
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    const model::Definition& d = definitions_[v];
    if (touched[v].blocks && touched[v].rows) {
      throw Error(Code::invalid_argument, path_ + ": put " + d.name +
                                              ": blocks and rows of one variable in one step: "
                                              "use one of them");
    }
    const bool is_missing = is_step && d.stepped && !d.partial && !touched[v].blocks &&
                            !touched[v].rows && shape_of(v).volume() != 0;
    if (is_missing) {
      throw Error(Code::hole, path_ + ": " + d.name + ": no rank put it in step " +
                                  model::number_text(steps_) + ": put it or define it as partial");
    }
  }
}

model::Definition Output::step_definition(std::uint32_t variable) const {
  model::Definition definition = definitions_[variable];
  definition.shape = shape_of(variable);
  return definition;
}

void Output::scatter_all_rows(const std::vector<Touch>& touched) {
  std::uint64_t held_bytes = 0;
  std::map<std::uint32_t, std::vector<exec::Rows>> by_variable;
  for (const exec::Rows& rows : rows_) {
    by_variable[rows.variable].push_back(rows);
  }
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (!touched[v].rows) {
      continue;
    }
    const std::vector<exec::Rows>& calls = by_variable[v];
    const std::uint64_t left = options_.budget_bytes - std::min(options_.budget_bytes, held_bytes);
    const exec::OwnedRows owned = row_scatter_.scatter(step_definition(v), calls, left);
    held_bytes += owned.bytes.size();
    if (!owned.box.empty()) {
      const Dims zeros = Dims::filled(owned.box.start.rank(), 0);
      blocks_.push_back({v,
                         owned.box,
                         {owned.bytes.data(), definitions_[v].type, owned.box.count, zeros},
                         false});
    }
  }
}

/// Of where this rank's blocks lie, and of which variables it has put rows: which rows it gets of
/// those follows from their number.
std::uint64_t Output::puts_signature() const {
  model::ByteWriter out;
  out.put(definitions_.size());
  for (const model::Block& block : blocks_) {
    out.put(block.variable);
    out.put(block.box);
  }
  out.put(blocks_.size());
  for (const exec::Rows& rows : rows_) {
    out.put(rows.variable);
  }
  if (in_step_) {
    out.put(row_counts_);
  }
  return codec::checksum(out.take()) | 1;  // never the 0 that stands for "nothing was agreed on"
}

void Output::check_decomposition(const std::vector<Touch>& touched) {
  if (options_.check == Check::off || checked_number_ == puts_number_) {
    return;
  }
  std::vector<exec::VariableShape> shapes;
  std::vector<std::uint32_t> position(definitions_.size(), 0);
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (touched[v].blocks) {
      position[v] = static_cast<std::uint32_t>(shapes.size());
      shapes.push_back({definitions_[v].name, shape_of(v), definitions_[v].partial});
    }
  }
  std::vector<exec::OwnBlock> own;
  for (const model::Block& block : blocks_) {
    if (touched[block.variable].blocks) {
      own.push_back({position[block.variable], block.box});
    }
  }
  if (options_.check == Check::volume) {
    exec::check_volume(transport_, shapes, own);
  } else {
    exec::check_coverage(transport_, shapes, own);
  }
  checked_number_ = puts_number_;
}

}  // namespace sluice::commit
