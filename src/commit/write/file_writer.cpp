#include "commit/write/file_writer.hpp"

#include <utility>

#include "commit/write/blocking_queue.hpp"
#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

FileWriter::FileWriter(exec::Transport& transport, storage::Storage& storage,
                       const FilePlace& place, Opening opening, const Options& options)
    : transport_(transport),
      storage_(storage),
      path_(place.path),
      options_(options),
      plans_(transport, storage, place, options, variables_) {
  const std::string present_path = open(opening, place);
  data_ =
      std::make_unique<DataWriter>(transport, storage, place, present_path, options_, variables_,
                                   plans_, planner_ ? &planner_->publisher() : nullptr);
  make_queue();
}

FileWriter::~FileWriter() = default;

/// Returns the present path of the file.
std::string FileWriter::open(Opening opening, const FilePlace& place) {
  const plan::Strategy& strategy = plans_.strategy();
  const auto message = exec::on_root(transport_, [&] {
    planner_ = std::make_unique<CommitPlanner>(
        storage_, place, opening, options_,
        plan::count_writers(strategy, plans_.topology(), plans_.choice()), strategy.in_background);
    return planner_->known();
  });
  model::ByteReader in(message);
  std::string present_path = in.get_string();
  variables_.read_from(in);
  refusals_ = layout::Refusals::read_from(in);
  options_.checksum = options_.checksum && variables_.format().checksums;
  return present_path;
}

void FileWriter::make_queue() {
  BackgroundQueue* background = nullptr;
  if (plans_.strategy().in_background) {
    auto queue = std::make_unique<BackgroundQueue>(
        BackgroundQueue::Config{transport_, variables_, *data_, planner_.get(), path_,
                                options_.timeout_s},
        plans_.openers().all());
    background = queue.get();
    queue_ = std::move(queue);
  } else {
    queue_ = std::make_unique<BlockingQueue>(transport_, *data_, planner_.get());
  }
  encoded_ = std::make_unique<EncodedWriter>(
      EncodedWriter::Config{transport_, variables_, plans_, *data_, *queue_, background,
                            planner_.get(), path_, options_.checksum});
}

std::string FileWriter::opening_notice() const {
  return planner_ ? planner_->publisher().opening_notice() : std::string();
}

void FileWriter::define(const model::Definition& definition) {
  refusals_.check(definition);
  tell_planner([definition](layout::Planner& planner) { planner.define(definition); });
  variables_.define(definition);
}

void FileWriter::set_attribute(const model::Attribute& attribute) {
  tell_planner([attribute](layout::Planner& planner) { planner.set_attribute(attribute); });
}

/// On rank 0: while a commit waits to be planned, calls that belong after it are deferred for the
/// planner.
void FileWriter::tell_planner(std::function<void(layout::Planner&)> what) {
  if (planner_) {
    planner_->tell(std::move(what), queue_->first_unplanned());
  }
}

std::uint64_t FileWriter::commit(const FileCommit& commit) {
  bool has_begun = false;
  try {
    variables_.choose_tiles(transport_, commit, options_);
    const StagedCommit staged = data_->stage(commit);
    has_begun = true;
    const std::uint64_t step = write(commit, staged);
    variables_.note(commit);
    has_unsynced_ = has_unsynced_ || !commit.synced;
    return step;
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
      poisoned_ = true;  // the other ranks cannot be reached any more
    } else if (has_begun) {
      give_up();
    }
    throw;
  }
}

/// Returns the number of the step.
std::uint64_t FileWriter::write(const FileCommit& commit, const StagedCommit& staged) {
  const bool encodes = variables_.has_encoded(commit);
  if (const auto behind =
          encodes || may_plan_behind(commit) ? encoded_->plan_behind(commit, staged) : nullptr) {
    return write_behind(commit, staged, behind);
  }
  queue_->wait_until_placed();
  CommitPlanner::Update update;
  EncodedWriter::Written written;
  bool syncs_later = false;
  if (encodes) {
    queue_->wait_for_all();
    written = encoded_->write_now(commit, staged, update);
  } else {
    Placed placed = place(commit, staged.words, update);
    written.placed = std::move(placed.plan);
    syncs_later = placed.syncs_later;
  }
  const plan::Plan who = plans_.make(commit, written.placed, staged.plain);
  // It is in the page cache before a direct write has reached the disk; and of one that syncs
  // later, which is always small, rank 0 reads the data again.
  const bool is_small = is_on_node() && written.placed.hull().length <= most_small_bytes;
  data_->keep_cached(is_small);
  if (commit.explain != nullptr) {
    plans_.explain(commit, written.totals, plans_.totals(commit, written.placed, who, staged.plain),
                   data_->file() != nullptr);
  }
  queue_->begin(who, commit.is_step);
  data_->prefill(written.placed, who);
  const double began_s = model::now_s();
  exec::Work work = data_->work_of(commit, staged.plain, written.placed);
  work.first_word = staged.first_word;
  work.earlier_words = written.words;
  const std::exception_ptr failure = data_->write(who, work);
  queue_->arrive(written.failure ? written.failure : failure, commit.synced && !syncs_later,
                 update);
  if (commit.stats != nullptr && who.predicted_s != 0) {
    commit.stats->compare(who.predicted_s, model::now_s() - began_s);
  }
  plans_.end_writing();
  queue_->publish(commit, std::move(update));
  return written.placed.step;
}

/// Is it a step like earlier ones, whose plan no caller need wait for if it is small? What the
/// planner may refuse is planned in the call, and so is a step that is left out where it finds no
/// space.
bool FileWriter::may_plan_behind(const FileCommit& commit) const {
  const layout::Format& format = variables_.format();
  // Others place, and fill, what no rank puts too; in a store each rank syncs its own objects.
  const bool is_as_predicted = format.compress && !format.is_store();
  return plans_.strategy().in_background && data_->has_thread() && is_on_node() &&
         is_as_predicted && options_.on_error == OnError::fail && commit.is_step &&
         !commit.is_last && commit.is_alone && variables_.are_known_steps(commit);
}

std::uint64_t FileWriter::write_behind(const FileCommit& commit, const StagedCommit& staged,
                                       const std::shared_ptr<const EncodedWriter::Behind>& behind) {
  const bool is_small = behind->rounds.variables().empty();
  if (is_small) {
    data_->keep_cached(true);
  }
  const bool syncs_later = is_small && may_sync_later(commit);
  const std::exception_ptr failure = encoded_->write_behind(commit, staged, behind, syncs_later);
  queue_->arrive(failure, commit.synced && !syncs_later, {});
  queue_->publish(commit, {});
  encoded_->end_call();
  return variables_.steps();
}

/// Does one page cache hold what all ranks write?
bool FileWriter::is_on_node() const {
  return transport_.nodes() == 1 && storage_.ranks_together() == 0;
}

/// May rank 0 sync it for all, if it is small?
bool FileWriter::may_sync_later(const FileCommit& commit) const {
  return commit.synced && !has_unsynced_ && is_on_node();
}

/// Collective. Addresses of uncompressed data; `update` on rank 0.
FileWriter::Placed FileWriter::place(const FileCommit& commit, std::uint64_t words,
                                     CommitPlanner::Update& update) {
  const bool may_be_late = may_sync_later(commit);
  auto message = exec::on_root(transport_, [&] {
    queue_->before_planning();
    layout::CommitRequest request = variables_.request_for(commit, words);
    planner_->stamp(request);
    auto bytes = planner_->plan(request, commit.is_last, may_be_late, update).to_bytes();
    bytes.push_back(static_cast<std::byte>(update.unsynced.has_value()));
    plans_.begin_writing(bytes);
    return bytes;
  });
  plans_.take_root_time(message);
  const bool syncs_later = message.back() != std::byte{0};
  message.pop_back();
  Placed placed{layout::CommitPlan::from_bytes(message), syncs_later};
  data_->map(placed.plan);
  return placed;
}

void FileWriter::sync_all() {
  exec::together(transport_, [&] {
    data_->sync();
    if (planner_) {
      planner_->publisher().sync_names();
    }
  });
  has_unsynced_ = false;
}

/// Every rank gets here together: the error was agreed on.
void FileWriter::give_up() {
  try {
    queue_->drop_failed();
    auto message =
        exec::on_root(transport_, [&](model::ByteWriter& out) { out.put(planner_->abandon()); });
    data_->renew(message.get_string());
    queue_->restart();
  } catch (const Error&) {
    poisoned_ = true;
  }
}

void FileWriter::close() {
  encoded_.reset();
  data_->rest_ring();
  // From here on nothing is on its way, whoever asks.
  queue_ = std::make_unique<BlockingQueue>(transport_, *data_, planner_.get());
  exec::on_root(transport_, [&] { planner_->close(); });
  data_->close();
}

}  // namespace sluice::commit
