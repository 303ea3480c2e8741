#include "compare/variable_pair.hpp"

#include <algorithm>

#include "commit/tools/fills.hpp"
#include "exec/transport/agree.hpp"
#include "layout/portion.hpp"

namespace sluice::cli {

using model::Box;
using model::Dims;

Side::Side(commit::Input& input, std::uint32_t variable)
    : input_(input), variable_(variable), definition_(input.variables()[variable].definition) {}

std::vector<std::byte> Side::fill() const { return commit::fill_of(input_, definition_); }

Dims Side::shape() const { return leads_ ? definition_.shape.without_front() : definition_.shape; }

Dims Side::shape(std::uint64_t step) const {
  return is_varying() ? input_.shape_or_most(variable_, step) : shape();
}

std::uint64_t Side::steps() const {
  return definition_.stepped ? input_.steps() : leads_ ? definition_.shape[0] : 1;
}

bool Side::is_local() const { return input_.variables()[variable_].placeable; }

bool Side::is_in_parts() const { return input_.variables()[variable_].number_in_set.has_value(); }

void Side::seek(std::uint64_t step) {
  step_ = step;
  if (is_local() && !is_in_parts()) {
    const Dims all = is_varying() ? shape(step) : definition_.shape;
    located_ = &input_.locate({variable_, definition_.stepped ? step : 0, model::whole(all)});
  }
}

void Side::read(const Box& part, std::vector<std::byte>& out) {
  out.resize(part.volume() * definition_.type.bytes);
  Box box = part;
  if (leads_) {
    box.start = part.start.with_front(step_);
    box.count = part.count.with_front(part.empty() ? 0 : 1);
  }
  const std::uint64_t step = definition_.stepped ? step_ : 0;
  const commit::GetRequest request =
      commit::dense_request(variable_, step, box, out.data(), definition_.type);
  if (is_in_parts()) {
    input_.parts()->get(input_.variables()[variable_], request);
  } else if (!is_local()) {
    input_.get(request);
  } else if (!part.empty()) {
    input_.checked().read(*located_, box, out);
  }
}

std::vector<Box> Side::parts(const Box& all) const {
  if (!is_local() || is_in_parts() || leads_) {
    return layout::split(all, definition_.type.bytes, layout::portion_bytes);
  }
  std::vector<Box> boxes;
  for (const layout::Piece& piece : layout::cut(located_->placement(), all)) {
    for (const Box& part :
         layout::split(piece.box, definition_.type.bytes, layout::portion_bytes)) {
      boxes.push_back(part);
    }
  }
  return boxes;
}

namespace {

/// Reads a part; a failure of this rank alone is kept, one of all is thrown.
void read_part(Side& side, const Box& part, std::vector<std::byte>& out,
               std::exception_ptr& failure) {
  if (!side.is_local()) {
    side.read(part, out);
    return;
  }
  try {
    side.read(part, out);
  } catch (...) {
    failure = std::current_exception();
  }
}

}  // namespace

std::optional<Box> common_box(const Side& a, const Side& b, std::uint64_t step) {
  return model::intersect(model::whole(a.shape(step)), model::whole(b.shape(step)));
}

Differences compare_sides(exec::Transport& transport, Side& a, Side& b, std::uint64_t steps,
                          const Tolerance& tolerance, const Advance& advance) {
  Differences found;
  std::vector<std::byte> left;
  std::vector<std::byte> right;
  const auto ranks = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  const Dims none = Dims::filled(a.shape().rank(), 0);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::optional<Box> common = common_box(a, b, step);
    if (!common) {
      continue;
    }
    a.seek(step);
    b.seek(step);
    std::exception_ptr failure;
    const std::vector<Box> parts = a.parts(*common);
    for (std::size_t first = 0; first < parts.size(); first += ranks) {
      const bool is_mine = first + rank < parts.size();
      // (A scalar has no empty part: all ranks read it, one compares it.)
      const Box part = is_mine ? parts[first + rank] : Box{none, none};
      read_part(a, part, left, failure);
      read_part(b, part, right, failure);
      if (is_mine && !failure) {
        compare(left, right, a.type(), part, step, tolerance, found);
      }
      advance(left.size() * std::min(ranks, parts.size() - first));
    }
    exec::agree(transport, failure);
  }
  model::ByteWriter out;
  found.write_to(out);
  const auto all = transport.gather(out.take(), 0);
  if (transport.rank() == 0) {
    found = {};
    for (const auto& bytes : all) {
      model::ByteReader in(bytes);
      found.merge(Differences::read_from(in));
    }
  }
  return found;
}

}  // namespace sluice::cli
