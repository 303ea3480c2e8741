#include "commit/output/output.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "exec/transport/agree.hpp"
#include "exec/transport/disagree.hpp"
#include "layout/rounding.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

Output::Output(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const Options& options)
    : transport_(transport),
      storage_(storage),
      path_(path),
      options_(options),
      puts_(transport, options.budget_bytes),
      report_(transport, storage, path_, options_) {}

void Output::adopt(const std::vector<model::Definition>& known, std::uint64_t steps, bool is_new,
                   const layout::Format& format, bool has_times) {
  options_.durability = layout::durability_of(format, options_.durability);
  description_.adopt(known, format, has_times);
  rounding_notes_.begin(is_new && known.empty());
  steps_ = steps;
  has_news_ = is_new;
  if (!is_new) {
    report_.append();
  }
}

void Output::require_open() const {
  if (closed_) {
    throw Error(Code::wrong_state, path_ + ": is closed");
  }
  if (broken()) {
    cause_.refuse(path_);
  }
}

template <class Work>
void Output::local(Work&& work) {
  require_open();
  failed_together_ = false;
  try {
    work();
  } catch (const Error& e) {
    // With the text that the other ranks will get at the next commit.
    const Error named = exec::naming_rank({e.code(), path_ + ": " + e.what()}, transport_.rank());
    fail(std::make_exception_ptr(named));
    throw Error(named);
  }
}

void Output::refuse(const Error& error) {
  local([&] { throw Error(error); });
}

void Output::fail(const std::exception_ptr& failure, bool goes_on) noexcept {
  if (!failure_) {
    failure_ = failure;
    goes_on_ = goes_on;
  }
}

std::uint32_t Output::define(const model::Definition& definition) {
  std::uint32_t index = 0;
  local([&] {
    bool is_new = false;
    const auto accept_new = [&](const model::Definition& found) {
      accept(found);
      has_news_ = is_new = true;
    };
    index = description_.define(definition, accept_new, options_.compress);
    if (const auto rounding = layout::rounding_of(description_.definitions()[index]);
        rounding && is_new) {
      note_rounding(definition.name, *rounding);
    }
  });
  return index;
}

void Output::note_rounding(const std::string& variable, const codec::Rounding& rounding) {
  const RoundingNotes::Notes notes = rounding_notes_.of(variable, rounding, description_);
  if (notes.container) {
    description_.define(*notes.container, [&](const model::Definition& found) { accept(found); });
  }
  for (const model::Attribute& attribute : notes.attributes) {
    description_.set_attribute(attribute, [&](const model::Attribute& found) { accept(found); });
  }
}

void Output::set_attribute(const model::Attribute& attribute) {
  local([&] {
    rounding_notes_.see(attribute);
    description_.set_attribute(attribute, [&](const model::Attribute& found) { accept(found); });
    has_news_ = true;
  });
}

void Output::begin_step(double time) {
  local([&] {
    if (in_step_) {
      throw Error(Code::wrong_state, "begin_step: the step before has not ended");
    }
    layout::check_time(format(), time);
    puts_.begin_step();
    keeps_earlier_ = !failure_;
    in_step_ = true;
    time_ = time;
  });
}

void Output::resize(std::uint32_t variable, std::uint64_t rows) {
  local([&] {
    description_.require(variable, in_step_);
    description_.resize(variable, rows);
  });
}

void Output::put(const model::Block& block, bool must_copy) {
  local([&] {
    const model::Definition& definition = description_.require(block.variable, in_step_);
    puts_.add(block, definition, description_.shape_of(block.variable), must_copy);
    description_.settle_rows(block.variable);
  });
}

void Output::put_rows(const exec::Rows& rows) {
  local([&] {
    puts_.add(rows, description_.require(rows.variable, in_step_));
    description_.settle_rows(rows.variable);
  });
}

void Output::put_joined(const JoinedRows& rows) {
  local([&] {
    const model::Definition& definition = description_.require(rows.variable, in_step_);
    description_.expect_joined(rows.variable);
    puts_.add(rows, definition);
  });
}

bool Output::forget_uncommitted() {
  puts_.finish();
  const bool is_some = in_step_ || !puts_.empty();
  const std::exception_ptr failure = failure_;
  forget_step();
  failure_ = failure;
  return is_some;
}

void Output::forget_step() noexcept {
  puts_.forget(in_step_);
  parts_.clear();
  leave_step();
}

/// What was put before the step stays.
void Output::drop_step() noexcept {
  puts_.drop_step();
  std::erase_if(parts_, [&](const auto& part) { return definitions()[part.first].stepped; });
  leave_step();
}

void Output::leave_step() noexcept {
  description_.reset_rows();
  failure_ = nullptr;
  in_step_ = false;
}

void Output::poll() {
  if (queue() != nullptr) {
    const OutputStats::Call inside(&report_.stats());
    queue()->poll();
  }
  report_.log_settled();
}

bool Output::drain(double seconds) {
  bool all = true;
  if (queue() != nullptr) {
    const OutputStats::Call inside(&report_.stats());
    all = queue()->wait_at_most(seconds);
  }
  report_.log_settled();
  return all;
}

/// A collective call: its errors name the file.
template <class Work>
auto Output::together(Work&& work) {
  try {
    return exec::for_file(path_, [&] {
      const OutputStats::Call inside(&report_.stats());
      return work();
    });
  } catch (const Error& e) {
    cause_.note(e, broken());
    if (exec::ranks_unreachable(e) && queue() != nullptr) {
      queue()->lose_others();  // the timeout of all other waits
    }
    throw;
  }
}

Receipt Output::end_step() {
  if (!in_step_) {
    throw Error(Code::wrong_state, path_ + ": end: there is no step under way");
  }
  Receipt receipt = together([&] { return commit_or_skip(); });
  report_.log_settled();
  return receipt;
}

/// Collective, after a step that failed with `error`: what was put before it is of no step, and is
/// kept for the next commit. Where that cannot be, an error says that it has to be put again.
void Output::keep_earlier(const Error& error) {
  lost_earlier_ = false;
  if (exec::ranks_unreachable(error) || broken() || !all_end_step_) {
    forget_step();
    return;  // nothing can be committed any more, or the others are in another call
  }
  // Values that do not fit would not fit the next time either.
  const bool may_keep =
      keeps_earlier_ && error.code() != Code::divergent && error.code() != Code::overflow;
  const auto digest = std::bit_cast<std::int64_t>(description_.digest());
  std::int64_t state[] = {puts_.empty() ? 0 : 1, may_keep ? 0 : 1, digest, ~digest};
  exec::agree(transport_, nullptr, state);
  // A rank that failed before it defined a variable has fewer of them.
  const bool is_same = state[2] == ~state[3];
  if (state[0] != 0 && state[1] == 0 && is_same && copy_earlier()) {
    return;
  }
  forget_step();
  lost_earlier_ = state[0] != 0;
  if (lost_earlier_) {
    throw lost_with_step(error);
  }
}

/// Collective. False if the next commit would refuse it, even if nothing came to it.
bool Output::copy_earlier() {
  try {
    puts_.differ(description_);
    puts_.agree(description_, false);
    exec::together(transport_, [&] { puts_.copy_earlier(definitions()); });
    puts_.keep_copies();
    puts_.place(puts_.touched(), description_, options_.check);
    puts_.drop_step();
    return true;
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
      throw;
    }
    return false;
  }
}

Receipt Output::commit_or_skip() {
  try {
    lost_earlier_ = false;
    return commit(true, false);
  } catch (const Error& e) {
    keep_earlier(e);
    // The same on every rank, and so is the decision: the error was agreed on.
    const bool is_storage = e.code() == Code::no_space || e.code() == Code::io;
    if (options_.on_error != OnError::skip_step || !is_storage || broken()) {
      throw;
    }
    failed_together_ = false;
    return {steps_, false, exec::naming_file(e, path_).what()};
  }
}

Receipt Output::flush() {
  if (in_step_) {
    throw Error(Code::wrong_state, path_ + ": flush: end the step first");
  }
  Receipt receipt = together([&] { return commit(false, false); });
  report_.log_settled();
  return receipt;
}

void Output::close() {
  require_open();
  if (in_step_) {
    throw Error(Code::wrong_state, path_ + ": close: end the step first");
  }
  together([&] {
    try {
      commit(false, true);
    } catch (const Error& e) {
      throw broken() || !has_puts_ ? e : lost_at_close(e);
    }
    agree_on_the_way();
    finish();
  });
  closed_ = true;
  exec::for_file(path_, [&] { report_.tell_costs(); });
  if (unended_) {
    throw Error(Code::wrong_state,
                exec::rank_prefix(unended_->rank) + path_ + ": step " +
                    model::number_text(unended_->step) +
                    " was destroyed without end() and is not in the file: call end(), or abandon() "
                    "to leave a step out",
                unended_->rank);
  }
}

Receipt Output::commit(bool is_step, bool is_last) {
  all_end_step_ = one_goes_on_ = has_puts_ = false;
  require_open();
  const bool durable = options_.durability == Durability::step ||
                       (is_last && options_.durability == Durability::close);
  try {
    if (one_at_a_time() && queue() != nullptr) {
      queue()->wait_for_all();
    }
    if (is_step) {
      puts_.add_lengths(description_);
    }
    puts_.finish();
    auto [touched, is_busy] = agree_on_touched(is_step, is_last);
    if (is_last && queue() != nullptr) {
      queue()->wait_for_all();
    }
    if (!has_work(touched, is_step, is_last)) {
      if (durable && is_last && options_.durability == Durability::close) {
        sync_all();
      }
      forget_step();
      return {steps_, durable};
    }
    check_presence(touched, description_, is_step ? std::optional(steps_) : std::nullopt);
    if (is_step) {
      add_empty(touched, description_);
    }
    puts_.place(touched, description_, options_.check);
    FileCommit file{is_step, is_last, durable, time_, {}, {}, {}, puts_.blocks()};
    file.blocks_number = puts_.number();
    file.is_alone = !is_busy;
    for (std::uint32_t v = 0; v < touched.size(); ++v) {
      file.touched.push_back(touched[v].any());
      file.shapes.push_back(description_.shape_of(v));
      file.parts.push_back(touched[v].joined ? puts_.joined_rows(v) : parts_[v]);
    }
    Receipt receipt = write(file);
    failed_together_ = false;
    has_news_ = false;
    // Fewer than before if only the last ones are kept.
    steps_ = is_step ? receipt.step + 1 : steps_;
    forget_step();
    return receipt;
  } catch (...) {
    failed_together_ = !one_goes_on_;
    steps_ = steps_left();
    is_step ? drop_step() : forget_step();
    throw;
  }
}

/// Collective. Passes the commit to the writer, and reports what is enabled.
Receipt Output::write(FileCommit& file) {
  const plan::Explain explain = [&](const plan::Totals& mine) {
    report_.print_totals(mine, format().name);
  };
  const bool has_data = std::ranges::count(file.touched, true) != 0;
  if (report_.explains() && has_data) {
    file.explain = &explain;
  }
  file.rank = static_cast<std::uint32_t>(transport_.rank());
  file.stats = &report_.stats();
  file.tuner = report_.tuner();
  const double waited_before_s = waited_s();
  Receipt receipt{carry_out(file), file.synced};
  receipt.pending = queue() != nullptr ? queue()->last() : nullptr;
  CommitCost cost;
  cost.is_step = file.is_step;
  cost.step = receipt.step;
  cost.time = file.is_step ? file.time : cost.time;
  cost.durable = receipt.durable;
  cost.cost.waiting_s = waited_s() - waited_before_s;
  cost.cost.bytes = puts_.bytes(definitions());
  report_.note(cost, receipt.pending);
  report_.tell_choice();
  return receipt;
}

/// Collective. After the last commit: has everything been written?
void Output::agree_on_the_way() {
  if (queue() != nullptr) {
    if (!queue()->in_background()) {
      return;  // nothing is on the way
    }
    queue()->wait_for_all();
  }
  try {
    exec::agree(transport_, queue() != nullptr ? queue()->failure() : nullptr);
  } catch (const Error&) {
    recover_here(std::current_exception());
    throw;
  }
}

/// Collective. Clears the `failure` of commits in flight.
void Output::recover_here(const std::exception_ptr& failure) {
  recover();
  steps_ = steps_left();
  has_news_ = true;
  if (broken()) {
    cause_.note(failure);
    require_open();  // contains the remedy
  }
}

bool Output::has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const {
  return is_step || std::ranges::any_of(touched, &Touch::any) || has_news_ ||
         (is_last && has_unfinished());
}

/// Collective. Reports how this rank's commit differs from that of rank 0. `closes`: does any rank?
void Output::refuse_divergent(bool is_step, bool is_last, bool closes) {
  exec::Said call{is_step ? "ends step " + model::number_text(steps_) : "flushes", {}};
  if (closes) {
    call.what = is_last ? "closes" : call.what;
    call.advice = "the file is closed, without what was not committed: make as many steps on each";
  }
  std::vector<exec::Said> all = description_.said(in_step_);
  all.insert(all.begin(), call);
  exec::refuse_disagreement(transport_, path_, all,
                            "they defined different variables, attributes or row counts");
}

/// Collective, unless a rank has left, after a commit that failed: some rank closes, and comes to
/// no other call.
void Output::close_after(const Error& error) {
  const bool all_are_here = !exec::ranks_unreachable(error) && !transport_.abandoned();
  const auto lost = all_are_here ? exec::failure_of([&] { agree_on_the_way(); }) : nullptr;
  closed_ = true;
  std::rethrow_exception(lost ? lost : std::make_exception_ptr(error));
}

Output::Agreed Output::agree_on_touched(bool is_step, bool is_last) {
  // The maximum of a value and of its complement tells whether all ranks have the same.
  constexpr std::int64_t closing = 2;
  const std::int64_t kind = is_last ? closing : is_step ? 1 : 0;
  const auto digest = std::bit_cast<std::int64_t>(description_.digest());
  const auto count = static_cast<std::int64_t>(definitions().size());
  const std::exception_ptr on_way = queue() != nullptr ? queue()->failure() : nullptr;
  // If every caller was informed by a ticket, the next commit continues.
  const bool is_news = on_way && !queue()->failure_was_reported();
  const auto own = std::to_array<std::int64_t>(
      {kind, ~kind, count, ~count, digest, ~digest, on_way ? 1 : 0,
       puts_.differ(description_) ? 1 : 0,
       // the lowest rank that left a step without its end, and the step
       unended_ ? transport_.size() - unended_->rank : 0,
       unended_ ? static_cast<std::int64_t>(unended_->step) : 0, puts_.join() ? 1 : 0,
       queue() != nullptr && queue()->is_busy(), failure_ && goes_on_, !puts_.empty()});
  std::array<std::int64_t, own.size() + Puts::most_told> head{};
  std::ranges::copy(own, head.begin());
  const std::span<std::int64_t> told = std::span(head).subspan(own.size());
  puts_.tell(description_, told);
  const std::exception_ptr agreed =
      exec::failure_of([&] { exec::agree(transport_, is_news ? on_way : failure_, head); });
  all_end_step_ = is_step && head[0] == ~head[1];
  one_goes_on_ = head[12] != 0;
  has_puts_ = head[13] != 0;
  if (head[6] != 0) {
    recover_here(agreed);
  }
  const bool closes = head[0] == closing;
  try {
    if (agreed) {
      std::rethrow_exception(agreed);
    }
    if (head[0] != ~head[1] || head[2] != ~head[3] || head[4] != ~head[5]) {
      refuse_divergent(is_step, is_last, closes);
    }
  } catch (const Error& e) {
    if (closes) {
      close_after(e);
    }
    throw;
  }
  description_.settle(is_step ? std::optional(time_) : std::nullopt);
  if (is_last && head[8] != 0) {
    unended_ = {static_cast<std::uint64_t>(head[9]), transport_.size() - static_cast<int>(head[8])};
  }
  if (head[7] != 0) {
    // Only now are the lists known to be equally long on all ranks.
    puts_.agree(description_, head[10] != 0, told);
  }
  return {puts_.touched(), head[11] != 0};
}

}  // namespace sluice::commit
