#include "commit/parts/parts_writer.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "codec/checksum.hpp"
#include "commit/publish/parts_files.hpp"
#include "exec/transport/agree.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "model/bytes.hpp"
#include "model/convert.hpp"
#include "storage/calls.hpp"

namespace sluice::commit {

using layout::Mapping;
using model::Definition;
using model::Dims;

PartsWriter::PartsWriter(exec::Transport& group, storage::Storage& storage, PartsPlace place,
                         const Options& options)
    : group_(group), storage_(storage), place_(std::move(place)), options_(options) {}

PartsWriter::~PartsWriter() {
  const bool has_file = file_ != nullptr;
  file_.reset();  // ends what is in flight, which may keep it
  if (has_file && !is_kept_ && group_.rank() == 0) {
    remove_part(storage_, place_.index_path, place_.set_id, {path_, part_id_});
  }
}

PartNews PartsWriter::commit(const std::vector<Definition>& definitions, const FileCommit& commit,
                             const Announce& announce) {
  known_.resize(definitions.size());
  std::vector<Written> written = agree(definitions, commit);
  if (written.empty()) {
    PartNews news;
    news.part.id = part_id_;
    return news;
  }
  if (!file_) {
    make_file();
  }
  place(definitions, commit, written);
  number_places(written);
  const std::vector<model::Block> blocks = move_blocks(definitions, commit);
  FileCommit own;
  own.is_step = std::any_of(written.begin(), written.end(),
                            [&](const Written& w) { return definitions[w.variable].stepped; });
  own.synced = commit.synced;
  own.time = commit.time;
  own.blocks = blocks;
  own.blocks_number = places_number_;
  own.rank = commit.rank;
  own.explain = commit.explain;
  own.touched.resize(file_->variables().definitions().size());
  for (const Written& w : written) {
    own.touched[known_[w.variable].dataset.number] = true;
  }
  PartNews news;
  if (announce) {
    news = tell(definitions, commit, written);
    news.row = file_->variables().steps();
    news.part = {path_, part_id_, commits_ + 1, 0, 0};
    own.when_published = [this, news, announce](std::int64_t modified_ns, std::uint64_t bytes) {
      PartNews complete = news;
      complete.part.stamp_ns = modified_ns;
      complete.part.bytes = bytes;
      announce(complete);
      is_kept_ = true;
    };
  }
  const std::uint64_t row = file_->commit(own);
  ++commits_;
  if (!announce) {
    news = tell(definitions, commit, written);
    news.row = row;
    news.part = {path_, part_id_, commits_, file_->modified_ns(), file_->bytes()};
  }
  sources_.clear();
  return news;
}

void PartsWriter::forget() {
  sources_.clear();
  for (Known& known : known_) {
    known.signature = 0;
  }
  agreed_number_ = 0;
}

/// The same number as before if everything written has the same location.
void PartsWriter::number_places(const std::vector<Written>& written) {
  std::vector<std::uint32_t> variables;
  bool is_new = false;
  for (const Written& w : written) {
    variables.push_back(w.variable);
    is_new = is_new || w.is_new;
  }
  if (is_new || variables != placed_) {
    placed_ = std::move(variables);
    ++places_number_;
  }
}

void PartsWriter::sync_all() {
  if (file_) {
    file_->sync_all();
  }
}

void PartsWriter::close() {
  if (file_) {
    file_->close();
  }
}

std::vector<PartsWriter::Written> PartsWriter::agree(const std::vector<Definition>& definitions,
                                                     const FileCommit& commit) {
  if (commit.blocks_number != 0 && commit.blocks_number == agreed_number_) {
    return agreed_;
  }
  agreed_number_ = 0;
  bool is_stepped = true;
  std::vector<model::ByteWriter> boxes(definitions.size());
  std::vector<bool> has(definitions.size());
  for (const model::Block& block : commit.blocks) {
    boxes[block.variable].put(block.box);
    has[block.variable] = true;
  }
  std::vector<std::uint32_t> touched;
  std::vector<std::int64_t> flags;  // does any rank have it; is its location new to any rank
  for (std::uint32_t v = 0; v < definitions.size(); ++v) {
    if (commit.touched[v]) {
      const std::uint64_t signature = codec::checksum(boxes[v].take()) | 1;
      touched.push_back(v);
      flags.push_back(has[v] ? 1 : 0);
      flags.push_back(signature != known_[v].signature || !definitions[v].stepped ? 1 : 0);
      known_[v].signature = signature;
      is_stepped = is_stepped && definitions[v].stepped;
    }
  }
  group_.allreduce(flags, exec::Op::max);
  std::vector<Written> written;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (flags[2 * i] != 0) {
      written.push_back({touched[i], flags[2 * i + 1] != 0, 0});
    }
  }
  if (is_stepped) {  // then nothing is new if the ranks' blocks are unchanged
    agreed_ = written;
    for (Written& w : agreed_) {
      w.is_new = false;
    }
    agreed_number_ = commit.blocks_number;
  }
  return written;
}

namespace {

void refuse_link(storage::Storage& storage, const std::string& folder) {
  if (storage.is_link(folder)) {
    throw Error(Code::permission, folder +
                                      ": is a symbolic link, and parts are written through none: "
                                      "set parts_dir to the folder that it leads to");
  }
}

}  // namespace

void make_parts_folder(storage::Storage& storage, const PartsPlace& place, Durability durability) {
  storage.make_folder(place.folder);
  refuse_link(storage, place.folder);
  if (durability != Durability::none && !place.is_lasting) {
    storage.sync_directory(place.folder);  // otherwise a crash may remove that of a valid index
  }
}

void PartsWriter::make_file() {
  auto in = exec::on_root(group_, [&](model::ByteWriter& out) {
    // That all nodes see the same folder is a guess: there may be another file system here.
    const bool is_made = place_.made && storage_.exists(place_.folder);
    if (is_made) {
      refuse_link(storage_, place_.folder);
    } else {
      make_parts_folder(storage_, place_, options_.durability);
    }
    const std::string path = free_path();
    out.put(path);
    (is_made ? *place_.made : PlaceFacts::of(storage_, path)).write_to(out);
    out.put(place_.number);
    out.put(draw_id());
  });
  path_ = in.get_string();
  const PlaceFacts facts = PlaceFacts::read_from(in);
  place_.number = in.get<std::uint64_t>();
  part_id_ = in.get<std::uint64_t>();
  file_ = std::make_unique<FileWriter>(group_, storage_,
                                       FilePlace{path_, facts, false, place_.rank_cores},
                                       Opening::create, options_);
  const std::string group = layout::hdf5::group_name;
  file_->set_attribute(
      {group, layout::hdf5::set_id_name, std::bit_cast<std::int64_t>(place_.set_id)});
  file_->set_attribute({group, layout::hdf5::part_id_name, std::bit_cast<std::int64_t>(part_id_)});
  file_->set_attribute(
      {group, layout::hdf5::index_path_name, storage::absolute_path(place_.index_path)});
}

/// An unused name: a run that died may have left a part that its index does not refer to.
std::string PartsWriter::free_path() {
  constexpr int most_tries = 1 << 16;
  for (int tries = 0; tries < most_tries; ++tries, place_.number += place_.stride) {
    std::string path = part_file(place_.folder, place_.set_id, place_.number, place_.index_path);
    if (!storage_.exists(path) && !storage_.is_link(path)) {
      return path;
    }
  }
  throw Error(Code::exists, place_.folder +
                                ": is full of parts of this set that its index does not refer to: "
                                "move them away");
}

void PartsWriter::place(const std::vector<Definition>& definitions, const FileCommit& commit,
                        std::vector<Written>& written) {
  constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();
  // The hull of each new variable's boxes (by maxima of ends and of complements of starts), and
  // their volume: equal volumes mean that the union is the hull, as blocks overlap only unchecked.
  std::vector<std::size_t> first(definitions.size());
  std::vector<std::int64_t> corners;
  std::vector<std::int64_t> volumes;
  std::vector<std::size_t> slot(definitions.size());
  for (const Written& w : written) {
    if (w.is_new) {
      first[w.variable] = corners.size();
      slot[w.variable] = volumes.size();
      corners.resize(
          corners.size() + 2 * static_cast<std::size_t>(definitions[w.variable].shape.rank()),
          nothing);
      volumes.push_back(0);
    }
  }
  if (volumes.empty()) {
    return;
  }
  std::vector<bool> is_new(definitions.size());
  for (const Written& w : written) {
    is_new[w.variable] = w.is_new;
  }
  for (const model::Block& block : commit.blocks) {
    if (!is_new[block.variable]) {
      continue;
    }
    std::int64_t* corner = corners.data() + first[block.variable];
    for (int d = 0; d < block.box.start.rank(); ++d, corner += 2) {
      corner[0] = std::max(corner[0], ~static_cast<std::int64_t>(block.box.start[d]));
      corner[1] = std::max(corner[1], static_cast<std::int64_t>(block.box.end(d)));
    }
    volumes[slot[block.variable]] += static_cast<std::int64_t>(block.box.volume());
  }
  const std::vector<std::int64_t> own = volumes;
  group_.allreduce(corners, exec::Op::max);
  group_.allreduce(volumes, exec::Op::sum);
  for (Written& w : written) {
    if (!w.is_new) {
      continue;
    }
    const Definition& definition = definitions[w.variable];
    Known& known = known_[w.variable];
    known.hull = {};
    for (int d = 0; d < definition.shape.rank(); ++d) {
      const std::size_t at = first[w.variable] + 2 * static_cast<std::size_t>(d);
      const auto start = static_cast<std::uint64_t>(~corners[at]);
      known.hull.start.push_back(start);
      known.hull.count.push_back(static_cast<std::uint64_t>(corners[at + 1]) - start);
    }
    w.total = static_cast<std::uint64_t>(volumes[slot[w.variable]]);
    const bool listed = known.hull.volume() != w.total;
    known.offset =
        listed ? static_cast<std::uint64_t>(group_.prefix_sum(own[slot[w.variable]]).below) : 0;
    known.dataset = choose(definition, known, listed, listed ? Dims{w.total} : known.hull.count);
  }
}

PartsWriter::Dataset PartsWriter::choose(const Definition& definition, Known& known, bool listed,
                                         const Dims& shape) {
  const std::uint64_t needed = shape.volume();
  const std::uint64_t small = (64 << 10) / definition.type.bytes + 1;
  for (const Dataset& dataset : known.datasets) {
    bool fits = definition.stepped && dataset.listed == listed;
    for (int d = 0; fits && d < shape.rank(); ++d) {
      fits = dataset.shape[d] >= shape[d];
    }
    if (fits && dataset.shape.volume() <= needed + std::max(needed / 2, small)) {
      return dataset;
    }
  }
  Definition own;
  own.name = free_name(definition.name);
  own.type = definition.type;
  own.shape = shape;
  own.stepped = definition.stepped;
  own.compress = definition.compress;
  own.fill = definition.fill;  // a rounding leaves it as it is
  const bool moves = definition.stepped && !known.datasets.empty();
  if (moves && shape.rank() > 0) {
    own.shape[0] += shape[0] / 4;  // the next decomposition will differ
    own.partial = true;
  } else if (!listed) {
    own.chunk = definition.chunk;
  }
  const Dataset made{static_cast<std::uint32_t>(file_->variables().definitions().size()), listed,
                     own.shape};
  names_.add(own.name, made.number);
  file_->define(own);
  known.datasets.push_back(made);
  return made;
}

std::string PartsWriter::free_name(const std::string& name) const {
  constexpr int most_names = 1 << 20;  // a file with more datasets of one variable is not a part
  for (int number = 0; number < most_names; ++number) {
    std::string candidate = number == 0 ? name : name + "~" + std::to_string(number);
    if (names_.is_free(candidate)) {
      return candidate;
    }
  }
  throw Error(Code::bad_name, path_ + ": no name is left for another dataset of " + name);
}

std::vector<model::Block> PartsWriter::move_blocks(const std::vector<Definition>& definitions,
                                                   const FileCommit& commit) {
  std::vector<model::Block> moved;
  std::vector<std::uint64_t> offsets(definitions.size());
  moved.reserve(commit.blocks.size());
  sources_.clear();
  for (const model::Block& block : commit.blocks) {
    const Known& known = known_[block.variable];
    const Type& type = definitions[block.variable].type;
    // Bytes that need conversion are requested by their position in the whole, so that an error
    // names that position.
    const bool is_plain = block.source == nullptr && block.memory.type == type;
    model::Block own = block;
    own.variable = known.dataset.number;
    if (known.dataset.listed) {
      const std::uint64_t count = block.box.volume();
      const std::uint64_t offset = known.offset + offsets[block.variable];
      offsets[block.variable] += count;
      own.box = {{offset}, {count}};
      if (is_plain && block.memory.shape == block.box.count) {
        own.memory.shape = {count};
        own.memory.start = {0};
      } else {
        sources_.push_back(std::make_unique<model::LinearSource>(block, type, offset));
        own.source = sources_.back().get();
      }
    } else {
      for (int d = 0; d < own.box.start.rank(); ++d) {
        own.box.start[d] -= known.hull.start[d];
      }
      if (!is_plain) {
        sources_.push_back(std::make_unique<model::MovedSource>(block, type, known.hull.start));
        own.source = sources_.back().get();
      }
    }
    moved.push_back(own);
  }
  return moved;
}

namespace {

bool is_fixed_scalar(const Definition& definition) {
  return !definition.stepped && definition.shape.empty();
}

std::vector<std::byte> scalar_of(const model::Block& block, const Definition& definition) {
  std::vector<std::byte> bytes(definition.type.bytes);
  if (block.source != nullptr) {
    block.source->read(block.box, bytes);
  } else {
    model::pack(block.memory, block.box, block.box, definition.type, block.allow_overflow, bytes);
  }
  return bytes;
}

}  // namespace

PartNews PartsWriter::tell(const std::vector<Definition>& definitions, const FileCommit& commit,
                           const std::vector<Written>& written) {
  PartNews news;
  news.wrote = true;
  std::vector<Mapping> listed;  // the ranks of the group know these boxes
  bool gathers = false;
  for (const Written& w : written) {
    const Known& known = known_[w.variable];
    if (!w.is_new) {
      news.same.push_back(w.variable);
      continue;
    }
    Mapping mapping;
    mapping.variable = w.variable;
    mapping.dataset = static_cast<std::uint32_t>(news.datasets.size());
    news.datasets.push_back(file_->variables().definitions()[known.dataset.number].name);
    mapping.listed = known.dataset.listed;
    mapping.box = known.hull;
    (mapping.listed ? listed : news.mappings).push_back(mapping);
    gathers = gathers || mapping.listed || is_fixed_scalar(definitions[w.variable]);
  }
  if (!gathers) {
    return news;
  }
  std::vector<std::optional<std::uint32_t>> dataset(definitions.size());
  for (const Mapping& mapping : listed) {
    dataset[mapping.variable] = mapping.dataset;
  }
  PartNews mine;
  try {
    mine = tell_own(definitions, commit, dataset);
  } catch (const Error&) {
    // A scalar that its type cannot hold: the commit of the part fails with that.
  }
  for (const auto& bytes : group_.gather(mine.to_bytes(), 0)) {
    PartNews other = PartNews::from_bytes(bytes);
    for (Mapping& mapping : other.mappings) {
      mapping.dataset = *dataset[mapping.variable];
      news.mappings.push_back(mapping);
    }
    std::move(other.scalars.begin(), other.scalars.end(), std::back_inserter(news.scalars));
  }
  return news;
}

PartNews PartsWriter::tell_own(const std::vector<Definition>& definitions, const FileCommit& commit,
                               const std::vector<std::optional<std::uint32_t>>& listed) const {
  PartNews mine;
  std::vector<std::uint64_t> offsets(definitions.size());
  for (const model::Block& block : commit.blocks) {
    const Definition& definition = definitions[block.variable];
    if (listed[block.variable]) {
      Mapping mapping;
      mapping.variable = block.variable;
      mapping.listed = true;
      mapping.offset = known_[block.variable].offset + offsets[block.variable];
      mapping.box = block.box;
      offsets[block.variable] += block.box.volume();
      mine.mappings.push_back(mapping);
    } else if (is_fixed_scalar(definition)) {
      mine.scalars.push_back({block.variable, scalar_of(block, definition)});
    }
  }
  return mine;
}

}  // namespace sluice::commit
