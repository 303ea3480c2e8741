#include "commit/output.hpp"

#include <algorithm>
#include <bit>

#include "codec/checksum.hpp"
#include "exec/agree.hpp"
#include "layout/hdf5/planner.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/fill.hpp"
#include "model/name.hpp"

namespace sluice::commit {

using layout::hdf5::Hdf5Planner;
using layout::hdf5::PlannerOptions;
using model::Dims;

namespace {

/// One is filled while another is written; the third keeps a slow write from stopping the packing.
constexpr std::size_t staging_buffers = 3;

}  // namespace

Output::Output(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               Opening opening, const Options& options)
    : transport_(transport),
      storage_(storage),
      path_(path),
      options_(options),
      strategy_(plan::strategy(options.strategy)),
      topology_{transport.rank(), transport.size(), transport.node(), transport.nodes()},
      buffers_{{layout::portion_bytes, staging_buffers, storage.in_background()}, {}} {
  open(opening);
}

Output::~Output() {
  planner_.reset();  // reads through the publisher's file
}

namespace {

PlannerOptions planner_options(const Options& options, storage::Storage& storage,
                               const std::string& path) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t stripe =
      options.stripe_bytes != 0 ? options.stripe_bytes : storage.stripe_bytes(path);
  PlannerOptions planner;
  if (stripe > page && stripe % page == 0) {
    planner.alignment_bytes = stripe;
    planner.threshold_bytes = std::min<std::uint64_t>(stripe, 64 << 10);
  }
  return planner;
}

}  // namespace

void Output::open(Opening opening) {
  const bool fresh = opening != Opening::append;
  const auto message = exec::on_root(transport_, 0, [&] {
    if (opening == Opening::create && storage_.exists(path_)) {
      throw Error(Code::exists, path_ + ": exists already: choose another name or Mode::write");
    }
    model::ByteWriter known;
    std::unique_ptr<Hdf5Planner> planner;
    const PlannerOptions settings = planner_options(options_, storage_, path_);
    if (fresh) {
      publisher_ = Publisher::build(storage_, path_);
      planner = Hdf5Planner::create(publisher_->file(), settings);
    } else {
      publisher_ = Publisher::reopen(storage_, path_);
      planner = Hdf5Planner::append(publisher_->file(), settings);
      publisher_->file().resize(planner->committed_end());  // of a step that never came to be
    }
    known.put(publisher_->present_path());
    known.put(planner->steps());
    known.put(planner->known().size());
    for (std::uint32_t v = 0; v < planner->known().size(); ++v) {
      const model::Definition& d = planner->known()[v];
      known.put(d.name);
      known.put(d.type);
      known.put(d.shape);
      known.put(d.stepped);
      known.put(d.partial);
      known.put(d.fill);
      known.put(planner->tile(v));
    }
    planner_ = std::move(planner);
    return known.take();
  });
  const std::string present_path = adopt(message);
  has_news_ = fresh;
  std::exception_ptr failure;
  try {
    if (strategy_.writes(topology_)) {
      own_file_ = publisher_ ? nullptr : storage_.open(present_path, storage::Access::read_write);
      file_ = publisher_ ? &publisher_->file() : own_file_.get();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(transport_, failure);
  std::int64_t writers = file_ != nullptr ? 1 : 0;
  writer_index_ = static_cast<std::uint64_t>(transport_.exclusive_sum(writers));
  transport_.allreduce({&writers, 1}, exec::Op::sum);
  writers_ = static_cast<std::uint64_t>(writers);
}

std::string Output::adopt(std::span<const std::byte> message) {
  model::ByteReader in(message);
  std::string present_path = in.get_string();
  steps_ = in.get<std::uint64_t>();
  const auto count = in.get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    model::Definition d;
    d.name = in.get_string();
    d.type = in.get<Type>();
    d.shape = in.get<Dims>();
    d.stepped = in.get<bool>();
    d.partial = in.get<bool>();
    d.fill = in.get<double>();
    tiles_.push_back({in.get<Dims>(), true, true});
    name_hashes_.push_back(codec::checksum(d.name));
    definitions_.push_back(std::move(d));
  }
  return present_path;
}

void Output::require_open() const {
  if (closed_) {
    throw Error(Code::wrong_state, path_ + ": is closed");
  }
  if (poisoned_) {
    throw Error(Code::wrong_state,
                path_ + ": an earlier commit failed half-way: reopen the file to go on");
  }
}

template <class Work>
void Output::local(Work&& work) {
  require_open();
  try {
    work();
  } catch (const Error& e) {
    const Error named(e.code(), path_ + ": " + e.what());
    fail(std::make_exception_ptr(named));
    throw named;
  }
}

void Output::fail(const std::exception_ptr& failure) noexcept {
  if (!failure_) {
    failure_ = failure;
  }
}

namespace {

void check_definition(const model::Definition& d) {
  model::check_name(d.name);
  if (d.name == "sluice" || d.name.rfind("sluice/", 0) == 0) {
    throw Error(Code::bad_name, "define " + d.name + ": the group /sluice belongs to the library");
  }
  if (d.shape.rank() + (d.stepped ? 1 : 0) > model::max_rank) {
    throw Error(Code::invalid_argument, "define " + d.name + ": more than " +
                                            std::to_string(model::max_rank - 1) +
                                            " dimensions besides the step");
  }
  if (d.type.bytes == 0) {
    throw Error(Code::invalid_argument, "define " + d.name + ": elements of 0 bytes");
  }
  d.bytes_per_step();  // throws where it exceeds 64 bits
  if (!d.dimensions.empty() && d.dimensions.size() != static_cast<std::size_t>(d.shape.rank())) {
    throw Error(Code::invalid_argument, "define " + d.name + ": " +
                                            std::to_string(d.dimensions.size()) +
                                            " dimension names for shape " + d.shape.text());
  }
  if (d.partial && !model::can_fill(d.type, d.fill)) {
    throw Error(Code::invalid_argument,
                "define " + d.name + ": fill value does not fit " + type_name(d.type));
  }
  if (!d.chunk.empty()) {
    if (d.chunk.rank() != d.shape.rank() || !d.stepped || d.chunk.volume() == 0) {
      throw Error(Code::invalid_argument, "define " + d.name + ": chunk " + d.chunk.text() +
                                              " does not fit shape " + d.shape.text() +
                                              " (stepped variables only, no zeros)");
    }
    if (model::checked_product(d.chunk.volume(), d.type.bytes, "chunk") >= (4ULL << 30)) {
      throw Error(Code::invalid_argument, "define " + d.name + ": chunks must be below 4 GiB");
    }
  }
}

/// A name may not be both a dataset and a group on the way to another.
void check_path(const std::string& name, const std::vector<model::Definition>& others) {
  for (const model::Definition& other : others) {
    if (other.name.rfind(name + "/", 0) == 0 || name.rfind(other.name + "/", 0) == 0) {
      throw Error(Code::bad_name, "define " + name + ": clashes with the variable " + other.name);
    }
  }
}

Dims bounded_chunk(const model::Definition& d) {
  Dims chunk = d.chunk;
  for (int i = 0; i < chunk.rank(); ++i) {
    chunk[i] = std::min(chunk[i], std::max<std::uint64_t>(1, d.shape[i]));
  }
  return chunk;
}

}  // namespace

std::uint32_t Output::define(const model::Definition& definition) {
  std::uint32_t index = 0;
  local([&] {
    check_definition(definition);
    const auto same = std::find_if(definitions_.begin(), definitions_.end(),
                                   [&](const auto& d) { return d.name == definition.name; });
    index = static_cast<std::uint32_t>(same - definitions_.begin());
    if (same != definitions_.end()) {
      if (same->type != definition.type || same->shape != definition.shape ||
          same->stepped != definition.stepped) {
        throw Error(Code::exists,
                    "define " + definition.name + ": is there already with another type or shape");
      }
      return;
    }
    check_path(definition.name, definitions_);
    model::ByteWriter digest;
    digest.put(description_digest_);
    digest.put(definition.name);
    digest.put(definition.type.kind);
    digest.put(definition.type.bytes);
    digest.put(definition.shape);
    digest.put(definition.chunk);
    for (const std::string& dimension : definition.dimensions) {
      digest.put(dimension);
    }
    digest.put(definition.fill);
    digest.put(static_cast<int>(definition.stepped) * 2 + static_cast<int>(definition.partial));
    description_digest_ = codec::checksum(digest.take());
    definitions_.push_back(definition);
    name_hashes_.push_back(codec::checksum(definition.name));
    tiles_.push_back(definition.stepped
                         ? Tiles{bounded_chunk(definition), !definition.chunk.empty(), false}
                         : Tiles{definition.shape, true, false});
    if (planner_) {
      planner_->define(definition);
    }
    has_news_ = true;
  });
  return index;
}

void Output::set_attribute(const model::Attribute& attribute) {
  local([&] {
    model::check_name(attribute.name);
    if (!attribute.owner.empty()) {
      model::check_name(attribute.owner);
    }
    model::ByteWriter digest;
    digest.put(description_digest_);
    digest.put(attribute.owner);
    digest.put(attribute.name);
    digest.put(attribute.value.index());
    description_digest_ = codec::checksum(digest.take());
    if (planner_) {
      planner_->set_attribute(attribute);
    }
    has_news_ = true;
  });
}

void Output::begin_step(double time) {
  local([&] {
    if (in_step_) {
      throw Error(Code::wrong_state, "begin_step: the step before has not ended");
    }
    in_step_ = true;
    time_ = time;
  });
}

namespace {

void check_variable(std::uint32_t index, const std::vector<model::Definition>& definitions,
                    bool in_step) {
  if (index >= definitions.size()) {
    throw Error(Code::invalid_argument, "put: this variable was not defined in this file");
  }
  if (definitions[index].stepped && !in_step) {
    throw Error(Code::wrong_state, "put " + definitions[index].name +
                                       ": has steps: put it between begin_step and end");
  }
}

void check_convertible(const model::Definition& d, const Type& memory) {
  if (!model::convertible(memory, d.type)) {
    throw Error(Code::type_mismatch, "put " + d.name + ": memory of " + type_name(memory) +
                                         " cannot be stored as " + type_name(d.type));
  }
}

}  // namespace

void Output::put(const model::Block& block) {
  local([&] {
    check_variable(block.variable, definitions_, in_step_);
    const model::Definition& d = definitions_[block.variable];
    check_convertible(d, block.memory.type);
    model::check_block(d.shape, block.box, "put " + d.name);
    model::check_block(block.memory.shape, {block.memory.start, block.box.count},
                       "put " + d.name + " (memory)");
    if (block.box.empty()) {
      return;
    }
    if (block.memory.data == nullptr) {
      throw Error(Code::invalid_argument, "put " + d.name + ": null pointer");
    }
    blocks_.push_back(block);
  });
}

void Output::put_rows(const exec::Rows& rows) {
  local([&] {
    check_variable(rows.variable, definitions_, in_step_);
    const model::Definition& d = definitions_[rows.variable];
    check_convertible(d, rows.type);
    if (d.shape.empty()) {
      throw Error(Code::invalid_argument, "put_rows " + d.name + ": a scalar has no rows");
    }
    if (!rows.ids.empty() && (rows.ids.data() == nullptr || rows.data == nullptr)) {
      throw Error(Code::invalid_argument, "put_rows " + d.name + ": null pointer");
    }
    rows_.push_back(rows);
  });
}

void Output::forget_step() noexcept {
  blocks_.clear();
  rows_.clear();
  owned_rows_.clear();
  failure_ = nullptr;
  in_step_ = false;
}

Receipt Output::end_step() {
  if (!in_step_) {
    throw Error(Code::wrong_state, path_ + ": end: there is no step under way");
  }
  return commit(true, false);
}

Receipt Output::flush() {
  if (in_step_) {
    throw Error(Code::wrong_state, path_ + ": flush: end the step first");
  }
  return commit(false, false);
}

void Output::close() {
  require_open();
  if (in_step_) {
    throw Error(Code::wrong_state, path_ + ": close: end the step first");
  }
  commit(false, true);
  planner_.reset();
  if (publisher_) {
    publisher_->close();
  }
  own_file_.reset();
  file_ = nullptr;
  closed_ = true;
}

}  // namespace sluice::commit
