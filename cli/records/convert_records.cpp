#include "records/convert_records.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "commit/read/input.hpp"
#include "commit/tools/companions.hpp"
#include "commit/tools/new_file.hpp"
#include "dialect/mfdn/records.hpp"
#include "exec/transport/agree.hpp"
#include "model/fill.hpp"
#include "records/new_files.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

using dialect::mfdn::Record;

constexpr std::uint64_t element_bytes = sizeof(float);
constexpr std::uint64_t properties = 3;  ///< energy, J, T

std::string vector_name(std::uint64_t state) {
  return fmt::format("GRP{0:02}/EigenVector{0:02}", state + 1);
}

std::string properties_name(std::uint64_t state) {
  return fmt::format("GRP{0:02}/Properties{0:02}", state + 1);
}

/// Collective. The files of a folder, which one rank looks for.
std::uint64_t count_on_root(const Context& context, const std::string& folder) {
  return exec::on_root(context.transport,
                       [&](model::ByteWriter& out) {
                         out.put(dialect::mfdn::count_files(context.storage, folder));
                       })
      .get<std::uint64_t>();
}

/// This rank's files of a folder: every size-th one.
struct OwnFiles {
  std::vector<std::unique_ptr<storage::File>> files;
  std::vector<std::vector<Record>> records;
  std::vector<std::uint64_t> numbers;  ///< from 0
};

OwnFiles open_own(const Context& context, const std::string& folder, std::uint64_t parts) {
  OwnFiles own;
  const auto ranks = static_cast<std::uint64_t>(context.transport.size());
  for (auto p = static_cast<std::uint64_t>(context.transport.rank()); p < parts; p += ranks) {
    own.files.push_back(
        context.storage.open(dialect::mfdn::record_path(folder, p + 1), storage::Access::read));
    own.records.push_back(dialect::mfdn::find_records(*own.files.back()));
    own.numbers.push_back(p);
  }
  return own;
}

/// Collective. Elements of each file, and the number of states that all of them have.
std::vector<std::int64_t> agree_on_lengths(const Context& context, const OwnFiles& own,
                                           const std::string& folder, std::uint64_t parts) {
  std::vector<std::int64_t> lengths(parts + 2, 0);
  lengths[parts] = std::numeric_limits<std::int64_t>::min();
  lengths[parts + 1] = lengths[parts];
  std::exception_ptr failure;
  for (std::size_t i = 0; i < own.files.size(); ++i) {
    const std::uint64_t bytes = own.records[i].empty() ? 0 : own.records[i][0].bytes();
    const bool is_even = std::all_of(own.records[i].begin(), own.records[i].end(),
                                     [&](const Record& r) { return r.bytes() == bytes; });
    if (!is_even || bytes % element_bytes != 0) {
      failure = std::make_exception_ptr(
          Error(Code::format, own.files[i]->path() + ": records of different lengths, or not of "
                                                     "float32"));
      break;
    }
    lengths[own.numbers[i]] = static_cast<std::int64_t>(bytes / element_bytes);
    const auto states = static_cast<std::int64_t>(own.records[i].size());
    lengths[parts] = std::max(lengths[parts], states);
    lengths[parts + 1] = std::max(lengths[parts + 1], -states);
  }
  exec::agree(context.transport, failure, lengths);
  if (lengths[parts] != -lengths[parts + 1] || lengths[parts] == 0) {
    throw Error(Code::format, folder + ": the files have different numbers of records, or none");
  }
  lengths.pop_back();
  return lengths;
}

}  // namespace

bool is_record_folder(const Context& context, const std::string& path) {
  return count_on_root(context, path) > 0;
}

namespace {

/// The result of agree_on_lengths as text.
struct Lengths {
  std::vector<std::int64_t> of_parts;
  std::uint64_t states = 0;
  std::uint64_t before(std::uint64_t part) const {
    const auto end = of_parts.begin() + static_cast<std::ptrdiff_t>(part);
    return static_cast<std::uint64_t>(std::accumulate(of_parts.begin(), end, std::int64_t{0}));
  }
  std::uint64_t dimension() const { return before(of_parts.size()); }
};

/// Collective in the sense of Output::define. The variables of the vectors.
std::vector<std::uint32_t> define_tree(const Context& context, commit::Output& output,
                                       const Lengths& lengths) {
  output.set_attribute({"", "Author", std::string("UNEDF")});
  model::Definition all;
  all.name = "LENGTHS";
  all.type = type_of<std::int64_t>();
  all.shape = {lengths.of_parts.size()};
  const std::uint32_t variable = output.define(all);
  if (context.is_root()) {
    const auto* bytes = reinterpret_cast<const std::byte*>(lengths.of_parts.data());
    output.put({variable, model::whole(all.shape), {bytes, all.type, all.shape, {0}}, false});
  }
  std::vector<std::uint32_t> vectors;
  for (std::uint64_t s = 0; s < lengths.states; ++s) {
    model::Definition vector;
    vector.name = vector_name(s);
    vector.type = type_of<float>();
    vector.shape = {lengths.dimension()};
    vectors.push_back(output.define(vector));
    model::Definition reserved;
    reserved.name = properties_name(s);
    reserved.type = type_of<double>();
    reserved.shape = {properties};
    reserved.partial = true;
    reserved.fill = *model::fill_bytes(std::numeric_limits<double>::quiet_NaN(), reserved.type);
    output.define(reserved);
    output.set_attribute({reserved.name, "columns", std::string("energy, J, T")});
  }
  return vectors;
}

/// Collective. One state's records into its vector.
void copy_state(const OwnFiles& own, const Lengths& lengths, std::uint64_t state,
                std::uint32_t vector, commit::Output& output,
                std::vector<std::vector<std::byte>>& held) {
  for (std::size_t i = 0; i < own.files.size(); ++i) {
    const std::uint64_t number = own.numbers[i];
    const model::Dims start{lengths.before(number)};
    const model::Dims count{static_cast<std::uint64_t>(lengths.of_parts[number])};
    held[i].resize(count[0] * element_bytes);
    try {
      dialect::mfdn::read_record(*own.files[i], own.records[i][state], 0, held[i]);
    } catch (...) {
      output.fail(std::current_exception());
      break;
    }
    output.put({vector, {start, count}, {held[i].data(), type_of<float>(), count, {0}}, false});
  }
  output.flush();
}

}  // namespace

commit::Converted convert_from_records(const Context& context, const std::string& folder,
                                       const std::string& to, const Options& options) {
  const std::uint64_t parts = count_on_root(context, folder);
  OwnFiles own;
  exec::together(context.transport, [&] { own = open_own(context, folder, parts); });
  Lengths lengths;
  lengths.of_parts = agree_on_lengths(context, own, folder, parts);
  lengths.states = static_cast<std::uint64_t>(lengths.of_parts.back());
  lengths.of_parts.pop_back();
  commit::NewOutput output(context.transport, context.storage, to, options);
  const std::vector<std::uint32_t> vectors = define_tree(context, *output, lengths);
  std::vector<std::vector<std::byte>> held(own.files.size());
  for (std::uint64_t s = 0; s < lengths.states; ++s) {
    copy_state(own, lengths, s, vectors[s], *output, held);
  }
  output.close();
  return {lengths.states, 0, lengths.states * lengths.dimension() * element_bytes};
}

namespace {

std::vector<std::int64_t> read_lengths(commit::Input& input) {
  const std::uint32_t variable = input.find("LENGTHS");
  const model::Dims shape = input.variables()[variable].definition.shape;
  constexpr std::uint64_t most_files = 1'000'000;
  if (shape.rank() != 1 || shape[0] == 0 || shape[0] > most_files) {
    throw Error(Code::format, input.path() + ": LENGTHS has the shape " + shape.text() +
                                  ": it holds the elements of each file, of 1 to " +
                                  std::to_string(most_files));
  }
  std::vector<std::int64_t> lengths(shape[0]);
  input.get(commit::dense_request(variable, 0, model::whole(shape),
                                  reinterpret_cast<std::byte*>(lengths.data()),
                                  type_of<std::int64_t>()));
  return lengths;
}

/// The ranks take turns over the files: this rank's file, or none.
struct Turn {
  std::unique_ptr<dialect::mfdn::RecordWriter> writer;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

Turn begin_turn(const Context& context, NewFiles& files, const std::vector<std::int64_t>& lengths,
                std::uint64_t part) {
  Turn turn;
  if (part < lengths.size()) {
    turn.writer = std::make_unique<dialect::mfdn::RecordWriter>(
        context.storage, files.begin(dialect::mfdn::record_name(part + 1)));
    turn.first = static_cast<std::uint64_t>(std::accumulate(
        lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(part), std::int64_t{0}));
    turn.count = static_cast<std::uint64_t>(lengths[part]);
  }
  return turn;
}

std::vector<std::uint32_t> find_vectors(const commit::Input& input) {
  std::vector<std::uint32_t> vectors;
  for (const auto& has = input.variables(); vectors.size() < has.size();) {
    const std::string name = vector_name(vectors.size());
    const auto found = std::find_if(has.begin(), has.end(),
                                    [&](const auto& v) { return v.definition.name == name; });
    if (found == has.end()) {
      break;
    }
    vectors.push_back(static_cast<std::uint32_t>(found - has.begin()));
  }
  if (vectors.empty()) {
    throw Error(Code::format, input.path() + ": has no " + vector_name(0) +
                                  ": there is no wave function to write");
  }
  return vectors;
}

/// Collective. Are these the properties of one of `states` wave functions, reserved and not filled
/// in?
bool is_reserved(commit::Input& input, std::uint32_t variable, std::uint64_t states) {
  const model::Definition& d = input.variables()[variable].definition;
  bool is_of_state = false;
  for (std::uint64_t s = 0; s < states && !is_of_state; ++s) {
    is_of_state = d.name == properties_name(s);
  }
  if (!is_of_state || d.stepped || d.type.kind != Kind::f64 || d.shape != model::Dims{properties}) {
    return false;
  }
  std::array<double, properties> values{};
  input.get(commit::dense_request(variable, 0, model::whole(d.shape),
                                  reinterpret_cast<std::byte*>(values.data()), type_of<double>()));
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// Collective. The variables that the records do not hold.
std::vector<std::string> find_left_out(commit::Input& input,
                                       const std::vector<std::uint32_t>& vectors) {
  std::vector<std::string> names;
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    const model::Definition& d = input.variables()[v].definition;
    if (d.name != "LENGTHS" && std::find(vectors.begin(), vectors.end(), v) == vectors.end() &&
        !commit::is_companion(input, d) && !is_reserved(input, v, vectors.size())) {
      names.push_back(d.name + " (not in the records of MFDn)");
    }
  }
  return names;
}

/// The files hold all of every vector. Error format.
void require_lengths(const commit::Input& input, const std::vector<std::int64_t>& lengths,
                     const std::vector<std::uint32_t>& vectors) {
  std::uint64_t all = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || __builtin_add_overflow(all, static_cast<std::uint64_t>(length), &all)) {
      throw Error(Code::format, input.path() + ": LENGTHS has " + std::to_string(length) +
                                    ": it holds the elements of each file");
    }
  }
  for (const std::uint32_t vector : vectors) {
    const model::Definition& d = input.variables()[vector].definition;
    if (d.shape != model::Dims{all}) {
      throw Error(Code::format, input.path() + ": " + d.name + ": has the shape " + d.shape.text() +
                                    ", and LENGTHS says " + std::to_string(all) + " elements");
    }
  }
}

}  // namespace

commit::Converted convert_to_records(const Context& context, const std::string& from,
                                     const std::string& folder) {
  commit::Input input(context.transport, context.storage, from, {});
  const std::vector<std::int64_t> lengths = read_lengths(input);
  const std::vector<std::uint32_t> vectors = find_vectors(input);
  require_lengths(input, lengths, vectors);
  commit::Converted done{vectors.size(), 0, 0};
  done.left_out = find_left_out(input, vectors);
  NewFiles files(context, folder);
  const auto rank = static_cast<std::uint64_t>(context.transport.rank());
  std::int64_t bytes = 0;
  std::vector<float> held;
  for (std::uint64_t round = 0; round < lengths.size();
       round += static_cast<std::uint64_t>(context.transport.size())) {
    Turn turn;
    exec::together(context.transport,
                   [&] { turn = begin_turn(context, files, lengths, round + rank); });
    held.resize(turn.count);
    for (const std::uint32_t vector : vectors) {
      input.get(commit::dense_request(vector, 0, {{turn.first}, {turn.count}},
                                      reinterpret_cast<std::byte*>(held.data()), type_of<float>()));
      exec::together(context.transport, [&] {
        if (turn.writer) {
          turn.writer->begin(turn.count * element_bytes);
          turn.writer->append(std::as_bytes(std::span(held)));
        }
      });
      bytes += static_cast<std::int64_t>(turn.count * element_bytes);
    }
    exec::together(context.transport, [&] {
      if (turn.writer) {
        turn.writer->finish();
      }
    });
  }
  files.finish();
  context.transport.allreduce({&bytes, 1}, exec::Op::sum);
  done.bytes = static_cast<std::uint64_t>(bytes);
  return done;
}

}  // namespace sluice::cli
