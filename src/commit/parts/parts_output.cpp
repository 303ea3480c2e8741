#include "commit/parts/parts_output.hpp"

#include <algorithm>

#include "commit/publish/parts_files.hpp"
#include "commit/write/restart.hpp"
#include "exec/cores.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/formats.hpp"
#include "layout/refusals.hpp"
#include "model/bytes.hpp"
#include "plan/groups.hpp"
#include "storage/current_folder.hpp"
#include "storage/self_storage.hpp"

namespace sluice::commit {

namespace {

/// Can a thread write the index while all ranks go on?
bool may_be_behind(const Options& options, const exec::Transport& transport,
                   const storage::Storage& storage, const layout::Format& format) {
  const bool has_thread = storage.in_background() && transport.runs_at_once();
  return plan::strategy(options.strategy).in_background && storage.ranks_together() == 0 &&
         (!has_thread || layout::plans_beside_threads(format));
}

Options options_within(const Options& options, const layout::Format& format, bool is_behind) {
  Options within = options;
  within.apply_every_s = 0;  // the index names what a part has in place
  within.format = format.option;
  const plan::Strategy& strategy = plan::strategy(options.strategy);
  if (strategy.group != nullptr) {
    within.writers = 0;
  }
  if (strategy.within_part != nullptr && !is_behind) {
    within.strategy = strategy.within_part;
  }
  return within;
}

using layout::hdf5::Profile;

/// Error unsupported if no index can combine files of that format into one dataset.
Profile profile_of(const std::string& path, const Options& options) {
  const layout::Format& format = layout::format_of(path, options);
  if (!format.index) {
    const bool is_strategy = plan::writes_parts(options.strategy);
    throw Error(Code::unsupported,
                path + ": " + (is_strategy ? "strategy " + options.strategy : "keep and split") +
                    ": format " + format.name + " has no index over several files: use format " +
                    layout::formats().front()->option + ", or " +
                    (is_strategy ? "a strategy that writes one file" : "neither of them"));
  }
  return layout::hdf5::profile_named(format.name);
}

/// A set keeps the format in which it began.
const layout::Format& format_as(Profile profile, const std::string& path, const Options& options) {
  const layout::Format& format = layout::format_named(profile_name(profile));
  if (options.format != "auto" && options.format != format.option) {
    throw Error(Code::format, path + ": is of format " + format.option + ", not " + options.format +
                                  ": use format auto");
  }
  return format;
}

/// The number that PartsIndex::commit() will return, after `steps` steps.
std::uint64_t step_behind(const FileCommit& commit, std::uint64_t steps, std::uint64_t keep) {
  return commit.is_step && keep != 0 ? std::min(steps, keep - 1) : steps;
}

/// Errors of a group name a rank by its number in the group. That rank broadcasts it with its
/// number among all ranks; empty on the others.
std::exception_ptr of_this_rank(const std::exception_ptr& failure, const exec::Transport& group) {
  try {
    if (failure) {
      std::rethrow_exception(failure);
    }
  } catch (const Error& e) {
    if (e.rank() < 0 || exec::ranks_unreachable(e)) {
      return failure;
    }
    const std::string bare = exec::text_without_rank(e);
    return e.rank() == group.rank() && bare != e.what()
               ? std::make_exception_ptr(Error(e.code(), bare))
               : nullptr;
  } catch (...) {
    return failure;
  }
  return nullptr;
}

/// Collective. Takes out of the commit what it may share with an earlier step: those variables.
/// `blocks` holds what is left. `index`: on rank 0.
std::vector<std::uint32_t> leave_out_unchanged(exec::Transport& transport, BlockHistory& history,
                                               const PartsIndex* index, std::uint64_t keep,
                                               const std::vector<model::Definition>& definitions,
                                               FileCommit& commit,
                                               std::vector<model::Block>& blocks) {
  std::vector<std::int64_t> alike =
      history.look(definitions, commit, static_cast<std::int64_t>(IndexedSet::shared_lag(keep)));
  transport.allreduce(alike, exec::Op::min);
  if (std::all_of(alike.begin(), alike.end(), [](std::int64_t steps) { return steps == 0; })) {
    return {};
  }
  auto message = exec::on_root(
      transport, [&](model::ByteWriter& out) { out.put(index->content().sharable(alike, keep)); });
  std::vector<std::uint32_t> shared = message.get_vector<std::uint32_t>();
  if (shared.empty()) {
    return shared;
  }
  for (const std::uint32_t variable : shared) {
    commit.touched[variable] = false;
  }
  blocks.clear();
  std::copy_if(commit.blocks.begin(), commit.blocks.end(), std::back_inserter(blocks),
               [&](const model::Block& block) { return commit.touched[block.variable]; });
  commit.blocks = blocks;
  commit.blocks_number = 0;
  return shared;
}

/// `parts_dir`, so that it means the same folder after a chdir(). Where the current folder is not
/// there any more, the first part that is to be made in it says so.
std::string lasting_parts_dir(storage::Storage& storage, const std::string& parts_dir) {
  if (!storage::depends_on_current_folder(parts_dir)) {
    return parts_dir;
  }
  try {
    return storage::path_below(storage::current_folder(storage), parts_dir);
  } catch (const Error&) {
    return parts_dir;
  }
}

void put_content(const IndexedSet& content, model::ByteWriter& out) {
  out.put(content.profile());
  out.put(content.has_time());
  out.put(content.definitions().size());
  for (const model::Definition& d : content.definitions()) {
    d.write_to(out);
  }
  out.put(content.set().words());
}

/// On rank 0. Makes the folder of the parts if it is one for all groups, and tells what it is: each
/// of many would make, sync and look at the same.
void make_folder_for_all(const exec::Transport& transport, storage::Storage& storage,
                         const PartsPlace& place, bool may_be_one, Durability durability,
                         model::ByteWriter& out) {
  const bool is_one =
      may_be_one && (transport.nodes() <= 1 || is_seen_by_all(storage, place.folder));
  out.put(is_one);
  if (is_one) {
    make_parts_folder(storage, place, durability);
    PlaceFacts::of(storage, place.folder).write_to(out);
  }
}

/// `transport`: all ranks of the run.
PartsPlace place_of(const exec::Transport& transport, storage::Storage& storage,
                    const std::string& path, const Options& options) {
  return {.index_path = path,
          .folder = parts_folder(path, lasting_parts_dir(storage, options.parts_dir)),
          .rank_cores = exec::idle_cores(transport)};
}

}  // namespace

PartsOutput::PartsOutput(exec::Transport& transport, storage::Storage& storage,
                         const std::string& path, Opening opening, const Options& options)
    : Output(transport, storage, path, options),
      alone_(storage::make_self_storage(storage)),
      place_(place_of(transport, storage, path, options)) {
  const Profile asked = profile_of(path, options);
  const plan::Topology topology =
      plan::pretend({transport.rank(), transport.size(), transport.node(), transport.nodes()},
                    options.ranks_per_node);
  const plan::Group group = plan::writes_parts(options.strategy)
                                ? plan::group_of(options.strategy, options.writers, topology)
                                : plan::Group{0, 1};
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    index_ = std::make_unique<PartsIndex>(storage, path, options.strategy, opening, asked);
    const bool goes_back = opening == Opening::append && options.restart_after >= 0;
    const std::uint64_t steps = index_->content().steps();
    const std::uint64_t kept =
        goes_back ? steps_after_restart(path, options.restart_after, steps) : steps;
    if (options.keep_last != 0) {
      index_->remove_orphans(place_.folder);
    }
    out.put(steps);
    out.put(kept);
    out.put(index_->content().next_number());
    // The parts of later steps, which are dropped, may be lost.
    put_content(kept != steps ? index_->before_step(kept) : index_->content(), out);
    const bool may_be_one = group.count > 1;
    make_folder_for_all(transport, storage, place_, may_be_one, options.durability, out);
  });
  const auto steps = in.get<std::uint64_t>();
  const auto kept = in.get<std::uint64_t>();
  const auto first_number = in.get<std::uint64_t>();
  const layout::Format& format = format_as(in.get<Profile>(), path, options);
  const auto has_times = in.get<bool>();
  std::vector<model::Definition> known;
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    known.push_back(model::Definition::read_from(in));
  }
  const auto set = layout::PartSet::from_words(in.get_vector<std::uint64_t>(), path);
  if (in.get<bool>() && group.number != 0) {
    place_.made = PlaceFacts::read_from(in);
  }
  check_parts(transport, storage, path, set, true);
  if (kept != steps) {
    exec::on_root(transport,
                  [&] { index_->drop_from(kept, options.durability != Durability::none); });
  }
  is_written_.resize(known.size());
  for (const layout::Mapping& mapping : set.mappings) {
    is_written_[mapping.variable] = true;
  }
  adopt(known, kept, opening != Opening::append, format, has_times);
  is_behind_ = may_be_behind(options, transport, storage, format);
  group_ = transport.split(group.number);
  leaders_ = transport.split(group_->rank() == 0 ? 0 : -1);
  place_.set_id = set.id;
  place_.number = first_number + static_cast<std::uint64_t>(group.number);
  place_.stride = static_cast<std::uint64_t>(group.count);
  make_part();
}

void PartsOutput::make_part() {
  if (part_) {
    place_.number = part_->next_number();
  }
  part_.reset();
  part_ = std::make_unique<PartsWriter>(*group_, *alone_, place_,
                                        options_within(options(), format(), is_behind_));
  part_steps_ = 0;
  part_bytes_ = 0;
  bytes_behind_ = 0;
  part_has_fixed_ = false;
}

bool PartsOutput::is_full() const {
  const Options& o = options();
  if (part_steps_ == 0) {
    return o.keep_last != 0 && part_has_fixed_;  // separates the kept from the dropped
  }
  const bool each = o.keep_last != 0 && o.split_steps == 0 && o.split_bytes == 0;
  return each || (o.split_steps != 0 && part_steps_ >= o.split_steps) ||
         (o.split_bytes != 0 && part_bytes_ >= o.split_bytes);
}

/// Not retried: after a failed sync the state on disk is unknown.
template <class Work>
void PartsOutput::lasting(Work&& work) {
  try {
    work();
  } catch (...) {
    broken_ = true;
    throw;
  }
}

void PartsOutput::turn_over() {
  const bool synced_late = options().durability == Durability::close;
  if (synced_late) {
    lasting([&] { sync_part(); });
  }
  close_part();  // if that fails, the next step tries again
  if (synced_late) {
    lasting([&] {
      exec::on_root(transport(), [&] {
        index_->sync();
        index_->remove_dropped(false);
      });
    });
  }
  place_.is_lasting =
      place_.is_lasting || (options().durability != Durability::none && part_->has_file());
  make_part();
}

void PartsOutput::finish_parts() {
  if (part_steps_ != 0 || part_has_fixed_) {
    turn_over();
  }
}

layout::PartSet PartsOutput::set() {
  auto in = exec::on_root(
      transport(), [&](model::ByteWriter& out) { out.put(index_->content().set().words()); });
  return layout::PartSet::from_words(in.get_vector<std::uint64_t>(), path());
}

/// Collective. After the last commit in the background.
std::uint64_t PartsOutput::bytes_of_part() {
  auto message =
      exec::on_root(transport(), [&](model::ByteWriter& out) { out.put(bytes_behind_); });
  return message.get<std::uint64_t>();
}

void PartsOutput::move_parts(const std::vector<std::string>& paths) {
  exec::on_root(transport(),
                [&] { index_->replace(index_->content().with_parts_at(paths), true); });
}

void PartsOutput::accept(const model::Definition&) { is_written_.push_back(false); }

void PartsOutput::accept(const model::Attribute& attribute) {
  if (index_) {
    attributes_.push_back(attribute);
  }
}

void PartsOutput::check_fixed(const FileCommit& commit) const {
  for (std::size_t v = 0; v < commit.touched.size(); ++v) {
    const model::Definition& definition = definitions()[v];
    if (commit.touched[v] && is_written_[v] && !definition.stepped) {
      layout::refuse_rewriting(path() + ": " + definition.name);
    }
  }
}

std::uint64_t PartsOutput::carry_out(const FileCommit& commit) {
  check_fixed(commit);
  before_.reset();
  steps_left_.reset();
  for (const model::Attribute& attribute : attributes_) {
    index_->set_attribute(attribute);
  }
  attributes_.clear();
  if (is_behind_ && options().split_bytes != 0) {
    part_bytes_ = bytes_of_part();
  }
  if (commit.is_step && is_full()) {
    turn_over();
  }
  FileCommit within = commit;
  std::vector<std::uint32_t> shared;
  if (shares_unchanged_ && commit.is_step) {
    shared = leave_out_unchanged(transport(), history_, index_.get(), options().keep_last,
                                 definitions(), within, written_blocks_);
  }
  PartNews news;
  plan::Totals totals;
  const plan::Explain note = [&](const plan::Totals& own) { totals = own; };
  within.explain = commit.explain != nullptr ? &note : nullptr;
  Before before{steps(), is_written_};
  const auto failure = exec::failure_of([&] {
    news = part_->commit(definitions(), within, is_behind_ ? announce(commit, shared) : nullptr);
  });
  try {
    std::int64_t poisoned = part_->poisoned() ? 1 : 0;
    agree_on(failure, poisoned);
    if (commit.explain != nullptr) {
      totals.files += index_ ? 1 : 0;  // the groups are in step again: the sums are of all ranks
      (*commit.explain)(totals);
    }
    const bool index_follows = is_behind_ && news.wrote;
    const std::uint64_t step = index_follows ? step_behind(commit, steps(), options().keep_last)
                                             : publish(commit, news, shared);
    if (index_follows) {
      before_ = std::move(before);
    } else if (news.wrote) {
      part_->keep();
    }
    broken_ = broken_ || poisoned != 0;
    for (std::size_t v = 0; v < commit.touched.size(); ++v) {
      is_written_[v] = is_written_[v] || commit.touched[v];
      part_has_fixed_ = part_has_fixed_ || (commit.touched[v] && !definitions()[v].stepped);
    }
    part_steps_ += commit.is_step ? 1 : 0;
    history_.committed();
    return step;
  } catch (...) {
    give_up();
    throw;
  }
}

/// What the index gets once a commit in the background is in the part. On rank 0, where nothing
/// else uses the index meanwhile.
PartsWriter::Announce PartsOutput::announce(const FileCommit& commit,
                                            const std::vector<std::uint32_t>& shared) {
  FileCommit to_index;
  to_index.is_step = commit.is_step;
  to_index.time = commit.time;
  to_index.synced = commit.synced;
  return [this, to_index, shared, all = definitions()](const PartNews& news) {
    index_->commit(all, to_index, {news}, options().keep_last, shared);
    if (options().durability != Durability::close) {
      index_->remove_dropped(false);
    }
    bytes_behind_ = news.part.bytes;
  };
}

void PartsOutput::recover() {
  history_.forget();
  std::int64_t poisoned = index_ && index_->poisoned() ? 1 : 0;
  transport().allreduce({&poisoned, 1}, exec::Op::max);
  broken_ = broken_ || poisoned != 0;
  if (broken_) {
    part_->keep();  // the index may refer to it
  } else if (before_) {
    steps_left_ = before_->steps;
    is_written_ = before_->is_written;
    is_written_.resize(definitions().size());
    before_.reset();
    make_part();
  }
}

std::uint64_t PartsOutput::publish(const FileCommit& commit, const PartNews& news,
                                   const std::vector<std::uint32_t>& shared) {
  std::vector<PartNews> all;
  if (leaders_) {
    for (const auto& bytes : leaders_->gather(news.to_bytes(), 0)) {
      all.push_back(PartNews::from_bytes(bytes));
    }
  }
  auto in = exec::on_root(transport(), [&](model::ByteWriter& out) {
    out.put(index_->commit(definitions(), commit, all, options().keep_last, shared));
    if (options().durability != Durability::close) {
      index_->remove_dropped(false);
    }
    std::uint64_t largest = 0;
    for (const PartNews& one : all) {
      largest = std::max(largest, one.part.bytes);
    }
    out.put(largest);
  });
  const auto step = in.get<std::uint64_t>();
  part_bytes_ = std::max(part_bytes_, in.get<std::uint64_t>());
  return step;
}

void PartsOutput::give_up() noexcept {
  // Every rank gets here together: the error was agreed on.
  history_.forget();
  part_->forget();
  try {
    std::int64_t poisoned = part_->poisoned() || (index_ && index_->poisoned()) ? 1 : 0;
    transport().allreduce({&poisoned, 1}, exec::Op::max);
    broken_ = broken_ || poisoned != 0;
  } catch (const std::exception&) {
    broken_ = true;
  }
  if (broken_) {
    part_->keep();  // the index may refer to it
  }
}

void PartsOutput::agree_on(const std::exception_ptr& failure, std::int64_t& extra) {
  std::int64_t flags[] = {extra, failure ? 1 : 0};
  const std::exception_ptr own = of_this_rank(failure, *group_);
  exec::agree(transport(), own, flags);
  extra = flags[0];
  if (flags[1] != 0) {
    exec::agree(transport(), failure);  // the named rank did not receive it
  }
}

void PartsOutput::sync_part() {
  std::int64_t unused = 0;
  agree_on(exec::failure_of([&] { part_->sync_all(); }), unused);
}

void PartsOutput::close_part() {
  std::int64_t unused = 0;
  agree_on(exec::failure_of([&] { part_->close(); }), unused);
}

void PartsOutput::sync_all() {
  sync_part();
  exec::on_root(transport(), [&] { index_->sync(); });
}

void PartsOutput::finish() {
  close_part();
  if (index_) {
    index_->remove_dropped(true);
  }
  index_.reset();  // and releases the lease
}

}  // namespace sluice::commit
