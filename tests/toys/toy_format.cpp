// A format for tests only: one line of text, data in order, and after every commit an index of
// everything. The line contains the position of the newest index, and is within one sector.
#include <sstream>

#include "codec/checksum.hpp"
#include "layout/appending_planner.hpp"
#include "model/bytes.hpp"
#include "toys/toys.hpp"

namespace sluice::toys {

namespace {

using namespace layout;

constexpr std::size_t line_bytes = 128;
constexpr const char* magic = "sluice-toy";

struct Index {
  std::uint64_t end = line_bytes;
  std::uint64_t steps = 0;
  bool has_line = false;
  std::vector<std::vector<std::uint64_t>> addresses = {};  ///< by variable, by step
};

std::istringstream line_of(storage::File& file) {
  std::string line(line_bytes, ' ');
  file.read(0, std::as_writable_bytes(std::span(line)));
  return std::istringstream(line);
}

Index read_index(storage::File& file, std::vector<model::Definition>& definitions) {
  std::string word;
  std::uint64_t offset = 0, length = 0, sum = 0;
  if (!(line_of(file) >> word >> offset >> length >> sum) || offset > file.size() ||
      length > file.size() - offset) {
    throw Error(Code::truncated, file.path() + ": truncated: ends before its index");
  }
  std::vector<std::byte> text(length);
  if (file.read(offset, text) != length || codec::checksum(text) != sum) {
    throw Error(Code::damaged, file.path() + ": the index does not match its checksum");
  }
  model::ByteReader in(text);
  Index index{offset + length, in.get<std::uint64_t>(), true};
  while (!in.at_end()) {
    definitions.push_back(model::Definition::read_from(in));
    index.addresses.push_back(in.get_vector<std::uint64_t>());
  }
  return index;
}

class ToyPlanner final : public AppendingPlanner<Index> {
 public:
  ToyPlanner(storage::File& file, const PlannerOptions& options, bool reads)
      : AppendingPlanner(file, options) {
    state_ = reads ? read_index(file, definitions_) : Index{};
    history_.begin(state_);
  }
  const char* format() const override { return toy_format.name; }
  CommitPlan plan_commit(const CommitRequest& request) override {
    CommitPlan plan;
    plan.step = state_.steps;
    state_.addresses.resize(definitions_.size());
    for (const Touched& one : request.touched) {
      const model::Definition& d = definitions_[one.variable];
      std::vector<std::uint64_t>& at = state_.addresses[one.variable];
      if (!d.stepped && !at.empty()) refuse_rewriting(d.name);
      at.resize(d.stepped ? state_.steps : 0, absent);
      at.push_back(take(d.bytes_per_step()));
      plan.placements.push_back(in_one_piece(one.variable, d, d.shape, at.back()));
    }
    state_.steps += request.is_step ? 1 : 0;
    plan.set_space(definitions_);
    return plan;
  }
  void drop_steps(std::uint64_t steps, std::int64_t) override {
    state_.steps = std::min(steps, state_.steps);
    for (std::size_t v = 0; v < state_.addresses.size(); ++v) {
      std::vector<std::uint64_t>& at = state_.addresses[v];
      if (definitions_[v].stepped) at.resize(std::min(at.size(), state_.steps));
    }
  }
  MetadataUpdate seal() override {
    model::ByteWriter out;
    out.put(state_.steps);
    state_.addresses.resize(definitions_.size());
    for (std::size_t v = 0; v < definitions_.size(); ++v) {
      definitions_[v].write_to(out);
      out.put(state_.addresses[v]);
    }
    MetadataUpdate update;
    update.fresh.push_back({0, out.take()});
    const std::vector<std::byte>& text = update.fresh[0].bytes;
    update.fresh[0].offset = take(text.size());
    std::ostringstream line;
    line << magic << ' ' << update.fresh[0].offset << ' ' << text.size() << ' '
         << codec::checksum(text) << std::string(line_bytes, ' ');
    const std::string padded = line.str().substr(0, line_bytes - 1) + '\n';
    const auto bytes = std::as_bytes(std::span(padded));
    update.root.push_back({0, {bytes.begin(), bytes.end()}});
    update.end = state_.end;
    update.is_atomic = std::exchange(state_.has_line, true);
    return update;
  }
};

class ToyCatalog final : public Catalog {
 public:
  explicit ToyCatalog(storage::File& file) {
    std::vector<model::Definition> definitions;
    index_ = read_index(file, definitions);
    steps_ = index_.steps;
    for (const auto& d : definitions) variables_.push_back({d, false, true, {}, d.shape, "raw"});
  }
  const char* format() const override { return toy_format.name; }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box&) override {
    const model::Definition& d = variables_.at(variable).definition;
    const std::vector<std::uint64_t>& at = index_.addresses[variable];
    const std::uint64_t row = d.stepped ? step : 0;
    return in_one_piece(variable, d, d.shape, row < at.size() ? at[row] : absent);
  }

 private:
  Index index_;
};

template <bool reads>
std::unique_ptr<Planner> plan(storage::File& file, const PlannerOptions& options) {
  return std::make_unique<ToyPlanner>(file, options, reads);
}
std::unique_ptr<Catalog> open(storage::File& file) { return std::make_unique<ToyCatalog>(file); }
Match match(storage::File& file) {
  std::string word;
  line_of(file) >> word;
  return word == magic ? Match::certain : Match::none;
}

}  // namespace

constinit const Format toy_format{.name = "toy-index",
                                  .option = "toy-index",
                                  .many = true,
                                  .names = true,
                                  .complex = true,
                                  .unchecked = "data",
                                  .create = plan<false>,
                                  .append = plan<true>,
                                  .open = open,
                                  .match = match};

}  // namespace sluice::toys
