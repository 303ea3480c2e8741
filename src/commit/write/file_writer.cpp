#include "commit/write/file_writer.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "commit/write/choice.hpp"
#include "exec/transport/agree.hpp"
#include "layout/stores.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

using layout::PlannerOptions;
using model::Dims;

namespace {

/// One is filled while another is written; the third keeps a slow write from stopping the packing.
constexpr std::size_t staging_buffers = 3;

PlannerOptions planner_options(const Options& options, storage::Storage& storage,
                               const std::string& path) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t stripe =
      options.stripe_bytes != 0 ? options.stripe_bytes : storage.stripe_bytes(path);
  PlannerOptions planner;
  if (!codec::parse_pipeline(options.compress, 1).empty()) {
    // Of chunks with sizes of their own a gap in front of each would be a large part.
    planner.alignment_bytes = planner.threshold_bytes = 1;
    return planner;
  }
  if (stripe > page && stripe % page == 0) {
    planner.alignment_bytes = stripe;
    planner.threshold_bytes = std::min<std::uint64_t>(stripe, 64 << 10);
  }
  return planner;
}

/// Leaves the time of modification alone where nothing is to be done.
void cut(storage::File& file, std::uint64_t end) {
  if (file.size() != end) {
    file.resize(end);
  }
}

exec::Pace pace_of(const plan::Strategy& strategy, const exec::Transport& transport,
                   const storage::Storage& storage) {
  if (!strategy.in_background) {
    return storage.in_background() ? exec::Pace::in_thread : exec::Pace::at_once;
  }
  // Virtual ranks take turns, in one order that a test can repeat.
  return storage.in_background() && transport.runs_at_once() ? exec::Pace::in_thread
                                                             : exec::Pace::when_asked;
}

Dims bounded_chunk(const model::Definition& d) {
  Dims chunk = d.chunk;
  for (int i = 0; i < chunk.rank(); ++i) {
    chunk[i] = std::min(chunk[i], std::max<std::uint64_t>(1, d.shape[i]));
  }
  return chunk;
}

}  // namespace

FileWriter::FileWriter(exec::Transport& transport, storage::Storage& storage,
                       const std::string& path, Opening opening, const Options& options)
    : transport_(transport),
      storage_(storage),
      path_(path),
      options_(options),
      strategy_(plan::strategy(options.strategy)),
      choice_(choose_writers(transport, storage, path, options)),
      topology_(topology_of(transport, choice_)),
      buffers_{{strategy_.in_windows ? plan::window_bytes(choice_) : layout::portion_bytes,
                strategy_.in_background ? plan::windows_held(choice_) : staging_buffers,
                pace_of(strategy_, transport, storage)},
               {}} {
  if (strategy_.in_background && storage.ranks_together() != 0) {
    throw Error(Code::unsupported,
                path + ": strategy " + strategy_.name +
                    " writes in the background, which storage mpiio cannot: use storage direct or "
                    "posix" +
                    (strategy_.within_part == nullptr
                         ? std::string()
                         : std::string(", or strategy ") + strategy_.within_part));
  }
  if (strategy_.chooses) {
    rates_ = ground_under(transport, storage, path, options);
  }
  open(opening);
  open_pipeline();
}

void FileWriter::open(Opening opening) {
  const bool fresh = opening != Opening::append;
  const auto message = exec::on_root(transport_, 0, [&] {
    if (opening == Opening::create && storage_.exists(path_)) {
      throw Error(Code::exists, path_ + ": exists already: choose another name or Mode::write");
    }
    planner_ = plan_file(fresh);
    model::ByteWriter known;
    known.put(publisher_->present_path());
    known.put(std::string(planner_->format()));
    known.put(planner_->steps());
    known.put(planner_->known().size());
    for (std::uint32_t v = 0; v < planner_->known().size(); ++v) {
      planner_->known()[v].write_to(known);
      known.put(planner_->tile(v));
    }
    return known.take();
  });
  const std::string present_path = adopt(message);
  const plan::RankList openers = strategy_.openers(topology_, choice_);
  const int own_index = openers.index_of(topology_.rank);
  writers_ = openers.size();
  writer_index_ = static_cast<std::uint64_t>(std::max(own_index, 0));
  exec::together(transport_, [&] {
    const bool writes = own_index >= 0;
    // Not so for a group of the ranks: each of them has another file.
    const bool together = storage_.ranks_together() == transport_.size();
    if (together) {
      own_file_ = std::make_unique<ReopenableFile>(
          storage_, storage_.open_together(present_path, storage::Access::read_write, writes));
    } else if (writes && (!publisher_ || strategy_.in_background)) {
      own_file_ =
          std::make_unique<ReopenableFile>(storage_, present_path, storage::Access::read_write);
    }
    if (writes) {
      file_ = own_file_ ? own_file_.get() : &publisher_->file();
    }
  });
}

std::unique_ptr<layout::Planner> FileWriter::plan_file(bool fresh) {
  PlannerOptions settings = planner_options(options_, storage_, path_);
  settings.writers = plan::count_writers(strategy_, topology_, choice_);
  if (fresh) {
    const layout::Format& format = layout::format_of(path_, options_);
    layout::durability_of(format, options_.durability);
    refuse_together(format);
    publisher_ = Publisher::build(storage_, path_, format, options_.durability != Durability::none);
    return layout::make_planner(format, file_to_plan(), layout::Start::fresh, settings);
  }
  publisher_ = Publisher::reopen(storage_, path_);
  const layout::Format& format = layout::format_in(publisher_->file(), options_.format);
  auto planner = layout::make_planner(format, file_to_plan(), layout::Start::append, settings);
  const layout::Format& found = layout::format_named(planner->format());
  refuse_together(found);
  layout::check_hdf5_layout(found, options_, path_);
  layout::durability_of(found, options_.durability);
  cut(publisher_->file(), planner->committed_end());  // of a step that never came to be
  if (options_.restart_after >= 0) {
    drop_later_steps(*planner);
  }
  return planner;
}

storage::File& FileWriter::file_to_plan() {
  if (!strategy_.in_background) {
    return publisher_->file();
  }
  planner_file_ =
      layout::open_data(storage_, publisher_->present_path(), storage::Access::read_write);
  return *planner_file_;
}

void FileWriter::drop_later_steps(layout::Planner& planner) {
  const std::uint64_t kept = steps_after_restart(path_, options_.restart_after, planner.steps());
  if (kept == planner.steps()) {
    return;
  }
  const bool synced = options_.durability != Durability::none;
  const std::int64_t stamp_ns = model::wall_clock_ns();
  planner.drop_steps(kept, stamp_ns);
  const layout::MetadataUpdate update = planner.seal();
  publisher_->write_fresh(update);
  if (synced) {
    publisher_->file().sync();
  }
  publisher_->publish(update, synced, stamp_ns);
  publisher_->settle();
  planner.committed();
  cut(publisher_->file(), planner.committed_end());
}

std::string FileWriter::adopt(std::span<const std::byte> message) {
  model::ByteReader in(message);
  std::string present_path = in.get_string();
  format_ = &layout::format_named(in.get_string());
  options_.checksum = options_.checksum && format_->checksums;
  steps_ = in.get<std::uint64_t>();
  const auto count = in.get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    model::Definition d = model::Definition::read_from(in);
    tiles_.push_back({in.get<Dims>(), true, true, layout::pipeline_in(*format_, d)});
    name_hashes_.push_back(codec::checksum(d.name));
    definitions_.push_back(std::move(d));
  }
  return present_path;
}

void FileWriter::define(const model::Definition& definition) {
  definitions_.push_back(definition);
  name_hashes_.push_back(codec::checksum(definition.name));
  codec::Pipeline pipeline = layout::pipeline_in(*format_, definition);
  const bool is_tiled =
      format_->tiled && (definition.stepped || !pipeline.empty() || format_->most_tile_bytes != 0);
  tiles_.push_back(is_tiled ? Tiles{bounded_chunk(definition), !definition.chunk.empty(), false}
                            : Tiles{definition.shape, true, false});
  tiles_.back().pipeline = std::move(pipeline);
  tell_planner([definition](layout::Planner& planner) { planner.define(definition); });
}

void FileWriter::set_attribute(const model::Attribute& attribute) {
  tell_planner([attribute](layout::Planner& planner) { planner.set_attribute(attribute); });
}

bool FileWriter::has_unmade() const {
  return std::any_of(tiles_.begin(), tiles_.end(), [](const Tiles& t) { return !t.made; });
}

std::uint64_t FileWriter::commit(const FileCommit& commit) {
  bool placed = false;
  stats_ = commit.stats;
  try {
    choose_tiles(commit);
    std::vector<layout::Portion> portions = cut_blocks(commit);
    std::uint64_t words = 0;
    if (options_.checksum) {
      for (const layout::Portion& portion : portions) {
        words += exec::record_words(portion.piece.box.start.rank());
      }
    }
    const std::vector<layout::Portion> to_encode = take_encoded(commit, portions);
    number_words(commit, words);
    placed = true;
    const Staged staged{portions, to_encode, words_.first, words_.all};
    std::uint64_t step = steps_;
    if (const auto behind = plan_behind(commit, staged)) {
      commit_behind(commit, behind, staged);
    } else {
      step = commit_now(commit, staged);
    }
    for (std::size_t v = 0; v < tiles_.size(); ++v) {
      tiles_[v].made = tiles_[v].made || commit.is_last || commit.touched[v];
    }
    steps_ += commit.is_step ? 1 : 0;
    return step;
  } catch (const Error& e) {
    if (e.code() == Code::timeout || e.code() == Code::mpi) {
      poisoned_ = true;  // the other ranks cannot be asked any more
    } else if (placed) {
      give_up();
    }
    throw;
  }
}

/// Collective, but where the blocks lie as they did when their words were last numbered.
void FileWriter::number_words(const FileCommit& commit, std::uint64_t words) {
  if (commit.blocks_number != 0 && commit.blocks_number == words_.blocks_number) {
    return;
  }
  words_.blocks_number = 0;
  auto all = static_cast<std::int64_t>(words);
  words_.first = static_cast<std::uint64_t>(transport_.exclusive_sum(all));
  transport_.allreduce({&all, 1}, exec::Op::sum);
  words_.all = static_cast<std::uint64_t>(all);
  words_.blocks_number = commit.blocks_number;
}

/// Places are asked for before anything moves. Returns the number of the step.
std::uint64_t FileWriter::commit_now(const FileCommit& commit, const Staged& staged) {
  wait_until_placed();
  const layout::CommitPlan plan = place(commit, staged.words);
  if (pipeline_ && has_encoded(commit)) {
    wait_for_all();  // encoded tiles are written from here, not behind what is on its way
  }
  const exec::EncodedResult encoded = write_encoded(commit, plan, staged.encoded);
  const plan::Plan who = make_plan(commit, plan, staged.plain, encoded);
  if (pipeline_) {
    begin_background(who, commit.is_step);
  }
  prefill(plan, who);
  write(commit, plan, who, staged.plain, staged.first_word, encoded.words);
  took_s_ = model::now_s() - chose_s_;
  pipeline_ ? publish_in_background(commit) : publish(commit.synced);
  return plan.step;
}

void FileWriter::sync_all() {
  exec::together(transport_, [&] {
    sync_own();
    if (publisher_) {
      publisher_->sync_names();
    }
  });
}

void FileWriter::choose_tiles(const FileCommit& commit) {
  std::vector<std::uint32_t> open;
  std::size_t dimensions = 0;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (commit.touched[v] && !tiles_[v].chosen) {
      open.push_back(v);
      dimensions += static_cast<std::size_t>(definitions_[v].shape.rank());
    }
  }
  if (open.empty()) {
    return;
  }
  std::vector<std::size_t> place(definitions_.size(), open.size());
  std::vector<layout::Decomposition> own;
  for (const std::uint32_t v : open) {
    place[v] = own.size();
    own.emplace_back(definitions_[v].shape.rank());
  }
  for (const model::Block& block : commit.blocks) {
    if (place[block.variable] < own.size()) {
      own[place[block.variable]].add(block.box, shape_of(commit, block.variable));
    }
  }
  std::vector<std::int64_t> gcds;
  std::vector<std::int64_t> largest;
  for (const layout::Decomposition& mine : own) {
    gcds.insert(gcds.end(), mine.boundary_gcd.begin(), mine.boundary_gcd.end());
    largest.insert(largest.end(), mine.largest_count.begin(), mine.largest_count.end());
  }
  transport_.allreduce(gcds, exec::Op::gcd);
  transport_.allreduce(largest, exec::Op::max);
  std::size_t at = 0;
  for (const std::uint32_t v : open) {
    layout::Decomposition all(definitions_[v].shape.rank());
    for (int d = 0; d < definitions_[v].shape.rank(); ++d, ++at) {
      all.boundary_gcd[d] = static_cast<std::uint64_t>(gcds[at]);
      all.largest_count[d] = static_cast<std::uint64_t>(largest[at]);
    }
    if (!definitions_[v].stepped && tiles_[v].pipeline.empty()) {
      all = layout::Decomposition(all.boundary_gcd.rank());  // in rows, however it is put
    }
    const bool encodes = !tiles_[v].pipeline.empty();
    const std::uint32_t element_bytes = definitions_[v].type.bytes;
    tiles_[v].tile = encodes
                         ? layout::choose_encoded_tile(definitions_[v].shape, element_bytes, all)
                         : layout::choose_tile(definitions_[v].shape, element_bytes, all);
    if (encodes) {
      layout::limit_rows(tiles_[v].tile, element_bytes, options_.budget_bytes / 4);
    } else if (definitions_[v].varying) {  // whole tiles are written, so few rows need few
      layout::limit_rows(tiles_[v].tile, element_bytes, layout::portion_bytes);
    } else if (format_->most_tile_bytes != 0) {
      layout::limit_rows(tiles_[v].tile, element_bytes, format_->most_tile_bytes);
    }
    tiles_[v].chosen = true;
  }
}

const Dims& FileWriter::shape_of(const FileCommit& commit, std::uint32_t variable) const {
  const bool varies = variable < commit.shapes.size() && definitions_[variable].varying;
  return varies ? commit.shapes[variable] : definitions_[variable].shape;
}

const Dims& FileWriter::tile_of(const FileCommit& commit, std::uint32_t variable) const {
  return format_->tiled ? tiles_[variable].tile : shape_of(commit, variable);
}

std::vector<layout::Portion> FileWriter::cut_blocks(const FileCommit& commit) const {
  std::vector<layout::Portion> portions;
  for (std::uint32_t b = 0; b < commit.blocks.size(); ++b) {
    const model::Block& block = commit.blocks[b];
    const model::Definition& d = definitions_[block.variable];
    const Dims& shape = format_->tiled ? d.shape : shape_of(commit, block.variable);
    layout::append_portions(b, block.box, shape, tile_of(commit, block.variable), d.type.bytes,
                            portions);
  }
  return portions;
}

void FileWriter::write(const FileCommit& commit, const layout::CommitPlan& placed,
                       const plan::Plan& who, std::span<const layout::Portion> portions,
                       std::uint64_t first_word, std::span<const std::uint64_t> earlier_words) {
  const double began_s = model::now_s();
  const auto failure = exec::failure_of([&] {
    exec::Work work;
    work.definitions = definitions_;
    work.name_hashes = name_hashes_;
    work.blocks = commit.blocks;
    work.portions = portions;
    work.commit = &placed;
    work.first_word = first_word;
    work.earlier_words = earlier_words;
    work.file = file_;
    work.rank = commit.rank;
    exec::carry_out(transport_, who, work, buffers_);
    if (publisher_ && !pipeline_) {
      publisher_->write_fresh(update_);
    }
    if (commit.synced && !pipeline_) {
      sync_own();
    }
  });
  pipeline_ ? agree_in_background(failure, commit.synced) : exec::agree(transport_, failure);
  if (stats_ != nullptr && who.predicted_s != 0) {
    stats_->compare(who.predicted_s, model::now_s() - began_s);
  }
}

void FileWriter::sync_own() {
  if (file_ != nullptr) {
    file_->sync();
  }
  if (publisher_ && file_ != &publisher_->file()) {
    publisher_->file().sync();
  }
}

void FileWriter::publish(bool synced) {
  exec::on_root(transport_, 0, [&] {
    publisher_->publish(update_, synced, modified_ns_);
    planner_->committed();
    return std::vector<std::byte>{};
  });
}

void FileWriter::give_up() {
  // Every rank comes here together: the error was agreed on.
  try {
    if (pipeline_) {
      pipeline_->wait_for_all();
      absorb();
      forget_failed();
      drop_ring();  // its marks may be half made
    }
    const auto message = exec::on_root(transport_, 0, [&] {
      publisher_->settle();
      publisher_->file().renew(publisher_->present_path());
      {
        const std::lock_guard lock(planner_mutex_);
        planner_->abandon();
        tell_planner_what_waits(layout::absent);
      }
      // What the failed commit wrote must not shine through where the next one leaves holes.
      publisher_->file().resize(planner_->committed_end());
      model::ByteWriter out;
      out.put(publisher_->present_path());
      return out.take();
    });
    renew_own(model::ByteReader(message).get_string());
    if (pipeline_) {
      pipeline_->restart();
    }
  } catch (const Error&) {
    poisoned_ = true;
  }
}

void FileWriter::renew_own(const std::string& present_path) {
  const bool lost = own_file_ && own_file_->sync_failed();
  exec::together(transport_, [&] {
    if (lost) {
      if (storage_.ranks_together() == transport_.size()) {
        throw Error(Code::io, path_ + ": what a failed sync left is not known");
      }
      own_file_->renew(present_path);
    }
  });
}

void FileWriter::close() {
  end_pipeline();
  exec::on_root(transport_, 0, [&] {
    planner_.reset();
    planner_file_.reset();
    publisher_->close();
    return std::vector<std::byte>{};
  });
  own_file_.reset();
  file_ = nullptr;
}

}  // namespace sluice::commit
