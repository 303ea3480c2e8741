#include "layout/icechunk/planner.hpp"

#include <algorithm>
#include <cmath>

#include "layout/lengths.hpp"
#include "layout/zarr/manifest.hpp"
#include "model/bytes.hpp"
#include "model/clock.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

/// The node of an object of a Zarr store, and the indices in the rest of its name, "c.1.0".
std::pair<std::string, std::vector<std::uint32_t>> chunk_of(const std::string& object) {
  const std::size_t slash = object.rfind('/');
  std::vector<std::uint32_t> index;
  for (std::size_t at = object.find('.', slash); at != std::string::npos;
       at = object.find('.', at + 1)) {
    index.push_back(static_cast<std::uint32_t>(std::stoul(object.substr(at + 1))));
  }
  return {object.substr(0, slash), index};
}

void replace_word(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

std::string message_of(std::uint64_t step) { return "step " + std::to_string(step); }

}  // namespace

IcechunkPlanner::IcechunkPlanner(storage::File& file, const PlannerOptions& options)
    : file_(file), options_(options) {
  check_ref(options_.branch, file.path() + ": branch");
  if (options_.tags.empty()) {
    return;
  }
  check_ref(tag_of(0), file.path() + ": tags");
  if (options_.tags.find("{step}") == std::string::npos) {
    throw Error(Code::invalid_argument, file.path() + ": tags " + model::quoted(options_.tags) +
                                            ": every step needs a name of its own: use {step} in "
                                            "it, as in step-{step}");
  }
}

std::string IcechunkPlanner::tag_of(std::uint64_t step) const {
  std::string tag = options_.tags;
  replace_word(tag, "{step}", std::to_string(step));
  replace_word(tag, "{branch}", options_.branch);
  return tag;
}

/// Icechunk leaves a mark where a tag was removed: no other one may have its name.
bool IcechunkPlanner::has_tag(const std::string& tag) {
  return file_.object_bytes(tag_name(tag)) || file_.object_bytes(tag_name(tag) + ".deleted");
}

std::unique_ptr<IcechunkPlanner> IcechunkPlanner::create(storage::File& file,
                                                         const PlannerOptions& options) {
  std::unique_ptr<IcechunkPlanner> planner(new IcechunkPlanner(file, options));
  planner->zarr_ = zarr::ZarrPlanner::create(file, options);
  return planner;
}

std::unique_ptr<IcechunkPlanner> IcechunkPlanner::append(storage::File& file,
                                                         const PlannerOptions& options) {
  std::unique_ptr<IcechunkPlanner> planner(new IcechunkPlanner(file, options));
  View& view = planner->view_.emplace(file, options.branch);
  planner->zarr_ = zarr::ZarrPlanner::append(view, options);
  planner->state_ = {History(view.repository().snapshot()), view.repository().ref(), true};
  planner->history_.begin(planner->state_);
  planner->find_untagged();
  return planner;
}

/// A tag follows its commit: a run may have ended in between.
void IcechunkPlanner::find_untagged() {
  const std::uint64_t steps = zarr_->steps();
  if (options_.tags.empty() || steps == 0 || state_.ref.empty()) {
    return;
  }
  const std::string message = view_->repository().snapshot().message;
  const std::string tag = tag_of(steps - 1);
  if (message.substr(0, message.find(',')) == message_of(steps - 1) && !has_tag(tag)) {
    untagged_ = {tag_name(tag), state_.ref, true};
  }
}

/// Where objects are written whole, one that nobody writes is not there, and a manifest that names
/// it would mislead.
Refusals IcechunkPlanner::refusals() const {
  Refusals refusals = zarr_->refusals();
  if (options_.whole_objects) {
    refusals.no_partial =
        "format icechunk holds no partial variables on an object store: put all of it, or use "
        "format zarr";
  }
  return refusals;
}

void IcechunkPlanner::define(const model::Definition& definition) { zarr_->define(definition); }

History::ReadRefs IcechunkPlanner::read_refs() {
  return [this](const Node& node, const ManifestRef& ref) {
    return Repository::chunks_in(file_, node, ref);
  };
}

storage::Segment IcechunkPlanner::in_file(storage::Segment object) {
  const auto [at, is_new] = ids_.try_emplace(object.name);
  if (is_new) {
    at->second = new_object_id();
  }
  object.name = chunk_name(at->second);
  return object;
}

void IcechunkPlanner::take_tag(const CommitRequest& request) {
  tag_ = request.is_step && !options_.tags.empty() ? tag_of(zarr_->steps()) : "";
  if (!tag_.empty() && has_tag(tag_)) {
    throw Error(Code::exists, file_.path() + ": the tag " + model::quoted(tag_) +
                                  " is there already, or was removed, and tags never change: set "
                                  "`tags` to other names");
  }
}

CommitPlan IcechunkPlanner::plan_commit(const CommitRequest& request) {
  ids_.clear();
  take_tag(request);
  CommitPlan plan = zarr_->plan_commit(request);
  // What Zarr would remove was never in the snapshots to come.
  std::erase_if(plan.objects, [](const auto& object) { return object.length == 0; });
  for (storage::Segment& object : plan.objects) {
    object = in_file(std::move(object));
  }
  modified_ns_ = request.modified_ns;
  message_ = request.is_step ? message_of(plan.step) : "data without a step";
  if (request.is_step && !std::isnan(request.time)) {
    message_ += ", time " + zarr::Json(request.time).dump();
  }
  return plan;
}

void IcechunkPlanner::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  zarr_->drop_steps(steps, modified_ns);
  const auto first = static_cast<std::uint32_t>(steps);
  for (const model::Definition& d : zarr_->known()) {
    if (d.stepped) {
      state_.history.drop_chunks(d.name, first, read_refs());
    }
  }
  const std::uint64_t objects = (steps + zarr::rows_per_object - 1) / zarr::rows_per_object;
  state_.history.drop_chunks(time_name, static_cast<std::uint32_t>(objects), read_refs());
  modified_ns_ = modified_ns;
  message_ = "without the steps from " + std::to_string(steps) + " on";
}

void IcechunkPlanner::take_chunk(const std::string& object, const ObjectId& id,
                                 std::uint64_t bytes) {
  const auto [node, index] = chunk_of(object);
  ChunkRef ref;
  ref.index = index;
  ref.chunk = id;
  ref.length = bytes;
  state_.history.set_chunk(node, std::move(ref), read_refs());
}

void IcechunkPlanner::take_documents(const MetadataUpdate& sealed) {
  const std::string ending = std::string("/") + zarr::document_name;
  for (const Document& document : sealed.after) {
    zarr::Json node = zarr::parse(document.bytes, file_.path(), document.name);
    if (node.contains("chunk_key_encoding")) {
      // The one kind of names by which Icechunk finds chunks.
      node["chunk_key_encoding"] = {{"name", "default"}, {"configuration", {{"separator", "/"}}}};
    }
    state_.history.set_document(document.name.substr(0, document.name.size() - ending.size()),
                                zarr::text_of(node));
  }
  // The nodes' own documents are all that there is: Icechunk has no consolidated metadata.
  zarr::Json root = zarr::parse(sealed.manifest.bytes, file_.path());
  root.erase("consolidated_metadata");
  state_.history.set_document("", zarr::sealed_text(std::move(root)));
}

MetadataUpdate IcechunkPlanner::seal() {
  MetadataUpdate sealed = zarr_->seal();
  MetadataUpdate update;
  update.fresh = std::move(sealed.fresh);
  for (storage::Segment& object : sealed.objects) {
    if (ids_.count(object.name) != 0) {
      update.objects.push_back(in_file(std::move(object)));
    }
  }
  for (const auto& [object, bytes] : zarr_->object_sizes()) {
    const auto known = ids_.find(object);
    if (known != ids_.end()) {
      take_chunk(object, known->second, bytes);
    }
  }
  for (Document& document : sealed.before) {
    const ObjectId id = new_object_id();
    take_chunk(document.name, id, document.bytes.size());
    update.before.push_back({chunk_name(id), std::move(document.bytes)});
  }
  take_documents(sealed);
  const std::int64_t written_ns = modified_ns_ != 0 ? modified_ns_ : model::wall_clock_ns();
  if (!std::exchange(state_.is_there, true)) {
    begin(update, static_cast<std::uint64_t>(written_ns / 1000));
  }
  const std::string message = message_.empty() ? "metadata" : message_;
  for (Document& document :
       state_.history.seal(message, static_cast<std::uint64_t>(written_ns / 1000))) {
    update.before.push_back(std::move(document));
  }
  // What the ref must be when it is replaced: another program may not know of the lease.
  update.root.push_back({0, state_.ref});
  state_.ref = model::bytes_of(ref_text(state_.history.snapshot()));
  update.manifest = {ref_name(options_.branch), state_.ref};
  if (!untagged_.name.empty()) {
    update.after.push_back(std::exchange(untagged_, {}));
  }
  if (!tag_.empty()) {
    update.after.push_back({tag_name(tag_), state_.ref, true});
  }
  ids_.clear();
  message_.clear();
  tag_.clear();
  modified_ns_ = 0;
  return update;
}

/// The first snapshot, which is empty: where the branch is another one, the default branch, without
/// which nothing is a repository, stays there.
void IcechunkPlanner::begin(MetadataUpdate& update, std::uint64_t written_us) {
  Snapshot first;
  first.id = first_snapshot_id();
  first.written_us = written_us;
  first.message = "Repository initialized";
  Document document{snapshot_name(first.id), encode(first)};
  if (options_.branch == default_branch) {
    update.before.push_back(std::move(document));
    return;
  }
  update.begins.push_back(std::move(document));
  update.begins.push_back({ref_name(default_branch), model::bytes_of(ref_text(first.id)), true});
}

void IcechunkPlanner::planned() {
  zarr_->planned();
  history_.plan(state_);
}

void IcechunkPlanner::committed() {
  zarr_->committed();
  history_.commit();
}

void IcechunkPlanner::abandon() {
  zarr_->abandon();
  ids_.clear();
  message_.clear();
  tag_.clear();
  state_ = history_.abandon();
}

}  // namespace sluice::layout::icechunk
